//! L2 normalization of the heads of q and k.

use ndarray::ArrayViewMut2;

use super::RootQuotient;
use crate::{Budget, Scalar, ShapeError};

/// Normalizes each head in place: x ← x/√(Σx² + eps).
///
/// `x` is [H, D], one head a row. eps is inside the root and added to the sum, not to the mean and not as a clamp: a zero head stays zero,
/// and heads with a norm of about √eps shrink. Where Σx² overflows f32 the answer is zero, as 1/√∞ is.
///
/// Accepted forms, with s = Σx² + eps: x·rsqrt(s), x/√s, x·(1/√s).
///
/// # Errors
///
/// None today: every array of two dimensions fits. The result keeps the signature of the other operations.
pub fn normalize<T: Scalar>(mut x: ArrayViewMut2<'_, T>, eps: T, budget: &Budget) -> Result<(), ShapeError> {
    for mut head in x.rows_mut() {
        let row = head.to_vec();
        let squares = T::dot(&row, &row, budget.reduction);
        let norm = RootQuotient::new(squares + eps, budget);
        head.mapv_inplace(|x| norm.apply(x, budget));
    }
    Ok(())
}
