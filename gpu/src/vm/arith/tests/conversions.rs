//! `cvt` against the oracle and exact integers, and its special values.

use super::oracle::{Draws, MODES, place, scale, signed, units};
use crate::vm::arith::cvt::{self, Integer};
use crate::vm::arith::soft::{BF16, F16, F32, F64, Format};
use crate::vm::arith::{Mode, Rounding};
use dashu_int::{IBig, UBig};

const FORMATS: [Format; 4] = [F16, BF16, F32, F64];
const INTEGERS: [Integer; 8] = [
    Integer::signed(8),
    Integer::unsigned(8),
    Integer::signed(16),
    Integer::unsigned(16),
    Integer::signed(32),
    Integer::unsigned(32),
    Integer::signed(64),
    Integer::unsigned(64),
];
const RN: Mode = Mode::rounding(Rounding::Nearest);

fn magnitude(format: Format, bits: u64) -> u64 {
    bits & (format.sign() - 1)
}

/// The integer nearest to a float in a mode, by floor division.
fn integral(format: Format, bits: u64, mode: Rounding) -> IBig {
    let k = scale(format);
    let unit = IBig::ONE << k;
    let value = signed(format, bits);
    // Floor: dashu's shift of a negative number rounds downwards, which the assertion holds it to.
    let floor = value.clone() >> k;
    let rest = &value - &floor * &unit;
    assert!(rest >= IBig::ZERO && rest < unit);
    let twice = &rest * IBig::from(2);
    let up = match mode {
        Rounding::Down => false,
        Rounding::Up => rest != IBig::ZERO,
        Rounding::Zero => rest != IBig::ZERO && value < IBig::ZERO,
        Rounding::Nearest => twice > unit || twice == unit && &floor % IBig::from(2) != IBig::ZERO,
        Rounding::Away => unreachable!("no integer rounding of cvt"),
    };
    floor + IBig::from(i32::from(up))
}

#[test]
fn floats_become_the_rounded_integer_clamped_to_the_type() {
    for format in FORMATS {
        for to in INTEGERS {
            let mut draws = Draws(u64::from(to.bits));
            for _ in 0..10_000 {
                let near = format.of_f64(2f64.powi(draws.below(70) as i32 - 2), Rounding::Zero);
                let bits = draws.operand(format, near.min(format.infinity() - 1));
                for mode in MODES {
                    let (least, most) = (IBig::from(to.min()), IBig::from(to.max()));
                    let exact = integral(format, bits, mode);
                    let expected = if exact < least {
                        least
                    } else if exact > most {
                        most
                    } else {
                        exact
                    };
                    let found = IBig::from(to.value(cvt::float_to_int(format, to, bits, mode, false)));
                    assert_eq!(found, expected, "{format:?} {bits:#x} to {to:?} {mode:?}");
                }
            }
        }
    }
}

#[test]
fn integers_become_the_rounded_float() {
    for from in INTEGERS {
        for to in FORMATS {
            let mut draws = Draws(u64::from(to.precision));
            for _ in 0..10_000 {
                let bits = draws.next() >> draws.below(64);
                let bits = if draws.below(2) == 0 { bits } else { bits.wrapping_neg() } & from.mask();
                let value = from.value(bits);
                let wide = UBig::from(value.unsigned_abs()) << (scale(to) + 1);
                let found = place(to, |half_units| half_units.cmp(&wide));
                for mode in MODES {
                    let expected = if value == 0 { 0 } else { found.round(to, value < 0, mode) };
                    let result = cvt::int_to_float(from, to, bits, Mode::rounding(mode));
                    assert_eq!(result, expected, "{from:?} {value} to {to:?} {mode:?}");
                }
            }
        }
    }
}

