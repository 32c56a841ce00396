//! The two gates of the delta rule: the write strength β and the decay.

use ndarray::{ArrayView1, ArrayViewMut1};

use super::activation::{sigmoid, softplus};
use super::expect;
use crate::ShapeError;
use crate::scalar::{Budget, Scalar};

/// β = sigmoid(br), decay = exp(rate·softplus(ar + dt)); all arrays \[HV\].
///
/// `rate` is −exp(`A_log`) already (GGUF's `ssm_a`), zero or less. Right for every finite ar + dt.
///
/// # Errors
/// Arrays of different lengths.
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
    expect("ar", ar.shape(), &heads)?;
    expect("dt", dt.shape(), &heads)?;
    expect("rate", rate.shape(), &heads)?;
    expect("beta", beta.shape(), &heads)?;
    expect("decay", decay.shape(), &heads)?;
    for h in 0..heads[0] {
        beta[h] = sigmoid(br[h], budget);
        decay[h] = (rate[h] * softplus(ar[h] + dt[h], budget)).exp(budget);
    }
    Ok(())
}
