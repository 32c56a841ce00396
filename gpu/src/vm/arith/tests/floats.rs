//! f32, f64, f16 and bf16 against the oracle, and their special values.

use super::oracle::{Draws, MODES, Op, evaluate};
use crate::vm::arith::soft::{BF16, F16, F32, F64, Format};
use crate::vm::arith::{Mode, Rounding, double, float, half};

const OPS: [Op; 6] = [Op::Add, Op::Sub, Op::Mul, Op::Fma, Op::Div, Op::Sqrt];
const RN: Mode = Mode::rounding(Rounding::Nearest);
const RM: Mode = Mode::rounding(Rounding::Down);
const RP: Mode = Mode::rounding(Rounding::Up);
const RZ: Mode = Mode::rounding(Rounding::Zero);

/// Runs every operation on `count` operands in every mode.
fn compare(format: Format, count: usize, ops: &[Op], mut run: impl FnMut(Op, u64, u64, u64, Rounding) -> u64) {
    for &op in ops {
        let mut draws = Draws(format.precision.into());
        for _ in 0..count {
            let a = draws.operand(format, format.one());
            let b = draws.operand(format, a);
            // Near the product's exponent.
            let about = F64.of_f64((format.to_f64(a) * format.to_f64(b)).abs(), Rounding::Zero);
            let near = format.of_f64(f64::from_bits(about), Rounding::Zero);
            let c = draws.operand(format, near);
            let (a, b) = match op {
                Op::Sqrt => (a & !format.sign(), b),
                Op::Div if b & !format.sign() == 0 => (a, format.one()),
                _ => (a, b),
            };
            for (mode, expected) in MODES.into_iter().zip(evaluate(op, format, a, b, c)) {
                let found = run(op, a, b, c, mode);
                assert_eq!(found, expected, "{op:?} {mode:?} of {a:#x} {b:#x} {c:#x}: {found:#x}, not {expected:#x}");
            }
        }
    }
}

fn soft(format: Format) -> impl FnMut(Op, u64, u64, u64, Rounding) -> u64 {
    move |op, a, b, c, mode| match op {
        Op::Add => format.add(a, b, mode),
        Op::Sub => format.sub(a, b, mode),
        Op::Mul => format.mul(a, b, mode),
        Op::Fma => format.fma(a, b, c, mode),
        Op::Div => format.div(a, b, mode),
        Op::Sqrt => format.sqrt(a, mode),
    }
}

#[test]
fn f32_operations_round_as_exact_integers_say_in_every_mode() {
    compare(F32, 20_000, &OPS, |op, a, b, c, rounding| {
        let (a, b, c, m) = (a as u32, b as u32, c as u32, Mode::rounding(rounding));
        u64::from(match op {
            Op::Add => float::add(a, b, m),
            Op::Sub => float::sub(a, b, m),
            Op::Mul => float::mul(a, b, m),
            Op::Fma => float::fma(a, b, c, m),
            Op::Div => float::div(a, b, m),
            Op::Sqrt => float::sqrt(a, m),
        })
    });
}

#[test]
fn f64_operations_round_as_exact_integers_say_in_every_mode() {
    compare(F64, 10_000, &OPS, |op, a, b, c, mode| match op {
        Op::Add => double::add(a, b, mode),
        Op::Sub => double::sub(a, b, mode),
        Op::Mul => double::mul(a, b, mode),
        Op::Fma => double::fma(a, b, c, mode),
        Op::Div => double::div(a, b, mode),
        Op::Sqrt => double::sqrt(a, mode),
    });
}

#[test]
fn soft_nearest_agrees_with_the_oracle_where_the_processor_is_used() {
    compare(F64, 10_000, &OPS, soft(F64));
    compare(F32, 10_000, &OPS, soft(F32));
}

#[test]
fn halves_round_as_exact_integers_say_in_every_mode() {
    for format in [F16, BF16] {
        compare(format, 20_000, &OPS[..4], |op, a, b, c, rounding| {
            let (a, b, c, m) = (a as u32, b as u32, c as u32, Mode::rounding(rounding));
            u64::from(match op {
                Op::Add => half::add(format, a, b, m),
                Op::Sub => half::sub(format, a, b, m),
                Op::Mul => half::mul(format, a, b, m),
                _ => half::fma(format, a, b, c, m),
            })
        });
        compare(format, 10_000, &OPS[4..], soft(format));
    }
}

