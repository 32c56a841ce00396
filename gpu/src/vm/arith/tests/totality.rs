//! No function panics, whatever its operands: these tests run with overflow checks.

use super::oracle::MODES;
use crate::vm::arith::approx::{self, Approx};
use crate::vm::arith::compare::{self, Extreme};
use crate::vm::arith::cvt::{self, Integer};
use crate::vm::arith::field::{self, Overflow, Permute};
use crate::vm::arith::soft::{BF16, F16, F32, F64, F64_HIGH, Format, TF32};
use crate::vm::arith::{Mode, Rounding, double, float, half, int};
use std::hint::black_box;

const FORMATS: [Format; 6] = [F16, BF16, TF32, F32, F64_HIGH, F64];
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
            black_box([compare::extreme(format, a, b, m), compare::extreme3(format, a, b, c, m)]);
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
            black_box([approx::rcp_f64(a, how), approx::rsqrt_f64(a, how)]);
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
        black_box([cvt::tf32(x, Mode::default(), true), cvt::halves(F16, x, y, Mode::default(), true)]);
    }
}

#[test]
fn integer_functions_take_any_operands() {
    for (a, b, c) in triples() {
        let (x, y, z) = (a as u32, b as u32, c as u32);
        for mode in [Overflow::Clamp, Overflow::Wrap] {
            black_box([field::shf_l(x, y, z, mode), field::shf_r(x, y, z, mode), field::bmsk(x, y, mode)]);
            black_box([field::szext(x, y, true, mode), field::szext(x, y, false, mode)]);
        }
        for mode in [Permute::Index, Permute::Forward4, Permute::EdgeRight, Permute::Replicate16] {
            black_box(field::prmt(x, y, z, mode));
        }
        for width in [0, 32, 64, u32::MAX] {
            black_box([field::bfe(a, y, z, width, true), field::bfi(a, b, y, z, width), field::brev(a, width)]);
            black_box([field::bfind(a, width, true, true), field::clz(a, width), field::popc(a, width)]);
            black_box(int::abs(a as i64, width));
        }
        black_box([field::fns(x, y, z as i32), field::lop3(x, y, z, x), field::dp4a(x, y, z, true, false)]);
        black_box([
            int::s64::div(a as i64, b as i64),
            int::s64::rem(a as i64, b as i64),
            int::s64::sad(a as i64, 1, 2),
        ]);
        black_box([int::s32::shr(x as i32, y), int::s32::shl(x as i32, y), int::s32::mad_hi(x as i32, y as i32, 1)]);
    }
}
