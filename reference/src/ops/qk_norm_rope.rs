//! RMS normalization of the attention layer's query and key heads, and rotary position embedding of their first dimensions.

use ndarray::{ArrayView1, ArrayViewMut2};

use super::expect_shape;
use super::gated_rms_norm::rms;
use crate::scalar::Angle;
use crate::{Budget, Reduction, Scalar, ShapeError};

/// Normalizes each head over all its dimensions, then rotates the first `rot`.
///
/// `rows` is [heads, hd], in place; `weight` is \[hd\] (1 + w where the checkpoint stores w). Each row becomes
/// x·weight/√(mean(x²) + eps). Then each pair (i, i + rot/2), i < rot/2, is rotated by the angle position·base^(−2i/rot):
/// x₁' = x₁·cos − x₂·sin, x₂' = x₂·cos + x₁·sin. Dimensions from `rot` on are normalized and not rotated.
///
/// Accepted forms: the mean and the root as in [`gated_rms_norm`](super::gated_rms_norm); x, weight and 1/√ multiplied in any order;
/// either product of a rotation fused into its addition. The angle is one that a kernel forms in f64 and rounds to f32 once,
/// reduced (see [`Angle::kernel_error`]).
///
/// # Errors
///
/// A [`ShapeError`] when `weight` does not have hd elements, or when `rot` is odd or exceeds hd.
pub fn norm_rope<T: Scalar>(
    mut rows: ArrayViewMut2<'_, T>,
    weight: ArrayView1<'_, T>,
    position: u64,
    rot: usize,
    base: f32,
    eps: T,
    budget: &Budget,
) -> Result<(), ShapeError> {
    let size = rows.ncols();
    expect_shape("weight", weight.shape(), &[size])?;
    expect_shape("rot", &[rot], &[rot.min(size) & !1])?;
    let half = rot / 2;
    let turns: Vec<(T, T)> =
        (0..half).map(|pair| T::sin_cos(Angle::rotary(position, pair, rot, base), budget)).collect();
    for mut row in rows.rows_mut() {
        let root = rms(row.view(), eps, budget);
        row.zip_mut_with(&weight, |x, &w| {
            let plain = *x;
            *x = (root.apply(plain, budget) * w)
                .or_form(|| root.apply(plain * w, budget))
                .or_form(|| root.factor() * w * plain);
        });
        for (i, &(sin, cos)) in turns.iter().enumerate() {
            let (first, second) = (row[i], row[i + half]);
            row[i] = rotate([first, second], [cos, -sin]);
            row[i + half] = rotate([second, first], [cos, sin]);
        }
    }
    Ok(())
}

/// x₁·c₁ + x₂·c₂.
fn rotate<T: Scalar>(x: [T; 2], by: [T; 2]) -> T {
    T::dot(&x, &by, Reduction::AnyOrder)
}
