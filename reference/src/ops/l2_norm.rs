//! L2 norm of each head: eps inside the root, added to the sum.

use ndarray::ArrayViewMut2;

use crate::ShapeError;
use crate::scalar::{Budget, Scalar};

/// x/√(Σx² + eps) for each row of `x` \[H, D\], in place.
///
/// Forms: x·rsqrt(s), x/√s, x·(1/√s). A zero head gives zeros. Where Σx² overflows f32 the result is zero, in every form.
///
/// # Errors
/// None today; the signature is that of the other operations.
pub fn normalize<T: Scalar>(mut x: ArrayViewMut2<'_, T>, eps: T, budget: &Budget) -> Result<(), ShapeError> {
    for mut head in x.rows_mut() {
        let squares = T::dot(head.iter().copied(), head.iter().copied(), budget.reduction);
        let sum = squares + eps;
        let (inverse, root) = (sum.rsqrt(budget), sum.sqrt(budget));
        let reciprocal = T::exact(1.0).div(root, budget);
        for x in &mut head {
            let value = *x;
            *x = (value * inverse).or_form(|| value.div(root, budget)).or_form(|| value * reciprocal);
        }
    }
    Ok(())
}
