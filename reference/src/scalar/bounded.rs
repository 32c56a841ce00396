//! The oracle with a running error bound: every operation adds the most that a correct f32 kernel may be wrong by.
//!
//! The rules, with u = 2⁻²⁴ and operands that a kernel holds as a + α, |α| ≤ eₐ:
//!
//! * A correctly rounded result r̂ is off by at most u·|r̂|, or 2⁻¹⁵⁰ where it is subnormal; since u·2⁻¹²⁶ = 2⁻¹⁵⁰ that is
//!   max(u·|r̂|, 2⁻¹⁵⁰). |r̂| is at most |r| + e, e being the error before rounding. Sums and differences of f32 are multiples of
//!   2⁻¹⁴⁹ and exact in the subnormal range: no 2⁻¹⁵⁰ for them.
//! * A function of ν ulp adds ν·max(2u·|r̂|, 2⁻¹⁴⁹), an ulp being at most 2u·|r̂|.
//! * Where the error before rounding is zero and f32 holds the exact result, a correctly rounded operation adds nothing. Functions
//!   with a budget above 0.5 ulp never count as exact.
//! * Overflow is part of the value: where every admissible value rounds to infinity the value is infinite with bound 0, where only
//!   some do it is undetermined, bound +∞. Operands that are not finite follow IEEE 754, with bound 0.
//!
//! The f64 rounding of the value itself (2⁻⁵³ a step) hides in the slack of u against u/(1 + u), 2⁻⁴⁸.

use super::{Reduction, U, bounded_sum};

/// Half the smallest subnormal, 2⁻¹⁵⁰: the most that rounding into the subnormal range changes a value.
pub(super) const HALF_SUBNORMAL: f64 = U * f32::MIN_POSITIVE as f64;
/// The smallest magnitude that rounds to infinity: the largest f32 and half its ulp, 2¹⁰³.
pub(super) const OVERFLOW: f64 = f32::MAX as f64 + 10_141_204_801_825_835_211_973_625_643_008.0;

/// A value and the largest error that a correct f32 kernel may make in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounded {
    /// The oracle's value; infinite where f32 must overflow.
    pub value: f64,
    /// How far a correct kernel may be from it, the last rounding to f32 included; +∞ where the answer is undetermined. A NaN of
    /// infinite bound is a value that is not finite, and whether it is a NaN or an infinity is a matter of the form.
    pub bound: f64,
}

/// Whether f32 holds a value exactly.
pub(super) fn is_f32(value: f64) -> bool {
    f64::from(value as f32) == value
}

/// The error of a correctly rounded multiplication, division or root whose result is at most `magnitude`.
pub(super) fn rounding(magnitude: f64) -> f64 {
    (U * magnitude).max(HALF_SUBNORMAL)
}

/// The bound of a product in range, of the error before rounding. The f64 product of two f32 is exact, so the test for exactness is too.
#[expect(clippy::inline_always, reason = "compiled for the vectors of its caller")]
#[inline(always)]
pub(super) fn rounded_product(value: f64, spread: f64) -> f64 {
    let rounded = spread + rounding(value.abs() + spread);
    // Both sides are there: a choice, and no branch, so that a loop over it is in vectors.
    if (spread == 0.0) & is_f32(value) { 0.0 } else { rounded }
}

impl Bounded {
    /// A value that f32 cannot hold exactly but that a kernel holds to within `bound`.
    pub const fn within(value: f64, bound: f64) -> Self {
        Self { value, bound }
    }

    /// A value of which nothing is known: whatever a kernel answers is accepted.
    pub(super) const fn undetermined(value: f64) -> Self {
        Self { value, bound: f64::INFINITY }
    }

    /// Whether nothing can be said about a kernel's answer, because some correct kernels overflow here and some do not.
    pub fn is_undetermined(self) -> bool {
        self.bound == f64::INFINITY
    }

    /// Exactly zero, for every kernel.
    pub(super) fn is_zero(self) -> bool {
        self.value == 0.0 && self.bound == 0.0
    }

    /// How far `got` is from the value; zero for the same infinity or a NaN that is expected, infinite for one that is not.
    pub fn error(self, got: f32) -> f64 {
        let got = f64::from(got);
        let open = self.value.is_nan() && self.is_undetermined();
        if got == self.value || (got.is_nan() && self.value.is_nan()) || (open && !got.is_finite()) {
            0.0
        } else if got.is_finite() && self.value.is_finite() {
            (got - self.value).abs()
        } else {
            f64::INFINITY
        }
    }

    /// Whether a correct kernel may answer `got`. A NaN is accepted only where the value is NaN, an infinity only where it is the
    /// same infinity, and anything where the answer is undetermined.
    pub fn accepts(self, got: f32) -> bool {
        self.utilization(got) <= 1.0
    }

