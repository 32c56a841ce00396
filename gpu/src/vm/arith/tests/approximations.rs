//! Approximate instructions against multi-precision functions: correctly rounded where that is asked for, and within the
//! documented error for every draw.

use super::oracle::{Draws, place, scale};
use crate::vm::arith::approx::{self, Approx, Bound};
use crate::vm::arith::soft::{BF16, F16, F32, F64_HIGH, Format};
use crate::vm::arith::{Rounding, float};
use astro_float_num::{BigFloat, Consts, RoundingMode, Sign};
use dashu_int::UBig;
use dashu_int::ops::BitTest;

const BITS: usize = 192;
const NEAR: RoundingMode = RoundingMode::ToEven;
const EXACT: Approx = Approx::CorrectlyRounded;
const NAN: u32 = float::NAN;
const INF: u32 = 0x7F80_0000;
const NEG: u32 = 0x8000_0000;

fn big(x: f64) -> BigFloat {
    BigFloat::from_f64(x, BITS)
}

/// Sign, integer and exponent of a number that is not zero.
fn parts(x: &BigFloat) -> (bool, UBig, i64) {
    let (words, _, sign, exponent, _) = x.as_raw_parts().expect("a number");
    let integer = words.iter().rev().fold(UBig::ZERO, |sum, &word| (sum << 64) + UBig::from(word));
    (sign == Sign::Neg, integer, i64::from(exponent) - 64 * words.len() as i64)
}

/// The multi-precision value correctly rounded.
fn rounded(format: Format, x: &BigFloat) -> u64 {
    if x.is_zero() {
        return 0;
    }
    let (negative, integer, exponent) = parts(x);
    let shift = exponent + scale(format) as i64 + 1;
    let found = if shift >= 0 {
        let exact = integer << shift as usize;
        place(format, |half_units| half_units.cmp(&exact))
    } else {
        place(format, |half_units| (half_units << (-shift) as usize).cmp(&integer))
    };
    found.round(format, negative, Rounding::Nearest)
}

/// A multi-precision number as an f64, truncated.
fn about(x: &BigFloat) -> f64 {
    if x.is_zero() {
        return 0.0;
    }
    let (negative, integer, exponent) = parts(x);
    let length = integer.bit_len();
    let top = u64::try_from(integer >> length.saturating_sub(53)).expect("53 bits") as f64;
    let power = exponent + length.saturating_sub(53) as i64;
    let half = (power / 2).clamp(-1000, 1000) as i32;
    let value = top * 2f64.powi(half) * 2f64.powi((power - i64::from(half)).clamp(-1000, 1000) as i32);
    if negative { -value } else { value }
}

fn spacing(format: Format, x: f64) -> f64 {
    let least = 2 - (1 << (format.exponent_bits - 1));
    let exponent = if x == 0.0 { least } else { (x.abs().log2().floor() as i32).max(least) };
    2f64.powi(exponent - format.precision as i32 + 1)
}

/// Whether a result is within the documented error of the exact value.
fn within(format: Format, bits: u64, exact: &BigFloat, bound: Bound) -> bool {
    if bits == rounded(format, exact) {
        return true; // Overflow too; and where the format is too coarse for its error, nothing else.
    }
    let value = big(format.to_f64(bits));
    let x = about(exact);
    let off = about(&value.sub(exact, BITS, NEAR)).abs();
    let allowed = match bound {
        Bound::Relative(e) => x.abs() * e,
        Bound::Absolute(e) => e,
        Bound::AbsoluteOfEither(e) => {
            let center = format.to_f64(rounded(format, exact));
            return off <= e || (format.to_f64(bits) - center).abs() <= e;
        }
        Bound::RelativeOrSubnormalUlp(e) => {
            let correct = rounded(format, exact);
            return off <= x.abs() * e || format.is_tiny(correct) && bits.abs_diff(correct) <= 1;
        }
        Bound::Ulps(n) => n * spacing(format, x),
        Bound::UlpsOfRounded(n) => {
            let center = format.to_f64(rounded(format, exact));
            let steps = (format.to_f64(bits) - center).abs();
            return steps <= n * spacing(format, center);
        }
    };
    off <= allowed
}

