//! RMS normalization of the delta rule's output, gated by silu(z).

use ndarray::{ArrayView1, ArrayView2, ArrayViewMut2};

use super::activation::silu;
use super::{RootQuotient, expect_shape};
use crate::{Budget, Scalar, ShapeError};

/// out = weight·o/√(mean(o²) + eps)·silu(z), for each value head.
///
/// `z`, `o` and `out` are [HV, D], `weight` is \[D\] and shared by the heads. The norm comes first and the gate, silu and not sigmoid, after.
///
/// Accepted forms: the mean as Σ/D or Σ·(1/D); its root as in [`l2_norm`](super::l2_norm); and the four factors weight, o, 1/√ and silu(z)
/// multiplied in any order. The orders differ in what can underflow or overflow on the way, and in nothing else to first order;
/// the four listed below span them.
///
/// # Errors
///
/// A [`ShapeError`] when the arrays do not fit together.
pub fn norm<T: Scalar>(
    z: ArrayView2<'_, T>,
    weight: ArrayView1<'_, T>,
    o: ArrayView2<'_, T>,
    eps: T,
    mut out: ArrayViewMut2<'_, T>,
    budget: &Budget,
) -> Result<(), ShapeError> {
    expect_shape("z", z.shape(), o.shape())?;
    expect_shape("weight", weight.shape(), &[o.ncols()])?;
    expect_shape("out", out.shape(), o.shape())?;
    for ((z, o), out) in z.rows().into_iter().zip(o.rows()).zip(out.rows_mut()) {
        let root = rms(o, eps, budget);
        for (((&z, &o), &w), out) in z.iter().zip(&o).zip(&weight).zip(out) {
            let gate = silu(z, budget);
            *out = (root.apply(o, budget) * w * gate)
                .or_form(|| root.apply(o * w, budget) * gate)
                .or_form(|| root.factor() * w * o * gate)
                .or_form(|| root.apply(o, budget) * (w * gate));
        }
    }
    Ok(())
}

/// √(mean(x²) + eps) of one head, ready to divide by.
pub(super) fn rms<T: Scalar>(x: ArrayView1<'_, T>, eps: T, budget: &Budget) -> RootQuotient<T> {
    let x = x.to_vec();
    let squares = T::dot(&x, &x, budget.reduction);
    let size = T::exact(x.len() as f64);
    let mean = squares.div(size, budget).or_form(|| squares * T::exact(1.0).div(size, budget));
    RootQuotient::new(mean + eps, budget)
}
