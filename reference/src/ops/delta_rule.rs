//! The gated delta rule: one token against the state of each value head.

use ndarray::{ArrayView1, ArrayView2, ArrayViewMut1, ArrayViewMut2, ArrayViewMut3};
use rayon::prelude::*;

use super::expect_shape;
use crate::scalar::Row;
use crate::{Budget, HeadMap, Scalar, ShapeError};

/// What one token brings to the delta rule.
#[derive(Clone, Debug)]
pub struct Inputs<'a, T> {
    /// Queries [HK, D], normalized and not scaled: 1/√D is part of the rule.
    pub q: ArrayView2<'a, T>,
    /// Keys [HK, D], normalized.
    pub k: ArrayView2<'a, T>,
    /// Values [HV, D].
    pub v: ArrayView2<'a, T>,
    /// Write gates \[HV\], in (0, 1).
    pub beta: ArrayView1<'a, T>,
    /// Decays \[HV\], in [0, 1].
    pub decay: ArrayView1<'a, T>,
}

/// Applies one token: for value head h, which reads key head `head_map(h)`, and each row i of its state,
///
/// δ = β·(v\[i\] − (decay·S\[i\])·k), S\[i\] ← decay·S\[i\] + δ·k, o\[i\] = (S\[i\]·q)/√D with the new S.
///
/// `state` is [HV, D, D], a row a value index and a column a key index; `o` is [HV, D]. The formula is that of S. Yang, J. Kautz,
/// A. Hatamizadeh, "Gated Delta Networks", 2024, with the state transposed.
///
/// Accepted forms, besides the orders of each sum:
///
/// * the prediction as decay·(S·k);
/// * the scale, 1/√D in f32, applied to the sum or to q first, or a division by √D;
/// * the output as decay·(S·q) + δ·(k·q), from the state before the update.
///
/// # Errors
///
/// A [`ShapeError`] when the arrays do not fit together, or when HK is zero or does not divide HV.
pub fn step<T: Scalar>(
    x: &Inputs<'_, T>,
    mut state: ArrayViewMut3<'_, T>,
    mut o: ArrayViewMut2<'_, T>,
    head_map: HeadMap,
    budget: &Budget,
) -> Result<(), ShapeError> {
    let (hk, hv, d) = (x.q.nrows(), x.v.nrows(), x.v.ncols());
    if hk == 0 || hv % hk != 0 {
        return Err(ShapeError { argument: "q", found: x.q.shape().to_vec(), expected: vec![hv.max(1), d] });
    }
    expect_shape("q", x.q.shape(), &[hk, d])?;
    expect_shape("k", x.k.shape(), &[hk, d])?;
    expect_shape("beta", x.beta.shape(), &[hv])?;
    expect_shape("decay", x.decay.shape(), &[hv])?;
    expect_shape("state", state.shape(), &[hv, d, d])?;
    expect_shape("o", o.shape(), &[hv, d])?;

    let one = |scratch: &mut Scratch<T>, h: usize, state: ArrayViewMut2<'_, T>, o: ArrayViewMut1<'_, T>| {
        let key_head = head_map.key_head(h, hv, hk);
        let head = Head::new(x.q.row(key_head), x.k.row(key_head), x.beta[h], x.decay[h], budget);
        head.step(x.v.row(h), state, o, scratch);
    };
    let heads = state.outer_iter_mut().zip(o.outer_iter_mut()).enumerate();
    if hv > 1 && hv * d * d >= T::SPREAD_FROM {
        let heads: Vec<_> = heads.collect();
        let each = |scratch: &mut Scratch<T>, (h, (state, o))| one(scratch, h, state, o);
        heads.into_par_iter().for_each_init(|| Scratch::new(d), each);
    } else {
        let mut scratch = Scratch::new(d);
        heads.for_each(|(h, (state, o))| one(&mut scratch, h, state, o));
    }
    Ok(())
}

/// Bound on the error of one state row after a token, from the bound before it: how far a free-running kernel may have drifted.
///
/// A row's error obeys e ← decay·e·(I − β·k·kᵀ) + local, and the matrix has the eigenvalues 1 and 1 − β‖k‖², so
/// ‖e‖₂ ≤ decay·max(1, |1 − β‖k‖²|)·‖e‖₂ + ‖local‖₂. `norm` is the bound before the token and `local` the 2-norm of the row's
/// elementwise bounds for this token alone, both in the units of the state.
pub fn propagate(norm: f64, decay: f64, beta: f64, k_norm_sq: f64, local: f64) -> f64 {
    decay * (1.0 - beta * k_norm_sq).abs().max(1.0) * norm + local
}

/// Rows that are needed one at a time, allocated once.
struct Scratch<T: Scalar> {
    before: T::Row,
    decayed: T::Row,
    after: T::Row,
}

