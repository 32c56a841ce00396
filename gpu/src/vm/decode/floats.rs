//! Floating-point arithmetic, comparison and approximation.
//!
//! The common forms (f32 and f64, round to nearest) are vector loops; everything else goes value by value through
//! [`crate::vm::arith`].

use super::{Decoded, Decoder};
use crate::vm::arith::{self, Approximation, BF16, Exact, F16, F32, Format, Rounding};
use crate::vm::machine::regs::{Args, Lane, Mods, Regs, RowFn, row};
use crate::vm::ptx::Type;
use std::sync::LazyLock;

/// The widest vectors that this processor has; fused multiply-add needs them to be fast.
static ARCH: LazyLock<pulp::Arch> = LazyLock::new(pulp::Arch::new);

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

/// What the slow path computes before rounding.
#[derive(Clone, Copy)]
enum Three {
    Add,
    Mul,
    Fma,
    Div,
}

fn exact(op: Three, a: f64, b: f64, c: f64) -> Exact {
    match op {
        Three::Add => arith::sum(a, b),
        Three::Mul => Exact(a * b, 0.0),
        // Products of up to 24-bit significands are exact in f64.
        Three::Fma => arith::sum(a * b, c),
        Three::Div => arith::quotient(a, b),
    }
}

/// Rounds a result into a format with the modifiers of the instruction.
fn finish(format: Format, value: Exact, m: Mods) -> u32 {
    let mut bits = format.round(value, m.rounding);
    if m.ftz {
        bits = format.flush(bits);
    }
    if m.sat {
        let v = format.value(bits);
        bits = if v.is_nan() || v <= 0.0 {
            0
        } else if v > 1.0 {
            format.round(Exact(1.0, 0.0), Rounding::Nearest)
        } else {
            bits
        };
    }
    let negative = format.value(bits) < 0.0;
    if m.relu && negative { 0 } else { bits }
}

fn small(format: Format, op: Three, a: u32, b: u32, c: u32, m: Mods) -> u32 {
    let take = |bits: u32| format.value(if m.ftz { format.flush(bits) } else { bits });
    finish(format, exact(op, take(a), take(b), take(c)), m)
}

/// Applies a function to both halves of a word.
fn halves(a: u32, b: u32, c: u32, f: impl Fn(u32, u32, u32) -> u32) -> u32 {
    f(a & 0xFFFF, b & 0xFFFF, c & 0xFFFF) | f(a >> 16, b >> 16, c >> 16) << 16
}

fn double(op: Three, a: f64, b: f64, c: f64, m: Mods) -> u64 {
    let exact = match op {
        Three::Mul => {
            let p = a * b;
            Exact(p, if p.is_finite() { a.mul_add(b, -p) } else { 0.0 })
        }
        Three::Fma => {
            // The error of a fused operation: of the product and of the sum, of which the larger decides the sign.
            let s = a.mul_add(b, c);
            let p = a * b;
            let e = a.mul_add(b, -p);
            let Exact(t, r) = arith::sum(p, c);
            Exact(s, if s.is_finite() { (t - s) + (r + e) } else { 0.0 })
        }
        _ => exact(op, a, b, c),
    };
    arith::direct(exact, m.rounding).to_bits()
}

fn extreme(format: Format, a: u32, b: u32, max: bool, m: Mods) -> u32 {
    let (a, b) = if m.ftz { (format.flush(a), format.flush(b)) } else { (a, b) };
    let (x, y) = (format.value(a), format.value(b));
    if x.is_nan() || y.is_nan() {
        return if m.nan || x.is_nan() && y.is_nan() {
            format.nan()
        } else if x.is_nan() {
            b
        } else {
            a
        };
    }
    // Zeros: -0 is below +0.
    let first = if x == y { x.is_sign_negative() } else { x < y };
    if first == max { b } else { a }
}

