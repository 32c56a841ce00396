//! The approximate instructions, correctly rounded or as far off as the ISA allows.
//!
//! A function is evaluated in f64, whose own error (below 2⁻⁵⁰ relative, see [`SLACK`]) is taken off the permitted one.
//! [`Approx::CorrectlyRounded`] rounds that value; [`Approx::Adversarial`] places a value by its draw between the least and
//! the greatest permitted, so that draws 0 and `u64::MAX` give the ends, and takes a neighbouring value of the format that is
//! within. Special operands have the results of the ISA's tables in both, as have results that overflow.
//!
//! Errors as in PTX ISA 9.1, sections 9.7.3 and 9.7.4:
//!
//! | instruction | greatest error |
//! | --- | --- |
//! | `ex2.approx.f32` | 2 ulp from the correctly rounded result (9.7.3.21) |
//! | `lg2.approx.f32` | absolute 2⁻²² inside (0.5, 2), relative 2⁻²² elsewhere (9.7.3.20) |
//! | `sin`, `cos.approx.f32` | absolute 2⁻²⁰·⁵ in ±2π, 2⁻¹⁴·⁷ in ±100π, beyond no guarantee (9.7.3.18, 9.7.3.19) |
//! | `rcp.approx.f32` | 1 ulp (9.7.3.13) |
//! | `sqrt.approx.f32` | relative 2⁻²³ (9.7.3.15) |
//! | `rsqrt.approx.f32` | relative 2⁻²²·⁹ (9.7.3.16) |
//! | `div.approx.f32` | 2 ulp for a divisor of 2⁻¹²⁶ to 2¹²⁶ (9.7.3.8) |
//! | `div.full.f32` | 2 ulp (9.7.3.8) |
//! | `tanh.approx.f32` | relative 2⁻¹¹ (9.7.3.22) |
//! | `rcp`, `rsqrt.approx.ftz.f64` | not given; one place of the upper word from the correctly rounded one is taken (9.7.3.14, 9.7.3.17) |
//! | `rsqrt.approx.f64` | not given; 1 ulp is taken, as CUDA documents `rsqrt()` (9.7.3.16) |
//! | `ex2.approx.{f16,ftz.bf16}` | relative 2⁻⁹·⁹, 2⁻⁷ (9.7.4.10); an f16 below 2⁻¹⁴ also a place from the rounded one |
//! | `tanh.approx.{f16,bf16}` | absolute 2⁻¹⁰·⁹⁸⁷, 2⁻⁸ (9.7.4.9), from the exact value or the rounded one |
//!
//! The last two say more than the ISA, whose numbers an H200 exceeds: in 399 of 65,536 operands of `ex2.approx.f16`, of which
//! 0xCB16 is the first, all with subnormal results; and for ±0x3F3F of `tanh.approx.bf16`, by less than 2⁻²¹.

use super::Rounding;
use super::soft::{BF16, F16, F32, F64, F64_HIGH, Format, Real};
use std::f64::consts::PI;

/// How an approximate instruction chooses its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Approx {
    /// The correctly rounded value.
    #[default]
    CorrectlyRounded,
    /// A permitted value, by its place among them.
    Adversarial {
        /// 0 for the least permitted value, `u64::MAX` for the greatest.
        draw: u64,
    },
}

/// A draw for an instruction's operands under a seed: the same ones always give the same result.
#[inline]
pub(crate) const fn draw(seed: u64, a: u64, b: u64) -> u64 {
    let mut z = seed ^ a.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ b.rotate_left(32).wrapping_mul(0xD1B5_4A32_D192_ED03);
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

/// A permitted error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    /// A fraction of the exact value.
    Relative(f64),
    /// A distance.
    Absolute(f64),
    /// Units in the last place of the exact value.
    Ulps(f64),
    /// Units in the last place, counted from the correctly rounded value.
    UlpsOfRounded(f64),
    /// A distance from the exact value or from the correctly rounded one.
    AbsoluteOfEither(f64),
    /// A fraction of the exact value; a unit in the last place from the correctly rounded one where that is subnormal.
    RelativeOrSubnormalUlp(f64),
}

/// What the evaluation in f64 may be off, relatively.
pub(crate) const SLACK: f64 = 8.881_784_197_001_252e-16; // 2^-50