/// Compares one instruction on drawn operands; `function` gives nothing where the table decides.
fn compare(
    format: Format,
    count: usize,
    operand: impl Fn(&mut Draws) -> u64,
    run: impl Fn(u64, Approx) -> u64,
    mut function: impl FnMut(f64, &mut Consts) -> (BigFloat, Bound),
) {
    let mut constants = Consts::new().expect("memory");
    let mut draws = Draws(11);
    let mut differing = 0;
    for _ in 0..count {
        let a = operand(&mut draws);
        let (exact, bound) = function(format.to_f64(a), &mut constants);
        let correct = rounded(format, &exact);
        assert_eq!(run(a, EXACT), correct, "correctly rounded of {a:#x}");
        for draw in [0, u64::MAX, draws.next()] {
            let found = run(a, Approx::Adversarial { draw });
            assert!(within(format, found, &exact, bound), "{a:#x} draw {draw:#x}: {found:#x}, near {correct:#x}");
            differing += usize::from(found != correct);
        }
    }
    assert!(differing > count / 4, "the adversary hardly differs: {differing} of {count}");
}

/// A finite operand of either sign with its exponent from `low` to `high`.
fn between(low: i32, high: i32, signs: bool) -> impl Fn(&mut Draws) -> u64 {
    move |draws| {
        let exponent = low + draws.below((high - low + 1) as u64) as i32;
        let value = (1.0 + (draws.next() >> 41) as f64 * 2f64.powi(-23)) * 2f64.powi(exponent);
        F32.of_f64(if signs && draws.below(2) == 0 { -value } else { value }, Rounding::Zero)
    }
}

fn single(f: impl Fn(u32, bool, Approx) -> u32) -> impl Fn(u64, Approx) -> u64 {
    move |a, how| f(a as u32, false, how).into()
}

#[test]
fn ex2_stays_within_two_places_of_the_rounded_result() {
    compare(F32, 10_000, between(-30, 7, true), single(approx::ex2), |x, constants| {
        (big(2.0).pow(&big(x), BITS, NEAR, constants), Bound::UlpsOfRounded(2.0))
    });
}

#[test]
fn lg2_stays_within_its_absolute_and_relative_errors() {
    let log = |x: f64, constants: &mut Consts| {
        let inside = 0.5 < x && x < 2.0;
        let error = 2f64.powi(-22);
        (big(x).log2(BITS, NEAR, constants), if inside { Bound::Absolute(error) } else { Bound::Relative(error) })
    };
    compare(F32, 10_000, between(-149, 127, false), single(approx::lg2), log);
    compare(F32, 10_000, between(-1, 0, false), single(approx::lg2), log);
}

#[test]
fn sin_and_cos_stay_within_the_error_of_their_range() {
    let bound = |x: f64| Bound::Absolute(2f64.powf(if x.abs() <= 2.0 * std::f64::consts::PI { -20.5 } else { -14.7 }));
    compare(F32, 10_000, between(-20, 7, true), single(approx::sin), |x, c| (big(x).sin(BITS, NEAR, c), bound(x)));
    compare(F32, 10_000, between(-20, 7, true), single(approx::cos), |x, c| (big(x).cos(BITS, NEAR, c), bound(x)));
}

#[test]
fn far_angles_give_anything_from_minus_one_to_one() {
    for (draw, expected) in [(0, 0xBF80_0000), (u64::MAX, 0x3F80_0000)] {
        assert_eq!(approx::sin(1e9f32.to_bits(), false, Approx::Adversarial { draw }), expected);
        assert_eq!(approx::cos(1e9f32.to_bits(), false, Approx::Adversarial { draw }), expected);
    }
    assert_eq!(f32::from_bits(approx::sin(1e6f32.to_bits(), false, EXACT)), (1e6f64).sin() as f32);
}

#[test]
fn reciprocals_roots_and_tanh_stay_within_their_errors() {
    let one = big(1.0);
    compare(F32, 10_000, between(-127, 127, true), single(approx::rcp), |x, _| {
        (one.div(&big(x), BITS, NEAR), Bound::Ulps(1.0))
    });
    compare(F32, 10_000, between(-149, 127, false), single(approx::sqrt), |x, _| {
        (big(x).sqrt(BITS, NEAR), Bound::Relative(2f64.powi(-23)))
    });
    compare(F32, 10_000, between(-149, 127, false), single(approx::rsqrt), |x, _| {
        (one.div(&big(x).sqrt(BITS, NEAR), BITS, NEAR), Bound::Relative(2f64.powf(-22.9)))
    });
    compare(
        F32,
        10_000,
        between(-60, 4, true),
        |a, how| approx::tanh(a as u32, how).into(),
        |x, c| (big(x).tanh(BITS, NEAR, c), Bound::Relative(2f64.powi(-11))),
    );
}

