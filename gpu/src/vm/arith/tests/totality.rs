//! No function panics, whatever its operands: these tests run with overflow checks.

use super::oracle::MODES;
use crate::vm::arith::approx::{self, Approx};
use crate::vm::arith::compare::{self, Extreme};
use crate::vm::arith::cvt::{self, Integer};
use crate::vm::arith::soft::{BF16, F16, F32, F64, F64_HIGH, Format};
use crate::vm::arith::{Mode, Rounding, double, float, half};
use std::hint::black_box;

const FORMATS: [Format; 5] = [F16, BF16, F32, F64_HIGH, F64];
const WORDS: [u64; 20] = [
    0,
    1,
    2,
    31,
    32,
    33,
    63,
    64,
    255,
    0x7FFF,
    0x8000,
    0x7F7F_FFFF,
    0x7F80_0000,
    0x7FFF_FFFF,
    0x8000_0000,
    0xFFFF_FFFF,
    0x7FEF_FFFF_FFFF_FFFF,
    0x7FF0_0000_0000_0000,
    0x8000_0000_0000_0000,
    u64::MAX,
];

fn triples() -> impl Iterator<Item = (u64, u64, u64)> {
    WORDS.into_iter().flat_map(|a| WORDS.into_iter().flat_map(move |b| WORDS.into_iter().map(move |c| (a, b, c))))
}

#[test]
fn float_functions_take_any_bits() {
    for (a, b, c) in triples() {
        for rounding in MODES.into_iter().chain([Rounding::Away]) {
            for format in FORMATS {
                let low = |x: u64| x & (format.sign() | (format.sign() - 1));
                black_box(format.fma(low(a), low(b), low(c), rounding));
                black_box([
                    format.add(a, b, rounding),
                    format.sub(a, b, rounding),
                    format.mul(low(a), low(b), rounding),
                ]);
                black_box([format.div(low(a), low(b), rounding), format.sqrt(low(a), rounding)]);
            }
            let m = Mode { rounding, ftz: c & 1 == 0, sat: c & 2 == 0, relu: c & 4 == 0 };
            let (x, y, z) = (a as u32, b as u32, c as u32);
            black_box([float::add(x, y, m), float::sub(x, y, m), float::mul(x, y, m), float::fma(x, y, z, m)]);
            black_box([float::div(x, y, m), float::rcp(x, m), float::sqrt(x, m), half::fma(F16, x, y, z, m)]);
            black_box([double::fma(a, b, c, rounding), double::div(a, b, rounding), double::sqrt(a, rounding)]);
        }
        for format in FORMATS {
            let m = Extreme { abs: a & 1 == 0, xorsign: true, ..Extreme::default() };
            black_box(compare::extreme(format, a, b, m));
        }
    }
}

#[test]
fn conversions_and_approximations_take_any_bits() {
    for (a, b, c) in triples() {
        let (x, y) = (a as u32, b as u32);
        for how in [Approx::CorrectlyRounded, Approx::Adversarial { draw: c }] {
            let one = [approx::ex2, approx::lg2, approx::sin, approx::cos, approx::rcp, approx::sqrt, approx::rsqrt];
            for f in one {
                black_box((f(x, false, how), f(x, true, how)));
            }
            black_box([approx::div(x, y, false, how), approx::div_full(x, y, true, how), approx::tanh(x, how)]);
            black_box([approx::rcp_f64(a, how), approx::rsqrt_f64(a, how), approx::rsqrt_f64_whole(a, how)]);
            black_box([approx::ex2_half(BF16, x, how), approx::tanh_half(F16, x, how)]);
        }
        let widths = [0, 8, 16, 32, 64, 99];
        for (from, to) in widths.into_iter().flat_map(|n| widths.map(|m| (Integer::signed(n), Integer::unsigned(m)))) {
            black_box([cvt::int_to_int(from, to, a, true), cvt::int_to_int(to, from, a, false), to.widened(a, y)]);
        }
        for format in FORMATS {
            let m = Mode { ftz: true, ..Mode::rounding(Rounding::Up) };
            for to in widths.map(Integer::signed) {
                black_box([cvt::float_to_int(format, to, a, Rounding::Up, true), cvt::int_to_float(to, format, a, m)]);
            }
            for to in FORMATS {
                black_box(cvt::float_to_float(format, to, a, m));
            }
            black_box(cvt::float_to_integral(format, a, m));
        }
        black_box(cvt::halves(F16, x, y, Mode::default(), true));
    }
}
