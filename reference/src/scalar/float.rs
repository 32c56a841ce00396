//! `f64`, the oracle, and `f32`, a naive kernel that works from left to right.

use super::{Angle, Budget, Reduction, Scalar};

macro_rules! float {
    ($type:ty, $sin_cos:expr) => {
        impl Scalar for $type {
            fn exact(value: f64) -> Self {
                value as Self
            }

            fn value(self) -> f64 {
                f64::from(self)
            }

            fn div(self, rhs: Self, _: &Budget) -> Self {
                self / rhs
            }

            fn sqrt(self, _: &Budget) -> Self {
                self.sqrt()
            }

            fn rsqrt(self, _: &Budget) -> Self {
                1.0 / self.sqrt()
            }

            fn exp(self, _: &Budget) -> Self {
                self.exp()
            }

            fn log1p(self, _: &Budget) -> Self {
                self.ln_1p()
            }

            fn sin_cos(angle: Angle, _: &Budget) -> (Self, Self) {
                $sin_cos(angle)
            }

            fn abs(self) -> Self {
                self.abs()
            }

            fn max(self, other: Self) -> Self {
                // A NaN stays: `f64::max` would hide it.
                if self > other || self.is_nan() { self } else { other }
            }

            fn mul_add(self, a: Self, b: Self) -> Self {
                self * a + b
            }

            fn sum(terms: impl Iterator<Item = Self>, _: Reduction) -> Self {
                terms.sum()
            }

            fn or_form(self, _: impl FnOnce() -> Self) -> Self {
                self
            }
        }
    };
}

float!(f64, Angle::sin_cos);
float!(f32, |angle: Angle| (angle.value() as f32).sin_cos());
