//! Integer arithmetic, logic, shifts and bit instructions.
//!
//! 16-bit values lie zero-extended in 32-bit slots, so each 16-bit function masks its result.

use super::code::{Class, Slot};
use super::{Decoded, Decoder};
use crate::vm::bits as wide;
use crate::vm::machine::regs::{Mods, RowFn, row};
use crate::vm::ptx::Type;

/// A 16-bit value as a signed number.
#[inline(always)]
pub(super) const fn s16(a: u32) -> i32 {
    a as u16 as i16 as i32
}

/// Picks the row function for 16, 32 and 64 bits.
macro_rules! sized {
    ($kind:expr, $h:expr, $w:expr, $l:expr) => {
        match $kind.bytes() {
            2 => $h,
            4 => $w,
            _ => $l,
        }
    };
}
pub(super) use sized;

impl Decoder<'_> {
    /// `add`, `sub`, `mul`, … of any type.
    pub(super) fn arithmetic(&mut self) -> Decoded {
        let kind =
            self.types().last().copied().ok_or_else(|| self.unsupported("it names no type that is supported"))?;
        if kind.float() {
            return self.float_arithmetic(kind);
        }
        if kind.bytes() == 1 || kind == Type::Pred {
            return Err(self.unsupported("it names no type that is supported"));
        }
        if self.has("cc") {
            return self.carry(kind, false);
        }
        match self.parts[0] {
            "mul" | "mad" => self.product(kind),
            "abs" | "neg" => {
                self.arity(2)?;
                let (d, a) = (self.destination(0, kind)?, self.source(1, kind)?);
                let f = if self.parts[0] == "abs" {
                    sized!(
                        kind,
                        row!(|a: u32| s16(a).wrapping_abs() as u32 & 0xFFFF),
                        row!(|a: u32| (a as i32).wrapping_abs() as u32),
                        row!(|a: u64| (a as i64).wrapping_abs() as u64)
                    )
                } else {
                    sized!(
                        kind,
                        row!(|a: u32| a.wrapping_neg() & 0xFFFF),
                        row!(|a: u32| a.wrapping_neg()),
                        row!(|a: u64| a.wrapping_neg())
                    )
                };
                self.alu(f, Mods::default(), d, &[a]);
                Ok(())
            }
            _ => self.integer_binary(),
        }
    }

    /// Two operands of one type.
    pub(super) fn integer_binary(&mut self) -> Decoded {
        let kind = self.kind()?;
        let signed = kind.signed();
        let sad = self.parts[0] == "sad";
        self.arity(if sad { 4 } else { 3 })?;
        let d = self.destination(0, kind)?;
        let mut sources = vec![self.source(1, kind)?, self.source(2, kind)?];
        if sad {
            sources.push(self.source(3, kind)?);
        }
        let sat = self.has("sat");
        if sat && kind != Type::S32 {
            return Err(self.unsupported("saturation exists for s32 only"));
        }
        let f: RowFn = match (self.parts[0], signed) {
            ("add", _) if sat => row!(|a: u32, b: u32| (a as i32).saturating_add(b as i32) as u32),
            ("sub", _) if sat => row!(|a: u32, b: u32| (a as i32).saturating_sub(b as i32) as u32),
            ("add", _) => sized!(
                kind,
                row!(|a: u32, b: u32| a.wrapping_add(b) & 0xFFFF),
                row!(|a: u32, b: u32| a.wrapping_add(b)),
                row!(|a: u64, b: u64| a.wrapping_add(b))
            ),
            ("sub", _) => sized!(
                kind,
                row!(|a: u32, b: u32| a.wrapping_sub(b) & 0xFFFF),
                row!(|a: u32, b: u32| a.wrapping_sub(b)),
                row!(|a: u64, b: u64| a.wrapping_sub(b))
            ),
            ("min", false) => sized!(
                kind,
                row!(|a: u32, b: u32| a.min(b)),
                row!(|a: u32, b: u32| a.min(b)),
                row!(|a: u64, b: u64| a.min(b))
            ),
            ("max", false) => sized!(
                kind,
                row!(|a: u32, b: u32| a.max(b)),
                row!(|a: u32, b: u32| a.max(b)),
                row!(|a: u64, b: u64| a.max(b))
            ),
            ("min", true) => {
                sized!(
                    kind,
                    row!(|a: u32, b: u32| s16(a).min(s16(b)) as u32 & 0xFFFF),
                    row!(|a: u32, b: u32| (a as i32).min(b as i32) as u32),
                    row!(|a: u64, b: u64| (a as i64).min(b as i64) as u64)
                )
            }
            ("max", true) => {
                sized!(
                    kind,
                    row!(|a: u32, b: u32| s16(a).max(s16(b)) as u32 & 0xFFFF),
                    row!(|a: u32, b: u32| (a as i32).max(b as i32) as u32),
                    row!(|a: u64, b: u64| (a as i64).max(b as i64) as u64)
                )
            }
            // By zero the ISA calls the quotient unspecified and machine-specific (9.7.1.8) and says nothing of the remainder
            // (9.7.1.9); both are all ones, as on devices of `sm_90`.
            ("div", false) => sized!(
                kind,
                row!(|a: u32, b: u32| a.checked_div(b).unwrap_or(0xFFFF)),
                row!(|a: u32, b: u32| a.checked_div(b).unwrap_or(u32::MAX)),
                row!(|a: u64, b: u64| a.checked_div(b).unwrap_or(u64::MAX))
            ),
            ("div", true) => sized!(
                kind,
                row!(|a: u32, b: u32| if b == 0 { 0xFFFF } else { s16(a).wrapping_div(s16(b)) as u32 & 0xFFFF }),
                row!(|a: u32, b: u32| if b == 0 { u32::MAX } else { (a as i32).wrapping_div(b as i32) as u32 }),
                row!(|a: u64, b: u64| if b == 0 { u64::MAX } else { (a as i64).wrapping_div(b as i64) as u64 })
            ),
            ("rem", false) => sized!(
                kind,
                row!(|a: u32, b: u32| a.checked_rem(b).unwrap_or(0xFFFF)),
                row!(|a: u32, b: u32| a.checked_rem(b).unwrap_or(u32::MAX)),
                row!(|a: u64, b: u64| a.checked_rem(b).unwrap_or(u64::MAX))
            ),
            ("rem", true) => sized!(
                kind,
                row!(|a: u32, b: u32| if b == 0 { 0xFFFF } else { s16(a).wrapping_rem(s16(b)) as u32 & 0xFFFF }),
                row!(|a: u32, b: u32| if b == 0 { u32::MAX } else { (a as i32).wrapping_rem(b as i32) as u32 }),
                row!(|a: u64, b: u64| if b == 0 { u64::MAX } else { (a as i64).wrapping_rem(b as i64) as u64 })
            ),
            ("sad", false) => sized!(
                kind,
                row!(|a: u32, b: u32, c: u32| c.wrapping_add(a.abs_diff(b)) & 0xFFFF),
                row!(|a: u32, b: u32, c: u32| c.wrapping_add(a.abs_diff(b))),
                row!(|a: u64, b: u64, c: u64| c.wrapping_add(a.abs_diff(b)))
            ),
            ("sad", true) => sized!(
                kind,
                row!(|a: u32, b: u32, c: u32| c.wrapping_add(s16(a).abs_diff(s16(b))) & 0xFFFF),
                row!(|a: u32, b: u32, c: u32| c.wrapping_add((a as i32).abs_diff(b as i32))),
                row!(|a: u64, b: u64, c: u64| c.wrapping_add((a as i64).abs_diff(b as i64)))
            ),
            _ => return Err(self.unsupported("this operation does not exist for integers")),
        };
        self.alu(f, Mods::default(), d, &sources);
        Ok(())
    }

    /// `and`, `or`, `xor`, `not`, `cnot`, `shl`, `shr`.
    pub(super) fn logic(&mut self) -> Decoded {
        let kind = self.kind()?;
        let unary = matches!(self.parts[0], "not" | "cnot");
        self.arity(if unary { 2 } else { 3 })?;
        let d = self.destination(0, kind)?;
        let a = self.source(1, kind)?;
        if unary {
            let f: RowFn = match (self.parts[0], kind) {
                ("not", Type::Pred) => row!(|a: bool| !a),
                ("not", _) => sized!(kind, row!(|a: u32| !a & 0xFFFF), row!(|a: u32| !a), row!(|a: u64| !a)),
                _ => sized!(
                    kind,
                    row!(|a: u32| u32::from(a == 0)),
                    row!(|a: u32| u32::from(a == 0)),
                    row!(|a: u64| u64::from(a == 0))
                ),
            };
            self.alu(f, Mods::default(), d, &[a]);
            return Ok(());
        }
        if matches!(self.parts[0], "shl" | "shr") {
            // Shift amounts are 32 bits whatever is shifted, and clamped to the width.
            let b = self.source(2, Type::U32)?;
            let f: RowFn = match (self.parts[0], kind.signed()) {
                ("shl", _) => sized!(
                    kind,
                    row!(|a: u32, b: u32| if b > 15 { 0 } else { a << b & 0xFFFF }),
                    row!(|a: u32, b: u32| if b > 31 { 0 } else { a << (b & 31) }),
                    row!(|a: u64, b: u32| if b > 63 { 0 } else { a << (b & 63) })
                ),
                (_, false) => sized!(
                    kind,
                    row!(|a: u32, b: u32| if b > 15 { 0 } else { a >> b }),
                    row!(|a: u32, b: u32| if b > 31 { 0 } else { a >> (b & 31) }),
                    row!(|a: u64, b: u32| if b > 63 { 0 } else { a >> (b & 63) })
                ),
                (_, true) => sized!(
                    kind,
                    row!(|a: u32, b: u32| (s16(a) >> b.min(15)) as u32 & 0xFFFF),
                    row!(|a: u32, b: u32| (a as i32 >> b.min(31)) as u32),
                    row!(|a: u64, b: u32| (a as i64 >> b.min(63)) as u64)
                ),
            };
            self.alu(f, Mods::default(), d, &[a, b]);
            return Ok(());
        }
        let b = self.source(2, kind)?;
        let f: RowFn = match (self.parts[0], d.class) {
            ("and", Class::Pred) => row!(|a: bool, b: bool| a & b),
            ("or", Class::Pred) => row!(|a: bool, b: bool| a | b),
            (_, Class::Pred) => row!(|a: bool, b: bool| a ^ b),
            ("and", Class::Word) => row!(|a: u32, b: u32| a & b),
            ("or", Class::Word) => row!(|a: u32, b: u32| a | b),
            (_, Class::Word) => row!(|a: u32, b: u32| a ^ b),
            ("and", Class::Long) => row!(|a: u64, b: u64| a & b),
            ("or", Class::Long) => row!(|a: u64, b: u64| a | b),
            (_, Class::Long) => row!(|a: u64, b: u64| a ^ b),
        };
        self.alu(f, Mods::default(), d, &[a, b]);
        Ok(())
    }

    pub(super) fn lop3(&mut self) -> Decoded {
        self.kind()?;
        self.arity(5)?;
        let d = self.destination(0, Type::B32)?;
        let sources = [
            self.source(1, Type::B32)?,
            self.source(2, Type::B32)?,
            self.source(3, Type::B32)?,
            self.source(4, Type::B32)?,
        ];
        self.alu(row!(|a: u32, b: u32, c: u32, e: u32| wide::lop3(a, b, c, e)), Mods::default(), d, &sources);
        Ok(())
    }

    pub(super) fn funnel(&mut self) -> Decoded {
        let left = self.has("l");
        if !left && !self.has("r") {
            return Err(self.unsupported("its direction is missing"));
        }
        let wrap = self.has("wrap");
        if !wrap && !self.has("clamp") {
            return Err(self.unsupported("its mode is missing"));
        }
        self.kind()?;
        self.arity(4)?;
        let d = self.destination(0, Type::B32)?;
        let sources = [self.source(1, Type::B32)?, self.source(2, Type::B32)?, self.source(3, Type::B32)?];
        let f: RowFn = match (left, wrap) {
            (true, true) => row!(|a: u32, b: u32, c: u32| wide::funnel_left(a, b, c & 31)),
            (true, false) => row!(|a: u32, b: u32, c: u32| wide::funnel_left(a, b, c.min(32))),
            (false, true) => row!(|a: u32, b: u32, c: u32| wide::funnel_right(a, b, c & 31)),
            (false, false) => row!(|a: u32, b: u32, c: u32| wide::funnel_right(a, b, c.min(32))),
        };
        self.alu(f, Mods::default(), d, &sources);
        Ok(())
    }

    pub(super) fn prmt(&mut self) -> Decoded {
        let mode = self.one_of(&["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"]);
        self.kind()?;
        self.arity(4)?;
        let d = self.destination(0, Type::B32)?;
        let sources = [self.source(1, Type::B32)?, self.source(2, Type::B32)?, self.source(3, Type::B32)?];
        let f: RowFn = match mode {
            None => row!(|a: u32, b: u32, c: u32| wide::prmt(a, b, c)),
            Some("f4e") => {
                row!(|a: u32, b: u32, c: u32| wide::prmt(a, b, [0x3210, 0x4321, 0x5432, 0x6543][(c & 3) as usize]))
            }
            Some("b4e") => {
                row!(|a: u32, b: u32, c: u32| wide::prmt(a, b, [0x5670, 0x6701, 0x7012, 0x0123][(c & 3) as usize]))
            }
            Some("rc8") => {
                row!(|a: u32, b: u32, c: u32| wide::prmt(a, b, [0x0000, 0x1111, 0x2222, 0x3333][(c & 3) as usize]))
            }
            Some("ecl") => {
                row!(|a: u32, b: u32, c: u32| wide::prmt(a, b, [0x3210, 0x3211, 0x3222, 0x3333][(c & 3) as usize]))
            }
            Some("ecr") => {
                row!(|a: u32, b: u32, c: u32| wide::prmt(a, b, [0x0000, 0x1110, 0x2210, 0x3210][(c & 3) as usize]))
            }
            Some(_) => {
                row!(|a: u32, b: u32, c: u32| wide::prmt(a, b, [0x1010, 0x3232, 0x1010, 0x3232][(c & 3) as usize]))
            }
        };
        self.alu(f, Mods::default(), d, &sources);
        Ok(())
    }

    /// Bit fields, counts and the like.
    pub(super) fn bits(&mut self) -> Decoded {
        let types = self.types();
        let kind = *types.first().ok_or_else(|| self.unsupported("its type is missing"))?;
        if kind.bytes() < 4 || kind.float() {
            return Err(self.unsupported("it exists for 32 and 64 bits"));
        }
        let long = kind.bytes() == 8;
        let signed = kind.signed();
        let (result, sources, f): (Type, Vec<Type>, RowFn) = match self.parts[0] {
            "popc" => (
                Type::U32,
                vec![kind],
                if long { row!(|a: u64| a.count_ones()) } else { row!(|a: u32| a.count_ones()) },
            ),
            "clz" => (
                Type::U32,
                vec![kind],
                if long { row!(|a: u64| a.leading_zeros()) } else { row!(|a: u32| a.leading_zeros()) },
            ),
            "brev" => {
                (kind, vec![kind], if long { row!(|a: u64| a.reverse_bits()) } else { row!(|a: u32| a.reverse_bits()) })
            }
            "bfe" => (
                kind,
                vec![kind, Type::U32, Type::U32],
                match (long, signed) {
                    (false, false) => row!(|a: u32, b: u32, c: u32| wide::bfe(u64::from(a), b, c, 32, false) as u32),
                    (false, true) => row!(|a: u32, b: u32, c: u32| wide::bfe(u64::from(a), b, c, 32, true) as u32),
                    (true, false) => row!(|a: u64, b: u32, c: u32| wide::bfe(a, b, c, 64, false)),
                    (true, true) => row!(|a: u64, b: u32, c: u32| wide::bfe(a, b, c, 64, true)),
                },
            ),
            "bfi" => (
                kind,
                vec![kind, kind, Type::U32, Type::U32],
                if long {
                    row!(|a: u64, b: u64, c: u32, e: u32| wide::bfi(a, b, c, e, 64))
                } else {
                    row!(|a: u32, b: u32, c: u32, e: u32| wide::bfi(u64::from(a), u64::from(b), c, e, 32) as u32)
                },
            ),
            "bfind" => (
                Type::U32,
                vec![kind],
                match (long, signed, self.has("shiftamt")) {
                    (false, false, false) => row!(|a: u32| 31_u32.wrapping_sub(a.leading_zeros())),
                    (false, true, false) => {
                        row!(|a: u32| 31_u32.wrapping_sub((a ^ (a as i32 >> 31) as u32).leading_zeros()))
                    }
                    (true, false, false) => row!(|a: u64| 63_u32.wrapping_sub(a.leading_zeros())),
                    (true, true, false) => {
                        row!(|a: u64| 63_u32.wrapping_sub((a ^ (a as i64 >> 63) as u64).leading_zeros()))
                    }
                    (false, false, true) => row!(|a: u32| if a == 0 { u32::MAX } else { a.leading_zeros() }),
                    (false, true, true) => row!(|a: u32| match a ^ (a as i32 >> 31) as u32 {
                        0 => u32::MAX,
                        x => x.leading_zeros(),
                    }),
                    (true, false, true) => row!(|a: u64| if a == 0 { u32::MAX } else { a.leading_zeros() }),
                    (true, true, true) => row!(|a: u64| match a ^ (a as i64 >> 63) as u64 {
                        0 => u32::MAX,
                        x => x.leading_zeros(),
                    }),
                },
            ),
            "bmsk" => {
                let wrap = self.has("wrap");
                if !wrap && !self.has("clamp") || long {
                    return Err(self.unsupported("this form is not known"));
                }
                let f: RowFn = if wrap {
                    row!(|a: u32, b: u32| wide::bmsk(a & 31, b & 31))
                } else {
                    row!(|a: u32, b: u32| wide::bmsk(a, b))
                };
                (kind, vec![kind, kind], f)
            }
            "szext" => {
                let wrap = self.has("wrap");
                if !wrap && !self.has("clamp") || long {
                    return Err(self.unsupported("this form is not known"));
                }
                let f: RowFn = match (wrap, signed) {
                    (true, false) => row!(|a: u32, b: u32| wide::szext(a, b & 31, false)),
                    (true, true) => row!(|a: u32, b: u32| wide::szext(a, b & 31, true)),
                    (false, false) => row!(|a: u32, b: u32| wide::szext(a, b, false)),
                    (false, true) => row!(|a: u32, b: u32| wide::szext(a, b, true)),
                };
                (kind, vec![kind, Type::U32], f)
            }
            "fns" => (
                Type::B32,
                vec![Type::B32, Type::B32, Type::S32],
                row!(|a: u32, b: u32, c: u32| wide::fns(a, b, c as i32)),
            ),
            _ => {
                let second = types.get(1).copied().unwrap_or(kind);
                let f: RowFn = match (signed, second.signed()) {
                    (false, false) => row!(|a: u32, b: u32, c: u32| wide::dp4a(a, b, c, false, false)),
                    (false, true) => row!(|a: u32, b: u32, c: u32| wide::dp4a(a, b, c, false, true)),
                    (true, false) => row!(|a: u32, b: u32, c: u32| wide::dp4a(a, b, c, true, false)),
                    (true, true) => row!(|a: u32, b: u32, c: u32| wide::dp4a(a, b, c, true, true)),
                };
                (Type::B32, vec![Type::B32; 3], f)
            }
        };
        self.arity(1 + sources.len())?;
        let d = self.destination(0, result)?;
        let slots =
            sources.iter().enumerate().map(|(at, &t)| self.source(at + 1, t)).collect::<Result<Vec<Slot>, _>>()?;
        self.alu(f, Mods::default(), d, &slots);
        Ok(())
    }
}
