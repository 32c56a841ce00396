//! `cvt`: between integers, floats and packed halves.

use super::code::Class;
use super::operands::class_of;
use super::{Decoded, Decoder};
use crate::vm::arith::{self, BF16, Exact, F16, F32, Format, Rounding};
use crate::vm::machine::regs::{Mods, RowFn, row};
use crate::vm::ptx::Type;

impl Decoder<'_> {
    pub(super) fn cvt(&mut self) -> Decoded {
        let integral = self.one_of(&["rni", "rzi", "rmi", "rpi"]);
        let mut m = self.float_mods();
        match integral {
            Some("rzi") => m.rounding = Rounding::Zero,
            Some("rmi") => m.rounding = Rounding::Down,
            Some("rpi") => m.rounding = Rounding::Up,
            _ => {}
        }
        m.integral = integral.is_some();
        let types = self.types();
        let &[to, from] = types.as_slice() else { return Err(self.unsupported("it needs two supported types")) };
        if matches!(to, Type::F16x2 | Type::Bf16x2) {
            return self.cvt_packed(to, from, m);
        }
        if matches!(from, Type::F16x2 | Type::Bf16x2 | Type::Pred) || to == Type::Pred {
            return Err(self.unsupported("these types are not known"));
        }
        self.arity(2)?;
        let source = self.operand(1)?;
        let a = self.wide_source(source, from)?;
        let operand = self.operand(0)?;
        let d = self.any_source(operand, to)?;
        m.bits = self.register_bits(operand);
        if m.bits < to.bytes() * 8 || d.class == Class::Pred {
            return Err(self.unsupported("its destination register is too small"));
        }
        (m.from, m.to) = (Some(from), Some(to));
        let exactly = m.bits == to.bytes() * 8;
        let nearest = m.rounding == Rounding::Nearest && !m.sat && !m.ftz;
        let integers = !from.float() && !to.float();
        let f: RowFn = match (from, to) {
            (Type::S32, Type::S64 | Type::U64) if !m.sat => row!(|a: u32| a as i32 as u64),
            (Type::U32, Type::S64 | Type::U64) => row!(|a: u32| u64::from(a)),
            (Type::S64 | Type::U64, Type::S32 | Type::U32) if exactly && !m.sat => row!(|a: u64| a as u32),
            (Type::S64 | Type::U64, Type::S16 | Type::U16) if exactly && !m.sat => row!(|a: u64| a as u32 & 0xFFFF),
            (Type::S32 | Type::U32, Type::S16 | Type::U16) if exactly && !m.sat => row!(|a: u32| a & 0xFFFF),
            (Type::U16, Type::U32 | Type::S32) => row!(|a: u32| a & 0xFFFF),
            (Type::S32, Type::F32) if nearest => row!(|a: u32| (a as i32 as f32).to_bits()),
            (Type::U32, Type::F32) if nearest => row!(|a: u32| (a as f32).to_bits()),
            (Type::F32, Type::F64) if !m.ftz && !m.sat => row!(|a: u32| f64::from(f32::from_bits(a)).to_bits()),
            (Type::F32, Type::S32) if m.rounding == Rounding::Zero && !m.ftz => {
                row!(|a: u32| f32::from_bits(a) as i32 as u32)
            }
            _ => match (class_of(from), class_of(to)) {
                (Class::Word, _) if d.class == Class::Long => row!(mods m, |a: u32| convert(u64::from(a), m)),
                (Class::Word, _) => row!(mods m, |a: u32| convert(u64::from(a), m) as u32),
                (_, _) if d.class == Class::Long => row!(mods m, |a: u64| convert(a, m)),
                _ => row!(mods m, |a: u64| convert(a, m) as u32),
            },
        };
        // Fast rows are written for the destination's natural class.
        if d.class == class_of(to) || !exactly {
            let f = if d.class == class_of(to) {
                f
            } else if class_of(from) == Class::Long {
                row!(mods m, |a: u64| convert(a, m))
            } else {
                row!(mods m, |a: u32| convert(u64::from(a), m))
            };
            if integers && !m.sat {
                self.row(f, m, d, &[a], true);
            } else {
                self.alu(f, m, d, &[a]);
            }
            return Ok(());
        }
        Err(self.unsupported("its destination register is of the wrong size"))
    }

    /// `cvt.rn.f16x2.f32 d, a, b`: `a` in the upper half.
    fn cvt_packed(&mut self, to: Type, from: Type, mut m: Mods) -> Decoded {
        if from != Type::F32 {
            return Err(self.unsupported("packed conversions start from f32"));
        }
        self.arity(3)?;
        let d = self.destination(0, to)?;
        let sources = [self.source(1, from)?, self.source(2, from)?];
        m.from = Some(Type::F32);
        let f: RowFn = if to == Type::F16x2 {
            row!(mods m, |a: u32, b: u32| half(F16, b, m) | half(F16, a, m) << 16)
        } else {
            row!(mods m, |a: u32, b: u32| half(BF16, b, m) | half(BF16, a, m) << 16)
        };
        self.alu(f, m, d, &sources);
        Ok(())
    }
}

