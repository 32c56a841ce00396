//! The operations of [`Bounded`], each with the error that it carries on and the rounding that it adds.

use std::ops::{Add, Mul, Neg, Sub};

use ndarray::ArrayView1;

use super::bounded::{HALF_SUBNORMAL, OVERFLOW, is_f32};
use super::{Angle, Bounded, Budget, Reduction, Row, Scalar, U, bounded_row::BoundedRow, bounded_sum};

/// 2⁻¹⁰⁰: a bound beside which roundings of subnormal intermediates are as small as those of f64.
const FAR_FROM_SUBNORMAL: f64 = 1.0 / (1_u128 << 100) as f64;

impl Add for Bounded {
    type Output = Self;

    /// e = eₐ + eᵦ + u·(|a + b| + eₐ + eᵦ); adding an exact zero is exact.
    #[inline]
    fn add(self, rhs: Self) -> Self {
        let value = self.value + rhs.value;
        let spread = self.bound + rhs.bound;
        if self.is_zero() || rhs.is_zero() {
            return Self { value, bound: spread };
        }
        let magnitude = value.abs() + spread;
        if magnitude < OVERFLOW {
            if spread == 0.0 && bounded_sum::sum_is_f32(self.value, rhs.value) {
                return Self { value, bound: 0.0 };
            }
            Self { value, bound: spread + U * magnitude }
        } else if self.is_finite() && rhs.is_finite() {
            Self::out_of_range(value, spread)
        } else {
            Self::special([self, rhs], value)
        }
    }
}

impl Neg for Bounded {
    type Output = Self;

    fn neg(self) -> Self {
        Self { value: -self.value, bound: self.bound }
    }
}

impl Sub for Bounded {
    type Output = Self;

    #[inline]
    fn sub(self, rhs: Self) -> Self {
        self + -rhs
    }
}

impl Mul for Bounded {
    type Output = Self;

    /// The product as an operation of its own.
    #[inline]
    fn mul(self, rhs: Self) -> Self {
        self.product::<false>(rhs)
    }
}

impl Scalar for Bounded {
    type Row = BoundedRow;

    const WEIGHS_FORMS: bool = true;
    const SPREAD_FROM: usize = 1 << 14;

    fn exact(value: f64) -> Self {
        Self { value, bound: 0.0 }
    }

    fn value(self) -> f64 {
        self.value
    }

    /// (a + α)/(b + β) − a/b = (α − (a/b)·β)/(b + β), so e = (eₐ + |a/b|·eᵦ)/(|b| − eᵦ).
    fn div(self, rhs: Self, budget: &Budget) -> Self {
        let value = self.value / rhs.value;
        if !(self.is_finite() && rhs.is_finite()) {
            if self.value.is_infinite() && rhs.may_be_zero() {
                return Self::undetermined(value);
            }
            return Self::special([self, rhs], value);
        }
        let nearest = rhs.value.abs() - rhs.bound;
        if nearest <= 0.0 {
            return if rhs.is_zero() && !self.may_be_zero() {
                Self::special([self, rhs], value)
            } else {
                Self::undetermined(value)
            };
        }
        let spread = (self.bound + value.abs() * rhs.bound) / nearest;
        // The product of two f32 is exact in f64, so this asks whether the division leaves no rest.
        let exact = is_f32(value) && value * rhs.value == self.value;
        Self::function(value, spread, budget.div, exact)
    }

    /// The slope falls, so the lower end of the interval is the farther one. A radicand is a sum of terms that are not negative, so
    /// the part of the interval below zero is slack of the bound and holds no kernel's value.
    fn sqrt(self, budget: &Budget) -> Self {
        let value = self.value.sqrt();
        if !self.is_finite() {
            return Self::special([self, self], value);
        }
        let below = value - (self.value - self.bound).max(0.0).sqrt();
        let above = (self.value + self.bound).sqrt() - value;
        // √x − √(x − e) = e/(√x + √(x − e)) without the cancellation.
        let spread = if value > 0.0 && self.bound < self.value {
            self.bound / (value + (self.value - self.bound).sqrt())
        } else {
            below.max(above)
        };
        Self::function(value, spread, budget.sqrt, is_f32(value) && value * value == self.value)
    }

    /// 1/√(x − e) − 1/√x, over the whole interval: with r = √(1 − e/x), that is (1 − r)/(r·√x) = (e/x)/(r·(1 + r)·√x).
    fn rsqrt(self, budget: &Budget) -> Self {
        let value = 1.0 / self.value.sqrt();
        if !self.is_finite() || self.is_zero() {
            return Self::special([self, self], value);
        }
        let relative = self.bound / self.value;
        if self.value > 0.0 && relative >= 1.0 {
            return Self::undetermined(value);
        }
        let root = (1.0 - relative).sqrt();
        let spread = value * relative / (root * (1.0 + root));
        Self::function(value, spread, budget.rsqrt, is_f32(value) && value * value * self.value == 1.0)
    }

    /// e^(x + e) − e^x, which is more than e^x − e^(x − e).
    fn exp(self, budget: &Budget) -> Self {
        let value = self.value.exp();
        if !self.is_finite() {
            return Self::special([self, self], value);
        }
        let spread =
            if self.bound < 1.0 { value * self.bound.exp_m1() } else { (self.value + self.bound).exp() - value };
        if spread.is_nan() {
            // e^(x + e) beyond f64 on both sides.
            return Self::out_of_range(value, (self.value - self.bound).exp());
        }
        Self::function(value, spread, budget.exp, self.value == 0.0)
    }

