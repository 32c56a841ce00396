//! RMSNorm of each head, then the silu gate.

use ndarray::{ArrayView1, ArrayView2, ArrayViewMut2};

use super::{activation::silu, expect};
use crate::ShapeError;
use crate::scalar::{Budget, Scalar};

/// 1/√(mean(x²) + eps) of a row.
///
/// Forms: Σx²/D or Σx²·(1/D); rsqrt, or 1/√, which rounds less than rsqrt's two ulp.
pub(super) fn inverse_rms<T: Scalar>(row: ArrayView1<'_, T>, eps: T, budget: &Budget) -> T {
    let sum = T::dot(row.iter().copied(), row.iter().copied(), budget.reduction);
    let count = T::exact(row.len() as f64);
    let mean = sum.div(count, budget).or_form(|| sum * T::exact(1.0).div(count, budget));
    (mean + eps).rsqrt(budget).or_form(|| T::exact(1.0).div((mean + eps).sqrt(budget), budget))
}

/// weight·o/√(mean(o²) + eps)·silu(z).
///
/// `z` \[HV, D\], `weight` \[D\], `o` \[HV, D\], `out` \[HV, D\]. The norm comes before the gate. Forms: w·(x·r)·g and
/// w·((x·r)·g). The weight is not multiplied with o first: that overflows where the norm does not.
///
/// # Errors
/// Arrays that do not fit together.
pub fn norm<T: Scalar>(
    z: ArrayView2<'_, T>,
    weight: ArrayView1<'_, T>,
    o: ArrayView2<'_, T>,
    eps: T,
    mut out: ArrayViewMut2<'_, T>,
    budget: &Budget,
) -> Result<(), ShapeError> {
    let (heads, d) = o.dim();
    expect("z", z.shape(), &[heads, d])?;
    expect("weight", weight.shape(), &[d])?;
    expect("out", out.shape(), &[heads, d])?;
    for h in 0..heads {
        let inverse = inverse_rms(o.row(h), eps, budget);
        for i in 0..d {
            let gate = silu(z[[h, i]], budget);
            let (w, x) = (weight[i], o[[h, i]]);
            out[[h, i]] = (w * (x * inverse) * gate).or_form(|| w * ((x * inverse) * gate));
        }
    }
    Ok(())
}
