//! Scalars that an operation can be evaluated with: `f64` is the oracle, `f32` a naive kernel, [`Bounded`] the oracle with
//! its error bound, [`Perturbed`] any correct f32 kernel.

use std::fmt::Debug;
use std::ops::{Add, Mul, Neg, Sub};

mod angle;
mod bounded;
mod budget;
mod float;
mod perturbed;

pub use angle::Angle;
pub use bounded::Bounded;
pub use budget::{Budget, Reduction, U};
pub use perturbed::Perturbed;

/// A number that the operations compute with.
///
/// Additions, subtractions and multiplications are the operators. What a budget says something of takes the budget.
pub trait Scalar:
    Copy + Debug + Send + Sync + 'static + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Neg<Output = Self>
{
    /// An input, or a constant that f32 holds exactly.
    fn exact(value: f64) -> Self;

    /// The value.
    fn value(self) -> f64;

    /// `self` / `rhs`.
    #[must_use]
    fn div(self, rhs: Self, budget: &Budget) -> Self;

    /// √`self`.
    #[must_use]
    fn sqrt(self, budget: &Budget) -> Self;

    /// 1/√`self` by one function.
    #[must_use]
    fn rsqrt(self, budget: &Budget) -> Self;

    /// e to the `self`.
    #[must_use]
    fn exp(self, budget: &Budget) -> Self;

    /// ln(1 + `self`).
    #[must_use]
    fn log1p(self, budget: &Budget) -> Self;

    /// Sine and cosine of an angle that a kernel rounds to f32 after its reduction.
    fn sin_cos(angle: Angle, budget: &Budget) -> (Self, Self);

    /// The magnitude.
    #[must_use]
    fn abs(self) -> Self;

    /// The larger of the two; exact.
    #[must_use]
    fn max(self, other: Self) -> Self;

    /// `self`·`a` + `b`, which a kernel may round once or twice.
    #[must_use]
    fn mul_add(self, a: Self, b: Self) -> Self;

    /// The sum of the terms in a tree of the reduction's depth.
    fn sum(terms: impl Iterator<Item = Self>, reduction: Reduction) -> Self;

    /// Σ aᵢ·bᵢ over the shorter of the two, each product rounded or fused with its addition.
    fn dot(a: impl Iterator<Item = Self>, b: impl Iterator<Item = Self>, reduction: Reduction) -> Self {
        Self::sum(a.zip(b).map(|(a, b)| a * b), reduction)
    }

    /// This value, or another form of the same value that a kernel may compute just as well.
    ///
    /// The bound becomes the larger of the forms'; where there is no bound the form is not evaluated.
    #[must_use]
    fn or_form(self, form: impl FnOnce() -> Self) -> Self;
}
