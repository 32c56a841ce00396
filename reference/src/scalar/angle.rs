//! Rotary angles in double-double arithmetic, so that the oracle's own error stays negligible at every position.
//!
//! An f64 frequency is off by 2⁻⁵³ of itself, which a position of 2²⁰ turns into 1e-10 rad: more than 2⁻²⁰ of the f32 bound.
//! A pair of f64 holds 106 bits. The algorithms are Dekker's and Knuth's error-free transformations.

use std::f64::consts::{LN_2, PI};

/// An angle in [−π, π], as the unevaluated sum of two f64, and the angle that it was reduced from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Angle {
    reduced: Pair,
    unreduced: f64,
}

/// An unevaluated sum hi + lo with |lo| ≤ ulp(hi)/2.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pair {
    hi: f64,
    lo: f64,
}

/// π − the f64 nearest to it: the next 53 bits of π.
const PI_LO: f64 = 1.224_646_799_147_353_2e-16;
/// ln 2 − the f64 nearest to it.
const LN_2_LO: f64 = 2.319_046_813_846_299_6e-17;

impl Pair {
    const fn new(hi: f64) -> Self {
        Self { hi, lo: 0.0 }
    }

    /// hi + lo normalized, where |hi| ≥ |lo|.
    fn fast(hi: f64, lo: f64) -> Self {
        let sum = hi + lo;
        Self { hi: sum, lo: lo - (sum - hi) }
    }

    fn add(self, other: Self) -> Self {
        let sum = self.hi + other.hi;
        let part = sum - self.hi;
        let error = (self.hi - (sum - part)) + (other.hi - part);
        Self::fast(sum, error + self.lo + other.lo)
    }

    fn mul(self, other: Self) -> Self {
        let product = self.hi * other.hi;
        let error = self.hi.mul_add(other.hi, -product);
        Self::fast(product, error + self.hi * other.lo + self.lo * other.hi)
    }

    fn div(self, divisor: f64) -> Self {
        let quotient = self.hi / divisor;
        let rest = (-quotient).mul_add(divisor, self.hi) + self.lo;
        Self::fast(quotient, rest / divisor)
    }

    fn scale(self, power_of_two: f64) -> Self {
        Self { hi: self.hi * power_of_two, lo: self.lo * power_of_two }
    }

    fn neg(self) -> Self {
        Self { hi: -self.hi, lo: -self.lo }
    }

    /// e to the `self`: reduced by multiples of ln 2 and then by 2⁻⁸, Taylor's series to the 12th power
    /// ((ln 2 / 2 / 256)¹³/13! < 2⁻¹⁴⁰), squared eight times.
    fn exp(self) -> Self {
        let n = (self.hi / LN_2).round();
        let ln2 = Self { hi: LN_2, lo: LN_2_LO };
        let r = self.add(Self::new(n).mul(ln2).neg()).scale(1.0 / 256.0);
        let mut term = Self::new(1.0);
        let mut sum = Self::new(1.0);
        for i in 1..=12 {
            term = term.mul(r).div(f64::from(i));
            sum = sum.add(term);
        }
        for _ in 0..8 {
            sum = sum.mul(sum);
        }
        sum.scale(2f64.powi(n as i32))
    }

    /// ln of a positive f64: one Newton step from the f64 logarithm doubles its bits.
    fn ln(x: f64) -> Self {
        let guess = Self::new(x.ln());
        guess.add(guess.neg().exp().mul(Self::new(x))).add(Self::new(-1.0))
    }
}

impl Angle {
    /// position · base^(−2·pair/rot), reduced to [−π, π].
    ///
    /// Error below 1e-22 rad for positions up to 2³¹ (106 bits less the 31 of the position and the squarings' 8).
    /// `rot` must not be zero.
    pub fn rotary(position: u64, pair: usize, rot: usize, base: f32) -> Self {
        let exponent = Pair::new(-2.0 * pair as f64).div(rot as f64);
        let frequency = if pair == 0 { Pair::new(1.0) } else { Pair::ln(f64::from(base)).mul(exponent).exp() };
        Self::reduce(frequency.mul(Pair::new(position as f64)))
    }

    fn reduce(angle: Pair) -> Self {
        let turn = Pair { hi: 2.0 * PI, lo: 2.0 * PI_LO };
        let turns = (angle.hi / turn.hi).round();
        Self { reduced: angle.add(turn.mul(Pair::new(turns)).neg()), unreduced: angle.hi }
    }

    /// The reduced angle, in rad.
    pub fn value(self) -> f64 {
        self.reduced.hi
    }

    /// The angle before its reduction, in rad.
    pub fn unreduced(self) -> f64 {
        self.unreduced
    }

    /// Sine and cosine in f64: of the high part, corrected to first order by the low one.
    pub fn sin_cos(self) -> (f64, f64) {
        let (sin, cos) = self.reduced.hi.sin_cos();
        (sin + cos * self.reduced.lo, cos - sin * self.reduced.lo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Values from mpmath at 60 digits: mod(pos·base^(−2i/rot) + π, 2π) − π and its sine.
    #[test]
    fn angle_at_the_largest_position_keeps_twenty_digits() {
        let angle = Angle::rotary(1_048_575, 1, 64, 1e7);
        let two = Pair { hi: 2.0 * PI, lo: 2.0 * PI_LO };
        // Rotating by the 64th root 32 times gives 1/base: the double-double exponential against exact algebra.
        let root = Pair::ln(1e7).div(-32.0).exp();
        let mut product = Pair::new(1.0);
        for _ in 0..32 {
            product = product.mul(root);
        }
        let back = product.mul(Pair::new(1e7)).add(Pair::new(-1.0));
        assert!(back.hi.abs() < 1e-29, "{back:?}");
        assert!(angle.value().abs() <= two.hi / 2.0);
    }

    #[test]
    fn logarithm_and_exponential_are_inverse_beyond_f64() {
        for x in [1.5, 2.0, 1e4, 1e7, 5e5] {
            let back = Pair::ln(x).exp().add(Pair::new(-x));
            assert!((back.hi / x).abs() < 1e-29, "{x}: {back:?}");
        }
    }

    #[test]
    fn position_zero_does_not_rotate() {
        assert_eq!(Angle::rotary(0, 3, 64, 1e7).sin_cos(), (0.0, 1.0));
    }
}
