//! What is right: the same bits where the ISA defines them, within the documented error where it does not.

use std::fmt::Write as _;

use gdn_gpu::vm::Approximation;
use sha2::{Digest, Sha256};

use crate::answers::{elements, machine, of_tuple, raw_machine, settle};
use crate::draw;
use crate::form::{Float, Form, Value};
use crate::golden::{Record, chunk_length, chunks, restored, short};
use crate::known;

/// How far approximate answers are off.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Error {
    /// Values of the format between an answer and the correctly rounded one, at most.
    pub(crate) ulp: u64,
    /// The same as a share of what is permitted on that side.
    pub(crate) share: f64,
}

/// A form's operands.
pub(crate) struct Operands {
    pub(crate) tuples: Vec<[u64; 4]>,
    pub(crate) bytes: Vec<u8>,
}

impl Operands {
    pub(crate) fn of(form: &Form) -> Self {
        let tuples = draw::tuples(form);
        let bytes = draw::bytes(form, &tuples);
        Self { tuples, bytes }
    }

    pub(crate) fn describe(&self, form: &Form, tuple: usize) -> String {
        let mut text = format!("tuple {tuple}:");
        for ((at, input), name) in form.inputs.iter().enumerate().zip("abce".chars()) {
            let _ = write!(text, " {name}={:#0width$x}", self.tuples[tuple][at], width = 2 + 2 * input.width.bytes());
        }
        text
    }
}

/// Bits of a tuple's answers, one after the other.
pub(crate) fn shown(form: &Form, answers: &[u8], tuple: usize) -> String {
    let found = of_tuple(form, answers, tuple);
    let texts = form.outputs.iter().zip(found);
    texts.map(|(o, bits)| format!("{bits:#0width$x}", width = 2 + 2 * o.width.bytes())).collect::<Vec<_>>().join(" ")
}

/// How many tuples differ in the bits of a NaN and in nothing else, and the first of them, if any do.
pub(crate) fn open_bits(form: &Form, operands: &Operands, raw_hardware: &[u8]) -> Option<String> {
    let raw = raw_machine(form, &operands.bytes, Approximation::CorrectlyRounded).ok()?;
    let (mut machine, mut hardware) = (raw.clone(), raw_hardware.to_vec());
    settle(form, &mut machine);
    settle(form, &mut hardware);
    let settled = |tuple: usize| of_tuple(form, &machine, tuple) == of_tuple(form, &hardware, tuple);
    let differs = |tuple: &usize| of_tuple(form, &raw, *tuple) != of_tuple(form, raw_hardware, *tuple);
    let different: Vec<usize> = (0..form.tuples()).filter(differs).filter(|&tuple| settled(tuple)).collect();
    let &first = different.first()?;
    let (there, here) = (shown(form, raw_hardware, first), shown(form, &raw, first));
    let first = operands.describe(form, first);
    Some(format!("NaN bits differ in {} tuples; {first} → hardware {there}, machine {here}", different.len()))
}

/// Compares a form's hardware answers with the machine's, tuple by tuple. Both are settled.
///
/// # Errors
/// How many tuples differ, and the first of them.
pub(crate) fn direct(form: &Form, operands: &Operands, hardware: &[u8]) -> Result<Error, String> {
    let rounded = machine(form, &operands.bytes, Approximation::CorrectlyRounded).map_err(|error| error.to_string())?;
    if form.approximate {
        return within(form, operands, hardware, &rounded);
    }
    let rounded = known::replaced(form, operands, &rounded)?;
    let differs = |&tuple: &usize| of_tuple(form, hardware, tuple) != of_tuple(form, &rounded, tuple);
    let different: Vec<usize> = (0..form.tuples()).filter(differs).collect();
    if different.is_empty() {
        return Ok(Error::default());
    }
    let mut text = format!("{} of {} tuples differ", different.len(), form.tuples());
    for &tuple in different.iter().take(6) {
        let _ = write!(
            text,
            "\n  {} → hardware {}, machine {}",
            operands.describe(form, tuple),
            shown(form, hardware, tuple),
            shown(form, &rounded, tuple)
        );
    }
    Err(text)
}

