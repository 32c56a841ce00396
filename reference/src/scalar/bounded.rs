//! The oracle's value with the largest first-order error of a correct f32 kernel.
//!
//! A rounding adds u·|r|, and 2⁻¹⁵⁰ where the result may be subnormal; sums and differences are exact there and do not need
//! it (Hauser 1996). Second-order terms are carried where they are cheap (products), and lie below 2⁻²⁰ of the bound elsewhere.
//!
//! Where operands are exact and the exact result is an f32, a correctly rounded operation has no error, and the bound stays
//! zero. Overflow is part of the value: what must overflow is ±∞ exactly, what may overflow has an infinite bound, and is
//! counted by whoever compares.

use std::ops::{Add, Mul, Neg, Sub};

use super::{Angle, Budget, Reduction, Scalar, U};

/// A value and how far a correct f32 kernel may be from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounded {
    /// The oracle's value.
    pub value: f64,
    /// The largest error; zero where f32 is exact, infinite where f32's range leaves the value open. A NaN of infinite
    /// bound is a value that is not finite, and whether it is a NaN or an infinity is a matter of the form.
    pub bound: f64,
}

/// Half a unit of the last place of a subnormal f32, 2⁻¹⁵⁰.
const HALF_SUBNORMAL: f64 = f64::from_bits((1023 - 150) << 52);

/// Above this magnitude a number rounds to infinity in f32: the largest finite, and half a unit of its last place more.
const OVERFLOW: f64 = f32::MAX as f64 * (1.0 + U / 2.0);

/// Smallest normal f32.
const MIN_NORMAL: f64 = f32::MIN_POSITIVE as f64;

fn is_f32(x: f64) -> bool {
    f64::from(x as f32) == x
}

impl Bounded {
    /// A value with an error of `error` before it is rounded to f32 with an error of `ulp` units of the last place.
    fn rounded(value: f64, error: f64, ulp: f64) -> Self {
        let magnitude = value.abs() + error;
        let mut bound = error + 2.0 * ulp * U * magnitude;
        if magnitude < MIN_NORMAL * 2.0 {
            bound = error
                + 2.0 * ulp * HALF_SUBNORMAL
                + if magnitude < MIN_NORMAL { 0.0 } else { 2.0 * ulp * U * magnitude };
        }
        Self { value, bound }.in_range()
    }

    /// The result of a correctly rounded operation on exact operands whose exact result is `value` if `is_exact` says so.
    fn correctly_rounded(value: f64, error: f64, is_exact: bool) -> Self {
        if error == 0.0 && is_exact && is_f32(value) {
            Self { value, bound: 0.0 }
        } else {
            Self::rounded(value, error, 0.5)
        }
    }

    /// What f32's range makes of it.
    fn in_range(self) -> Self {
        if self.value.is_nan() {
            return Self { value: f64::NAN, bound: 0.0 };
        }
        if self.value.is_infinite() {
            return Self { bound: 0.0, ..self };
        }
        let magnitude = self.value.abs();
        if magnitude - self.bound >= OVERFLOW {
            Self { value: f64::INFINITY.copysign(self.value), bound: 0.0 }
        } else if magnitude + self.bound >= OVERFLOW || self.bound.is_nan() {
            Self { bound: f64::INFINITY, ..self }
        } else {
            self
        }
    }

    /// An operand whose value f32 leaves open, or that is not finite, decides alone what comes out.
    fn special(value: f64, operands: &[Self]) -> Option<Self> {
        if operands.iter().all(|x| x.value.is_finite() && x.bound.is_finite()) {
            return None;
        }
        let open = operands.iter().any(|x| x.bound == f64::INFINITY);
        let nan = operands.iter().any(|x| x.value.is_nan());
        Some(Self { value, bound: if open && !nan { f64::INFINITY } else { 0.0 } })
    }

    /// Whether a kernel's value is conformant. A NaN or an infinity is so only where the oracle has the same.
    pub fn accepts(self, got: f32) -> bool {
        self.utilization(got) <= 1.0
    }

    /// Error ÷ bound. Zero where there is no error; infinite where an exact value is missed, or a NaN or an infinity stands
    /// where the oracle has none.
    pub fn utilization(self, got: f32) -> f64 {
        let got = f64::from(got);
        if self.value.is_nan() {
            let conformant = got.is_nan() || (self.bound == f64::INFINITY && got.is_infinite());
            return if conformant { 0.0 } else { f64::INFINITY };
        }
        if got == self.value || self.bound == f64::INFINITY {
            return if got.is_nan() { f64::INFINITY } else { 0.0 };
        }
        let error = (got - self.value).abs();
        if error.is_finite() && self.bound > 0.0 { error / self.bound } else { f64::INFINITY }
    }
}

impl Add for Bounded {
    type Output = Self;

    fn add(self, rhs: Self) -> Self {
        let value = self.value + rhs.value;
        if let Some(special) = Self::special(value, &[self, rhs]) {
            return special;
        }
        let error = self.bound + rhs.bound;
        // Knuth's TwoSum: the sum is exact if nothing is left over.
        let part = value - self.value;
        let rest = (self.value - (value - part)) + (rhs.value - part);
        if error == 0.0 && rest == 0.0 && is_f32(value) {
            return Self { value, bound: 0.0 };
        }
        let magnitude = value.abs() + error;
        Self { value, bound: error + U * magnitude }.in_range()
    }
}