/// Picks a function by format: f16, bf16, their pairs, f32.
macro_rules! formats {
    ($kind:expr, $call:expr) => {{
        match $kind {
            Type::F16 => row!(mods m, |a: u32, b: u32, c: u32| $call(F16, a, b, c, m)),
            Type::Bf16 => row!(mods m, |a: u32, b: u32, c: u32| $call(BF16, a, b, c, m)),
            Type::F16x2 => row!(mods m, |a: u32, b: u32, c: u32| halves(a, b, c, |a, b, c| $call(F16, a, b, c, m))),
            Type::Bf16x2 => row!(mods m, |a: u32, b: u32, c: u32| halves(a, b, c, |a, b, c| $call(BF16, a, b, c, m))),
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
            ..Mods::default()
        }
    }

    pub(super) fn float_arithmetic(&mut self, kind: Type) -> Decoded {
        let name = self.parts[0];
        if name == "div" {
            return self.float_div(kind);
        }
        let m = self.float_mods();
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
            ("mul", Type::F32) if plain => row!(|a: u32, b: u32| out_fz(fz(a) * fz(b))),
            ("fma" | "mad", Type::F32) if plain && !m.ftz => fma_f32,
            ("fma" | "mad", Type::F32) if plain => fma_f32_ftz,
            ("add", Type::F64) if plain => row!(|a: u64, b: u64| (g(a) + g(b)).to_bits()),
            ("sub", Type::F64) if plain => row!(|a: u64, b: u64| (g(a) - g(b)).to_bits()),
            ("mul", Type::F64) if plain => row!(|a: u64, b: u64| (g(a) * g(b)).to_bits()),
            ("fma" | "mad", Type::F64) if plain => fma_f64,
            ("add", Type::F64) => row!(mods m, |a: u64, b: u64| double(Three::Add, g(a), g(b), 0.0, m)),
            ("sub", Type::F64) => row!(mods m, |a: u64, b: u64| double(Three::Add, g(a), -g(b), 0.0, m)),
            ("mul", Type::F64) => row!(mods m, |a: u64, b: u64| double(Three::Mul, g(a), g(b), 0.0, m)),
            ("fma" | "mad", Type::F64) => {
                row!(mods m, |a: u64, b: u64, c: u64| double(Three::Fma, g(a), g(b), g(c), m))
            }
            ("min", Type::F64) => row!(|a: u64, b: u64| min_f64(a, b)),
            ("max", Type::F64) => row!(|a: u64, b: u64| max_f64(a, b)),
            ("neg", Type::F64) => row!(|a: u64| a ^ 1 << 63),
            ("abs", Type::F64) => row!(|a: u64| a & !(1 << 63)),
            ("neg", Type::F32) if m.ftz => row!(|a: u32| flush(a) ^ 1 << 31),
            ("abs", Type::F32) if m.ftz => row!(|a: u32| flush(a) & !(1 << 31)),
            ("neg", Type::F32) => row!(|a: u32| a ^ 1 << 31),
            ("abs", Type::F32) => row!(|a: u32| a & !(1 << 31)),
            ("neg", Type::F16 | Type::Bf16) => row!(|a: u32| a ^ 0x8000),
            ("abs", Type::F16 | Type::Bf16) => row!(|a: u32| a & 0x7FFF),
            ("neg", _) => row!(|a: u32| a ^ 0x8000_8000),
            ("abs", _) => row!(|a: u32| a & 0x7FFF_7FFF),
            ("add", _) => formats!(kind, |t, a, b, _c, m| small(t, Three::Add, a, b, 0, m)),
            ("sub", _) => formats!(kind, |t: Format, a, b, _c, m| small(t, Three::Add, a, b ^ sign_of(t), 0, m)),
            ("mul", _) => formats!(kind, |t, a, b, _c, m| small(t, Three::Mul, a, b, 0, m)),
            ("fma" | "mad", _) => formats!(kind, |t, a, b, c, m| small(t, Three::Fma, a, b, c, m)),
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
            (Type::F32, None) => row!(mods m, |a: u32, b: u32| small(F32, Three::Div, a, b, 0, m)),
            (Type::F64, None) if m.rounding == Rounding::Nearest => row!(|a: u64, b: u64| (g(a) / g(b)).to_bits()),
            (Type::F64, None) => row!(mods m, |a: u64, b: u64| double(Three::Div, g(a), g(b), 0.0, m)),
            (Type::F32, Some(_)) => row!(approx m how, |a: u32, b: u32| approximate_div(a, b, m, how)),
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
            ("rcp", Type::F32, false) => row!(mods m, |a: u32| small(F32, Three::Div, 0x3F80_0000, a, 0, m)),
            ("rcp", Type::F64, false) => row!(mods m, |a: u64| double(Three::Div, 1.0, g(a), 0.0, m)),
            ("sqrt", Type::F32, false) if m.rounding == Rounding::Nearest && !m.ftz => row!(|a: u32| out(f(a).sqrt())),
            ("sqrt", Type::F32, false) => {
                row!(mods m, |a: u32| finish(F32, arith::root(F32.value(if m.ftz { flush(a) } else { a })), m))
            }
            ("sqrt", Type::F64, false) => row!(mods m, |a: u64| arith::direct(arith::root(g(a)), m.rounding).to_bits()),
            ("rcp", Type::F32, true) => row!(approx m how, |a: u32| unary(a, m, how, 2f64.powi(-23), |x| 1.0 / x)),
            ("sqrt", Type::F32, true) => row!(approx m how, |a: u32| unary(a, m, how, 2f64.powi(-23), f64::sqrt)),
            ("rsqrt", Type::F32, true) => {
                row!(approx m how, |a: u32| unary(a, m, how, 2f64.powf(-22.9), |x| 1.0 / x.sqrt()))
            }
            ("ex2", Type::F32, true) => row!(approx m how, |a: u32| unary(a, m, how, 2f64.powi(-22), f64::exp2)),
            ("lg2", Type::F32, true) => row!(approx m how, |a: u32| logarithm(a, m, how)),
            ("sin", Type::F32, true) => row!(approx m how, |a: u32| circular(a, m, how, f64::sin)),
            ("cos", Type::F32, true) => row!(approx m how, |a: u32| circular(a, m, how, f64::cos)),
            ("tanh", Type::F32, true) => row!(approx m how, |a: u32| unary(a, m, how, 2f64.powi(-11), f64::tanh)),
            ("rcp", Type::F64, true) => row!(|a: u64| coarse(1.0 / coarse_input(a))),
            ("rsqrt", Type::F64, true) => row!(|a: u64| coarse(1.0 / coarse_input(a).sqrt())),
            ("ex2", Type::F16, true) => row!(|a: u32| narrow(F16, a, f64::exp2)),
            ("ex2", Type::Bf16, true) => row!(|a: u32| narrow(BF16, a, f64::exp2)),
            ("ex2", Type::F16x2, true) => row!(|a: u32| halves(a, 0, 0, |a, _, _| narrow(F16, a, f64::exp2))),
            ("ex2", Type::Bf16x2, true) => row!(|a: u32| halves(a, 0, 0, |a, _, _| narrow(BF16, a, f64::exp2))),
            ("tanh", Type::F16, true) => row!(|a: u32| narrow(F16, a, f64::tanh)),
            ("tanh", Type::Bf16, true) => row!(|a: u32| narrow(BF16, a, f64::tanh)),
            ("tanh", Type::F16x2, true) => row!(|a: u32| halves(a, 0, 0, |a, _, _| narrow(F16, a, f64::tanh))),
            ("tanh", Type::Bf16x2, true) => row!(|a: u32| halves(a, 0, 0, |a, _, _| narrow(BF16, a, f64::tanh))),
            _ => return Err(self.unsupported("this form does not exist")),
        };
        self.alu(f, m, d, &[a]);
        Ok(())
    }
}