fn half(format: Format, a: u32, m: Mods) -> u32 {
    let bits = format.round(Exact(F32.value(a), 0.0), m.rounding);
    if m.relu && bits & 0x8000 != 0 && !format.value(bits).is_nan() { 0 } else { bits }
}

const fn format_of(kind: Type) -> Format {
    match kind {
        Type::F16 => F16,
        Type::Bf16 => BF16,
        _ => F32,
    }
}

/// One value through any conversion.
fn convert(bits: u64, m: Mods) -> u64 {
    let (Some(from), Some(to)) = (m.from, m.to) else { return bits };
    let value = if from == Type::F64 {
        Value::Float(f64::from_bits(bits))
    } else if from.float() {
        let format = format_of(from);
        let word = bits as u32 & if from.bytes() == 2 { 0xFFFF } else { u32::MAX };
        let flushed = m.ftz && from == Type::F32;
        Value::Float(format.value(if flushed { format.flush(word) } else { word }))
    } else {
        Value::Integer(extend(bits, from))
    };
    let result = if to.float() { to_float(value, to, m) } else { to_integer(value, to, m) };
    if !to.float() && m.bits > to.bytes() * 8 && to.signed() {
        let shift = 64 - to.bytes() * 8;
        let wide = ((result << shift) as i64 >> shift) as u64;
        return if m.bits >= 64 { wide } else { wide & ((1 << m.bits) - 1) };
    }
    result
}

#[derive(Clone, Copy)]
enum Value {
    Integer(i128),
    Float(f64),
}

/// The integer of this type in the low bits.
fn extend(bits: u64, kind: Type) -> i128 {
    let shift = 64 - kind.bytes() * 8;
    if kind.signed() { i128::from((bits << shift) as i64 >> shift) } else { i128::from(bits << shift >> shift) }
}

fn range(kind: Type) -> (i128, i128) {
    let width = kind.bytes() * 8;
    if kind.signed() { (-(1 << (width - 1)), (1 << (width - 1)) - 1) } else { (0, (1 << width) - 1) }
}

fn to_integer(value: Value, to: Type, m: Mods) -> u64 {
    let (least, most) = range(to);
    let result = match value {
        Value::Integer(value) if m.sat => value.clamp(least, most),
        Value::Integer(value) => value,
        // NaN gives 0; everything beyond the range gives its end.
        Value::Float(value) => (integral(value, m.rounding) as i128).clamp(least, most),
    };
    let width = to.bytes() * 8;
    if width == 64 { result as u64 } else { result as u64 & ((1 << width) - 1) }
}

fn integral(value: f64, mode: Rounding) -> f64 {
    match mode {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
        Rounding::Away => value.round(),
    }
}

fn to_float(value: Value, to: Type, m: Mods) -> u64 {
    let mut exact = match value {
        Value::Integer(value) => {
            let near = value as f64;
            Exact(near, (value - near as i128) as f64)
        }
        Value::Float(value) if m.integral => Exact(integral(value, m.rounding), 0.0),
        Value::Float(value) => Exact(value, 0.0),
    };
    if m.sat {
        exact = match exact.0 {
            v if v.is_nan() || v <= 0.0 => Exact(0.0, 0.0),
            v if v > 1.0 => Exact(1.0, 0.0),
            _ => exact,
        };
    }
    if to == Type::F64 {
        return arith::direct(exact, m.rounding).to_bits();
    }
    let format = format_of(to);
    let mut bits = format.round(exact, m.rounding);
    if m.ftz && to == Type::F32 {
        bits = format.flush(bits);
    }
    if m.relu && format.value(bits) < 0.0 {
        bits = 0;
    }
    u64::from(bits)
}