#[test]
fn divisions_stay_within_two_places() {
    for divide in [approx::div, approx::div_full] {
        let mut draws = Draws(12);
        for _ in 0..10_000 {
            let a = between(-149, 127, true)(&mut draws) as u32;
            let b = between(-126, 125, true)(&mut draws) as u32;
            let exact = big(F32.to_f64(a.into())).div(&big(F32.to_f64(b.into())), BITS, NEAR);
            let correct = rounded(F32, &exact);
            assert_eq!(u64::from(divide(a, b, false, EXACT)), correct);
            for draw in [0, u64::MAX, draws.next()] {
                let found = u64::from(divide(a, b, false, Approx::Adversarial { draw }));
                assert!(within(F32, found, &exact, Bound::Ulps(2.0)), "{a:x} / {b:x}: {found:x}, near {correct:x}");
            }
        }
    }
}

#[test]
fn halves_stay_within_their_errors() {
    for (format, relative, absolute) in [(F16, -9.9, -10.987), (BF16, -7.0, -8.0)] {
        let narrow =
            |low, high| move |d: &mut Draws| format.of_f64(F32.to_f64(between(low, high, true)(d)), Rounding::Zero);
        let ex2 = |a, how| approx::ex2_half(format, a as u32, how).into();
        compare(format, 10_000, narrow(-10, 3), ex2, |x, c| {
            let error = 2f64.powf(relative);
            let bound = if format == F16 { Bound::RelativeOrSubnormalUlp(error) } else { Bound::Relative(error) };
            (big(2.0).pow(&big(x), BITS, NEAR, c), bound)
        });
        let tanh = |a, how| approx::tanh_half(format, a as u32, how).into();
        compare(format, 10_000, narrow(-10, 3), tanh, |x, c| {
            (big(x).tanh(BITS, NEAR, c), Bound::AbsoluteOfEither(2f64.powf(absolute)))
        });
    }
}

#[test]
fn upper_word_reciprocals_are_rounded_to_it() {
    let mut draws = Draws(13);
    for _ in 0..10_000 {
        let x = F32.to_f64(between(-100, 100, false)(&mut draws));
        let x = x * 2f64.powi(draws.below(1600) as i32 - 800);
        let cut = f64::from_bits(x.to_bits() & 0xFFFF_FFFF_0000_0000);
        for root in [false, true] {
            let base = if root { big(cut).sqrt(BITS, NEAR) } else { big(cut) };
            let exact = big(1.0).div(&base, BITS, NEAR);
            let run = |how| if root { approx::rsqrt_f64(x.to_bits(), how) } else { approx::rcp_f64(x.to_bits(), how) };
            assert_eq!(run(EXACT) >> 32, rounded(F64_HIGH, &exact));
            for draw in [0, u64::MAX] {
                let found = run(Approx::Adversarial { draw });
                assert_eq!(found & 0xFFFF_FFFF, 0);
                assert!(within(F64_HIGH, found >> 32, &exact, Bound::UlpsOfRounded(1.0)));
            }
        }
    }
}

#[test]
fn the_whole_reciprocal_root_of_an_f64_is_correctly_rounded() {
    use crate::vm::arith::soft::F64;
    let mut draws = Draws(29);
    let one = big(1.0);
    for _ in 0..4000 {
        // Every exponent, those of subnormals included.
        let a = draws.next() & !(1 << 63);
        let x = f64::from_bits(a);
        if !x.is_finite() || x == 0.0 {
            continue;
        }
        // The multi-precision library misreads subnormals, which a power of four takes away.
        let half = if x < 1e-200 { 2f64.powi(200) } else { 1.0 };
        let root = big(x * half * half).sqrt(BITS, NEAR);
        let exact = big(half).mul(&one.div(&root, BITS, NEAR), BITS, NEAR);
        let correct = rounded(F64, &exact);
        assert_eq!(approx::rsqrt_f64_whole(a, EXACT), correct, "{x:e}");
        let ends = [0, u64::MAX].map(|draw| approx::rsqrt_f64_whole(a, Approx::Adversarial { draw }));
        assert_eq!(ends, [correct - 1, correct + 1], "{x:e}");
    }
    for how in [EXACT, Approx::Adversarial { draw: 0 }] {
        let specials = [0.0, -0.0, f64::INFINITY].map(|x| f64::from_bits(approx::rsqrt_f64_whole(x.to_bits(), how)));
        assert_eq!(specials, [f64::INFINITY, f64::NEG_INFINITY, 0.0]);
        assert!(f64::from_bits(approx::rsqrt_f64_whole((-1.0_f64).to_bits(), how)).is_nan());
        assert_eq!(f64::from_bits(approx::rsqrt_f64_whole(4.0_f64.to_bits(), EXACT)), 0.5);
    }
}