#[test]
fn floats_become_the_nearest_of_another_format_in_every_mode() {
    for from in FORMATS {
        for to in [F16, BF16, F32, F64] {
            let mut draws = Draws(7);
            for _ in 0..10_000 {
                let near = from.of_f64(2f64.powi(draws.below(300) as i32 - 160), Rounding::Zero);
                let bits = draws.operand(from, near.min(from.infinity() - 1));
                let shift = scale(from);
                let exact = units(from, magnitude(from, bits)) << (scale(to) + 1);
                let found = place(to, |half_units| (half_units << shift).cmp(&exact));
                for mode in MODES.into_iter().chain([Rounding::Away]) {
                    let expected = found.round(to, bits & from.sign() != 0, mode);
                    let result = cvt::float_to_float(from, to, bits, Mode::rounding(mode));
                    assert_eq!(result, expected, "{from:?} {bits:#x} to {to:?} {mode:?}");
                }
            }
        }
    }
}

#[test]
fn rounding_to_an_integral_float_keeps_the_sign_of_zero() {
    for format in FORMATS {
        let mut draws = Draws(3);
        for _ in 0..10_000 {
            let near = format.of_f64(2f64.powi(draws.below(60) as i32 - 3), Rounding::Zero);
            let bits = draws.operand(format, near.min(format.infinity() - 1));
            for mode in MODES {
                let result = cvt::float_to_integral(format, bits, Mode::rounding(mode));
                let back = signed(format, result);
                assert_eq!(back, integral(format, bits, mode) << scale(format), "{format:?} {bits:#x} {mode:?}");
                assert_eq!(result & format.sign(), bits & format.sign());
            }
        }
    }
    let half = 0xBF00_0000;
    assert_eq!(cvt::float_to_integral(F32, half, RN), 0x8000_0000);
    assert_eq!(cvt::float_to_integral(F32, half, Mode::rounding(Rounding::Down)), 0xBF80_0000);
    assert_eq!(cvt::float_to_integral(F32, 1, Mode { ftz: true, ..Mode::rounding(Rounding::Up) }), 0);
    assert_eq!(cvt::float_to_integral(F32, 0x7F80_0001, RN), 0x7FFF_FFFF);
}

#[test]
fn nan_becomes_zero_only_between_narrow_types() {
    let nan = [0x7E00, 0x7FC0, 0xFFC0_0000, F64.nan];
    for (format, nan) in FORMATS.into_iter().zip(nan) {
        for to in INTEGERS {
            let expected = if format == F64 || to.bits == 64 { 1 << (to.bits - 1) } else { 0 };
            assert_eq!(cvt::float_to_int(format, to, nan, Rounding::Zero, false), expected);
        }
    }
}

#[test]
fn infinities_clamp_to_the_ends() {
    let (s32, u64_) = (Integer::signed(32), Integer::unsigned(64));
    assert_eq!(cvt::float_to_int(F32, s32, 0x7F80_0000, Rounding::Zero, false), 0x7FFF_FFFF);
    assert_eq!(cvt::float_to_int(F32, s32, 0xFF80_0000, Rounding::Zero, false), 0x8000_0000);
    assert_eq!(cvt::float_to_int(F64, u64_, F64.infinity(), Rounding::Zero, false), u64::MAX);
    assert_eq!(cvt::float_to_int(F32, u64_, 0xFF80_0000, Rounding::Zero, false), 0);
    assert_eq!(cvt::float_to_int(F32, s32, 1, Rounding::Up, false), 1);
    assert_eq!(cvt::float_to_int(F32, s32, 1, Rounding::Up, true), 0);
}

