//! Comparison and what looks at signs and classes: `min max set setp testp copysign abs neg` (PTX ISA 9.7.3, 9.7.4, 9.7.6).

use super::soft::{Format, Value};
use std::cmp::Ordering;

/// Modifiers of `min` and `max`, each of which an instruction has or has not.
#[allow(clippy::struct_excessive_bools)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extreme {
    /// `max` rather than `min`.
    pub max: bool,
    /// `.NaN`: a NaN operand makes the result NaN.
    pub nan: bool,
    /// `.abs`: compares, and gives, magnitudes.
    pub abs: bool,
    /// `.xorsign`: the result's sign is the exclusive or of the operands'.
    pub xorsign: bool,
    /// `.ftz`.
    pub ftz: bool,
}

/// The integer whose order is that of the floats, −0 below +0.
#[inline]
const fn rank(format: Format, bits: u64) -> i64 {
    let magnitude = (bits & (format.sign() - 1)) as i64;
    if bits & format.sign() != 0 { !magnitude } else { magnitude }
}

/// `min` and `max` of two operands, any format; two NaN give the format's canonical NaN.
#[inline]
pub const fn extreme(format: Format, a: u64, b: u64, m: Extreme) -> u64 {
    let sign = (a ^ b) & format.sign();
    let (x, y) = (prepare(format, a, m), prepare(format, b, m));
    let result = match (format.is_nan(x), format.is_nan(y)) {
        (true, true) => return format.nan,
        (true, false) | (false, true) if m.nan => return format.nan,
        (true, false) => y,
        (false, true) => x,
        (false, false) => {
            let less = rank(format, x) < rank(format, y);
            if less == m.max { y } else { x }
        }
    };
    if m.xorsign { result & !format.sign() | sign } else { result }
}

/// `min` and `max` of three operands (no `.xorsign` there).
#[inline]
pub const fn extreme3(format: Format, a: u64, b: u64, c: u64, m: Extreme) -> u64 {
    let m = Extreme { xorsign: false, ..m };
    extreme(format, extreme(format, a, b, m), c, m)
}

const fn prepare(format: Format, bits: u64, m: Extreme) -> u64 {
    let bits = if m.ftz { format.flush(bits) } else { bits };
    if m.abs { bits & !format.sign() } else { bits }
}

/// `abs{.ftz}`: clears the sign, of NaN too (there the ISA leaves it open).
#[inline]
pub const fn abs(format: Format, a: u64, ftz: bool) -> u64 {
    (if ftz { format.flush(a) } else { a }) & !format.sign()
}

/// `neg{.ftz}`: flips the sign, of NaN too (there the ISA leaves it open).
#[inline]
pub const fn neg(format: Format, a: u64, ftz: bool) -> u64 {
    (if ftz { format.flush(a) } else { a }) ^ format.sign()
}

/// `copysign d, a, b`: the sign of `a` with the magnitude of `b`.
#[inline]
pub const fn copysign(format: Format, a: u64, b: u64) -> u64 {
    a & format.sign() | b & !format.sign()
}

/// A property that `testp` looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// Neither infinite nor NaN.
    Finite,
    /// An infinity.
    Infinite,
    /// Not NaN.
    Number,
    /// NaN.
    NotANumber,
    /// Neither infinite, NaN, subnormal nor zero.
    Normal,
    /// Subnormal; a zero is not (it is neither).
    Subnormal,
}

/// `testp`.
#[inline]
pub const fn testp(format: Format, a: u64, property: Property) -> bool {
    let zero = a & (format.sign() - 1) == 0;
    match (property, format.decode(a)) {
        (Property::Finite, Value::Finite(_))
        | (Property::Infinite, Value::Infinite(_))
        | (Property::Number, Value::Finite(_) | Value::Infinite(_))
        | (Property::NotANumber, Value::Nan) => true,
        (Property::Normal, Value::Finite(_)) => !format.is_tiny(a),
        (Property::Subnormal, Value::Finite(_)) => format.is_tiny(a) && !zero,
        _ => false,
    }
}

/// A comparison of `set` and `setp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Equal.
    Eq,
    /// Not equal (ordered: false with NaN).
    Ne,
    /// Less; `lo` for unsigned integers.
    Lt,
    /// Less or equal; `ls`.
    Le,
    /// Greater; `hi`.
    Gt,
    /// Greater or equal; `hs`.
    Ge,
    /// Equal or unordered.
    Equ,
    /// Not equal or unordered.
    Neu,
    /// Less or unordered.
    Ltu,
    /// Less or equal or unordered.
    Leu,
    /// Greater or unordered.
    Gtu,
    /// Greater or equal or unordered.
    Geu,
    /// Both are numbers.
    Num,
    /// One is NaN.
    Nan,
}

/// Whether an order (none: unordered) satisfies a comparison.
#[inline]
pub const fn holds(order: Option<Ordering>, op: Comparison) -> bool {
    use Comparison::*;
    let Some(order) = order else { return matches!(op, Equ | Neu | Ltu | Leu | Gtu | Geu | Nan) };
    match op {
        Eq | Equ => order.is_eq(),
        Ne | Neu => order.is_ne(),
        Lt | Ltu => order.is_lt(),
        Le | Leu => order.is_le(),
        Gt | Gtu => order.is_gt(),
        Ge | Geu => order.is_ge(),
        Num => true,
        Nan => false,
    }
}

/// `setp.op{.ftz}` of floats: zeros are equal whatever their signs.
#[inline]
pub fn floats(format: Format, a: u64, b: u64, op: Comparison, ftz: bool) -> bool {
    let (a, b) = if ftz { (format.flush(a), format.flush(b)) } else { (a, b) };
    let zeros = (a | b) & (format.sign() - 1) == 0;
    let order = if format.is_nan(a) || format.is_nan(b) {
        None
    } else if zeros {
        Some(Ordering::Equal)
    } else {
        Some(rank(format, a).cmp(&rank(format, b)))
    };
    holds(order, op)
}

/// `setp.op` of integers of any type.
#[inline]
pub fn integers<T: Ord>(a: T, b: T, op: Comparison) -> bool {
    holds(Some(a.cmp(&b)), op)
}

/// How `set` and `setp` combine their comparison with a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// `.and`.
    And,
    /// `.or`.
    Or,
    /// `.xor`.
    Xor,
}

/// The two results of `setp.op.bool p|q, a, b, c`: of the comparison and of its negation, each combined with `c`.
#[inline]
pub const fn predicates(holds: bool, c: bool, combine: Combine) -> (bool, bool) {
    match combine {
        Combine::And => (holds && c, !holds && c),
        Combine::Or => (holds || c, !holds || c),
        Combine::Xor => (holds ^ c, !holds ^ c),
    }
}

/// The result of `set` in an integer: all ones or zero.
#[inline]
pub const fn set_word(holds: bool) -> u32 {
    if holds { u32::MAX } else { 0 }
}

/// The result of `set` in an f32: one or zero.
#[inline]
pub const fn set_float(holds: bool) -> u32 {
    if holds { 0x3F80_0000 } else { 0 }
}
