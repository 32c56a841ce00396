//! Scalars that an operation can be evaluated with: `f64` is the oracle, `f32` a naive kernel, [`Bounded`] the oracle with
//! its error bound, [`Perturbed`] one of the many f32 kernels that the bound must cover.

mod angle;
mod bounded;
mod bounded_row;
mod bounded_scalar;
mod bounded_sum;
mod budget;
mod double_double;
mod floats;
mod perturbed;
mod row;

use std::fmt::Debug;
use std::ops::{Add, Mul, Neg, Sub};

pub use angle::{Angle, Rotary};
pub use bounded::Bounded;
pub use budget::{Budget, Reduction, U};
pub use double_double::DoubleDouble;
pub use perturbed::Perturbed;
pub use row::Row;

/// A number that the operations can be evaluated with.
///
/// `+`, `-`, `*` and [`mul_add`](Self::mul_add) are correctly rounded in every f32 kernel; what may be less accurate takes the
/// [`Budget`] that says by how much.
pub trait Scalar:
    Copy + Debug + Send + Sync + 'static + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Neg<Output = Self>
{
    /// A row of these numbers, laid out for the loops over it.
    type Row: Row<Self>;

    /// Whether other accepted forms change anything: false for a single evaluation, which can skip preparing them.
    const WEIGHS_FORMS: bool;

    /// An input or a constant: `value` must be one that f32 holds exactly.
    fn exact(value: f64) -> Self;

    /// The value, without its bound.
    fn value(self) -> f64;

    /// Elements of state from which on heads are spread over threads: some 0.2 ms of one, ten times what it takes to wake another.
    /// Never where an evaluation draws from its thread's random numbers.
    const SPREAD_FROM: usize = usize::MAX;

    /// The quotient `self / rhs`.
    #[must_use]
    fn div(self, rhs: Self, budget: &Budget) -> Self;

    /// The square root.
    #[must_use]
    fn sqrt(self, budget: &Budget) -> Self;

    /// The reciprocal square root.
    #[must_use]
    fn rsqrt(self, budget: &Budget) -> Self;

    /// The exponential.
    #[must_use]
    fn exp(self, budget: &Budget) -> Self;

    /// ln(1 + self).
    #[must_use]
    fn log1p(self, budget: &Budget) -> Self;

    /// Sine and cosine of an angle that a kernel rounds to f32 once, after reduction to [−π, π].
    fn sin_cos(angle: Angle, budget: &Budget) -> (Self, Self);

    /// The larger of two; where one is NaN, the other (`fmaxf`).
    #[must_use]
    fn max(self, other: Self) -> Self;

    /// The magnitude.
    #[must_use]
    fn abs(self) -> Self;

    /// `self * a + b`; a kernel may round once or twice.
    #[must_use]
    fn mul_add(self, a: Self, b: Self) -> Self {
        self * a + b
    }

    /// The sum of the terms, in any order that `reduction` allows. No terms sum to zero.
    fn sum<I>(terms: I, reduction: Reduction) -> Self
    where
        I: Iterator<Item = Self> + Clone;

    /// Σ aᵢ·bᵢ over the shorter of the two; a kernel may fuse each product into its addition.
    fn dot(a: &[Self], b: &[Self], reduction: Reduction) -> Self;

    /// 1/(1 + e^self), a step of its own because an overflow of e^self is harmless in it: the quotient is then zero.
    #[must_use]
    fn recip_one_plus_exp(self, budget: &Budget) -> Self {
        let one = Self::exact(1.0);
        one.div(one + self.exp(budget), budget)
    }

    /// Accepts another algebraic form of the same value: the bound becomes the larger of the two, the value stays.
    #[must_use]
    fn or_form(self, form: impl FnOnce() -> Self) -> Self;

    /// Accepts a form whose bound is known to be no larger than `self`'s: always, or, where a `reach` is given, as long as nothing
    /// overflows and no rounding is of a subnormal.
    ///
    /// The reach is a magnitude that the form's intermediates do not exceed. Only when that comes near the largest f32, or the bound
    /// near the smallest, is the form evaluated. The caller writes down why the form is covered otherwise.
    #[must_use]
    fn or_covered_form(self, reach: Option<f64>, form: impl FnOnce() -> Self) -> Self;
}
