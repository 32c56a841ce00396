//! `cvt`: between integers, floats and packed halves.

use super::code::Class;
use super::operands::class_of;
use super::{Decoded, Decoder};
use crate::vm::arith::cvt::{self, Integer};
use crate::vm::arith::soft::{BF16, F16, F32, F64, Format};
use crate::vm::arith::{Mode, Rounding};
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
            (Type::F32, Type::F64) if !m.ftz && !m.sat => {
                row!(|a: u32| f64::from(f32::from_bits(a)).to_bits())
            }
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
            row!(mods m, |a: u32, b: u32| cvt::halves(F16, a, b, mode(m), false))
        } else {
            row!(mods m, |a: u32, b: u32| cvt::halves(BF16, a, b, mode(m), false))
        };
        self.alu(f, m, d, &sources);
        Ok(())
    }
}

const fn mode(m: Mods) -> Mode {
    Mode { rounding: m.rounding, ftz: m.ftz, sat: m.sat, relu: m.relu }
}

const fn format_of(kind: Type) -> Format {
    match kind {
        Type::F16 => F16,
        Type::Bf16 => BF16,
        Type::F64 => F64,
        _ => F32,
    }
}

const fn integer_of(kind: Type) -> Integer {
    let bits = kind.bytes() * 8;
    if kind.signed() { Integer::signed(bits) } else { Integer::unsigned(bits) }
}

/// One value through any conversion.
fn convert(bits: u64, m: Mods) -> u64 {
    let (Some(from), Some(to)) = (m.from, m.to) else { return bits };
    let flushed = m.ftz && from == Type::F32;
    let result = match (from.float(), to.float()) {
        (false, false) => cvt::int_to_int(integer_of(from), integer_of(to), bits, m.sat),
        (false, true) => return cvt::int_to_float(integer_of(from), format_of(to), bits, mode(m)),
        (true, false) => cvt::float_to_int(format_of(from), integer_of(to), bits, m.rounding, flushed),
        // Rounding to an integer is done in the source's format, and what is then converted is exact in a wider one.
        (true, true) if m.integral => {
            let whole =
                cvt::float_to_integral(format_of(from), bits, Mode { ftz: flushed, ..Mode::rounding(m.rounding) });
            return cvt::float_to_float(format_of(from), format_of(to), whole, mode(m));
        }
        (true, true) => return cvt::float_to_float(format_of(from), format_of(to), bits, mode(m)),
    };
    if m.bits > to.bytes() * 8 && to.signed() { integer_of(to).widened(result, m.bits) } else { result }
}
