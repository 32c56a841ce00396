//! Where hardware is known to do otherwise than the ISA says, which the machine follows: how often, and why.
//!
//! An entry is strict. All other answers of its form are compared as ever, and so is what hardware gives in place of these;
//! that there are more or fewer of them, or none any more, is a failure.

use std::fmt::Write as _;

use crate::answers::{elements, of_tuple};
use crate::form::{Float, Form, Value};
use crate::verdict::Operands;

/// What is known of a form.
pub(crate) struct Known {
    form: &'static str,
    /// How many tuples differ, or how many answers are beyond the ISA's error.
    count: usize,
    how: How,
    reason: &'static str,
}

enum How {
    /// Hardware's answer to operands for which it differs.
    Answers(fn(&[u64; 4]) -> Option<u64>),
    /// Whether an approximate answer is beyond the error that the ISA gives, by operand and answer. The machine's bound is
    /// wide enough for it.
    Beyond(fn(f64, f64) -> bool),
}

const FLUSHED: &str = "`.ftz` flushes subnormal f32 operands (9.7.9.21, subnormal numbers); hardware rounds them";
const TANH: &str =
    "the absolute error is 2^-8 (9.7.4.9), which is exceeded by less than 2^-21, and kept from the rounded value";
const EX2: &str = "the relative error is 2^-9.9 (9.7.4.10); subnormal results are a place off, which is more";

const FIELD: &str =
    "of position and length the low byte counts (9.7.1.19, 9.7.1.20); hardware takes all of both in 64 bits";

/// All of them.
const KNOWN: &[Known] = &[
    Known { form: "bfi.b64", count: 1440, how: How::Answers(insert), reason: FIELD },
    Known { form: "bfe.u64", count: 1096, how: How::Answers(|t| extract(t, false)), reason: FIELD },
    Known { form: "bfe.s64", count: 1050, how: How::Answers(|t| extract(t, true)), reason: FIELD },
    Known {
        form: "fns.b32",
        count: 127,
        how: How::Answers(|t| (t[2] == 0x8000_0000).then_some(0)),
        reason: "with |offset| = 2^31 no bit is found, which gives all ones (9.7.1.17); hardware gives zero",
    },
    Known {
        form: "cvt.rm.ftz.f16.f32",
        count: 124,
        how: How::Answers(|t| (t[0] > 0x8000_0000 && t[0] < 0x8080_0000).then_some(0x8001)),
        reason: FLUSHED,
    },
    Known {
        form: "cvt.rp.ftz.f16.f32",
        count: 130,
        how: How::Answers(|t| (t[0] > 0 && t[0] < 0x80_0000).then_some(1)),
        reason: FLUSHED,
    },
    Known {
        form: "cvt.rp.ftz.sat.f16.f32",
        count: 135,
        how: How::Answers(|t| (t[0] > 0 && t[0] < 0x80_0000).then_some(1)),
        reason: FLUSHED,
    },
    Known { form: "tanh.approx.bf16", count: 2, how: How::Beyond(beyond_tanh), reason: TANH },
    Known { form: "tanh.approx.bf16x2", count: 2, how: How::Beyond(beyond_tanh), reason: TANH },
    Known { form: "ex2.approx.f16", count: 399, how: How::Beyond(beyond_ex2), reason: EX2 },
    Known { form: "ex2.approx.f16x2", count: 399, how: How::Beyond(beyond_ex2), reason: EX2 },
];

/// A field put into a word, positions and lengths above 255 as they are.
fn insert(&[a, b, position, length]: &[u64; 4]) -> Option<u64> {
    let ones = if length > 63 { u64::MAX } else { (1 << length) - 1 };
    let field = |bits: u64| if position > 63 { 0 } else { (bits & ones) << position };
    (position.max(length) > 255).then(|| b & !field(u64::MAX) | field(a))
}

/// A field of a word, likewise.
fn extract(&[a, position, length, _]: &[u64; 4], signed: bool) -> Option<u64> {
    let sign = if signed && a >> 63 != 0 { u64::MAX } else { 0 };
    let (position_or_end, left) = (position.min(64), 64_u64.saturating_sub(position.saturating_add(length)));
    let result = match (position_or_end, length) {
        (_, 0) => 0,
        (64, _) => sign,
        (_, _) if signed => ((a << left) as i64 >> (left + position)) as u64,
        (_, _) => a << left >> (left + position),
    };
    (position.max(length) > 255).then_some(result)
}

