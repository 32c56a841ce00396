//! Floating-point arithmetic, comparison and approximation.
//!
//! The common forms (f32 and f64, round to nearest) are vector loops; everything else goes value by value through
//! [`crate::vm::arith`].

use super::{Decoded, Decoder};
use crate::vm::ARCH;
use crate::vm::arith::approx::Approx;
use crate::vm::arith::compare::{self, Extreme};
use crate::vm::arith::soft::{BF16, F16, F32, F64, Format};
use crate::vm::arith::{Approximation, Mode, Rounding, approx, double, float, half};
use crate::vm::machine::regs::{Args, Lane, Mods, Regs, RowFn, row};
use crate::vm::ptx::Type;

#[inline(always)]
pub(super) const fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}

#[inline(always)]
pub(super) const fn g(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// Bits of a result; every NaN is the canonical one.
#[inline(always)]
const fn out(value: f32) -> u32 {
    if value.is_nan() { 0x7FFF_FFFF } else { value.to_bits() }
}

/// A value with subnormals flushed to a zero of the same sign.
#[inline(always)]
const fn flush(bits: u32) -> u32 {
    if bits & 0x7F80_0000 == 0 { bits & 0x8000_0000 } else { bits }
}

#[inline(always)]
pub(super) const fn fz(bits: u32) -> f32 {
    f32::from_bits(flush(bits))
}

#[inline(always)]
const fn out_fz(value: f32) -> u32 {
    flush(out(value))
}

/// A row operation to be compiled for the processor's widest vectors.
struct Wide<'a, const KIND: u8> {
    regs: &'a mut Regs,
    args: &'a Args,
    mask: u32,
}

impl<const KIND: u8> pulp::WithSimd for Wide<'_, KIND> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // Zipped iterators of four rows are not reliably vectorized.
    fn with_simd<S: pulp::Simd>(self, _simd: S) {
        let Self { regs, args, mask } = self;
        if KIND == 2 {
            let (a, b, c) = (regs.r64[args.a as usize], regs.r64[args.b as usize], regs.r64[args.c as usize]);
            let mut row = [0_u64; 32];
            for i in 0..32 {
                row[i] = g(a[i]).mul_add(g(b[i]), g(c[i])).to_bits();
            }
            u64::store(regs, args.d, mask, row);
            return;
        }
        let (a, b, c) = (regs.r32[args.a as usize], regs.r32[args.b as usize], regs.r32[args.c as usize]);
        let mut row = [0_u32; 32];
        for i in 0..32 {
            row[i] = if KIND == 0 {
                out(f(a[i]).mul_add(f(b[i]), f(c[i])))
            } else {
                out_fz(fz(a[i]).mul_add(fz(b[i]), fz(c[i])))
            };
        }
        // The least normal value may have been rounded up to from one that is flushed, which is looked at again.
        if KIND == 1 && row.iter().any(|bits| bits & 0x7FFF_FFFF == float::LEAST) {
            for i in 0..32 {
                if row[i] & 0x7FFF_FFFF == float::LEAST {
                    row[i] = float::fma(a[i], b[i], c[i], Mode { ftz: true, ..Mode::default() });
                }
            }
        }
        u32::store(regs, args.d, mask, row);
    }
}

fn fma_f32(regs: &mut Regs, args: &Args, mask: u32) {
    ARCH.dispatch(Wide::<0> { regs, args, mask });
}

fn fma_f32_ftz(regs: &mut Regs, args: &Args, mask: u32) {
    ARCH.dispatch(Wide::<1> { regs, args, mask });
}

fn fma_f64(regs: &mut Regs, args: &Args, mask: u32) {
    ARCH.dispatch(Wide::<2> { regs, args, mask });
}

/// Both halves with subnormals flushed.
#[inline(always)]
fn flush_pair(bits: u32) -> u32 {
    half::pair(bits, 0, 0, |a, _, _| F16.flush(u64::from(a)) as u32)
}

/// The modifiers that arithmetic knows.
const fn mode(m: Mods) -> Mode {
    Mode { rounding: m.rounding, ftz: m.ftz, sat: m.sat, relu: m.relu }
}

fn extreme(format: Format, a: u32, b: u32, max: bool, m: Mods) -> u32 {
    let modifiers = Extreme { max, nan: m.nan, abs: m.abs, xorsign: m.xorsign, ftz: m.ftz };
    compare::extreme(format, u64::from(a), u64::from(b), modifiers) as u32
}