#[test]
fn the_exact_fma_equals_the_fused_one_on_a_million_operands() {
    let mut draws = Draws(1);
    for _ in 0..31_250 {
        let rows: [[u32; 32]; 3] = std::array::from_fn(|_| {
            std::array::from_fn(|_| {
                if draws.below(4) == 0 { draws.next() as u32 } else { draws.operand(F32, F32.one()) as u32 }
            })
        });
        let [a, b, c] = rows;
        for ((&a, &b), &c) in a.iter().zip(&b).zip(&c) {
            let f = f32::from_bits;
            let canonical = |x: f32| if x.is_nan() { float::NAN } else { x.to_bits() };
            assert_eq!(float::fma(a, b, c, RN), canonical(f(a).mul_add(f(b), f(c))), "{a:x} {b:x} {c:x}");
            let z = |bits| f(float::flush(bits));
            let mut expected = float::flush(canonical(z(a).mul_add(z(b), z(c))));
            if expected & 0x7FFF_FFFF == float::LEAST {
                // It may have been rounded up from what is flushed.
                let [a, b, c] = [a, b, c].map(|bits| float::flush(bits).into());
                expected = F32.flushing(true).fma(a, b, c, Rounding::Nearest) as u32;
            }
            assert_eq!(float::fma(a, b, c, Mode { ftz: true, ..RN }), expected, "ftz {a:x} {b:x} {c:x}");
        }
    }
}

#[test]
fn double_rounding_does_not_happen_in_fma() {
    // 2^24 + 1 is a tie of spacing 2; the smallest subnormal breaks it where a rounded product would not.
    let (two24, one) = (16_777_216f32.to_bits(), 1f32.to_bits());
    assert_eq!(float::fma(two24, one, one, RN), two24);
    // 4097·4097 = 2^24 + 2^13 + 1, a tie of spacing 2: to even downwards; a subnormal more breaks it upwards.
    let n = 4097f32.to_bits();
    assert_eq!(float::fma(n, n, 0, RN), 16_785_408f32.to_bits());
    assert_eq!(float::fma(n, n, 1, RN), 16_785_410f32.to_bits());
    assert_eq!(float::fma(n, n, 0x8000_0001, RN), 16_785_408f32.to_bits());
}

#[test]
fn overflow_and_underflow_follow_the_direction() {
    let max = 0x7F7F_FFFF;
    assert_eq!([RN, RZ, RM, RP].map(|m| float::add(max, max, m)), [0x7F80_0000, max, max, 0x7F80_0000]);
    assert_eq!(
        [RN, RZ, RM, RP].map(|m| float::mul(max, 0xC000_0000, m)),
        [0xFF80_0000, 0xFF7F_FFFF, 0xFF80_0000, 0xFF7F_FFFF]
    );
    assert_eq!([RN, RZ, RM, RP].map(|m| float::mul(1, 0x3E80_0000, m)), [0, 0, 0, 1]);
    assert_eq!(
        [RN, RZ, RM, RP].map(|m| float::mul(0x8000_0001, 1, m)),
        [0x8000_0000, 0x8000_0000, 0x8000_0001, 0x8000_0000]
    );
    assert_eq!(double::mul(1, 1, Rounding::Up), 1);
    assert_eq!(double::div(F64.infinity() - 1, 1, Rounding::Zero), F64.infinity() - 1);
}

#[test]
fn exact_zero_sums_are_negative_downwards_only() {
    let (one, minus) = (0x3F80_0000, 0xBF80_0000);
    assert_eq!([RN, RZ, RM, RP].map(|m| float::add(one, minus, m)), [0, 0, 0x8000_0000, 0]);
    assert_eq!([RN, RM].map(|m| float::add(0, 0x8000_0000, m)), [0, 0x8000_0000]);
    assert_eq!([RN, RM].map(|m| float::add(0, 0, m)), [0, 0]);
    assert_eq!([RN, RM].map(|m| float::add(0x8000_0000, 0x8000_0000, m)), [0x8000_0000; 2]);
    assert_eq!([RN, RM].map(|m| float::sub(0, 0, m)), [0, 0x8000_0000]);
    assert_eq!([RN, RM].map(|m| float::fma(one, one, minus, m)), [0, 0x8000_0000]);
    assert_eq!([RN, RM].map(|m| half::add(F16, 0x3C00, 0xBC00, m)), [0, 0x8000]);
}

#[test]
fn f32_invalid_operations_and_nan_operands_give_the_canonical_nan() {
    let (inf, minus, nan) = (0x7F80_0000, 0xFF80_0000, 0xFFC1_2345);
    for m in [RN, RZ, RM, RP] {
        assert_eq!(float::add(inf, minus, m), float::NAN);
        assert_eq!(float::sub(inf, inf, m), float::NAN);
        assert_eq!(float::mul(inf, 0x8000_0000, m), float::NAN);
        assert_eq!(float::fma(inf, 0, nan, m), float::NAN);
        assert_eq!(float::fma(inf, 0x3F80_0000, minus, m), float::NAN);
        assert_eq!(float::div(0, 0, m), float::NAN);
        assert_eq!(float::div(inf, minus, m), float::NAN);
        assert_eq!(float::sqrt(0xBF80_0000, m), float::NAN);
        assert_eq!(float::add(nan, 1, m), float::NAN);
        assert_eq!(float::rcp(0x8000_0000, m), minus);
        assert_eq!(float::rcp(minus, m), 0x8000_0000);
        assert_eq!(float::sqrt(0x8000_0000, m), 0x8000_0000);
        assert_eq!(float::fma(inf, 0x3F80_0000, 0x3F80_0000, m), inf);
    }
}