    /// The slope falls: ln(1 + x) − ln(1 + x − e) = −ln(1 − e/(1 + x)).
    fn log1p(self, budget: &Budget) -> Self {
        let value = self.value.ln_1p();
        if !self.is_finite() {
            return Self::special([self, self], value);
        }
        let relative = self.bound / (1.0 + self.value);
        if relative >= 1.0 {
            return Self::undetermined(value);
        }
        Self::function(value, -(-relative).ln_1p(), budget.log1p, self.value == 0.0)
    }

    /// |sin(a + α) − sin a| ≤ |α|·|cos a| + α²/2, and the same with sine and cosine exchanged.
    fn sin_cos(angle: Angle, budget: &Budget) -> (Self, Self) {
        let (sin, cos) = angle.sin_cos();
        let error = angle.kernel_error();
        let curvature = 0.5 * error * error;
        (
            Self::function(sin, error * cos.abs() + curvature, budget.sin_cos, sin == 0.0),
            Self::function(cos, error * sin.abs() + curvature, budget.sin_cos, cos == 1.0),
        )
    }

    /// The maximum of what a kernel holds differs from the maximum by at most the larger error; where the intervals do not meet,
    /// by the winner's.
    fn max(self, other: Self) -> Self {
        let value = self.value.max(other.value);
        let bound = if self.value - self.bound > other.value + other.bound || other.value.is_nan() {
            self.bound
        } else if other.value - other.bound > self.value + self.bound || self.value.is_nan() {
            other.bound
        } else {
            self.bound.max(other.bound)
        };
        Self { value, bound }
    }

    fn abs(self) -> Self {
        Self { value: self.value.abs(), bound: self.bound }
    }

    #[expect(clippy::inline_always, reason = "the inner loop of the delta rule: a call costs as much as its body")]
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        let product = self.product::<true>(a);
        let value = product.value + b.value;
        let spread = product.bound + b.bound;
        // The usual case, in which the addition is neither exact nor out of range, apart: this is the inner loop of the state.
        if product.value != 0.0 && !b.is_zero() && spread > 0.0 {
            let magnitude = value.abs() + spread;
            if magnitude < OVERFLOW && product.value.abs() + product.bound < OVERFLOW {
                return Self { value, bound: spread + U * magnitude };
            }
        }
        Self::add_product(product, b)
    }

    #[inline]
    fn sum<I>(terms: I, reduction: Reduction) -> Self
    where
        I: Iterator<Item = Self> + Clone,
    {
        bounded_sum::sum(terms, reduction)
    }

    fn dot(a: &[Self], b: &[Self], reduction: Reduction) -> Self {
        let count = a.len().min(b.len());
        if count < bounded_sum::LANES {
            return bounded_sum::short_dot(a, b, reduction);
        }
        let row = |numbers: &[Self]| {
            let mut row = BoundedRow::zeros(count);
            row.read(ArrayView1::from(&numbers[..count]));
            row
        };
        row(a).dot(&row(b), reduction)
    }

    /// Where e^x overflows in f32, or may, a kernel answers 0 for a value below 2⁻¹²⁷. The value stays the true one and the bound
    /// covers everything from 0 to the quotient at the near end of the interval, its roundings included.
    fn recip_one_plus_exp(self, budget: &Budget) -> Self {
        let one = Self::exact(1.0);
        let exp = self.exp(budget);
        let overflows = exp.is_undetermined() || exp.value == f64::INFINITY;
        if !overflows || !self.value.is_finite() || self.is_undetermined() {
            return one.div(one + exp, budget);
        }
        let value = 1.0 / (1.0 + self.value.exp());
        let largest = 1.0 / (1.0 + (self.value - self.bound).exp());
        // Relative error of the exponential, of the addition and of the division, doubled for the second order.
        let relative = 4.0 * U * (budget.exp + 0.5 + budget.div);
        let ulps = budget.div * 2.0 * HALF_SUBNORMAL;
        Self { value, bound: value.max(largest * (1.0 + relative) - value + ulps) }
    }

    fn or_form(self, form: impl FnOnce() -> Self) -> Self {
        let other = form();
        if other.value == self.value || (other.value.is_nan() && self.value.is_nan()) {
            return Self { value: self.value, bound: self.bound.max(other.bound) };
        }
        if !self.value.is_finite() && !other.value.is_finite() {
            // A NaN or an infinity, as the form has it: not finite in either case.
            return Self::undetermined(f64::NAN);
        }
        let distance = (other.value - self.value).abs() + other.bound;
        // A form that is not finite where this one is (or the other way round) leaves the answer open.
        let distance = if distance.is_nan() { f64::INFINITY } else { distance };
        Self { value: self.value, bound: self.bound.max(distance) }
    }

    fn or_covered_form(self, reach: Option<f64>, form: impl FnOnce() -> Self) -> Self {
        let Some(reach) = reach else { return self };
        // Half of the range: the roundings of the intermediates are far smaller than the other half. An intermediate that is
        // subnormal is rounded by 2⁻¹⁵⁰, however small it is: a few of those do not show beside `FAR_FROM_SUBNORMAL`, 2⁵⁰ of them.
        let ordinary = self.bound == 0.0 || self.bound >= FAR_FROM_SUBNORMAL;
        if ordinary && reach < 0.5 * f64::from(f32::MAX) { self } else { self.or_form(form) }
    }
}
