//! RMSNorm of each query or key head, then rotation of its first `rot` dimensions by the position.

use ndarray::{ArrayView1, ArrayViewMut2};

use super::{expect, gated_rms_norm::inverse_rms};
use crate::ShapeError;
use crate::scalar::{Angle, Budget, Scalar};

/// Norms each row of `rows` \[heads, hd\] over hd times `weight` \[hd\], then rotates dims (i, i + rot/2) for i < rot/2 by
/// position·base^(−2i/rot); dims from rot on are normalized and not rotated. In place.
///
/// The inverse frequencies run over `rot`, not hd. `weight` is the 1 + w of the checkpoint. `rot` = 0 norms alone.
///
/// # Errors
/// Arrays that do not fit together; `rot` odd or above hd.
pub fn norm_rope<T: Scalar>(
    mut rows: ArrayViewMut2<'_, T>,
    weight: ArrayView1<'_, T>,
    position: u64,
    rot: usize,
    base: f32,
    eps: T,
    budget: &Budget,
) -> Result<(), ShapeError> {
    let hd = rows.ncols();
    expect("weight", weight.shape(), &[hd])?;
    if rot % 2 != 0 || rot > hd {
        return Err(ShapeError { argument: "rot", found: vec![rot], expected: vec![hd / 2 * 2] });
    }
    let half = rot / 2;
    let rotations: Vec<(T, T)> = (0..half).map(|i| T::sin_cos(Angle::rotary(position, i, rot, base), budget)).collect();
    for mut row in rows.rows_mut() {
        let inverse = inverse_rms(row.view(), eps, budget);
        for (x, &w) in row.iter_mut().zip(weight) {
            let value = *x;
            *x = (value * inverse * w).or_form(|| value * (inverse * w));
        }
        for (i, &(sin, cos)) in rotations.iter().enumerate() {
            let (first, second) = (row[i], row[i + half]);
            row[i] = first.mul_add(cos, -(second * sin));
            row[i + half] = second.mul_add(cos, first * sin);
        }
    }
    Ok(())
}
