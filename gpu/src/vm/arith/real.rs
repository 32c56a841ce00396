//! A finite value as an integer times a power of two, and exact operations on it.

use super::Rounding;

/// A finite value: `±(significand + s)·2^exponent`, where `0 < s < 1` if sticky and `s = 0` otherwise.
///
/// Whoever sets `sticky` leaves the significand at least two bits longer than the format it will be rounded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Real {
    /// The sign, of zeros too.
    pub(crate) negative: bool,
    /// The integer significand.
    pub(crate) significand: u128,
    /// The power of two that it counts.
    pub(crate) exponent: i32,
    /// Whether something below the significand was cut.
    pub(crate) sticky: bool,
}

/// Where [`Real::aligned`] puts the highest bit: one bit of room for a carry.
const TOP: u32 = 126;

impl Real {
    /// A zero.
    pub(crate) const fn zero(negative: bool) -> Self {
        Self { negative, significand: 0, exponent: 0, sticky: false }
    }

    /// An integer.
    pub(crate) const fn integer(value: i128) -> Self {
        Self { negative: value < 0, significand: value.unsigned_abs(), exponent: 0, sticky: false }
    }

    pub(super) const fn is_zero(self) -> bool {
        self.significand == 0 && !self.sticky
    }

    /// The same value with its highest bit at [`TOP`]; exact for significands of at most 127 bits.
    const fn aligned(self) -> Self {
        let shift = self.significand.leading_zeros().saturating_sub(127 - TOP);
        if self.significand == 0 {
            return self;
        }
        Self { significand: self.significand << shift, exponent: self.exponent - shift as i32, ..self }
    }

    /// The exact product of significands of at most 64 bits.
    #[must_use]
    pub(crate) const fn times(self, other: Self) -> Self {
        Self {
            negative: self.negative != other.negative,
            significand: self.significand.wrapping_mul(other.significand),
            exponent: self.exponent + other.exponent,
            sticky: false,
        }
    }

    /// The sum of two exact values of at most 106 bits each; `mode` gives the sign of an exact zero.
    ///
    /// With highest bits aligned to bit 126, operands end in at least 20 zeros. If the exponents differ by no more than
    /// that, nothing is cut. Otherwise the larger operand dominates: the sum keeps at least 125 bits, and what is cut of the
    /// smaller one is a fraction of the last place, counted as sticky (after borrowing one where it is subtracted).
    #[must_use]
    pub(crate) const fn plus(self, other: Self, mode: Rounding) -> Self {
        if self.is_zero() && other.is_zero() {
            let negative = if self.negative == other.negative { self.negative } else { matches!(mode, Rounding::Down) };
            return Self::zero(negative);
        }
        if self.is_zero() {
            return other;
        }
        if other.is_zero() {
            return self;
        }
        let (x, y) = (self.aligned(), other.aligned());
        let ordered = x.exponent > y.exponent || x.exponent == y.exponent && x.significand >= y.significand;
        let (big, small) = if ordered { (x, y) } else { (y, x) };
        let gap = big.exponent.abs_diff(small.exponent);
        let (kept, cut) =
            if gap > 127 { (0, true) } else { (small.significand >> gap, small.significand & ((1 << gap) - 1) != 0) };
        if big.negative == small.negative {
            return Self { significand: big.significand + kept, sticky: cut, ..big };
        }
        let significand = big.significand - kept - cut as u128;
        if significand == 0 && !cut {
            return Self::zero(matches!(mode, Rounding::Down));
        }
        Self { significand, sticky: cut, ..big }
    }

    /// The quotient of values of at most 53 bits; the divisor is not zero.
    ///
    /// A dividend of 127 bits over a divisor of at most 53 leaves at least 74.
    #[must_use]
    pub(crate) const fn over(self, divisor: Self) -> Self {
        let negative = self.negative != divisor.negative;
        if self.significand == 0 || divisor.significand == 0 {
            return Self::zero(negative);
        }
        let dividend = self.aligned();
        Self {
            negative,
            significand: dividend.significand / divisor.significand,
            exponent: dividend.exponent - divisor.exponent,
            sticky: !dividend.significand.is_multiple_of(divisor.significand),
        }
    }

    /// The square root of a value that is not negative, to at least 63 bits.
    #[must_use]
    pub(crate) const fn root(self) -> Self {
        if self.significand == 0 {
            return self;
        }
        let mut square = self.aligned();
        if square.exponent & 1 != 0 {
            square.significand >>= 1; // At most 53 bits are in use, so the lowest is zero.
            square.exponent += 1;
        }
        let significand = square.significand.isqrt();
        let sticky = significand * significand != square.significand;
        Self { negative: false, significand, exponent: square.exponent / 2, sticky }
    }
}

/// Whether a magnitude with `odd` last place and a rest of `half` (its order against one half) rounds up.
const fn rounds_up(mode: Rounding, negative: bool, odd: bool, half: i8, inexact: bool) -> bool {
    match mode {
        Rounding::Nearest => half > 0 || half == 0 && odd,
        Rounding::Away => half >= 0,
        Rounding::Zero => false,
        Rounding::Down => negative && inexact,
        Rounding::Up => !negative && inexact,
    }
}

impl Real {
    /// Divides the magnitude by `2^shift` and rounds it to an integer.
    pub(crate) const fn shifted(self, shift: u32, mode: Rounding) -> u128 {
        let (whole, rest, half) = match shift {
            0 => (self.significand, 0, 0),
            1..128 => (self.significand >> shift, self.significand & ((1 << shift) - 1), 1 << (shift - 1)),
            128 => (0, self.significand, 1 << 127),
            _ => (0, (self.significand != 0) as u128, u128::MAX), // Below one half, whatever it is.
        };
        let inexact = rest != 0 || self.sticky;
        // Without a shift only the sticky part is left, which then stands for less than one half.
        let order = if shift == 0 || rest < half { -1 } else { (rest > half || self.sticky) as i8 };
        whole + rounds_up(mode, self.negative, whole & 1 != 0, order, inexact) as u128
    }
}
