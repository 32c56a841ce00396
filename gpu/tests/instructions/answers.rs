//! Running a form on an executor, and what its answers are as values.

use gdn_gpu::executor::{Argument, Code, Geometry, Launch, Module, Program};
use gdn_gpu::vm::{Approximation, Options, VmExecutor};
use gdn_gpu::{Error, Executor};

use crate::form::{BLOCK, Form, Value, program};

/// Launches a form's entry point over all of its operands.
pub(crate) fn run(
    executor: &mut dyn Executor,
    module: Module,
    entry: &str,
    form: &Form,
    operands: &[u8],
) -> Result<Vec<u8>, Error> {
    let (input, output) = (executor.alloc(operands.len())?, executor.alloc(form.output_bytes())?);
    executor.upload(input, 0, operands)?;
    executor.upload(output, 0, &vec![0xA5; form.output_bytes()])?;
    let pointer = |buffer| Argument::Pointer { buffer, offset: 0 };
    let blocks = form.tuples() / BLOCK;
    executor.launch(&Launch {
        module,
        entry: entry.to_owned(),
        geometry: Geometry { grid: [blocks as u32, 1, 1], block: [BLOCK as u32, 1, 1] },
        arguments: vec![pointer(input), pointer(output)],
    })?;
    let mut answers = vec![0; form.output_bytes()];
    executor.download(output, 0, &mut answers)?;
    executor.free(input);
    executor.free(output);
    Ok(answers)
}

/// The machine's answers, settled.
pub(crate) fn machine(form: &Form, operands: &[u8], approximation: Approximation) -> Result<Vec<u8>, Error> {
    let mut answers = raw_machine(form, operands, approximation)?;
    settle(form, &mut answers);
    Ok(answers)
}

/// The machine's answers as it gives them, in a machine of their own.
pub(crate) fn raw_machine(form: &Form, operands: &[u8], approximation: Approximation) -> Result<Vec<u8>, Error> {
    // What is looked at here are values; that programs keep the rules is for the kernels' tests to say.
    let mut executor = VmExecutor::new(Options { checks: false, approximation, ..Options::default() });
    let code = Code::Ptx(program([form.entry("form")].into_iter()));
    let module = executor.load(&Program { name: form.name.clone(), code })?;
    run(&mut executor, module, "form", form, operands)
}

/// Replaces each NaN by the one that stands for all, where an answer is a float.
///
/// The ISA leaves the bits of a NaN open: single-precision instructions give "an unspecified NaN" (9.7.3), payloads of
/// double-precision ones are supported without saying whose, and `abs` and `neg` of a NaN are unspecified as well. Answers
/// that move bits (`mov`, `selp`, `copysign`, loads, integers) are no floats here, and keep every bit; so does the NaN of the
/// approximate f64 instructions, whose bits the ISA gives (9.7.3.14, 9.7.3.17).
pub(crate) fn settle(form: &Form, answers: &mut [u8]) {
    let mut rest = answers;
    for output in &form.outputs {
        let size = output.width.bytes();
        let (array, others) = rest.split_at_mut(size * form.tuples());
        rest = others;
        let (step, kind) = match output.value {
            Value::Bits | Value::Upper => continue,
            Value::Float(kind) => (size, kind),
            Value::Pair(kind) => (2, kind),
        };
        for element in array.chunks_exact_mut(step) {
            if kind.is_nan(number(element)) {
                element.copy_from_slice(&kind.nan().to_le_bytes()[..step]);
            }
        }
    }
}

/// Little-endian bytes as a number.
pub(crate) fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Answers of one output, in order: their bits, pairs as two.
pub(crate) fn elements(form: &Form, answers: &[u8]) -> Vec<(Value, u64)> {
    let mut elements = Vec::new();
    let mut at = 0;
    for output in &form.outputs {
        let bytes = output.width.bytes() * form.tuples();
        let (step, value) = match output.value {
            Value::Pair(kind) => (2, Value::Float(kind)),
            other => (output.width.bytes(), other),
        };
        elements.extend(answers[at..at + bytes].chunks_exact(step).map(|element| (value, number(element))));
        at += bytes;
    }
    elements
}

/// The answers of one tuple: each output's bits.
pub(crate) fn of_tuple(form: &Form, answers: &[u8], tuple: usize) -> Vec<u64> {
    let mut at = 0;
    let mut found = Vec::new();
    for output in &form.outputs {
        let size = output.width.bytes();
        found.push(number(&answers[at + tuple * size..][..size]));
        at += size * form.tuples();
    }
    found
}