impl Sub for Bounded {
    type Output = Self;

    fn sub(self, rhs: Self) -> Self {
        self + -rhs
    }
}

impl Neg for Bounded {
    type Output = Self;

    fn neg(self) -> Self {
        Self { value: -self.value, ..self }
    }
}

/// The product before any rounding.
fn product(a: Bounded, b: Bounded) -> (f64, f64) {
    (a.value * b.value, a.value.abs() * b.bound + b.value.abs() * a.bound + a.bound * b.bound)
}

impl Mul for Bounded {
    type Output = Self;

    fn mul(self, rhs: Self) -> Self {
        let (value, error) = product(self, rhs);
        let may_be_zero = |x: Self| x.value.abs() <= x.bound;
        if (self.value.is_infinite() && may_be_zero(rhs)) || (rhs.value.is_infinite() && may_be_zero(self)) {
            // ∞ times what may have underflowed to zero: an infinity or a NaN.
            return Self { value: f64::NAN, bound: f64::INFINITY };
        }
        Self::special(value, &[self, rhs]).unwrap_or_else(|| Self::correctly_rounded(value, error, true))
    }
}

impl Scalar for Bounded {
    fn exact(value: f64) -> Self {
        Self { value, bound: 0.0 }
    }

    fn value(self) -> f64 {
        self.value
    }

    fn div(self, rhs: Self, budget: &Budget) -> Self {
        let value = self.value / rhs.value;
        if let Some(special) = Self::special(value, &[self, rhs]) {
            return special;
        }
        let least = rhs.value.abs() - rhs.bound;
        if least <= 0.0 {
            let open = if rhs.bound == 0.0 { 0.0 } else { f64::INFINITY };
            return Self { value, bound: open };
        }
        // |a/b − â/b̂| ≤ (|a|·e_b + |b|·e_a) / (|b|·|b̂|)
        let error = (self.bound + value.abs() * rhs.bound) / least;
        if budget.div > 0.5 {
            return Self::rounded(value, error, budget.div);
        }
        Self::correctly_rounded(value, error, value * rhs.value == self.value && is_f32(value))
    }

    fn sqrt(self, budget: &Budget) -> Self {
        let value = self.value.sqrt();
        if let Some(special) = Self::special(value, &[self]) {
            return special;
        }
        let least = (self.value - self.bound).max(0.0).sqrt();
        // |√a − √â| = |a − â| / (√a + √â)
        let error = if self.bound == 0.0 { 0.0 } else { self.bound / (value + least) };
        if budget.sqrt > 0.5 {
            return Self::rounded(value, error, budget.sqrt);
        }
        Self::correctly_rounded(value, error, value * value == self.value && is_f32(value))
    }

    fn rsqrt(self, budget: &Budget) -> Self {
        let value = 1.0 / self.value.sqrt();
        if let Some(special) = Self::special(value, &[self]) {
            return special;
        }
        let least = self.value - self.bound;
        if least <= 0.0 {
            return Self { value, bound: if self.bound == 0.0 { 0.0 } else { f64::INFINITY } }.in_range();
        }
        // The derivative is largest at the interval's lower end.
        let error = 1.0 / least.sqrt() - value;
        Self::rounded(value, error.max(0.0), budget.rsqrt)
    }

    fn exp(self, budget: &Budget) -> Self {
        let value = self.value.exp();
        Self::special(value, &[self]).unwrap_or_else(|| Self::rounded(value, value * self.bound.exp_m1(), budget.exp))
    }

    fn log1p(self, budget: &Budget) -> Self {
        let value = self.value.ln_1p();
        if let Some(special) = Self::special(value, &[self]) {
            return special;
        }
        let least = 1.0 + self.value - self.bound;
        let error = if least > 0.0 { self.bound / least } else { f64::INFINITY };
        Self::rounded(value, error, budget.log1p)
    }

    /// The kernel may form the frequency in f64 with a relative error of 2⁻⁵⁰ (a few roundings of a power), rounds the
    /// reduced angle to f32 once, and evaluates sine and cosine of that.
    fn sin_cos(angle: Angle, budget: &Budget) -> (Self, Self) {
        let (sin, cos) = angle.sin_cos();
        let frequency = angle.unreduced().abs() / (1u64 << 50) as f64;
        let error = angle.value().abs() * U + frequency;
        // Derivatives by the other function, and half the square for the second order.
        let of = |value: f64, other: f64| Self::rounded(value, error * (other.abs() + error / 2.0), budget.sin_cos);
        (of(sin, cos), of(cos, sin))
    }

    fn abs(self) -> Self {
        Self { value: self.value.abs(), ..self }
    }