const fn sign_of(format: Format) -> u32 {
    if format.nan() > 0xFFFF { 1 << 31 } else { 1 << 15 }
}

#[inline(always)]
fn min_f64(a: u64, b: u64) -> u64 {
    let (x, y) = (g(a), g(b));
    if x.is_nan() {
        return b;
    }
    if y.is_nan() {
        return a;
    }
    if x == y {
        a | b & 1 << 63
    } else if x < y {
        a
    } else {
        b
    }
}

#[inline(always)]
fn max_f64(a: u64, b: u64) -> u64 {
    let (x, y) = (g(a), g(b));
    if x.is_nan() {
        return b;
    }
    if y.is_nan() {
        return a;
    }
    if x == y {
        a & (b | !(1 << 63))
    } else if x > y {
        a
    } else {
        b
    }
}

fn approximate_div(a: u32, b: u32, m: Mods, how: Approximation) -> u32 {
    let (a, b) = if m.ftz { (flush(a), flush(b)) } else { (a, b) };
    let value = F32.value(a) / F32.value(b);
    let bits = arith::approximate(value, 2f64.powi(-22), 0.0, a ^ b.rotate_left(16), how);
    if m.ftz { flush(bits) } else { bits }
}

fn unary(a: u32, m: Mods, how: Approximation, relative: f64, function: impl Fn(f64) -> f64) -> u32 {
    let a = if m.ftz { flush(a) } else { a };
    let bits = arith::approximate(function(F32.value(a)), relative, 0.0, a, how);
    if m.ftz { flush(bits) } else { bits }
}

/// `lg2.approx`: an absolute error between 0.5 and 2, a relative one elsewhere.
fn logarithm(a: u32, m: Mods, how: Approximation) -> u32 {
    let a = if m.ftz { flush(a) } else { a };
    let x = F32.value(a);
    let (relative, absolute) = if (0.5..2.0).contains(&x) { (0.0, 2f64.powi(-22)) } else { (2f64.powi(-22), 0.0) };
    arith::approximate(x.log2(), relative, absolute, a, how)
}

/// `sin.approx`, `cos.approx`: an absolute error that grows with the argument.
fn circular(a: u32, m: Mods, how: Approximation, function: impl Fn(f64) -> f64) -> u32 {
    let a = if m.ftz { flush(a) } else { a };
    let x = F32.value(a);
    let absolute = if x.abs() <= 2.0 * std::f64::consts::PI { 2f64.powf(-20.5) } else { 2f64.powf(-14.7) };
    let bits = arith::approximate(function(x), 0.0, absolute, a, how);
    if m.ftz { flush(bits) } else { bits }
}

/// The approximate f64 functions see and give the upper half only.
fn coarse_input(a: u64) -> f64 {
    let a = if a & 0x7FF0_0000_0000_0000 == 0 { a & 1 << 63 } else { a };
    g(a & 0xFFFF_FFFF_0000_0000)
}

fn coarse(value: f64) -> u64 {
    let bits = value.to_bits();
    let bits = if bits & 0x7FF0_0000_0000_0000 == 0 { bits & 1 << 63 } else { bits };
    if value.is_nan() { 0x7FFF_FFFF_0000_0000 } else { bits & 0xFFFF_FFFF_0000_0000 }
}

fn narrow(format: Format, a: u32, function: impl Fn(f64) -> f64) -> u32 {
    format.round(Exact(function(format.value(a)), 0.0), Rounding::Nearest)
}