/// The spacing of a format's values at `x`.
fn ulp(format: Format, x: f64) -> f64 {
    let exponent = ((x.to_bits() >> 52 & 0x7FF) as i32 - 1023).max(2 - (1 << (format.exponent_bits - 1)));
    power(exponent + 1 - format.precision as i32)
}

/// `2ⁿ`.
const fn power(n: i32) -> f64 {
    let one = Real { negative: false, significand: 1, exponent: n, sticky: false };
    f64::from_bits(F64.round(one, Rounding::Nearest))
}

/// The least and the greatest permitted value; an error in ulp does not reach across zero.
pub(crate) fn interval(format: Format, exact: f64, bound: Bound) -> (f64, f64) {
    let rounded = || format.to_f64(format.of_f64(exact, Rounding::Nearest));
    let (center, room, across) = match bound {
        Bound::AbsoluteOfEither(e) => {
            let ((low, high), rounded) = (interval(format, exact, Bound::Absolute(e)), rounded());
            return (low.min(rounded - e), high.max(rounded + e));
        }
        Bound::RelativeOrSubnormalUlp(e) => {
            let (low, high) = interval(format, exact, Bound::Relative(e));
            if !format.is_tiny(format.of_f64(exact, Rounding::Nearest)) {
                return (low, high);
            }
            let (lower, higher) = interval(format, exact, Bound::UlpsOfRounded(1.0));
            return (low.min(lower), high.max(higher));
        }
        Bound::Relative(e) => (exact, exact.abs() * e, true),
        Bound::Absolute(e) => (exact, e, true),
        Bound::Ulps(n) => (exact, n * ulp(format, exact), false),
        Bound::UlpsOfRounded(n) => {
            let rounded = rounded();
            (rounded, n * ulp(format, rounded), false)
        }
    };
    // A distance from the rounded value is counted exactly.
    let slack = if matches!(bound, Bound::UlpsOfRounded(_)) { 0.0 } else { exact.abs() * SLACK };
    let room = (room - slack).max(0.0);
    let (low, high) = (center - room, center + room);
    if across {
        (low, high)
    } else if exact.is_sign_negative() {
        (low, high.min(0.0))
    } else {
        (low.max(0.0), high)
    }
}

/// Chooses a result of a function whose exact value is `exact`.
fn choose(format: Format, exact: f64, bound: Bound, how: Approx) -> u64 {
    let rounded = format.of_f64(exact, Rounding::Nearest);
    let Approx::Adversarial { draw } = how else { return rounded };
    if !exact.is_finite() || rounded & (format.sign() - 1) >= format.infinity() {
        return rounded;
    }
    let (low, high) = interval(format, exact, bound);
    let wanted = low + (high - low) * (draw as f64 / u64::MAX as f64);
    for mode in [Rounding::Nearest, Rounding::Down, Rounding::Up] {
        let bits = format.of_f64(wanted, mode);
        let value = format.to_f64(bits);
        if value.is_finite() && low <= value && value <= high {
            // A zero has the exact value's sign.
            return if value == 0.0 { format.signed(0, exact.is_sign_negative()) } else { bits };
        }
    }
    rounded
}

#[inline]
const fn flushed(a: u32, ftz: bool) -> u32 {
    if ftz { super::float::flush(a) } else { a }
}

/// Evaluates an f32 function with `.ftz`.
#[inline]
fn single(a: u32, ftz: bool, how: Approx, f: impl Fn(f64) -> (f64, Bound)) -> u32 {
    let x = f64::from(f32::from_bits(flushed(a, ftz)));
    let (exact, bound) = f(x);
    flushed(choose(F32, exact, bound, how) as u32, ftz)
}

/// `ex2.approx{.ftz}.f32`: −∞ → +0, ±0 → 1, +∞ → +∞.
#[inline]
pub(crate) fn ex2(a: u32, ftz: bool, how: Approx) -> u32 {
    single(a, ftz, how, |x| {
        let special = x == 0.0 || x.is_infinite();
        (x.exp2(), if special { Bound::Relative(0.0) } else { Bound::UlpsOfRounded(2.0) })
    })
}

/// `lg2.approx{.ftz}.f32`: negative → NaN, ±0 → −∞, +∞ → +∞.
#[inline]
pub(crate) fn lg2(a: u32, ftz: bool, how: Approx) -> u32 {
    single(a, ftz, how, |x| {
        let bound = if 0.5 < x && x < 2.0 { Bound::Absolute(power(-22)) } else { Bound::Relative(power(-22)) };
        (x.log2(), bound)
    })
}

