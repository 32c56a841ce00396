//! `cvt` (PTX ISA 9.7.9.21), for every pair of integer and floating-point types and every rounding.
//!
//! Floats are bits of a [`Format`] in a u64, integers the low bits of one, with [`Integer`] saying which.

use super::soft::{F32, F64, Format, Real, Value};
use super::{Mode, Rounding};

/// An integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Integer {
    /// Width in bits.
    pub(super) bits: u32,
    /// Whether it is signed.
    pub(super) signed: bool,
}

const fn within(bits: u32) -> u32 {
    match bits {
        0 => 1,
        1..=64 => bits,
        _ => 64,
    }
}

impl Integer {
    /// A signed type of 8, 16, 32 or 64 bits (whatever else is taken for the nearest from 1 to 64).
    pub(crate) const fn signed(bits: u32) -> Self {
        Self { bits: within(bits), signed: true }
    }

    /// An unsigned type, likewise.
    pub(crate) const fn unsigned(bits: u32) -> Self {
        Self { bits: within(bits), signed: false }
    }

    /// Ones in all its bits.
    pub(crate) const fn mask(self) -> u64 {
        if self.bits >= 64 { u64::MAX } else { (1 << self.bits) - 1 }
    }

    /// Least value.
    pub(crate) const fn min(self) -> i128 {
        if self.signed { -(1 << (self.bits - 1)) } else { 0 }
    }

    /// Greatest value.
    pub(crate) const fn max(self) -> i128 {
        if self.signed { (1 << (self.bits - 1)) - 1 } else { (1 << self.bits) - 1 }
    }

    /// The value of its bits in a word.
    pub(crate) const fn value(self, bits: u64) -> i128 {
        let bits = (bits & self.mask()) as i128;
        if bits > self.max() { bits - (1 << self.bits) } else { bits }
    }

    /// The bits of a value, wrapped or clamped to the type.
    const fn bits_of(self, value: i128, clamp: bool) -> u64 {
        let value = if !clamp {
            value
        } else if value < self.min() {
            self.min()
        } else if value > self.max() {
            self.max()
        } else {
            value
        };
        value as u64 & self.mask()
    }

    /// What a destination register wider than the type receives: its bits, extended by sign or zeros.
    pub(crate) const fn widened(self, bits: u64, register: u32) -> u64 {
        let wide = self.value(bits) as u64;
        if register >= 64 { wide } else { wide & ((1 << register) - 1) }
    }
}

/// `cvt{.sat}.itype.itype`.
#[inline]
pub(crate) const fn int_to_int(from: Integer, to: Integer, bits: u64, sat: bool) -> u64 {
    to.bits_of(from.value(bits), sat)
}

/// `cvt.{rni,rzi,rmi,rpi}{.ftz}.itype.ftype`, clamped to the type.
///
/// ISA, integer notes: NaN gives zero if the source is not f64 and the destination neither s64 nor u64; otherwise
/// `1 << (width − 1)`.
#[inline]
pub(crate) const fn float_to_int(from: Format, to: Integer, bits: u64, rounding: Rounding, ftz: bool) -> u64 {
    match from.decode(if ftz { from.flush(bits) } else { bits }) {
        Value::Nan if from.precision == F64.precision || to.bits >= 64 => 1 << (to.bits - 1),
        Value::Nan => 0,
        Value::Infinite(negative) => to.bits_of(if negative { i128::MIN } else { i128::MAX }, true),
        Value::Finite(real) => {
            let magnitude = if real.exponent <= 0 {
                real.shifted(real.exponent.unsigned_abs(), rounding)
            } else if real.exponent < 64 {
                real.significand << real.exponent
            } else if real.significand == 0 {
                0
            } else {
                1 << 120 // Beyond every type.
            };
            let value = magnitude as i128;
            to.bits_of(if real.negative { -value } else { value }, true)
        }
    }
}

/// `cvt.rnd{.sat}.ftype.itype`.
#[inline]
pub(crate) const fn int_to_float(from: Integer, to: Format, bits: u64, m: Mode) -> u64 {
    finish(to, to.round(Real::integer(from.value(bits)), m.rounding), m)
}

/// `cvt{.rnd}{.ftz}{.sat}{.relu}.ftype.ftype`; `.ftz` concerns f32 sources and results only.
///
/// A NaN becomes the destination's canonical one; between f64 and f32 → f64 its payload survives.
#[inline]
pub(crate) const fn float_to_float(from: Format, to: Format, bits: u64, m: Mode) -> u64 {
    let single = from.precision == F32.precision;
    let bits = if m.ftz && single { from.flush(bits) } else { bits };
    let result = match from.decode(bits) {
        Value::Nan if to.payloads && (single || from.payloads) => {
            let fraction = bits & ((1 << (from.precision - 1)) - 1);
            let payload = fraction << (to.precision - from.precision);
            to.signed(to.infinity() | payload | 1 << (to.precision - 2), bits & from.sign() != 0)
        }
        Value::Nan => to.nan,
        Value::Infinite(negative) => to.signed(to.infinity(), negative),
        Value::Finite(real) => to.flushing(m.ftz && to.precision == F32.precision).round(real, m.rounding),
    };
    finish(to, result, m)
}

/// `cvt.{rni,rzi,rmi,rpi}{.ftz}{.sat}.ftype.ftype` of one size: to an integer in the same format, sign of zero kept.
#[inline]
pub(crate) const fn float_to_integral(format: Format, bits: u64, m: Mode) -> u64 {
    let bits = if m.ftz && format.precision == F32.precision { format.flush(bits) } else { bits };
    let result = match format.decode(bits) {
        Value::Nan => format.nan_of(bits, 0, 0),
        Value::Finite(real) if real.exponent < 0 => {
            let significand = real.shifted(real.exponent.unsigned_abs(), m.rounding);
            let whole = Real { significand, exponent: 0, ..real };
            format.round(whole, m.rounding)
        }
        _ => bits,
    };
    finish(format, result, m)
}

/// `.satfinite`: what would be infinite is the greatest finite value of its sign; NaN stays.
#[inline]
pub(crate) const fn finite(format: Format, bits: u64) -> u64 {
    if bits & (format.sign() - 1) == format.infinity() { bits - 1 } else { bits }
}

/// `cvt.rnd{.relu}{.satfinite}.{f16x2,bf16x2}.f32 d, a, b`: `a` in the upper half.
#[inline]
pub(crate) const fn halves(to: Format, a: u32, b: u32, m: Mode, satfinite: bool) -> u32 {
    half(to, a, m, satfinite) << 16 | half(to, b, m, satfinite)
}

const fn half(to: Format, bits: u32, m: Mode, satfinite: bool) -> u32 {
    let result = float_to_float(F32, to, bits as u64, m);
    (if satfinite { finite(to, result) } else { result }) as u32
}

const fn finish(format: Format, bits: u64, m: Mode) -> u64 {
    let bits = if m.ftz && format.precision == F32.precision { format.flush(bits) } else { bits };
    super::half::finish(format, bits, Mode { ftz: false, ..m })
}