    fn max(self, other: Self) -> Self {
        // |max(a, b) − max(â, b̂)| ≤ max(e_a, e_b), and one that is out of the other's reach does not count.
        if self.value.is_nan() || self.value - self.bound >= other.value + other.bound {
            self
        } else if other.value.is_nan() || other.value - other.bound >= self.value + self.bound {
            other
        } else {
            Self { value: self.value.max(other.value), bound: self.bound.max(other.bound) }
        }
    }

    /// Two roundings: the fused form has one of them, so it is covered.
    fn mul_add(self, a: Self, b: Self) -> Self {
        self * a + b
    }

    /// Σeᵢ + `γ_d`·Σ(|xᵢ| + eᵢ), `γ_d` = d·u/(1 − d·u) (Higham, *Accuracy and Stability*, §4.2).
    ///
    /// Where all terms are exact multiples of 2ᵉ and Σ|xᵢ| ≤ 2²⁴⁺ᵉ, every partial sum in every order is an f32, and the
    /// bound is zero.
    fn sum(terms: impl Iterator<Item = Self>, reduction: Reduction) -> Self {
        let (mut n, mut value, mut error, mut magnitude) = (0, 0.0, 0.0, 0.0);
        let mut grain = i32::MAX;
        for x in terms {
            n += 1;
            value += x.value;
            magnitude += x.value.abs();
            error += x.bound;
            if error == 0.0 && x.value != 0.0 && x.value.is_finite() {
                grain = grain.min(trailing_exponent(x.value));
            }
        }
        if !(magnitude.is_finite() && error.is_finite()) {
            return Self { value, bound: if error.is_finite() || value.is_nan() { 0.0 } else { f64::INFINITY } };
        }
        if error == 0.0 && (magnitude == 0.0 || magnitude <= 2f64.powi(grain.saturating_add(24).min(1000))) {
            return Self { value, bound: 0.0 }.in_range();
        }
        let depth = reduction.depth(n) as f64 * U;
        let bound = error + depth / (1.0 - depth) * (magnitude + error);
        if magnitude + bound >= OVERFLOW && value.abs() + magnitude * 1e-9 < magnitude {
            // Terms of both signs: whether a partial sum overflows is a matter of the order.
            return Self { value, bound: f64::INFINITY };
        }
        Self { value, bound }.in_range()
    }

    fn or_form(self, form: impl FnOnce() -> Self) -> Self {
        let form = form();
        let finite = [self.value.is_finite(), form.value.is_finite()];
        if finite == [false, false] {
            let same = self.value == form.value || (self.value.is_nan() && form.value.is_nan());
            return if same { self } else { Self { value: f64::NAN, bound: f64::INFINITY } };
        }
        if form.bound == f64::INFINITY || self.bound == f64::INFINITY {
            return Self { bound: f64::INFINITY, ..self };
        }
        // The difference of the f64 values is the oracle's own rounding, unless the forms overflow differently.
        let apart = if self.value == form.value { 0.0 } else { (form.value - self.value).abs() };
        if apart.is_nan() || self.value.is_nan() {
            return self;
        }
        if self.bound == 0.0 && form.bound == 0.0 && apart <= self.value.abs() * f64::EPSILON * 4.0 {
            return self;
        }
        Self { bound: self.bound.max(form.bound + apart), ..self }
    }
}

/// The exponent of the last set bit of a finite, non-zero f64.
fn trailing_exponent(x: f64) -> i32 {
    let bits = x.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let (exponent, significand) = if exponent == 0 { (1, fraction) } else { (exponent, fraction | 1 << 52) };
    exponent - 1075 + significand.trailing_zeros() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_integers_sum_exactly_in_any_order() {
        let sum = Bounded::sum([1.0, -3.0, 4096.0].map(Bounded::exact).into_iter(), Reduction::AnyOrder);
        assert_eq!(sum, Bounded { value: 4094.0, bound: 0.0 });
    }

    #[test]
    fn nan_is_outside_of_every_finite_bound() {
        assert!(!Bounded { value: 1.0, bound: 1e30 }.accepts(f32::NAN));
        assert!(!Bounded { value: 1.0, bound: f64::INFINITY }.accepts(f32::NAN));
        assert!(Bounded { value: f64::NAN, bound: 0.0 }.accepts(f32::NAN));
        assert!(!Bounded { value: f64::NAN, bound: 0.0 }.accepts(0.0));
    }

    #[test]
    fn what_must_overflow_is_infinite_and_exact() {
        let big = Bounded::exact(3e38);
        assert_eq!(big * big, Bounded { value: f64::INFINITY, bound: 0.0 });
        assert!((big + big).accepts(f32::INFINITY) && !(big + big).accepts(f32::MAX));
    }

    #[test]
    fn exact_zero_bound_refuses_a_last_place() {
        let x = Bounded::exact(1.5) * Bounded::exact(2.0);
        assert!(x.accepts(3.0) && !x.accepts(3.000_000_2));
    }

    #[test]
    fn subnormal_products_carry_half_their_unit() {
        let x = Bounded::exact(f64::from(1e-30f32)) * Bounded::exact(f64::from(1e-12f32));
        assert!(x.accepts(1e-30f32 * 1e-12f32) && x.bound >= HALF_SUBNORMAL);
    }
}
