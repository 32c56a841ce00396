//! Numbers of about 106 bits, as unevaluated sums of two f64: what the rotary angle needs so that a position of a million does
//! not eat its digits.
//!
//! The algorithms are Dekker's and Knuth's error-free transformations (T. J. Dekker, "A floating-point technique for extending
//! the available precision", 1971), with the product's error taken from a fused multiply-add.

use std::ops::{Add, Mul, Neg, Sub};

/// `high + low`, with |low| at most half an ulp of `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DoubleDouble {
    /// The nearest f64.
    pub high: f64,
    /// What `high` leaves out.
    pub low: f64,
}

impl DoubleDouble {
    /// ln 2 to 107 bits.
    const LN_2: Self = Self { high: std::f64::consts::LN_2, low: 2.319_046_813_846_299_6e-17 };
    /// 2π to 107 bits.
    pub(super) const TAU: Self = Self { high: std::f64::consts::TAU, low: 2.449_293_598_294_706_4e-16 };

    /// A number that f64 holds exactly.
    pub const fn new(value: f64) -> Self {
        Self { high: value, low: 0.0 }
    }

    /// The sum of two f64, exactly (Knuth's `TwoSum`).
    fn two_sum(a: f64, b: f64) -> Self {
        let high = a + b;
        let part = high - a;
        Self { high, low: (a - (high - part)) + (b - part) }
    }

    /// The product of two f64, exactly.
    fn two_product(a: f64, b: f64) -> Self {
        let high = a * b;
        Self { high, low: a.mul_add(b, -high) }
    }

    /// The nearest f64.
    pub fn to_f64(self) -> f64 {
        self.high + self.low
    }

    /// The quotient by an f64, by one step of long division and a correction: relative error about 2⁻¹⁰⁴.
    #[must_use]
    pub fn div_f64(self, divisor: f64) -> Self {
        let first = self.high / divisor;
        let rest = self - Self::two_product(first, divisor);
        Self::two_sum(first, rest.to_f64() / divisor)
    }

    /// The exponential, for arguments whose result is a normal f64.
    ///
    /// e^x = 2^k·(e^r)^512 with r = (x − k·ln 2)/512, |r| < 7e-4: eight Taylor terms leave r⁹/9! < 1e-33, and nine squarings
    /// multiply the relative error by 512, to about 2⁻⁹⁵.
    #[must_use]
    pub fn exp(self) -> Self {
        let k = (self.high / Self::LN_2.high).round();
        let reduced = self - Self::LN_2 * Self::new(k);
        let r = Self { high: reduced.high / 512.0, low: reduced.low / 512.0 };
        // expm1 by Horner: small, so that the squarings below keep its digits.
        let mut sum = Self::new(1.0);
        for n in (2..=9).rev() {
            sum = Self::new(1.0) + (r * sum).div_f64(f64::from(n));
        }
        let mut expm1 = r * sum;
        for _ in 0..9 {
            expm1 = expm1 * Self::new(2.0) + expm1 * expm1;
        }
        let power = 2f64.powi(k as i32);
        let result = Self::new(1.0) + expm1;
        Self { high: result.high * power, low: result.low * power }
    }

    /// The natural logarithm of a positive f64, by one Newton step from the f64 logarithm: x = e^y·(1 + t) with |t| < 1e-15, so
    /// ln x = y + t − t²/2 up to 1e-45, and the relative error is that of [`exp`](Self::exp).
    #[must_use]
    pub fn ln(value: f64) -> Self {
        let y = value.ln();
        let t = Self::new(value) * Self::new(-y).exp() - Self::new(1.0);
        Self::new(y) + (t - Self::new(0.5 * t.high * t.high))
    }
}

impl Add for DoubleDouble {
    type Output = Self;

    fn add(self, rhs: Self) -> Self {
        let high = Self::two_sum(self.high, rhs.high);
        let low = Self::two_sum(self.low, rhs.low);
        let sum = Self::two_sum(high.high, high.low + low.high);
        Self::two_sum(sum.high, sum.low + low.low)
    }
}

impl Neg for DoubleDouble {
    type Output = Self;

    fn neg(self) -> Self {
        Self { high: -self.high, low: -self.low }
    }
}

impl Sub for DoubleDouble {
    type Output = Self;

    fn sub(self, rhs: Self) -> Self {
        self + -rhs
    }
}

impl Mul for DoubleDouble {
    type Output = Self;

    fn mul(self, rhs: Self) -> Self {
        let product = Self::two_product(self.high, rhs.high);
        let cross = self.high.mul_add(rhs.low, self.low * rhs.high);
        Self::two_sum(product.high, product.low + cross)
    }
}