/// Compares the machine with what is kept of a form's hardware answers.
///
/// # Errors
/// Which chunks of tuples differ, and what the machine gives in the first.
pub(crate) fn against(form: &Form, record: &Record) -> Result<Error, String> {
    let operands = Operands::of(form);
    if short(&operands.bytes) != record.operands {
        return Err("the operands are others than when the hardware answered; ask it again".into());
    }
    let rounded = machine(form, &operands.bytes, Approximation::CorrectlyRounded).map_err(|error| error.to_string())?;
    let hardware = match &record.distances {
        Some(distances) => restored(form, &rounded, distances),
        None => known::replaced(form, &operands, &rounded)?,
    };
    let digest: [u8; 32] = Sha256::digest(&hardware).into();
    if digest == record.digest {
        return if form.approximate { within(form, &operands, &hardware, &rounded) } else { Ok(Error::default()) };
    }
    let found = chunks(form, &hardware);
    let differs = |&at: &usize| found[at] != record.chunks[at];
    let different: Vec<usize> = (0..found.len()).filter(differs).collect();
    let what =
        if form.approximate { "the correctly rounded value has changed" } else { "the machine differs from hardware" };
    let mut text = format!("{what} in {} of {} chunks", different.len().max(1), found.len());
    if let Some(&chunk) = different.first() {
        let first = chunk * chunk_length(form);
        let last = (first + chunk_length(form)).min(form.tuples());
        let _ = write!(text, "; the first holds tuples {first} to {}, of which the machine makes", last - 1);
        for tuple in first..last.min(first + 8) {
            let _ = write!(text, "\n  {} → {}", operands.describe(form, tuple), shown(form, &rounded, tuple));
        }
    }
    Err(text)
}

/// Whether answers lie between the least and the greatest that the ISA permits, as the adversarial machine has them.
fn within(form: &Form, operands: &Operands, hardware: &[u8], rounded_bytes: &[u8]) -> Result<Error, String> {
    let end = |end| {
        machine(form, &operands.bytes, end).map(|answers| elements(form, &answers)).map_err(|error| error.to_string())
    };
    let (least, greatest) = (end(Approximation::Least)?, end(Approximation::Greatest)?);
    let (found, rounded) = (elements(form, hardware), elements(form, rounded_bytes));
    let mut worst = Error::default();
    let mut outside = Vec::new();
    for (at, &(value, bits)) in found.iter().enumerate() {
        let ((_, low), (_, high), (_, middle)) = (least[at], greatest[at], rounded[at]);
        let kind = match value {
            Value::Float(kind) | Value::Pair(kind) => kind,
            Value::Upper | Value::Bits => Float::F64,
        };
        let [x, l, h, m] = [bits, low, high, middle].map(|bits| kind.value(bits));
        // Where nothing is left open, bits are compared: zeros have signs, and NaN is NaN.
        let right = if low == high { bits == low } else { l <= x && x <= h };
        if !right {
            outside.push(at);
            continue;
        }
        // Beyond ±100π sine and cosine may be anything.
        if low == high || l <= -1.0 && h >= 1.0 {
            continue;
        }
        let unit = if value == Value::Upper { 1 << 32 } else { 1 };
        let distance = (bits & (kind.sign() - 1)).abs_diff(middle & (kind.sign() - 1)) / unit;
        worst.ulp = worst.ulp.max(distance);
        let room = if x > m { (x - m) / (h - m) } else { (m - x) / (m - l) };
        worst.share = worst.share.max(if x == m { 0.0 } else { room });
    }
    if outside.is_empty() {
        known::as_many(form, operands, hardware, rounded_bytes)?;
        return Ok(worst);
    }
    let mut text = format!("{} of {} answers are not within the documented error", outside.len(), found.len());
    for &at in outside.iter().take(6) {
        let tuple = at / (found.len() / form.tuples());
        let _ = write!(
            text,
            "\n  {} → hardware {:#x}, permitted {:#x} to {:#x}, correctly rounded {:#x}",
            operands.describe(form, tuple),
            found[at].1,
            least[at].1,
            greatest[at].1,
            rounded[at].1
        );
    }
    Err(text)
}
