//! Depthwise causal convolution over a ring of past inputs, then silu: one token at a time.

use ndarray::{ArrayView1, ArrayView2, ArrayViewMut1, ArrayViewMut2, Axis};

use super::activation::silu;
use super::expect_shape;
use crate::{Budget, Reduction, Scalar, ShapeError};

/// Shifts the ring by one token and convolves.
///
/// Shapes, for C channels and T taps: `x` \[C\], `weights` [T, C], `ring` [T, C], `y` \[C\]. The ring is in order of age: row 0 is the oldest
/// input and row T − 1 the newest. Row t takes what row t + 1 held, the last row takes `x`, exactly; then
/// y\[c\] = silu(Σₜ weights\[t, c\]·ring\[t, c\]).
///
/// The taps are few and a thread adds them in whatever order, so the sum has the depth of any order whatever the budget says.
///
/// # Errors
///
/// A [`ShapeError`] when the arrays do not fit together, or when T is zero.
pub fn step<T: Scalar>(
    x: ArrayView1<'_, T>,
    weights: ArrayView2<'_, T>,
    mut ring: ArrayViewMut2<'_, T>,
    mut y: ArrayViewMut1<'_, T>,
    budget: &Budget,
) -> Result<(), ShapeError> {
    let channels = x.len();
    let taps = weights.nrows();
    expect_shape("weights", weights.shape(), &[taps.max(1), channels])?;
    expect_shape("ring", ring.shape(), &[taps, channels])?;
    expect_shape("y", y.shape(), &[channels])?;

    for tap in 1..taps {
        let (mut older, newer) = ring.view_mut().split_at(Axis(0), tap);
        older.row_mut(tap - 1).assign(&newer.row(0));
    }
    ring.row_mut(taps - 1).assign(&x);

    for (channel, y) in y.iter_mut().enumerate() {
        let (weights, past) = (weights.column(channel).to_vec(), ring.column(channel).to_vec());
        let sum = T::dot(&weights, &past, Reduction::AnyOrder);
        *y = silu(sum, budget);
    }
    Ok(())
}
