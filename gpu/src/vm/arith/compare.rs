//! `min` and `max` of any format, with their modifiers (PTX ISA 9.7.3, 9.7.4).

use super::soft::Format;

/// Modifiers of `min` and `max`, each of which an instruction has or has not.
#[allow(clippy::struct_excessive_bools)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extreme {
    /// `max` rather than `min`.
    pub(crate) max: bool,
    /// `.NaN`: a NaN operand makes the result NaN.
    pub(crate) nan: bool,
    /// `.abs`: compares, and gives, magnitudes.
    pub(crate) abs: bool,
    /// `.xorsign`: the result's sign is the exclusive or of the operands'.
    pub(crate) xorsign: bool,
    /// `.ftz`.
    pub(crate) ftz: bool,
}

/// The integer whose order is that of the floats, −0 below +0.
#[inline]
const fn rank(format: Format, bits: u64) -> i64 {
    let magnitude = (bits & (format.sign() - 1)) as i64;
    if bits & format.sign() != 0 { !magnitude } else { magnitude }
}

/// `min` and `max` of two operands, any format; two NaN give the format's canonical NaN.
#[inline]
pub(crate) const fn extreme(format: Format, a: u64, b: u64, m: Extreme) -> u64 {
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

const fn prepare(format: Format, bits: u64, m: Extreme) -> u64 {
    let bits = if m.ftz { format.flush(bits) } else { bits };
    if m.abs { bits & !format.sign() } else { bits }
}
