//! f16 and bf16 arithmetic (PTX ISA 9.7.4), singly and in pairs.
//!
//! Every function takes the format (`F16` or `BF16`) and bits in the low half of a word; [`pair`] applies it to both
//! halves. Approximate functions are [`super::approx::ex2_half`] and [`super::approx::tanh_half`].

use super::Mode;
use super::soft::Format;

/// Applies a function to both halves of words.
#[inline]
pub(crate) fn pair(a: u32, b: u32, c: u32, f: impl Fn(u32, u32, u32) -> u32) -> u32 {
    let low = f(a & 0xFFFF, b & 0xFFFF, c & 0xFFFF) & 0xFFFF;
    f(a >> 16, b >> 16, c >> 16) << 16 | low
}

#[inline]
const fn take(format: Format, bits: u32, m: Mode) -> u64 {
    let bits = (bits & 0xFFFF) as u64;
    if m.ftz { format.flush(bits) } else { bits }
}

/// Flushes, saturates and clamps a result.
#[inline]
pub(crate) const fn finish(format: Format, bits: u64, m: Mode) -> u64 {
    let bits = if m.ftz { format.flush(bits) } else { bits };
    let negative = bits & format.sign() != 0;
    if m.sat {
        if format.is_nan(bits) || negative {
            return 0;
        }
        return if bits > format.one() { format.one() } else { bits };
    }
    if m.relu && negative && !format.is_nan(bits) { 0 } else { bits }
}

/// `add{.rnd}{.ftz}{.sat}`.
#[inline]
pub(crate) const fn add(format: Format, a: u32, b: u32, m: Mode) -> u32 {
    finish(format, format.flushing(m.ftz).add(take(format, a, m), take(format, b, m), m.rounding), m) as u32
}

/// `sub{.rnd}{.ftz}{.sat}`.
#[inline]
pub(crate) const fn sub(format: Format, a: u32, b: u32, m: Mode) -> u32 {
    finish(format, format.flushing(m.ftz).sub(take(format, a, m), take(format, b, m), m.rounding), m) as u32
}

/// `mul{.rnd}{.ftz}{.sat}`.
#[inline]
pub(crate) const fn mul(format: Format, a: u32, b: u32, m: Mode) -> u32 {
    finish(format, format.flushing(m.ftz).mul(take(format, a, m), take(format, b, m), m.rounding), m) as u32
}

/// `fma.rnd{.ftz}{.sat}{.relu}`.
#[inline]
pub(crate) const fn fma(format: Format, a: u32, b: u32, c: u32, m: Mode) -> u32 {
    let bits = format.flushing(m.ftz).fma(take(format, a, m), take(format, b, m), take(format, c, m), m.rounding);
    finish(format, bits, m) as u32
}
