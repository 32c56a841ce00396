//! Extremes on all pairs of special and drawn values.

use super::oracle::Draws;
use crate::vm::arith::compare::{self, Extreme};
use crate::vm::arith::soft::{BF16, F16, F32, F64, Format};

fn specials(format: Format) -> Vec<u64> {
    let fraction = (1 << (format.precision - 1)) - 1;
    let magnitudes =
        [0, 1, fraction, fraction + 1, format.one(), format.infinity() - 1, format.infinity(), format.infinity() + 1];
    let mut draws = Draws(1);
    let drawn = (0..100).map(|_| draws.operand(format, format.one()));
    magnitudes.into_iter().flat_map(|m| [m, m | format.sign()]).chain(drawn).collect()
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
    assert_eq!(compare::extreme(F32, 0x8000_0001, 0x8000_0000, Extreme { ftz: true, ..Extreme::default() }), minus);
}