#[test]
fn f64_nan_payloads_survive_and_signalling_ones_become_quiet() {
    let (first, second) = (0x7FF0_0000_0000_0123, 0xFFF8_0000_0000_0456);
    for mode in MODES {
        assert_eq!(double::add(first, second, mode), 0x7FF8_0000_0000_0123);
        assert_eq!(double::mul(F64.one(), second, mode), second);
        assert_eq!(double::fma(F64.infinity(), 0, second, mode), second);
        assert_eq!(double::sub(F64.one(), second, mode), second);
        assert_eq!(double::div(0, 0, mode), 0xFFF8_0000_0000_0000);
        assert_eq!(double::sqrt(F64.one() | F64.sign(), mode), 0xFFF8_0000_0000_0000);
        assert_eq!(double::rcp(0, mode), F64.infinity());
    }
}

#[test]
fn ftz_flushes_operands_and_results_keeping_the_sign() {
    let ftz = Mode { ftz: true, ..RN };
    assert_eq!(float::add(0x8000_0001, 0x8000_0000, ftz), 0x8000_0000);
    assert_eq!(float::mul(0x8080_0000, 0x3F00_0000, ftz), 0x8000_0000);
    assert_eq!(float::fma(0x0080_0000, 0x3F00_0000, 0, ftz), 0);
    assert_eq!(float::div(1, 1, ftz), float::NAN);
    assert_eq!(float::rcp(1, ftz), 0x7F80_0000);
    assert_eq!(float::sqrt(0x8000_0001, ftz), 0x8000_0000);
    assert_eq!(half::mul(F16, 0x0400, 0x3800, ftz), 0);
    assert_eq!(half::add(F16, 0x03FF, 0x03FF, ftz), 0);
    // What rounds up to the least normal value is flushed if it would not with places to spare, in every mode.
    assert_eq!(float::mul(0x0080_0000, 0x3F7F_FFFF, ftz), 0);
    assert_eq!(float::mul(0x8080_0000, 0x3F7F_FFFF, Mode { rounding: Rounding::Down, ..ftz }), 0x8000_0000);
    assert_eq!(float::mul(0x0080_0000, 0x3F7F_FFFF, RN), 0x0080_0000);
    assert_eq!(float::div(0x0080_0000, 0x3F80_0001, Mode { rounding: Rounding::Up, ..ftz }), 0);
    assert_eq!(half::mul(F16, 0x0400, 0x3BFF, ftz), 0);
    assert_eq!(half::mul(F16, 0x0400, 0x3BFF, RN), 0x0400);
    // 2^-126 less a quarter of a place of what is below it rounds to 2^-126 there too.
    assert_eq!(float::fma(0x0080_0000, 0xB280_0000, 0x0080_0000, ftz), 0x0080_0000);
    assert_eq!(half::add(F16, 0x03FF, 0x03FF, RN), 0x07FE);
}

#[test]
fn sat_clamps_to_the_unit_interval_and_nan_to_zero() {
    let sat = Mode { sat: true, ..RN };
    assert_eq!(float::add(0x3F80_0000, 0x3F80_0000, sat), 0x3F80_0000);
    assert_eq!(float::add(0xBF80_0000, 0, sat), 0);
    assert_eq!(float::add(0x8000_0000, 0x8000_0000, sat), 0);
    assert_eq!(float::add(0x7FC0_0000, 0, sat), 0);
    assert_eq!(float::mul(0x3F00_0000, 0x3F00_0000, sat), 0x3E80_0000);
    assert_eq!(half::add(F16, 0x3C00, 0x3C00, sat), 0x3C00);
    assert_eq!(half::add(F16, 0x7E00, 0, sat), 0);
}

#[test]
fn relu_clamps_negative_halves_but_keeps_nan() {
    let relu = Mode { relu: true, ..RN };
    assert_eq!(half::fma(F16, 0x3C00, 0xBC00, 0, relu), 0);
    assert_eq!(half::fma(BF16, 0x3F80, 0x7FC0, 0, relu), 0x7FFF);
    assert_eq!(half::fma(BF16, 0x3F80, 0x4000, 0x3F80, relu), 0x4040);
}

#[test]
fn pairs_apply_a_function_to_both_halves() {
    let sum = half::pair(0x3C00_4000, 0x4000_3C00, 0, |a, b, _| half::add(F16, a, b, RN));
    assert_eq!(sum, 0x4200_4200);
}