fn beyond_tanh(operand: f64, answer: f64) -> bool {
    (answer - operand.tanh()).abs() > 2f64.powi(-8)
}

fn beyond_ex2(operand: f64, answer: f64) -> bool {
    (answer - operand.exp2()).abs() > operand.exp2() * 2f64.powf(-9.9)
}

fn of(form: &Form) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.form == form.name)
}

/// The names, which must be those of forms.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|known| known.form)
}

/// What is known of the form of a name, in a line.
pub(crate) fn line(name: &str) -> Option<String> {
    let Known { form, count, reason, .. } = KNOWN.iter().find(|known| known.form == name)?;
    Some(format!("{form}: {count} answers of hardware are otherwise than the ISA says: {reason}"))
}

impl Known {
    fn counted(&self, found: usize) -> Result<(), String> {
        let Self { count, reason, .. } = self;
        if found == *count {
            return Ok(());
        }
        Err(format!("{found} answers of hardware are otherwise than the ISA says, where {count} are known: {reason}"))
    }
}

/// The machine's answers with hardware's in place of those known to differ.
///
/// # Errors
/// There are not as many as there should be.
pub(crate) fn replaced(form: &Form, operands: &Operands, machine: &[u8]) -> Result<Vec<u8>, String> {
    let mut answers = machine.to_vec();
    if let Some((known, How::Answers(answer))) = of(form).map(|known| (known, &known.how)) {
        let size = form.outputs[0].width.bytes();
        let mut found = 0;
        for (place, tuple) in answers.chunks_exact_mut(size).zip(&operands.tuples) {
            let Some(bits) = answer(tuple) else { continue };
            let bits = &bits.to_le_bytes()[..size];
            found += usize::from(place != bits);
            place.copy_from_slice(bits);
        }
        known.counted(found)?;
    }
    Ok(answers)
}

/// Places among the elements of the answers that are beyond the ISA's error; the correctly rounded ones never are.
fn beyond(form: &Form, operands: &Operands, hardware: &[u8], rounded: &[u8]) -> Vec<usize> {
    let Some(Known { how: How::Beyond(beyond), .. }) = of(form) else { return Vec::new() };
    let (found, rounded) = (elements(form, hardware), elements(form, rounded));
    let halves = found.len() / form.tuples();
    let is_beyond = |&at: &usize| {
        let (value, bits) = found[at];
        let (Value::Float(kind) | Value::Pair(kind)) = value else { return false };
        let operand = operands.tuples[at / halves][0] >> (16 * (at % halves));
        let operand = if matches!(kind, Float::F16 | Float::Bf16) { operand & 0xFFFF } else { operand };
        bits != rounded[at].1 && beyond(kind.value(operand), kind.value(bits))
    };
    (0..found.len()).filter(is_beyond).collect()
}

/// Whether as many approximate answers are beyond the ISA's error as are known.
///
/// # Errors
/// There are not.
pub(crate) fn as_many(form: &Form, operands: &Operands, hardware: &[u8], rounded: &[u8]) -> Result<(), String> {
    match of(form) {
        Some(known) if form.approximate => known.counted(beyond(form, operands, hardware, rounded).len()),
        _ => Ok(()),
    }
}

/// What is known of a form, with the first of its operands.
pub(crate) fn told(form: &Form, operands: &Operands, hardware: &[u8], machine: &[u8]) -> Option<String> {
    let known = of(form)?;
    let tuples: Vec<usize> = if form.approximate {
        let halves = form.outputs.iter().map(|o| if matches!(o.value, Value::Pair(_)) { 2 } else { 1 }).sum::<usize>();
        beyond(form, operands, hardware, machine).into_iter().map(|at| at / halves).collect()
    } else {
        let differs = |&tuple: &usize| of_tuple(form, hardware, tuple) != of_tuple(form, machine, tuple);
        (0..form.tuples()).filter(differs).collect()
    };
    let mut text = format!("{} known: {}", tuples.len(), known.reason);
    for &tuple in tuples.iter().take(6) {
        let shown = |answers| crate::verdict::shown(form, answers, tuple);
        let operands = operands.describe(form, tuple);
        let _ = write!(text, "\n  {operands} → hardware {}, machine {}", shown(hardware), shown(machine));
    }
    Some(text)
}