    /// Error as a part of the bound: above 1 is a failure. Zero for no error at all and where the answer is undetermined; infinite
    /// for an error where none is allowed.
    pub fn utilization(self, got: f32) -> f64 {
        let error = self.error(got);
        if error == 0.0 || (self.is_undetermined() && !self.value.is_nan()) {
            0.0
        } else if self.bound == 0.0 {
            f64::INFINITY
        } else {
            error / self.bound
        }
    }

    /// What remains of a result whose interval |value| ± `spread` before rounding leaves the range of f32, or that is not finite.
    #[cold]
    pub(super) fn out_of_range(value: f64, spread: f64) -> Self {
        if value.is_nan() {
            Self { value, bound: 0.0 }
        } else if value.abs() - spread >= OVERFLOW {
            Self { value: f64::INFINITY.copysign(value), bound: 0.0 }
        } else {
            Self::undetermined(value)
        }
    }

    /// A result that IEEE 754 decides because an operand is not finite, unless an operand is undetermined.
    #[cold]
    pub(super) fn special(operands: [Self; 2], value: f64) -> Self {
        if operands.iter().any(|x| x.value.is_nan() && x.bound == 0.0) {
            Self { value: f64::NAN, bound: 0.0 }
        } else if operands.iter().any(|x| x.is_undetermined()) {
            Self::undetermined(value)
        } else {
            Self { value, bound: 0.0 }
        }
    }

    pub(super) fn is_finite(self) -> bool {
        self.value.is_finite() && self.bound < f64::INFINITY
    }

    /// Whether zero lies in the interval, other than as the exact value.
    pub(super) fn may_be_zero(self) -> bool {
        self.bound > 0.0 && self.value.abs() <= self.bound
    }

    /// The product before rounding, and its error: |a|·eᵦ + |b|·eₐ + eₐ·eᵦ.
    #[expect(clippy::inline_always, reason = "compiled for the vectors of its caller")]
    #[inline(always)]
    pub(super) fn before_rounding(self, rhs: Self) -> (f64, f64) {
        let spread = self.value.abs() * rhs.bound + rhs.value.abs() * self.bound + self.bound * rhs.bound;
        (self.value * rhs.value, spread)
    }

    /// The product.
    ///
    /// A product that is `FUSED` into an addition may or may not be rounded, so its overflow is for the addition to judge: it is
    /// handed on as a value beyond the range of f32.
    #[expect(clippy::inline_always, reason = "the inner loop of the delta rule: a call costs as much as its body")]
    #[inline(always)]
    pub(super) fn product<const FUSED: bool>(self, rhs: Self) -> Self {
        let (value, spread) = self.before_rounding(rhs);
        if value.abs() + spread < OVERFLOW {
            return Self { value, bound: rounded_product(value, spread) };
        }
        if !(self.is_finite() && rhs.is_finite()) {
            return Self::infinite_product(self, rhs, value);
        }
        if FUSED {
            Self { value, bound: spread + rounding(value.abs() + spread) }
        } else {
            Self::out_of_range(value, spread)
        }
    }

    /// A product with a factor that is not finite; infinity times what may be zero, positive or negative is undetermined.
    #[cold]
    fn infinite_product(a: Self, b: Self, value: f64) -> Self {
        if a.may_be_zero() || b.may_be_zero() { Self::undetermined(value) } else { Self::special([a, b], value) }
    }

    /// The sum of a product that may be fused and an addend.
    #[cold]
    pub(super) fn add_product(product: Self, addend: Self) -> Self {
        if product.value.abs() + product.bound < OVERFLOW {
            product + addend
        } else {
            bounded_sum::sum([product, addend].into_iter(), Reduction::AnyOrder)
        }
    }

    /// The result of a function of `ulp` ulp with error `spread` before rounding; `exact` says that f32 holds the exact result.
    ///
    /// A function of more than half an ulp may overflow that much earlier, hence the wider interval there.
    pub(super) fn function(value: f64, spread: f64, ulp: f64, exact: bool) -> Self {
        if spread == 0.0 && exact && ulp <= 0.5 && value.is_finite() {
            return Self { value, bound: 0.0 };
        }
        let magnitude = value.abs() + spread;
        let early = (ulp - 0.5).max(0.0) * 2.0 * U * magnitude;
        if magnitude + early < OVERFLOW {
            Self { value, bound: spread + ulp * (2.0 * U * magnitude).max(2.0 * HALF_SUBNORMAL) }
        } else {
            Self::out_of_range(value, spread + early)
        }
    }
}
