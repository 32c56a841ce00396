//! Comparison, extremes, signs and classes on all pairs of special and drawn values.

use super::oracle::Draws;
use crate::vm::arith::compare::{self, Combine, Comparison, Extreme, Property};
use crate::vm::arith::soft::{BF16, F16, F32, F64, Format};
use Comparison::*;

fn specials(format: Format) -> Vec<u64> {
    let fraction = (1 << (format.precision - 1)) - 1;
    let magnitudes =
        [0, 1, fraction, fraction + 1, format.one(), format.infinity() - 1, format.infinity(), format.infinity() + 1];
    let mut draws = Draws(1);
    let drawn = (0..100).map(|_| draws.operand(format, format.one()));
    magnitudes.into_iter().flat_map(|m| [m, m | format.sign()]).chain(drawn).collect()
}

#[test]
fn comparisons_are_those_of_the_values_and_unordered_forms_take_nan() {
    for format in [F16, BF16, F32, F64] {
        let all = specials(format);
        for (&a, &b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
            let (x, y) = (format.to_f64(a), format.to_f64(b));
            let unordered = x.is_nan() || y.is_nan();
            let expected = [
                (Eq, x == y),
                (Ne, x != y && !unordered),
                (Lt, x < y),
                (Le, x <= y),
                (Gt, x > y),
                (Ge, x >= y),
                (Equ, x == y || unordered),
                (Neu, x != y),
                (Ltu, x < y || unordered),
                (Leu, x <= y || unordered),
                (Gtu, x > y || unordered),
                (Geu, x >= y || unordered),
                (Num, !unordered),
                (Nan, unordered),
            ];
            for (op, holds) in expected {
                assert_eq!(compare::floats(format, a, b, op, false), holds, "{a:x} {op:?} {b:x}");
            }
        }
    }
    assert!(compare::floats(F32, 1, 0, Eq, true));
    assert!(compare::floats(F32, 0x8000_0001, 1, Eq, true));
    assert!(compare::integers(-1_i32, 0, Lt) && compare::integers(u32::MAX, 0, Gt) && compare::integers(3, 3, Le));
}

#[test]
fn set_and_setp_combine_with_a_predicate() {
    for (t, c) in [(false, false), (false, true), (true, false), (true, true)] {
        assert_eq!(compare::predicates(t, c, Combine::And), (t & c, !t & c));
        assert_eq!(compare::predicates(t, c, Combine::Or), (t | c, !t | c));
        assert_eq!(compare::predicates(t, c, Combine::Xor), (t ^ c, !t ^ c));
    }
    assert_eq!([false, true].map(compare::set_word), [0, u32::MAX]);
    assert_eq!([false, true].map(compare::set_float), [0, 1f32.to_bits()]);
}

#[test]
fn min_and_max_order_zeros_by_sign_and_prefer_numbers() {
    let (min, max) = (Extreme::default(), Extreme { max: true, ..Extreme::default() });
    for format in [F16, BF16, F32, F64] {
        let all = specials(format);
        for (&a, &b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
            let (x, y) = (format.to_f64(a), format.to_f64(b));
            let (low, high) = match (x.is_nan(), y.is_nan()) {
                (true, true) => (format.nan, format.nan),
                (true, false) => (b, b),
                (false, true) => (a, a),
                _ if x < y || x == y && x.is_sign_negative() => (a, b),
                _ => (b, a),
            };
            assert_eq!(compare::extreme(format, a, b, min), low, "min {a:x} {b:x}");
            assert_eq!(compare::extreme(format, a, b, max), high, "max {a:x} {b:x}");
            let strict = compare::extreme(format, a, b, Extreme { nan: true, ..max });
            assert_eq!(strict, if x.is_nan() || y.is_nan() { format.nan } else { high });
        }
    }
    assert_eq!(compare::extreme(F32, 0, 0x8000_0000, min), 0x8000_0000);
    assert_eq!(compare::extreme(F32, 0x8000_0000, 0, max), 0);
    assert_eq!(compare::extreme3(F32, 0x4000_0000, 0x7FC0_0000, 0x3F80_0000, min), 0x3F80_0000);
}

#[test]
fn xorsign_and_abs_compare_magnitudes() {
    let m = Extreme { max: true, abs: true, xorsign: true, ..Extreme::default() };
    let (two, three, minus) = (0x4000_0000, 0x4040_0000, 0x8000_0000);
    assert_eq!(compare::extreme(F32, two | minus, three, m), three | minus);
    assert_eq!(compare::extreme(F32, two | minus, three | minus, m), three);
    assert_eq!(compare::extreme(F32, two, three, Extreme { max: false, ..m }), two);
    // The sign of a NaN counts, its value does not; two of them ignore the modifiers.
    assert_eq!(compare::extreme(F32, 0xFFC0_0000, two, m), two | minus);
    assert_eq!(compare::extreme(F32, 0xFFC0_0000, 0x7FC0_0000, m), 0x7FFF_FFFF);
    assert_eq!(compare::extreme3(F32, two | minus, three | minus, 0, m), three);
    assert_eq!(compare::extreme(F32, 0x8000_0001, 0x8000_0000, Extreme { ftz: true, ..Extreme::default() }), minus);
}

#[test]
fn signs_are_cleared_flipped_and_copied() {
    assert_eq!(compare::abs(F32, 0xFF80_0000, false), 0x7F80_0000);
    assert_eq!(compare::abs(F64, F64.sign(), false), 0);
    assert_eq!(compare::neg(F32, 0, false), 0x8000_0000);
    assert_eq!(compare::neg(F32, 1, true), 0x8000_0000);
    assert_eq!(compare::neg(F64, F64.one(), false), F64.one() | F64.sign());
    assert_eq!(compare::copysign(F32, 0x8000_0000, 0x3F80_0000), 0xBF80_0000);
    assert_eq!(compare::copysign(F64, 0, F64.nan), F64.nan & !F64.sign());
}

#[test]
fn testp_sorts_values_into_classes() {
    use Property::*;
    for format in [F32, F64] {
        for bits in specials(format) {
            let x = format.to_f64(bits);
            let least = format.to_f64(1 << (format.precision - 1));
            let subnormal = x != 0.0 && x.abs() < least;
            let expected = [
                (Finite, x.is_finite()),
                (Infinite, x.is_infinite()),
                (Number, !x.is_nan()),
                (NotANumber, x.is_nan()),
                (Normal, x.is_finite() && x.abs() >= least),
                (Subnormal, subnormal),
            ];
            for (property, holds) in expected {
                assert_eq!(compare::testp(format, bits, property), holds, "{bits:x} {property:?}");
            }
        }
    }
}
