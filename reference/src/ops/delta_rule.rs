//! The gated delta rule, one token: decay, prediction, correction, read-out.

use ndarray::{ArrayView1, ArrayView2, ArrayViewMut2, ArrayViewMut3, Axis};

use super::expect;
use crate::scalar::{Budget, Scalar};
use crate::{HeadMap, ShapeError};

/// What one token brings. Queries and keys come L2-normalized in the models.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a, T> {
    /// Queries \[HK, D\].
    pub q: ArrayView2<'a, T>,
    /// Keys \[HK, D\].
    pub k: ArrayView2<'a, T>,
    /// Values \[HV, D\].
    pub v: ArrayView2<'a, T>,
    /// Write strengths \[HV\].
    pub beta: ArrayView1<'a, T>,
    /// Decays \[HV\].
    pub decay: ArrayView1<'a, T>,
}

/// δ = β·(v − decay·S·k); S ← decay·S + δkᵀ; o = S·q/√D, for each value head and each row (value index) of its state.
///
/// `state` \[HV, D, D\] in place, row = value index; `o` \[HV, D\]. The prediction uses the decayed state.
///
/// Accepted forms:
/// - prediction Σ (decay·S)ⱼkⱼ, or decay·(S·k), whose errors are among those of the first: one rounding of the sum in place
///   of one a term;
/// - o = (S·q)·s with s = 1/√D rounded; S·(q·s), the scale on the query; and (decay·(S₀·q) + δ·(k·q))·s from the old state;
///   a division by √D rounds less often than a product with its rounded inverse.
///
/// # Errors
/// Arrays that do not fit together; HK that is zero or does not divide HV.
pub fn step<T: Scalar>(
    x: &Inputs<'_, T>,
    mut state: ArrayViewMut3<'_, T>,
    mut o: ArrayViewMut2<'_, T>,
    head_map: HeadMap,
    budget: &Budget,
) -> Result<(), ShapeError> {
    let ((hk, d), hv) = (x.q.dim(), x.v.nrows());
    expect("k", x.k.shape(), &[hk, d])?;
    expect("v", x.v.shape(), &[hv, d])?;
    expect("beta", x.beta.shape(), &[hv])?;
    expect("decay", x.decay.shape(), &[hv])?;
    expect("state", state.shape(), &[hv, d, d])?;
    expect("o", o.shape(), &[hv, d])?;
    if hk == 0 || hv % hk != 0 {
        return Err(ShapeError { argument: "q", found: vec![hk, d], expected: vec![hv, d] });
    }
    let one = T::exact(1.0);
    let scale = one.div(T::exact(d as f64).sqrt(budget), budget);
    let reduction = budget.reduction;
    for h in 0..hv {
        let key_head = head_map.key_head(h, hv, hk);
        let (q, k) = (x.q.row(key_head).to_vec(), x.k.row(key_head).to_vec());
        let scaled: Vec<T> = q.iter().map(|&q| q * scale).collect();
        let (beta, decay) = (x.beta[h], x.decay[h]);
        let key_query = T::dot(k.iter().copied(), q.iter().copied(), reduction);
        let mut rows = state.index_axis_mut(Axis(0), h);
        for (row, mut old) in rows.rows_mut().into_iter().enumerate() {
            let before = old.to_vec();
            let decayed: Vec<T> = before.iter().map(|&s| decay * s).collect();
            let prediction = T::dot(decayed.iter().copied(), k.iter().copied(), reduction);
            let delta = beta * (x.v[[h, row]] - prediction);
            for ((s, &decayed), &k) in old.iter_mut().zip(&decayed).zip(&k) {
                *s = delta.mul_add(k, decayed);
            }
            let after = || old.iter().copied();
            o[[h, row]] = (T::dot(after(), q.iter().copied(), reduction) * scale)
                .or_form(|| T::dot(after(), scaled.iter().copied(), reduction))
                .or_form(|| {
                    let from_old = decay * T::dot(before.iter().copied(), q.iter().copied(), reduction);
                    delta.mul_add(key_query, from_old) * scale
                });
        }
    }
    Ok(())
}

/// Norm-wise error of one row of a free-running state after a token, from the one before.
///
/// Rows evolve alone, e ← decay·e·(I − βkkᵀ) + local, so ‖e‖₂ ≤ decay·max(1, |1 − β‖k‖²|)·‖e‖₂ + ‖local‖₂: the eigenvalues of
/// I − βkkᵀ are 1 and 1 − β‖k‖².
pub fn propagate(error: f64, decay: f64, beta: f64, key_norm_squared: f64, local: f64) -> f64 {
    decay.abs() * (1.0 - beta * key_norm_squared).abs().max(1.0) * error + local
}
