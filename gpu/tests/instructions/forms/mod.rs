//! Every instruction form that is compared: what the machine supports and `.target sm_90` of PTX 8.0 takes.

use crate::draw::Draw;
use crate::form::{Float, Form, Input, Output, Value, Width};

mod approximate;
mod bits;
mod carries;
mod compare;
mod convert;
mod floats;
mod integers;
mod memory;
mod moves;
mod warp;

/// Instructions of the machine that have no form here, and why.
pub(crate) const WITHOUT_FORMS: &[(&[&str], &str)] = &[
    (&["bra", "brx", "call", "exit", "ret", "trap"], "they steer, and the programs of other tests take every way"),
    (&["bar", "barrier", "fence", "membar", "cp"], "they order, and give no value"),
    (&["activemask", "isspacep", "cvta"], "what they give is the device's own business"),
    (
        &[
            "applypriority",
            "createpolicy",
            "discard",
            "griddepcontrol",
            "nanosleep",
            "pmevent",
            "prefetch",
            "prefetchu",
        ],
        "they give no value",
    ),
    (&["ldu"], "it is `ld` of memory that nobody writes"),
];

/// All forms, in the order of the golden.
pub(crate) fn all() -> Vec<Form> {
    let mut forms = Vec::new();
    integers::forms(&mut forms);
    carries::forms(&mut forms);
    bits::forms(&mut forms);
    floats::forms(&mut forms);
    approximate::forms(&mut forms);
    compare::forms(&mut forms);
    convert::forms(&mut forms);
    moves::forms(&mut forms);
    memory::forms(&mut forms);
    warp::forms(&mut forms);
    forms
}

/// The format of a floating-point type, a half's where it is a pair.
fn float_of(kind: &str) -> Option<Float> {
    Some(match kind {
        "f16" | "f16x2" => Float::F16,
        "bf16" | "bf16x2" => Float::Bf16,
        "f32" => Float::F32,
        "f64" => Float::F64,
        _ => return None,
    })
}

/// The register that holds a type; those of 8 bits live in 32.
fn width_of(kind: &str) -> Width {
    match kind.trim_start_matches(|c: char| !c.is_ascii_digit()) {
        _ if kind == "pred" => Width::Pred,
        "16" => Width::B16,
        "64" => Width::B64,
        _ => Width::B32,
    }
}

/// An operand of a type.
fn of(kind: &str) -> Input {
    let draw = match float_of(kind) {
        Some(float) if kind.ends_with("x2") => Draw::Pair(float),
        Some(float) => Draw::Float(float),
        None if kind == "pred" => Draw::Flag,
        None => Draw::Bits,
    };
    Input { width: width_of(kind), draw }
}

/// An operand with another draw than its type's.
fn drawn(kind: &str, draw: Draw) -> Input {
    Input { width: width_of(kind), draw }
}

/// An answer of a type.
fn to(kind: &str) -> Output {
    let value = match float_of(kind) {
        Some(float) if kind.ends_with("x2") => Value::Pair(float),
        Some(float) => Value::Float(float),
        None => Value::Bits,
    };
    Output { width: width_of(kind), value }
}

/// An answer of which every bit counts, whatever its type.
fn bits_to(kind: &str) -> Output {
    Output { width: width_of(kind), value: Value::Bits }
}

/// `name.modifiers.kind` for modifiers of which some may be empty.
fn dotted(parts: &[&str]) -> String {
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(".")
}
