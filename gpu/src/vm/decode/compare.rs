//! Comparisons and tests: `setp`, `set`, `testp`, `copysign`.

use super::code::{Class, Slot};
use super::floats::{f, fz, g};
use super::{Decoded, Decoder};
use crate::vm::arith::soft::{BF16, F16, Format};
use crate::vm::machine::regs::{Mods, RowFn, row};
use crate::vm::ptx::{Operand, Type};

impl Decoder<'_> {
    pub(super) fn copysign(&mut self) -> Decoded {
        let kind = self.kind()?;
        self.arity(3)?;
        let d = self.destination(0, kind)?;
        let sources = [self.source(1, kind)?, self.source(2, kind)?];
        let f: RowFn = match kind {
            Type::F32 => row!(|a: u32, b: u32| b & 0x7FFF_FFFF | a & 0x8000_0000),
            Type::F64 => row!(|a: u64, b: u64| b & !(1 << 63) | a & 1 << 63),
            _ => return Err(self.unsupported("it exists for f32 and f64")),
        };
        self.alu(f, Mods::default(), d, &sources);
        Ok(())
    }

    pub(super) fn testp(&mut self) -> Decoded {
        let test = self.one_of(&["finite", "infinite", "number", "notanumber", "normal", "subnormal"]);
        let kind = self.kind()?;
        self.arity(2)?;
        let d = self.destination(0, Type::Pred)?;
        let a = self.source(1, kind)?;
        let f: RowFn = match (test, kind) {
            (Some("finite"), Type::F32) => row!(|a: u32| f(a).is_finite()),
            (Some("infinite"), Type::F32) => row!(|a: u32| f(a).is_infinite()),
            (Some("number"), Type::F32) => row!(|a: u32| !f(a).is_nan()),
            (Some("notanumber"), Type::F32) => row!(|a: u32| f(a).is_nan()),
            (Some("normal"), Type::F32) => row!(|a: u32| f(a).is_normal() || f(a) == 0.0),
            (Some("subnormal"), Type::F32) => row!(|a: u32| f(a).is_subnormal()),
            (Some("finite"), Type::F64) => row!(|a: u64| g(a).is_finite()),
            (Some("infinite"), Type::F64) => row!(|a: u64| g(a).is_infinite()),
            (Some("number"), Type::F64) => row!(|a: u64| !g(a).is_nan()),
            (Some("notanumber"), Type::F64) => row!(|a: u64| g(a).is_nan()),
            (Some("normal"), Type::F64) => row!(|a: u64| g(a).is_normal() || g(a) == 0.0),
            (Some("subnormal"), Type::F64) => row!(|a: u64| g(a).is_subnormal()),
            _ => return Err(self.unsupported("this test does not exist")),
        };
        self.alu(f, Mods::default(), d, &[a]);
        Ok(())
    }

    pub(super) fn setp(&mut self) -> Decoded {
        let (truth, combined) = self.comparison()?;
        match self.operand(0)? {
            Operand::Pair(p, q) => {
                let (p, q) = (self.destination_of(p, Type::Pred)?, self.destination_of(q, Type::Pred)?);
                let negated = self.scratch(Class::Pred);
                self.alu(row!(|a: bool| !a), Mods::default(), negated, &[truth]);
                // Both results before either is written, since the predicate combined with may be one of them.
                let kept = self.scratch(Class::Pred);
                self.combine(kept, truth, combined);
                self.combine(q, negated, combined);
                self.alu(row!(|a: bool| a), Mods::default(), p, &[kept]);
            }
            operand => {
                let p = self.destination_of(operand, Type::Pred)?;
                self.combine(p, truth, combined);
            }
        }
        Ok(())
    }

    /// `set`: the truth as all ones or 1.0.
    pub(super) fn set(&mut self) -> Decoded {
        let result = self.types().first().copied().ok_or_else(|| self.unsupported("its types are missing"))?;
        let (truth, combined) = self.comparison()?;
        let p = self.scratch(Class::Pred);
        self.combine(p, truth, combined);
        let d = self.destination(0, result)?;
        let f: RowFn = match result {
            Type::F32 => row!(|p: bool| if p { 0x3F80_0000_u32 } else { 0 }),
            Type::U32 | Type::S32 => row!(|p: bool| if p { u32::MAX } else { 0 }),
            _ => return Err(self.unsupported("its result type is not known")),
        };
        self.alu(f, Mods::default(), d, &[p]);
        Ok(())
    }

    fn combine(&mut self, d: Slot, truth: Slot, with: Option<(&'static str, Slot, bool)>) {
        let (f, sources): (RowFn, Vec<Slot>) = match with {
            None => (row!(|a: bool| a), vec![truth]),
            Some(("and", c, false)) => (row!(|a: bool, c: bool| a & c), vec![truth, c]),
            Some(("and", c, true)) => (row!(|a: bool, c: bool| a & !c), vec![truth, c]),
            Some(("or", c, false)) => (row!(|a: bool, c: bool| a | c), vec![truth, c]),
            Some(("or", c, true)) => (row!(|a: bool, c: bool| a | !c), vec![truth, c]),
            Some((_, c, false)) => (row!(|a: bool, c: bool| a ^ c), vec![truth, c]),
            Some((_, c, true)) => (row!(|a: bool, c: bool| a ^ !c), vec![truth, c]),
        };
        self.alu(f, Mods::default(), d, &sources);
    }

    /// The comparison of `setp` and `set` in a predicate slot, and what it is to be combined with.
    #[allow(clippy::type_complexity)]
    fn comparison(&mut self) -> Decoded<(Slot, Option<(&'static str, Slot, bool)>)> {
        let kind = self.types().last().copied().ok_or_else(|| self.unsupported("its type is missing"))?;
        let ops = [
            "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu",
            "num", "nan",
        ];
        let op = self.one_of(&ops).ok_or_else(|| self.unsupported("its comparison is missing"))?;
        let boolean = self.one_of(&["and", "or", "xor"]);
        let ftz = self.has("ftz");
        self.arity(3 + usize::from(boolean.is_some()))?;
        let combined = match boolean {
            Some(name) => {
                let (p, negated) = self.predicate(3)?;
                Some((name, Slot { class: Class::Pred, index: p }, negated))
            }
            None => None,
        };
        let (a, b) = (self.source(1, kind)?, self.source(2, kind)?);
        // A plain comparison goes straight to its destination in the common case of one predicate.
        let d = match self.operand(0)? {
            Operand::Reg(_) if boolean.is_none() && self.parts[0] == "setp" => self.destination(0, Type::Pred)?,
            _ => self.scratch(Class::Pred),
        };
        let f = compare(op, kind).ok_or_else(|| self.unsupported("this comparison does not exist for its type"))?;
        self.alu(f, Mods { ftz, ..Mods::default() }, d, &[a, b]);
        Ok((d, combined))
    }
}

/// Rows for one comparison operator over all types: integers of three widths and signs, then floats.
macro_rules! comparisons {
    ($kind:expr, $op:tt, $unordered:literal) => {
        Some(match $kind {
            Type::S16 => row!(|a: u32, b: u32| (a as u16 as i16) $op (b as u16 as i16)),
            Type::S32 => row!(|a: u32, b: u32| (a as i32) $op (b as i32)),
            Type::S64 => row!(|a: u64, b: u64| (a as i64) $op (b as i64)),
            Type::U16 | Type::B16 | Type::U32 | Type::B32 => row!(|a: u32, b: u32| a $op b),
            Type::U64 | Type::B64 => row!(|a: u64, b: u64| a $op b),
            Type::F32 => row!(mods m, |a: u32, b: u32| {
                let (x, y) = if m.ftz { (fz(a), fz(b)) } else { (f(a), f(b)) };
                if $unordered { x.is_nan() | y.is_nan() | (x $op y) } else { !x.is_nan() & !y.is_nan() & (x $op y) }
            }),
            Type::F64 => row!(|a: u64, b: u64| {
                let (x, y) = (g(a), g(b));
                if $unordered { x.is_nan() | y.is_nan() | (x $op y) } else { !x.is_nan() & !y.is_nan() & (x $op y) }
            }),
            Type::F16 => row!(mods m, |a: u32, b: u32| {
                let (x, y) = if m.ftz { (flushed(a), flushed(b)) } else { (value(F16, a), value(F16, b)) };
                if $unordered { x.is_nan() | y.is_nan() | (x $op y) } else { !x.is_nan() & !y.is_nan() & (x $op y) }
            }),
            Type::Bf16 => row!(|a: u32, b: u32| {
                let (x, y) = (value(BF16, a), value(BF16, b));
                if $unordered { x.is_nan() | y.is_nan() | (x $op y) } else { !x.is_nan() & !y.is_nan() & (x $op y) }
            }),
            _ => return None,
        })
    };
}

fn compare(op: &str, kind: Type) -> Option<RowFn> {
    let float = kind.float();
    match op {
        "eq" => comparisons!(kind, ==, false),
        "ne" => comparisons!(kind, !=, false),
        "lt" => comparisons!(kind, <, false),
        "le" => comparisons!(kind, <=, false),
        "gt" => comparisons!(kind, >, false),
        "ge" => comparisons!(kind, >=, false),
        "lo" if !float => comparisons!(kind, <, false),
        "ls" if !float => comparisons!(kind, <=, false),
        "hi" if !float => comparisons!(kind, >, false),
        "hs" if !float => comparisons!(kind, >=, false),
        "equ" if float => comparisons!(kind, ==, true),
        "neu" if float => comparisons!(kind, !=, true),
        "ltu" if float => comparisons!(kind, <, true),
        "leu" if float => comparisons!(kind, <=, true),
        "gtu" if float => comparisons!(kind, >, true),
        "geu" if float => comparisons!(kind, >=, true),
        "num" | "nan" => ordered(op == "num", kind),
        _ => None,
    }
}

fn ordered(num: bool, kind: Type) -> Option<RowFn> {
    Some(match (kind, num) {
        (Type::F32, true) => row!(|a: u32, b: u32| !f(a).is_nan() & !f(b).is_nan()),
        (Type::F32, false) => row!(|a: u32, b: u32| f(a).is_nan() | f(b).is_nan()),
        (Type::F64, true) => row!(|a: u64, b: u64| !g(a).is_nan() & !g(b).is_nan()),
        (Type::F64, false) => row!(|a: u64, b: u64| g(a).is_nan() | g(b).is_nan()),
        (Type::F16, true) => row!(|a: u32, b: u32| !value(F16, a).is_nan() & !value(F16, b).is_nan()),
        (Type::F16, false) => row!(|a: u32, b: u32| value(F16, a).is_nan() | value(F16, b).is_nan()),
        (Type::Bf16, true) => row!(|a: u32, b: u32| !value(BF16, a).is_nan() & !value(BF16, b).is_nan()),
        (Type::Bf16, false) => row!(|a: u32, b: u32| value(BF16, a).is_nan() | value(BF16, b).is_nan()),
        _ => return None,
    })
}

/// An f16's value under `.ftz`.
fn flushed(bits: u32) -> f64 {
    F16.to_f64(F16.flush(u64::from(bits)))
}

/// A half's value; exact.
fn value(format: Format, bits: u32) -> f64 {
    format.to_f64(u64::from(bits))
}
