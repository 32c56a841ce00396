//! The two gates of a value head: how much of a token is written (β), and how much of the state stays (decay).

use ndarray::{ArrayView1, ArrayViewMut1};

use super::activation::{sigmoid, softplus};
use super::expect_shape;
use crate::{Budget, Scalar, ShapeError};

/// β = sigmoid(br) and decay = exp(rate·softplus(ar + dt)), for each value head.
///
/// All arrays are \[HV\]. `rate` is −exp(`A_log`) already, at most zero (GGUF's `ssm_a`). Right for every finite u = ar + dt: decay is
/// exp(rate·u) for large u and 1 + rate·e^u for very negative u. Where it underflows, a kernel answers a subnormal within the
/// budget of the exponential, or 0. An ar + dt that itself overflows f32 follows IEEE 754 (decay 0, and NaN for rate 0).
///
/// # Errors
///
/// A [`ShapeError`] when the arrays differ in length.
pub fn gates<T: Scalar>(
    br: ArrayView1<'_, T>,
    ar: ArrayView1<'_, T>,
    dt: ArrayView1<'_, T>,
    rate: ArrayView1<'_, T>,
    mut beta: ArrayViewMut1<'_, T>,
    mut decay: ArrayViewMut1<'_, T>,
    budget: &Budget,
) -> Result<(), ShapeError> {
    let heads = [br.len()];
    expect_shape("ar", ar.shape(), &heads)?;
    expect_shape("dt", dt.shape(), &heads)?;
    expect_shape("rate", rate.shape(), &heads)?;
    expect_shape("beta", beta.shape(), &heads)?;
    expect_shape("decay", decay.shape(), &heads)?;
    for head in 0..br.len() {
        beta[head] = sigmoid(br[head], budget);
        decay[head] = (rate[head] * softplus(ar[head] + dt[head], budget)).exp(budget);
    }
    Ok(())
}
