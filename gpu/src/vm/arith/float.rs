//! f32 arithmetic (PTX ISA 9.7.3) on bits.
//!
//! `add`, `sub`, `mul` and `fma` go through f64 in every rounding mode and never through the soft path:
//!
//! **Product.** Two 24-bit significands make one of at most 48 bits, with an exponent between 2⁻²⁹⁸ and 2²⁵⁶: an f64 holds
//! the product of any two f32 exactly, those of subnormals included, far from its own limits.
//!
//! **Sum, rounded to odd.** `TwoSum(p, c)` gives `s = RN(p + c)` and the exact rest `e`; f64 sums cannot overflow here, and
//! sums that would be subnormal in f64 cannot occur because operands are multiples of 2⁻²⁹⁸. Rounding to odd means: exact
//! values stay, others become the neighbour, of the two enclosing f64, whose last bit is one. If `e ≠ 0` and `s` is odd,
//! it is that neighbour. If `e ≠ 0` and `s` is even, it is the next f64 from `s` towards the sign of `e`: its integer
//! representation differs by one, so its last bit is one. (At a power of two with `e` pointing to zero the neighbour is
//! the predecessor in the finer binade, all ones; `|e|` is at most half of *that* spacing, since `s` is nearest.)
//!
//! **One rounding.** Let `o` be the value rounded to odd. A rounding boundary of f32 (a value, or the midpoint of two
//! neighbours) has at most 25 significant bits, and no bits below 2⁻¹⁵⁰ — in the subnormal range fewer bits, never more — so
//! it is an *even* f64 strictly inside f64's 53 bits. An inexact `o` is odd, hence never on a boundary, and lies on the same
//! side of every boundary as the exact value because no f64 separates the two. Rounding `o` to f32 in any mode therefore
//! gives the exact value's rounding (Boldo and Melquiond, *Emulation of FMA and correctly rounded sums*, 2008).
//! Only the sign of an exact zero sum depends on the mode, which the helper leaves to its callers.

use super::soft::F32;
use super::{Mode, Rounding};

/// The NaN that single-precision instructions return.
pub(crate) const NAN: u32 = 0x7FFF_FFFF;

/// The least normal value.
pub(crate) const LEAST: u32 = 0x0080_0000;
const LEAST_VALUE: f64 = f32::MIN_POSITIVE as f64;

/// A subnormal becomes a zero of its sign.
#[inline]
pub(crate) const fn flush(bits: u32) -> u32 {
    if bits & 0x7F80_0000 == 0 { bits & 0x8000_0000 } else { bits }
}

/// `p + c` rounded to odd; see the module's comment. Zeros, infinities and NaN are as in round to nearest.
#[inline]
fn odd_sum(p: f64, c: f64) -> f64 {
    let s = p + c;
    let t = s - p;
    let e = (p - (s - t)) + (c - t);
    let bits = s.to_bits();
    // One up in magnitude if the rest has the sum's sign, else one down. A NaN rest (from infinities) compares false.
    let step = 1 | ((bits ^ e.to_bits()) as i64 >> 63);
    let wanted = i64::from((e < 0.0) | (e > 0.0)) & !(bits as i64) & 1;
    f64::from_bits(bits.wrapping_add_signed(step * wanted))
}

/// Rounds an f64 that is exact or odd.
#[inline]
fn narrow(value: f64, rounding: Rounding) -> f32 {
    let near = value as f32;
    let back = f64::from(near);
    let (down, up) = match rounding {
        Rounding::Nearest | Rounding::Away => (false, false), // `.rna` exists for tf32 only.
        Rounding::Down => (back > value, false),
        Rounding::Up => (false, back < value),
        Rounding::Zero => (value > 0.0 && back > value, value < 0.0 && back < value),
    };
    if down {
        near.next_down()
    } else if up {
        near.next_up()
    } else {
        near
    }
}