#[test]
fn integers_wrap_or_saturate_and_extend() {
    let (s8, u8_, s32, u32_) = (Integer::signed(8), Integer::unsigned(8), Integer::signed(32), Integer::unsigned(32));
    assert_eq!(cvt::int_to_int(s32, u8_, 0x1234_5678, false), 0x78);
    assert_eq!(cvt::int_to_int(s32, u8_, 0x1234_5678, true), 0xFF);
    assert_eq!(cvt::int_to_int(s32, u32_, 0xFFFF_FFFF, true), 0);
    assert_eq!(cvt::int_to_int(u32_, s32, 0xFFFF_FFFF, true), 0x7FFF_FFFF);
    assert_eq!(cvt::int_to_int(s32, s8, 0xFFFF_FF00, true), 0x80);
    assert_eq!(cvt::int_to_int(s8, Integer::signed(64), 0x80, false), 0xFFFF_FFFF_FFFF_FF80);
    assert_eq!(s8.widened(0x80, 32), 0xFFFF_FF80);
    assert_eq!(u8_.widened(0x180, 64), 0x80);
    let mut draws = Draws(9);
    for (from, to) in INTEGERS.iter().flat_map(|&a| INTEGERS.map(|b| (a, b))) {
        for _ in 0..1_000 {
            let bits = draws.next() >> draws.below(64) & from.mask();
            let saturated = to.value(cvt::int_to_int(from, to, bits, true));
            assert_eq!(saturated, from.value(bits).clamp(to.min(), to.max()));
            assert_eq!(cvt::int_to_int(from, to, bits, false), from.value(bits) as u64 & to.mask());
        }
    }
}

#[test]
fn floats_saturate_flush_and_keep_nan_payloads_only_up_to_f64() {
    let sat = Mode { sat: true, ..RN };
    assert_eq!(cvt::float_to_float(F32, F32, 0x4000_0000, sat), 0x3F80_0000);
    assert_eq!(cvt::float_to_float(F32, F32, 0xFF80_0000, sat), 0);
    assert_eq!(cvt::float_to_float(F32, F16, 0x7FC0_0000, sat), 0);
    assert_eq!(cvt::int_to_float(Integer::signed(32), F32, 0xFFFF_FFFF, sat), 0);
    let ftz = Mode { ftz: true, ..RN };
    assert_eq!(cvt::float_to_float(F32, F64, 0x8000_0001, ftz), F64.sign());
    assert_eq!(cvt::float_to_float(F64, F32, 0x3800_0000_0000_0000 >> 1, ftz), 0);
    // 2^-127 is subnormal in f32.
    assert_eq!(cvt::float_to_float(F64, F32, 2f64.powi(-127).to_bits(), ftz), 0);
    assert_eq!(cvt::float_to_float(F64, F32, 2f64.powi(-127).to_bits(), RN), 0x0040_0000);
    // A subnormal f16 is a normal f32, and .ftz leaves f16 alone.
    assert_eq!(cvt::float_to_float(F16, F32, 1, ftz), 0x3380_0000);
    assert_eq!(cvt::float_to_float(F32, F16, 0x3380_0000, ftz), 1);
    assert_eq!(cvt::float_to_float(F32, F64, 0x7F80_0001, RN), 0x7FF8_0000_2000_0000);
    assert_eq!(cvt::float_to_float(F64, F32, F64.nan | 0xFFF, RN), 0x7FFF_FFFF);
    assert_eq!(cvt::float_to_float(F64, F64, 0x7FF0_0000_0000_0001, RN), 0x7FF8_0000_0000_0001);
    assert_eq!(cvt::float_to_float(BF16, F32, 0xFFC1, RN), 0x7FFF_FFFF);
}

#[test]
fn packed_formats_place_their_halves() {
    let (one, two, huge) = (0x3F80_0000, 0x4000_0000, 0x7F7F_FFFF);
    assert_eq!(cvt::halves(F16, one, two, RN, false), 0x3C00_4000);
    assert_eq!(cvt::halves(F16, huge, 0xFF80_0000, RN, true), 0x7BFF_FBFF);
    assert_eq!(cvt::halves(F16, huge, 0xFF80_0000, RN, false), 0x7C00_FC00);
    assert_eq!(cvt::halves(BF16, 0xBF80_0000, 0x7FC0_0000, Mode { relu: true, ..RN }, true), 0x0000_7FFF);
}