impl<T: Scalar> Scratch<T> {
    fn new(d: usize) -> Self {
        Self { before: Row::zeros(d), decayed: Row::zeros(d), after: Row::zeros(d) }
    }
}

/// Everything that the rows of one value head share.
struct Head<'a, T: Scalar> {
    q: T::Row,
    k: T::Row,
    q_scaled: T::Row,
    /// k·q, with q scaled and not.
    kq_scaled: T,
    kq: T,
    beta: T,
    decay: T,
    scale: T,
    root: T,
    /// D times the largest |q| or |k|: turns the largest element of a row into a limit for its sums. With the largest |k|, zero where
    /// the scalar does not weigh forms.
    reach: f64,
    k_max: f64,
    /// Whether the decay is a power of two or zero.
    decays_exactly: bool,
    budget: &'a Budget,
}

impl<'a, T: Scalar> Head<'a, T> {
    fn new(q: ArrayView1<'_, T>, k: ArrayView1<'_, T>, beta: T, decay: T, budget: &'a Budget) -> Self {
        let d = q.len();
        let row = |elements: ArrayView1<'_, T>| {
            let mut row = T::Row::zeros(d);
            row.read(elements);
            row
        };
        let (q, k) = (row(q), row(k));
        let root = T::exact(d as f64).sqrt(budget);
        let scale = T::exact(1.0).div(root, budget);
        let mut q_scaled = T::Row::zeros(d);
        q_scaled.scale(scale, &q);
        let k_max = k.largest();
        Self {
            kq_scaled: k.dot(&q_scaled, budget.reduction),
            kq: k.dot(&q, budget.reduction),
            reach: d as f64 * q.largest().max(k_max),
            q,
            k,
            q_scaled,
            beta,
            decay,
            scale,
            root,
            k_max,
            decays_exactly: decay.value().to_bits().trailing_zeros() >= 52,
            budget,
        }
    }

    fn step(
        &self,
        v: ArrayView1<'_, T>,
        mut state: ArrayViewMut2<'_, T>,
        mut o: ArrayViewMut1<'_, T>,
        scratch: &mut Scratch<T>,
    ) {
        for ((&v, row), o) in v.iter().zip(state.rows_mut()).zip(o.iter_mut()) {
            scratch.before.read(row.view());
            *o = self.row(v, scratch);
            scratch.after.write(row);
        }
    }

    /// One state row: from `before` to `after`, by way of `decayed`; returns its output.
    fn row(&self, v: T, row: &mut Scratch<T>) -> T {
        row.decayed.scale(self.decay, &row.before);
        let exact = row.decayed.any_exact();
        // decay·(S·k) is covered: it rounds each product once instead of twice, and |decay·Σ| once more, which is at most one rounding
        // of Σ|decay·S·k| unless it is subnormal. That is, where decay·S was rounded: where it is exact (few bits on both sides) S·k need
        // not be, and decaying the sum is a rounding too many, unless the decay is a power of two and rounds nothing.
        let exact = exact && !self.decays_exactly;
        let reach = if exact { f64::INFINITY } else { self.reach * row.before.largest() };
        let prediction = row
            .decayed
            .dot(&self.k, self.budget.reduction)
            .or_covered_form(Some(reach), || self.decay * row.before.dot(&self.k, self.budget.reduction));
        let delta = self.beta * (v - prediction);
        row.after.scale_and_add(delta, &self.k, &row.decayed);
        // Scaling the sum is covered by scaling q: there each product carries the rounding of q·scale, and Σ|S·q·scale|·u is at
        // least the one rounding of the scaled sum. The division by √D has the roundings of 1/√D but one.
        let reach = reach + self.reach * self.k_max * delta.value().abs();
        row.after
            .dot(&self.q_scaled, self.budget.reduction)
            .or_covered_form(Some(reach), || row.after.dot(&self.q, self.budget.reduction) * self.scale)
            .or_covered_form(Some(reach), || row.after.dot(&self.q, self.budget.reduction).div(self.root, self.budget))
            .or_form(|| self.output_before_update(row, delta, reach))
    }

    /// decay·(S·q) + δ·(k·q), scaled, from the row before its update.
    ///
    /// Decaying the row first has the most roundings. Decaying the sum, and scaling the whole instead of q, are covered by it as above.
    fn output_before_update(&self, row: &Scratch<T>, delta: T, reach: f64) -> T {
        // k·q stands alone before δ makes it small.
        let reach = reach.max(self.reach * self.k_max);
        delta
            .mul_add(self.kq_scaled, row.decayed.dot(&self.q_scaled, self.budget.reduction))
            .or_covered_form(Some(reach), || {
                self.decay.mul_add(row.before.dot(&self.q_scaled, self.budget.reduction), delta * self.kq_scaled)
            })
            .or_covered_form(Some(reach), || {
                self.decay.mul_add(row.before.dot(&self.q, self.budget.reduction), delta * self.kq) * self.scale
            })
    }
}