/// Picks a function by format: f16, bf16, their pairs, f32.
macro_rules! formats {
    ($kind:expr, $call:expr) => {{
        match $kind {
            Type::F16 => row!(mods m, |a: u32, b: u32, c: u32| $call(F16, a, b, c, m)),
            Type::Bf16 => row!(mods m, |a: u32, b: u32, c: u32| $call(BF16, a, b, c, m)),
            Type::F16x2 => row!(mods m, |a: u32, b: u32, c: u32| half::pair(a, b, c, |a, b, c| $call(F16, a, b, c, m))),
            Type::Bf16x2 => row!(mods m, |a: u32, b: u32, c: u32| half::pair(a, b, c, |a, b, c| $call(BF16, a, b, c, m))),
            _ => row!(mods m, |a: u32, b: u32, c: u32| $call(F32, a, b, c, m)),
        }
    }};
}

impl Decoder<'_> {
    /// Takes rounding, flushing and saturation.
    pub(super) fn float_mods(&mut self) -> Mods {
        let rounding = match self.one_of(&["rn", "rz", "rm", "rp", "rna"]) {
            Some("rz") => Rounding::Zero,
            Some("rm") => Rounding::Down,
            Some("rp") => Rounding::Up,
            Some("rna") => Rounding::Away,
            _ => Rounding::Nearest,
        };
        Mods {
            rounding,
            ftz: self.has("ftz"),
            sat: self.has("sat"),
            relu: self.has("relu"),
            nan: self.has("NaN"),
            abs: self.has("abs"),
            xorsign: self.has("xorsign"),
            ..Mods::default()
        }
    }

    pub(super) fn float_arithmetic(&mut self, kind: Type) -> Decoded {
        let name = self.parts[0];
        if name == "div" {
            return self.float_div(kind);
        }
        let m = self.float_mods();
        if m.rounding != Rounding::Nearest && matches!(kind, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2) {
            // The assembler takes `fma` of bf16 with others, and makes something else of it.
            return Err(self.unsupported("halves are rounded by `.rn` alone"));
        }
        let count = match name {
            "fma" | "mad" => 3,
            "abs" | "neg" => 1,
            // The three-operand forms of the newest targets: two in a row.
            "min" | "max" if kind == Type::F32 && self.now.operands.len() == 4 => 3,
            _ => 2,
        };
        self.arity(1 + count)?;
        let d = self.destination(0, kind)?;
        let mut sources = Vec::new();
        for at in 0..count {
            sources.push(self.source(at + 1, kind)?);
        }
        let plain = m.rounding == Rounding::Nearest && !m.sat && !m.relu;
        let f: RowFn = match (name, kind) {
            ("add", Type::F32) if plain && !m.ftz => row!(|a: u32, b: u32| out(f(a) + f(b))),
            ("add", Type::F32) if plain => row!(|a: u32, b: u32| out_fz(fz(a) + fz(b))),
            ("sub", Type::F32) if plain && !m.ftz => row!(|a: u32, b: u32| out(f(a) - f(b))),
            ("sub", Type::F32) if plain => row!(|a: u32, b: u32| out_fz(fz(a) - fz(b))),
            ("mul", Type::F32) if plain && !m.ftz => row!(|a: u32, b: u32| out(f(a) * f(b))),
            ("mul", Type::F32) if plain => row!(|a: u32, b: u32| match out_fz(fz(a) * fz(b)) {
                bits if bits & 0x7FFF_FFFF == float::LEAST => {
                    float::mul(a, b, Mode { ftz: true, ..Mode::default() })
                }
                bits => bits,
            }),
            ("fma" | "mad", Type::F32) if plain && !m.ftz => fma_f32,
            ("fma" | "mad", Type::F32) if plain => fma_f32_ftz,
            ("add", Type::F64) if plain => row!(|a: u64, b: u64| (g(a) + g(b)).to_bits()),
            ("sub", Type::F64) if plain => row!(|a: u64, b: u64| (g(a) - g(b)).to_bits()),
            ("mul", Type::F64) if plain => row!(|a: u64, b: u64| (g(a) * g(b)).to_bits()),
            ("fma" | "mad", Type::F64) if plain => fma_f64,
            ("add", Type::F64) => row!(mods m, |a: u64, b: u64| double::add(a, b, m.rounding)),
            ("sub", Type::F64) => row!(mods m, |a: u64, b: u64| double::sub(a, b, m.rounding)),
            ("mul", Type::F64) => row!(mods m, |a: u64, b: u64| double::mul(a, b, m.rounding)),
            ("fma" | "mad", Type::F64) => row!(mods m, |a: u64, b: u64, c: u64| double::fma(a, b, c, m.rounding)),
            ("min", Type::F64) => row!(|a: u64, b: u64| extreme_f64(a, b, false)),
            ("max", Type::F64) => row!(|a: u64, b: u64| extreme_f64(a, b, true)),
            ("neg", Type::F64) => row!(|a: u64| a ^ 1 << 63),
            ("abs", Type::F64) => row!(|a: u64| a & !(1 << 63)),
            ("neg", Type::F32) if m.ftz => row!(|a: u32| flush(a) ^ 1 << 31),
            ("abs", Type::F32) if m.ftz => row!(|a: u32| flush(a) & !(1 << 31)),
            ("neg", Type::F32) => row!(|a: u32| a ^ 1 << 31),
            ("abs", Type::F32) => row!(|a: u32| a & !(1 << 31)),
            ("neg", Type::F16) if m.ftz => row!(|a: u32| F16.flush(u64::from(a)) as u32 ^ 0x8000),
            ("abs", Type::F16) if m.ftz => row!(|a: u32| F16.flush(u64::from(a)) as u32 & 0x7FFF),
            ("neg", Type::F16x2) if m.ftz => row!(|a: u32| flush_pair(a) ^ 0x8000_8000),
            ("abs", Type::F16x2) if m.ftz => row!(|a: u32| flush_pair(a) & 0x7FFF_7FFF),
            ("neg", Type::F16 | Type::Bf16) => row!(|a: u32| a ^ 0x8000),
            ("abs", Type::F16 | Type::Bf16) => row!(|a: u32| a & 0x7FFF),
            ("neg", _) => row!(|a: u32| a ^ 0x8000_8000),
            ("abs", _) => row!(|a: u32| a & 0x7FFF_7FFF),
            ("add", Type::F32) => row!(mods m, |a: u32, b: u32| float::add(a, b, mode(m))),
            ("add", _) => formats!(kind, |t, a, b, _c, m| half::add(t, a, b, mode(m))),
            ("sub", Type::F32) => row!(mods m, |a: u32, b: u32| float::sub(a, b, mode(m))),
            ("sub", _) => formats!(kind, |t, a, b, _c, m| half::sub(t, a, b, mode(m))),
            ("mul", Type::F32) => row!(mods m, |a: u32, b: u32| float::mul(a, b, mode(m))),
            ("mul", _) => formats!(kind, |t, a, b, _c, m| half::mul(t, a, b, mode(m))),
            ("fma" | "mad", Type::F32) => row!(mods m, |a: u32, b: u32, c: u32| float::fma(a, b, c, mode(m))),
            ("fma" | "mad", _) => formats!(kind, |t, a, b, c, m| half::fma(t, a, b, c, mode(m))),
            ("min", _) => formats!(kind, |t, a, b, _c, m| extreme(t, a, b, false, m)),
            ("max", _) => formats!(kind, |t, a, b, _c, m| extreme(t, a, b, true, m)),
            _ => return Err(self.unsupported("this operation does not exist for its type")),
        };
        if matches!(name, "min" | "max") && count == 3 {
            let first = self.scratch(d.class);
            self.alu(f, m, first, &sources[..2]);
            self.alu(f, m, d, &[first, sources[2]]);
        } else if matches!(name, "neg" | "abs") {
            self.moves(f, d, &sources);
        } else {
            self.alu(f, m, d, &sources);
        }
        Ok(())
    }

    fn float_div(&mut self, kind: Type) -> Decoded {
        let approximate = self.one_of(&["approx", "full"]);
        let m = self.float_mods();
        self.arity(3)?;
        let d = self.destination(0, kind)?;
        let sources = [self.source(1, kind)?, self.source(2, kind)?];
        let f: RowFn = match (kind, approximate) {
            (Type::F32, None) if m.rounding == Rounding::Nearest && !m.ftz => row!(|a: u32, b: u32| out(f(a) / f(b))),
            (Type::F32, None) => row!(mods m, |a: u32, b: u32| float::div(a, b, mode(m))),
            (Type::F64, None) if m.rounding == Rounding::Nearest => row!(|a: u64, b: u64| (g(a) / g(b)).to_bits()),
            (Type::F64, None) => row!(mods m, |a: u64, b: u64| double::div(a, b, m.rounding)),
            (Type::F32, Some("full")) => {
                row!(approx m how, |a: u32, b: u32| approx::div_full(a, b, m.ftz, drawn(how, a, b)))
            }
            (Type::F32, Some(_)) => row!(approx m how, |a: u32, b: u32| approx::div(a, b, m.ftz, drawn(how, a, b))),
            _ => return Err(self.unsupported("this division does not exist")),
        };
        self.alu(f, m, d, &sources);
        Ok(())
    }

    /// `rcp`, `sqrt`, `rsqrt`, `sin`, `cos`, `lg2`, `ex2`, `tanh`.
    pub(super) fn float_unary(&mut self) -> Decoded {
        let approximate = self.has("approx");
        let m = self.float_mods();
        let kind = self.kind()?;
        self.arity(2)?;
        let d = self.destination(0, kind)?;
        let a = self.source(1, kind)?;
        let f: RowFn = match (self.parts[0], kind, approximate) {
            ("rcp", Type::F32, false) => row!(mods m, |a: u32| float::rcp(a, mode(m))),
            ("rcp", Type::F64, false) => row!(mods m, |a: u64| double::rcp(a, m.rounding)),
            ("sqrt", Type::F32, false) if m.rounding == Rounding::Nearest && !m.ftz => row!(|a: u32| out(f(a).sqrt())),
            ("sqrt", Type::F32, false) => row!(mods m, |a: u32| float::sqrt(a, mode(m))),
            ("sqrt", Type::F64, false) => row!(mods m, |a: u64| double::sqrt(a, m.rounding)),
            ("rcp", Type::F32, true) => row!(approx m how, |a: u32| approx::rcp(a, m.ftz, drawn(how, a, 0))),
            ("sqrt", Type::F32, true) => row!(approx m how, |a: u32| approx::sqrt(a, m.ftz, drawn(how, a, 0))),
            ("rsqrt", Type::F32, true) => row!(approx m how, |a: u32| approx::rsqrt(a, m.ftz, drawn(how, a, 0))),
            ("ex2", Type::F32, true) => row!(approx m how, |a: u32| approx::ex2(a, m.ftz, drawn(how, a, 0))),
            ("lg2", Type::F32, true) => row!(approx m how, |a: u32| approx::lg2(a, m.ftz, drawn(how, a, 0))),
            ("sin", Type::F32, true) => row!(approx m how, |a: u32| approx::sin(a, m.ftz, drawn(how, a, 0))),
            ("cos", Type::F32, true) => row!(approx m how, |a: u32| approx::cos(a, m.ftz, drawn(how, a, 0))),
            ("tanh", Type::F32, true) => row!(approx _m how, |a: u32| approx::tanh(a, drawn(how, a, 0))),
            ("rcp", Type::F64, true) => row!(approx _m how, |a: u64| approx::rcp_f64(a, drawn64(how, a, 0))),
            ("rsqrt", Type::F64, true) if m.ftz => {
                row!(approx _m how, |a: u64| approx::rsqrt_f64(a, drawn64(how, a, 0)))
            }
            ("rsqrt", Type::F64, true) => {
                row!(approx _m how, |a: u64| approx::rsqrt_f64_whole(a, drawn64(how, a, 0)))
            }
            ("ex2", Type::F16, true) => row!(approx _m how, |a: u32| approx::ex2_half(F16, a, drawn(how, a, 0))),
            ("ex2", Type::Bf16, true) => row!(approx _m how, |a: u32| approx::ex2_half(BF16, a, drawn(how, a, 0))),
            ("ex2", Type::F16x2, true) => {
                row!(approx _m how, |a: u32| half::pair(a, 0, 0, |a, _, _| approx::ex2_half(F16, a, drawn(how, a, 0))))
            }
            ("ex2", Type::Bf16x2, true) => {
                row!(approx _m how, |a: u32| half::pair(a, 0, 0, |a, _, _| approx::ex2_half(BF16, a, drawn(how, a, 0))))
            }
            ("tanh", Type::F16, true) => row!(approx _m how, |a: u32| approx::tanh_half(F16, a, drawn(how, a, 0))),
            ("tanh", Type::Bf16, true) => row!(approx _m how, |a: u32| approx::tanh_half(BF16, a, drawn(how, a, 0))),
            ("tanh", Type::F16x2, true) => {
                row!(approx _m how, |a: u32| half::pair(a, 0, 0, |a, _, _| approx::tanh_half(F16, a, drawn(how, a, 0))))
            }
            ("tanh", Type::Bf16x2, true) => {
                row!(approx _m how, |a: u32| half::pair(a, 0, 0, |a, _, _| approx::tanh_half(BF16, a, drawn(how, a, 0))))
            }
            _ => return Err(self.unsupported("this form does not exist")),
        };
        self.alu(f, m, d, &[a]);
        Ok(())
    }
}

/// The draw of an approximate instruction for its operands.
#[inline]
const fn drawn(how: Approximation, a: u32, b: u32) -> Approx {
    drawn64(how, a as u64, b as u64)
}

/// The same for a 64-bit operand.
#[inline]
const fn drawn64(how: Approximation, a: u64, b: u64) -> Approx {
    match how {
        Approximation::CorrectlyRounded => Approx::CorrectlyRounded,
        Approximation::Adversarial(seed) => Approx::Adversarial { draw: approx::draw(seed, a, b) },
        Approximation::Least => Approx::Adversarial { draw: 0 },
        Approximation::Greatest => Approx::Adversarial { draw: u64::MAX },
    }
}

fn extreme_f64(a: u64, b: u64, max: bool) -> u64 {
    compare::extreme(F64, a, b, Extreme { max, ..Extreme::default() })
}
