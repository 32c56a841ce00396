//! f64 arithmetic (PTX ISA 9.7.3): no flushing, no saturation, NaN payloads kept.
//!
//! Round to nearest is the processor's; directed modes go through [`super::soft`], which needs no care near subnormals or
//! overflow. NaN: the first NaN operand, made quiet; an invalid operation gives `0xFFF8000000000000`. The ISA says that
//! payloads are supported, not whose wins.

use super::Rounding;
use super::soft::F64;

/// Replaces the NaN that the processor chose.
#[inline]
fn settle(result: f64, a: u64, b: u64, c: u64) -> u64 {
    if result.is_nan() { F64.nan_of(a, b, c) } else { result.to_bits() }
}

/// `add.rnd.f64`.
#[inline]
pub(crate) fn add(a: u64, b: u64, rounding: Rounding) -> u64 {
    match rounding {
        Rounding::Nearest => settle(f64::from_bits(a) + f64::from_bits(b), a, b, 0),
        _ => F64.add(a, b, rounding),
    }
}

/// `sub.rnd.f64`.
#[inline]
pub(crate) fn sub(a: u64, b: u64, rounding: Rounding) -> u64 {
    match rounding {
        Rounding::Nearest => settle(f64::from_bits(a) - f64::from_bits(b), a, b, 0),
        _ => F64.sub(a, b, rounding),
    }
}

/// `mul.rnd.f64`.
#[inline]
pub(crate) fn mul(a: u64, b: u64, rounding: Rounding) -> u64 {
    match rounding {
        Rounding::Nearest => settle(f64::from_bits(a) * f64::from_bits(b), a, b, 0),
        _ => F64.mul(a, b, rounding),
    }
}

/// `fma.rnd.f64`.
#[inline]
pub(crate) fn fma(a: u64, b: u64, c: u64, rounding: Rounding) -> u64 {
    match rounding {
        Rounding::Nearest => settle(f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c)), a, b, c),
        _ => F64.fma(a, b, c, rounding),
    }
}

/// `div.rnd.f64`.
#[inline]
pub(crate) fn div(a: u64, b: u64, rounding: Rounding) -> u64 {
    match rounding {
        Rounding::Nearest => settle(f64::from_bits(a) / f64::from_bits(b), a, b, 0),
        _ => F64.div(a, b, rounding),
    }
}

/// `rcp.rnd.f64`.
#[inline]
pub(crate) fn rcp(a: u64, rounding: Rounding) -> u64 {
    div(F64.one(), a, rounding)
}

/// `sqrt.rnd.f64`.
#[inline]
pub(crate) fn sqrt(a: u64, rounding: Rounding) -> u64 {
    match rounding {
        Rounding::Nearest => settle(f64::from_bits(a).sqrt(), a, 0, 0),
        _ => F64.sqrt(a, rounding),
    }
}