/// The error of `sin` and `cos`: beyond ±100π any value from −1 to 1 is permitted.
#[inline]
fn circular(a: u32, ftz: bool, how: Approx, f: impl Fn(f64) -> f64) -> u32 {
    let far = f64::from(f32::from_bits(a)).abs();
    if far > 100.0 * PI && far.is_finite() {
        // The interval [−1, 1], whatever the angle.
        return match how {
            Approx::CorrectlyRounded => single(a, ftz, how, |x| (f(x), Bound::Relative(0.0))),
            Approx::Adversarial { .. } => single(a, ftz, how, |_| (0.0, Bound::Absolute(1.0))),
        };
    }
    single(a, ftz, how, |x| {
        let error = if far <= 2.0 * PI { 2f64.powf(-20.5) } else { 2f64.powf(-14.7) };
        (f(x), if x == 0.0 { Bound::Relative(0.0) } else { Bound::Absolute(error) })
    })
}

/// `sin.approx{.ftz}.f32`: ±0 → ±0, ±∞ → NaN.
#[inline]
pub(crate) fn sin(a: u32, ftz: bool, how: Approx) -> u32 {
    circular(a, ftz, how, f64::sin)
}

/// `cos.approx{.ftz}.f32`: ±0 → 1, ±∞ → NaN.
#[inline]
pub(crate) fn cos(a: u32, ftz: bool, how: Approx) -> u32 {
    circular(a, ftz, how, f64::cos)
}

/// `rcp.approx{.ftz}.f32`: ±0 → ±∞, ±∞ → ±0.
#[inline]
pub(crate) fn rcp(a: u32, ftz: bool, how: Approx) -> u32 {
    single(a, ftz, how, |x| (1.0 / x, if x.is_infinite() { Bound::Relative(0.0) } else { Bound::Ulps(1.0) }))
}

/// `sqrt.approx{.ftz}.f32`: negative → NaN, ±0 → ±0, +∞ → +∞.
#[inline]
pub(crate) fn sqrt(a: u32, ftz: bool, how: Approx) -> u32 {
    single(a, ftz, how, |x| (x.sqrt(), Bound::Relative(power(-23))))
}

/// `rsqrt.approx{.ftz}.f32`: negative → NaN, ±0 → ±∞, +∞ → +0.
#[inline]
pub(crate) fn rsqrt(a: u32, ftz: bool, how: Approx) -> u32 {
    single(a, ftz, how, |x| (1.0 / x.sqrt(), Bound::Relative(2f64.powf(-22.9))))
}

/// `tanh.approx.f32`: ±∞ → ±1, ±0 → ±0; subnormal operands pass through.
#[inline]
pub(crate) fn tanh(a: u32, how: Approx) -> u32 {
    if a & 0x7F80_0000 == 0 || a & 0x7FFF_FFFF == 0x7F80_0000 {
        return single(a, false, Approx::CorrectlyRounded, |x| (x.tanh(), Bound::Relative(0.0)));
    }
    single(a, false, how, |x| (x.tanh(), Bound::Relative(power(-11))))
}

/// `div.approx{.ftz}.f32`, computed as `a · (1 / b)`: for a divisor beyond 2¹²⁶ a zero, or NaN if `a` is infinite.
///
/// For a subnormal divisor the ISA says nothing; the error of others is taken.
#[inline]
pub(crate) fn div(a: u32, b: u32, ftz: bool, how: Approx) -> u32 {
    let (a, b) = (flushed(a, ftz), flushed(b, ftz));
    let magnitude = b & 0x7FFF_FFFF;
    // 2^126 is 0x7E800000.
    if magnitude > 0x7E80_0000 && magnitude < 0x7F80_0000 && a & 0x7FFF_FFFF <= 0x7F80_0000 {
        return if a & 0x7FFF_FFFF == 0x7F80_0000 { super::float::NAN } else { (a ^ b) & 0x8000_0000 };
    }
    div_full(a, b, ftz, how)
}