/// Rounds an f64 that is exact or odd, and flushes what is tiny; see [`super::soft::Format::flushing`].
#[inline]
fn settle(value: f64, m: Mode) -> u32 {
    let bits = narrow(value, m.rounding).to_bits();
    if m.ftz && bits & 0x7FFF_FFFF == LEAST && value.abs() < LEAST_VALUE {
        // Rounded where there are places below it; the scaling is exact.
        let scaled = narrow(value * 18_446_744_073_709_551_616.0, m.rounding);
        if f64::from(scaled.abs()) < LEAST_VALUE * 18_446_744_073_709_551_616.0 {
            return bits & 0x8000_0000;
        }
    }
    bits
}

/// Operands and result under the modifiers.
#[inline]
const fn take(bits: u32, m: Mode) -> u32 {
    if m.ftz { flush(bits) } else { bits }
}

/// Flushes, saturates and clamps a result.
#[inline]
pub(crate) const fn finish(bits: u32, m: Mode) -> u32 {
    let bits = if bits & 0x7FFF_FFFF > 0x7F80_0000 { NAN } else { take(bits, m) };
    if m.sat {
        return saturate(bits);
    }
    if m.relu && bits >= 0x8000_0000 { 0 } else { bits }
}

/// Clamps to [+0, 1]; NaN and −0 become +0.
#[inline]
pub(crate) const fn saturate(bits: u32) -> u32 {
    if bits > 0x7F80_0000 {
        0
    } else if bits > 0x3F80_0000 {
        0x3F80_0000
    } else {
        bits
    }
}

#[inline]
fn value(bits: u32, m: Mode) -> f64 {
    f64::from(f32::from_bits(take(bits, m)))
}

#[inline]
fn sum(p: f64, c: f64, m: Mode) -> u32 {
    let mut s = odd_sum(p, c);
    // A sum of values that cancel exactly is −0 downwards; of two zeros only if their signs differ.
    if s == 0.0 && m.rounding == Rounding::Down && (p.is_sign_negative() || c.is_sign_negative()) {
        s = -0.0;
    }
    finish(settle(s, m), m)
}

/// `add{.rnd}{.ftz}{.sat}.f32`.
#[inline]
pub(crate) fn add(a: u32, b: u32, m: Mode) -> u32 {
    sum(value(a, m), value(b, m), m)
}

/// `sub{.rnd}{.ftz}{.sat}.f32`.
#[inline]
pub(crate) fn sub(a: u32, b: u32, m: Mode) -> u32 {
    sum(value(a, m), -value(b, m), m)
}

/// `mul{.rnd}{.ftz}{.sat}.f32`.
#[inline]
pub(crate) fn mul(a: u32, b: u32, m: Mode) -> u32 {
    finish(settle(value(a, m) * value(b, m), m), m)
}

/// `fma.rnd{.ftz}{.sat}.f32`.
#[inline]
pub(crate) fn fma(a: u32, b: u32, c: u32, m: Mode) -> u32 {
    sum(value(a, m) * value(b, m), value(c, m), m)
}

/// `div.rnd{.ftz}.f32`.
#[inline]
pub(crate) fn div(a: u32, b: u32, m: Mode) -> u32 {
    let (a, b) = (take(a, m), take(b, m));
    let bits = if m.rounding == Rounding::Nearest && !m.ftz {
        (f32::from_bits(a) / f32::from_bits(b)).to_bits()
    } else {
        F32.flushing(m.ftz).div(a.into(), b.into(), m.rounding) as u32
    };
    finish(bits, m)
}

/// `rcp.rnd{.ftz}.f32`.
#[inline]
pub(crate) fn rcp(a: u32, m: Mode) -> u32 {
    div(0x3F80_0000, a, m)
}

/// `sqrt.rnd{.ftz}.f32`.
#[inline]
pub(crate) fn sqrt(a: u32, m: Mode) -> u32 {
    let a = take(a, m);
    let bits = if m.rounding == Rounding::Nearest {
        f32::from_bits(a).sqrt().to_bits()
    } else {
        F32.sqrt(a.into(), m.rounding) as u32
    };
    finish(bits, m)
}