#[test]
fn special_operands_have_the_results_of_the_tables_for_every_draw() {
    let one = 0x3F80_0000;
    let nan = 0xFFC0_0001;
    let hows = [EXACT, Approx::Adversarial { draw: 0 }, Approx::Adversarial { draw: u64::MAX }];
    for how in hows {
        for ftz in [false, true] {
            let at = |f: fn(u32, bool, Approx) -> u32, operands: [u32; 5]| operands.map(|a| f(a, ftz, how));
            let specials = [NEG | INF, NEG, 0, INF, nan];
            assert_eq!(at(approx::ex2, specials), [0, one, one, INF, NAN]);
            assert_eq!(at(approx::lg2, specials), [NAN, NEG | INF, NEG | INF, INF, NAN]);
            assert_eq!(at(approx::sin, specials), [NAN, NEG, 0, NAN, NAN]);
            assert_eq!(at(approx::cos, specials), [NAN, one, one, NAN, NAN]);
            assert_eq!(at(approx::rcp, specials), [NEG, NEG | INF, INF, 0, NAN]);
            assert_eq!(at(approx::sqrt, specials), [NAN, NEG, 0, INF, NAN]);
            assert_eq!(at(approx::rsqrt, specials), [NAN, NEG | INF, INF, 0, NAN]);
            assert_eq!(approx::lg2(NEG | one, ftz, how), NAN);
            assert_eq!(approx::sqrt(NEG | one, ftz, how), NAN);
            assert_eq!(approx::rsqrt(NEG | one, ftz, how), NAN);
            for divide in [approx::div, approx::div_full] {
                assert_eq!(divide(one, 0, ftz, how), INF);
                assert_eq!(divide(NEG, one, ftz, how), NEG);
                assert_eq!(divide(0, 0, ftz, how), NAN);
                assert_eq!(divide(INF, INF, ftz, how), NAN);
                assert_eq!(divide(NEG | one, INF, ftz, how), NEG);
                assert_eq!(divide(INF, NEG | one, ftz, how), NEG | INF);
                assert_eq!(divide(one, nan, ftz, how), NAN);
            }
            // A divisor beyond 2^126.
            assert_eq!(approx::div(one, 0x7E80_0001, ftz, how), 0);
            assert_eq!(approx::div(NEG | one, 0x7F00_0000, ftz, how), NEG);
            assert_eq!(approx::div(INF, 0x7F00_0000, ftz, how), NAN);
        }
        assert_eq!([NEG | INF, NEG, 0, INF, nan, 1].map(|a| approx::tanh(a, how)), [NEG | one, NEG, 0, one, NAN, 1]);
        // Subnormals under .ftz are zeros.
        assert_eq!(approx::rcp(NEG | 1, true, how), NEG | INF);
        assert_eq!(approx::lg2(1, true, how), NEG | INF);
        assert_eq!(approx::sqrt(NEG | 1, true, how), NEG);
        assert_eq!(approx::cos(1, true, how), one);
        assert_eq!(approx::rcp(0x7F00_0000, true, how), 0);
        assert_eq!(approx::ex2((-130f32).to_bits(), true, how), 0);
        let high = 0x7FF0_0000_0000_0000_u64;
        let sign = 1 << 63;
        let rcp = [sign | high, sign | 1, sign, 0, 1, high, high | 1 << 40].map(|a| approx::rcp_f64(a, how));
        assert_eq!(rcp, [sign, sign | high, sign | high, high, high, 0, 0x7FFF_FFFF_0000_0000]);
        let rsqrt = [sign | high, sign | 1, sign, 0, 1, high, high | 1 << 40].map(|a| approx::rsqrt_f64(a, how));
        let quiet = 0x7FFF_FFFF_0000_0000;
        assert_eq!(rsqrt, [quiet, sign | high, sign | high, high, high, 0, quiet]);
        assert_eq!(
            [0xFC00, 0x8000, 0, 0x7C00, 0x7E01].map(|a| approx::ex2_half(F16, a, how)),
            [0, 0x3C00, 0x3C00, 0x7C00, 0x7FFF]
        );
        assert_eq!(
            [0xFC00, 0x8000, 0, 0x7C00, 0x7E01].map(|a| approx::tanh_half(F16, a, how)),
            [0xBC00, 0x8000, 0, 0x3C00, 0x7FFF]
        );
    }
}

#[test]
fn draws_repeat_and_differ_between_operands_and_seeds() {
    assert_eq!(approx::draw(1, 2, 3), approx::draw(1, 2, 3));
    let drawn = [
        approx::draw(1, 2, 3),
        approx::draw(2, 2, 3),
        approx::draw(1, 3, 3),
        approx::draw(1, 2, 4),
        approx::draw(1, 3, 2),
    ];
    for (i, x) in drawn.iter().enumerate() {
        assert!(!drawn[..i].contains(x));
    }
}
