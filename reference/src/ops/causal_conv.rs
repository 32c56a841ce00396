//! Depthwise causal convolution of one token, with a carried ring of the last inputs, followed by silu.

use ndarray::{ArrayView1, ArrayView2, ArrayViewMut1, ArrayViewMut2};

use super::{activation::silu, expect};
use crate::ShapeError;
use crate::scalar::{Budget, Reduction, Scalar};

/// One token: shifts the ring and convolves, y = silu(Σₜ w\[t\]·ring\[t\]).
///
/// `x` \[C\], `weights` \[T, C\], `ring` \[T, C\] in place, `y` \[C\]. Row t of the ring becomes row t + 1, and `x` the last: the
/// newest is last, and pairs with the last tap. Taps are summed in any order.
///
/// # Errors
/// Arrays that do not fit together, or no taps.
pub fn step<T: Scalar>(
    x: ArrayView1<'_, T>,
    weights: ArrayView2<'_, T>,
    mut ring: ArrayViewMut2<'_, T>,
    mut y: ArrayViewMut1<'_, T>,
    budget: &Budget,
) -> Result<(), ShapeError> {
    let (taps, channels) = weights.dim();
    expect("weights", &[taps.max(1), channels], &[taps, x.len()])?;
    expect("ring", ring.shape(), &[taps, channels])?;
    expect("y", y.shape(), &[channels])?;
    for c in 0..channels {
        for t in 1..taps {
            ring[[t - 1, c]] = ring[[t, c]];
        }
        ring[[taps - 1, c]] = x[c];
        let (w, r) = (weights.column(c), ring.column(c));
        let sum = T::dot(w.iter().copied(), r.iter().copied(), Reduction::AnyOrder);
        y[c] = silu(sum, budget);
    }
    Ok(())
}
