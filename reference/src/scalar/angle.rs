//! The angle of a rotary embedding, exact enough that its error never shows beside an f32 bound.

use super::{DoubleDouble, U};

/// Relative error that a kernel's unreduced angle may have when it forms the frequency in f64.
///
/// The quotient 2·pair/rot is rounded to half an ulp and multiplied by ln(base) ≤ 16.2 (bases up to 1e7) in the exponent, 2⁻⁴⁹;
/// CUDA's `pow(double)` is documented at 2 ulp, 2⁻⁵¹; the product with the position and the reduction by an f64 2π add 2⁻⁵³ each.
/// Together below 2⁻⁴⁸. At position 1048575 that is 4e-9 rad, against the 2e-7 of rounding the reduced angle to f32.
const FREQUENCY_ERROR: f64 = 1.0 / 281_474_976_710_656.0;

/// A rotary angle reduced to [−π, π], with the error that a kernel's own angle may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Angle {
    of: Rotary,
    reduced: DoubleDouble,
    unreduced: f64,
}

/// What a rotary angle is the angle of: position·base^(−2·pair/rot).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rotary {
    /// Position of the token.
    pub position: u64,
    /// The rotated pair, below rot/2.
    pub pair: usize,
    /// Rotated dimensions.
    pub rot: usize,
    /// Base of the frequencies.
    pub base: f32,
}

impl Angle {
    /// The angle position·base^(−2·pair/rot) of rotated pair `pair` of `rot`/2, in radians, reduced to [−π, π].
    ///
    /// The formula is that of `RoPE` (Su et al., "`RoFormer`", 2021), with frequencies over the rotated dimensions only. Frequency and
    /// angle are double-double throughout; up to position 2²¹ the error is below 1e-20 rad (relative 2⁻⁹³ of the frequency, and
    /// 2⁻¹⁰⁶·2π for each of at most 2¹⁹ turns).
    pub fn rotary(position: u64, pair: usize, rot: usize, base: f32) -> Self {
        let exponent = DoubleDouble::new(-2.0 * pair as f64).div_f64(rot as f64);
        let frequency = (DoubleDouble::ln(f64::from(base)) * exponent).exp();
        let angle = DoubleDouble::new(position as f64) * frequency;
        let turns = (angle.high / DoubleDouble::TAU.high).round();
        let reduced = angle - DoubleDouble::TAU * DoubleDouble::new(turns);
        Self { of: Rotary { position, pair, rot, base }, reduced, unreduced: angle.high }
    }

    /// What it is the angle of, for a scalar of more digits than this angle has.
    pub const fn of(self) -> Rotary {
        self.of
    }

    /// The reduced angle in radians.
    pub fn radians(self) -> DoubleDouble {
        self.reduced
    }

    /// Sine and cosine in f64: sin(h + l) = sin h + l·cos h, because l is below 2⁻⁵² and its square far below an ulp.
    pub fn sin_cos(self) -> (f64, f64) {
        let (sin, cos) = self.reduced.high.sin_cos();
        (sin + self.reduced.low * cos, cos - self.reduced.low * sin)
    }

    /// How far, in radians, the f32 angle of a correct kernel may be from this one.
    ///
    /// The reduced angle is rounded to f32 once, |a|·u. Before that, position·frequency carries the relative error that f64
    /// arithmetic leaves (2⁻⁴⁸, see the constant): negligible at small positions, 4e-9 at a million.
    pub fn kernel_error(self) -> f64 {
        let before = self.unreduced.abs() * FREQUENCY_ERROR;
        before + U * (self.reduced.high.abs() + before)
    }
}
