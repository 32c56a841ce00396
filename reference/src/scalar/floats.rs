//! The plain floats as scalars: `f64` is the oracle without bounds, `f32` a naive kernel that adds in the order given.

use super::{Angle, Budget, Reduction, Scalar};

macro_rules! plain_float {
    ($float:ty) => {
        impl Scalar for $float {
            type Row = Vec<Self>;

            const WEIGHS_FORMS: bool = false;
            const SPREAD_FROM: usize = 1 << 17;

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
                <$float>::sqrt(self)
            }

            fn rsqrt(self, _: &Budget) -> Self {
                1.0 / <$float>::sqrt(self)
            }

            fn exp(self, _: &Budget) -> Self {
                <$float>::exp(self)
            }

            fn log1p(self, _: &Budget) -> Self {
                self.ln_1p()
            }

            fn sin_cos(angle: Angle, _: &Budget) -> (Self, Self) {
                let (sin, cos) = angle.sin_cos();
                (sin as Self, cos as Self)
            }

            fn max(self, other: Self) -> Self {
                <$float>::max(self, other)
            }

            fn abs(self) -> Self {
                <$float>::abs(self)
            }

            fn sum<I>(terms: I, _: Reduction) -> Self
            where
                I: Iterator<Item = Self> + Clone,
            {
                terms.fold(0.0, |sum, term| sum + term)
            }

            /// In eight partial sums, which the processor adds side by side.
            fn dot(a: &[Self], b: &[Self], _: Reduction) -> Self {
                let (a_chunks, a_rest) = a.as_chunks::<8>();
                let (b_chunks, b_rest) = b.as_chunks::<8>();
                let mut lanes: [Self; 8] = [0.0; 8];
                for (a, b) in a_chunks.iter().zip(b_chunks) {
                    for i in 0..8 {
                        lanes[i] += a[i] * b[i];
                    }
                }
                let rest: Self = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
                lanes.iter().sum::<Self>() + rest
            }

            fn or_form(self, _: impl FnOnce() -> Self) -> Self {
                self
            }

            fn or_covered_form(self, _: Option<f64>, _: impl FnOnce() -> Self) -> Self {
                self
            }
        }
    };
}

plain_float!(f64);
plain_float!(f32);
