//! The attention layer's output gate.

use ndarray::{ArrayView1, ArrayViewMut1};

use super::activation::{NEAR_OVERFLOW, sigmoid};
use super::expect;
use crate::ShapeError;
use crate::scalar::{Budget, Scalar};

/// `ctx`·sigmoid(`g`), both \[n\], in place of `ctx`; as that product, or as ctx/(1 + e⁻ᵍ).
///
/// # Errors
/// Arrays of different lengths.
pub fn gate<T: Scalar>(mut ctx: ArrayViewMut1<'_, T>, g: ArrayView1<'_, T>, budget: &Budget) -> Result<(), ShapeError> {
    expect("g", g.shape(), &[ctx.len()])?;
    for (x, &g) in ctx.iter_mut().zip(g) {
        let value = *x;
        *x = (value * sigmoid(g, budget)).or_form(|| {
            if g.value() >= NEAR_OVERFLOW {
                value.div(T::exact(1.0) + (-g).exp(budget), budget)
            } else {
                value * sigmoid(g, budget)
            }
        });
    }
    Ok(())
}