/// `div.full{.ftz}.f32`: specials as in IEEE 754.
#[inline]
pub(crate) fn div_full(a: u32, b: u32, ftz: bool, how: Approx) -> u32 {
    let divisor = f64::from(f32::from_bits(flushed(b, ftz)));
    single(a, ftz, how, |x| {
        let special = x == 0.0 || divisor.is_infinite();
        (x / divisor, if special { Bound::Relative(0.0) } else { Bound::Ulps(2.0) })
    })
}

/// A function of the upper word of an f64, its result there too; NaN → `0x7FFFFFFF00000000`.
#[inline]
fn upper(a: u64, how: Approx, f: impl Fn(f64) -> f64) -> u64 {
    let word = F64_HIGH.flush(a >> 32);
    let exact = f(f64::from_bits(word << 32));
    // Infinities and zeros are the table's; subnormal results would be flushed whatever their error.
    let tiny = exact.abs() < f64::MIN_POSITIVE * (1.0 + 2.0 * power(-20));
    let how = if tiny { Approx::CorrectlyRounded } else { how };
    F64_HIGH.flush(choose(F64_HIGH, exact, Bound::UlpsOfRounded(1.0), how)) << 32
}

/// `rcp.approx.ftz.f64`: subnormals and ±0 → ±∞, ±∞ → ±0.
#[inline]
pub(crate) fn rcp_f64(a: u64, how: Approx) -> u64 {
    upper(a, how, |x| 1.0 / x)
}

/// `rsqrt.approx.ftz.f64`: negative → NaN, subnormals and ±0 → ±∞, +∞ → +0.
#[inline]
pub(crate) fn rsqrt_f64(a: u64, how: Approx) -> u64 {
    upper(a, how, |x| 1.0 / x.sqrt())
}

/// `rsqrt.approx.f64`: negative → NaN, ±0 → ±∞, +∞ → +0; subnormals and all places of the result.
///
/// The ISA calls it emulated and gives no error. One place is taken, which CUDA documents for the `rsqrt()` that is made of it.
#[inline]
pub(crate) fn rsqrt_f64_whole(a: u64, how: Approx) -> u64 {
    let x = f64::from_bits(a);
    if x.is_nan() || x < 0.0 {
        return F64.nan_of(a, 0, 0);
    }
    if x == 0.0 || x.is_infinite() {
        return (1.0 / x.sqrt()).to_bits();
    }
    // Scaled to where squares are normal, by a power of four.
    let shift = if x < power(-500) {
        300
    } else if x > power(500) {
        -300
    } else {
        0
    };
    let x = x * power(shift) * power(shift);
    let y = 1.0 / x.sqrt();
    // What y² lacks, to twice the precision, gives the correction of y.
    let square = y * y;
    let rest = (-square).mul_add(x, 1.0) - y.mul_add(y, -square) * x;
    let rounded = ((0.5 * y).mul_add(rest, y) * power(shift)).to_bits();
    match how {
        Approx::CorrectlyRounded => rounded,
        Approx::Adversarial { draw } => rounded + ((u128::from(draw) * 3) >> 64) as u64 - 1,
    }
}

/// `ex2.approx.{f16,ftz.bf16}`: −∞ → +0, ±0 → 1, +∞ → +∞.
#[inline]
pub(crate) fn ex2_half(format: Format, a: u32, how: Approx) -> u32 {
    let bfloat = format == BF16;
    let take = |bits: u64| if bfloat { format.flush(bits) } else { bits };
    let x = format.to_f64(take(u64::from(a & 0xFFFF)));
    let bound = if x == 0.0 || x.is_infinite() {
        Bound::Relative(0.0)
    } else if bfloat {
        Bound::Relative(power(-7))
    } else {
        Bound::RelativeOrSubnormalUlp(2f64.powf(-9.9))
    };
    take(choose(format, x.exp2(), bound, how)) as u32
}

/// `tanh.approx.{f16,bf16}`: ±∞ → ±1, ±0 → ±0; subnormals are supported.
#[inline]
pub(crate) fn tanh_half(format: Format, a: u32, how: Approx) -> u32 {
    let x = format.to_f64(u64::from(a & 0xFFFF));
    let error = if format == F16 { 2f64.powf(-10.987) } else { power(-8) };
    let bound = if x == 0.0 || x.is_infinite() { Bound::Relative(0.0) } else { Bound::AbsoluteOfEither(error) };
    choose(format, x.tanh(), bound, how) as u32
}
