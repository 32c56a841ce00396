//! The sigmoid gate on an attention layer's output.

use ndarray::{ArrayView1, ArrayViewMut1};

use super::activation::sigmoid;
use super::expect_shape;
use crate::{Budget, Scalar, ShapeError};

/// Gates in place: ctx ← ctx·sigmoid(g), both \[n\].
///
/// The other accepted form, ctx/(1 + e^(−g)), is covered: it has the same roundings but one.
///
/// # Errors
///
/// A [`ShapeError`] when the arrays differ in length.
pub fn gate<T: Scalar>(mut ctx: ArrayViewMut1<'_, T>, g: ArrayView1<'_, T>, budget: &Budget) -> Result<(), ShapeError> {
    expect_shape("g", g.shape(), ctx.shape())?;
    ctx.zip_mut_with(&g, |ctx, &g| *ctx = *ctx * sigmoid(g, budget));
    Ok(())
}
