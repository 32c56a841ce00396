//! `cvt`: every pair of types, with the modifiers that the pair takes.

use super::{bits_to, dotted, float_of, of, to, width_of};
use crate::form::{Float, Form, Relation};

const INTEGERS: [&str; 8] = ["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"];
const FLOATS: [&str; 4] = ["f16", "bf16", "f32", "f64"];
const ROUND: [&str; 4] = ["rn", "rz", "rm", "rp"];
const INTEGRAL: [&str; 4] = ["rni", "rzi", "rmi", "rpi"];
const FLUSH: [&str; 2] = ["", "ftz"];
const CLAMP: [&str; 2] = ["", "sat"];

pub(super) fn forms(forms: &mut Vec<Form>) {
    for target in INTEGERS {
        for source in INTEGERS {
            integers(forms, target, source);
        }
        for source in FLOATS {
            float_to_integer(forms, target, source);
            integer_to_float(forms, source, target);
        }
    }
    for target in FLOATS {
        for source in FLOATS {
            floats(forms, target, source);
        }
    }
    for target in ["f16x2", "bf16x2"] {
        for rounding in ["rn", "rz"] {
            for relu in ["", "relu"] {
                let name = dotted(&["cvt", rounding, relu, target, "f32"]);
                let tie = Relation::Tie(if target == "f16x2" { 13 } else { 16 });
                forms.push(Form::plain(name, &[of("f32"); 2], to(target)).related(tie));
            }
        }
    }
}

fn bits(kind: &str) -> u32 {
    kind[1..].parse().unwrap_or(0)
}

/// Whether a type's values are all values of another.
fn within(inner: &str, outer: &str) -> bool {
    match (inner.as_bytes()[0], outer.as_bytes()[0]) {
        (b'u', b's') => bits(inner) < bits(outer),
        (b's', b'u') => false,
        _ => bits(inner) <= bits(outer),
    }
}

fn integers(forms: &mut Vec<Form>, target: &str, source: &str) {
    let name = dotted(&["cvt", target, source]);
    forms.push(Form::plain(&name, &[of(source)], bits_to(target)));
    // Saturation where there is something to saturate.
    if !within(source, target) {
        forms.push(Form::plain(dotted(&["cvt.sat", target, source]), &[of(source)], bits_to(target)));
    }
    // A register wider than the type takes the value extended by its sign, or by zeros.
    for wide in ["b32", "b64"] {
        if bits(wide) > 8 * width_of(target).bytes() as u32 && bits(source) >= bits(target) {
            let text = format!("{name} %x, %a;");
            forms.push(Form::new(format!("{name} into {wide}"), text, &[of(source)], &[bits_to(wide)]));
        }
    }
}

fn float_to_integer(forms: &mut Vec<Form>, target: &str, source: &str) {
    if source == "bf16" && bits(target) == 8 {
        return;
    }
    let flushes = if source == "f32" { &FLUSH[..] } else { &FLUSH[..1] };
    let clamps = if source == "bf16" { &CLAMP[..1] } else { &CLAMP[..] };
    for rounding in INTEGRAL {
        for &ftz in flushes {
            for &sat in clamps {
                let name = dotted(&["cvt", rounding, ftz, sat, target, source]);
                forms.push(Form::plain(name, &[of(source)], bits_to(target)));
            }
        }
    }
}

fn integer_to_float(forms: &mut Vec<Form>, target: &str, source: &str) {
    if target == "bf16" && bits(source) == 8 {
        return;
    }
    let precision = match float_of(target) {
        Some(Float::F16) => 11,
        Some(Float::Bf16) => 8,
        Some(Float::F32) => 24,
        _ => 53,
    };
    let tie = if precision < bits(source) { Relation::IntegerTie(precision) } else { Relation::None };
    let flushes = if target == "f32" { &FLUSH[..] } else { &FLUSH[..1] };
    let clamps = if target == "bf16" { &CLAMP[..1] } else { &CLAMP[..] };
    for rounding in ROUND {
        for &ftz in flushes {
            for &sat in clamps {
                let name = dotted(&["cvt", rounding, ftz, sat, target, source]);
                forms.push(Form::plain(name, &[of(source)], to(target)).related(tie));
            }
        }
    }
}

fn floats(forms: &mut Vec<Form>, target: &str, source: &str) {
    let mut add = |modifiers: &[&str]| {
        let name = dotted(&[&["cvt"], modifiers, &[target, source]].concat());
        let tie = match (target, source) {
            ("f16", "f32") => Relation::Tie(13),
            ("bf16", "f32") => Relation::Tie(16),
            ("f16", "f64") => Relation::Tie(42),
            ("bf16", "f64") => Relation::Tie(45),
            ("f32", "f64") => Relation::Tie(29),
            _ => Relation::None,
        };
        forms.push(Form::plain(name, &[of(source)], to(target)).related(tie));
    };
    // `.ftz` wherever f32 takes part, `.sat` wherever bf16 does not.
    let flushes = if target == "f32" || source == "f32" { &FLUSH[..] } else { &FLUSH[..1] };
    let clamps = if target == "bf16" || source == "bf16" { &CLAMP[..1] } else { &CLAMP[..] };
    for &ftz in flushes {
        for &sat in clamps {
            match (target, source) {
                (a, b) if a == b => {
                    add(&[ftz, sat]);
                    for rounding in INTEGRAL {
                        add(&[rounding, ftz, sat]);
                    }
                }
                ("f32", "f16") | ("f64", "f16" | "f32") => add(&[ftz, sat]),
                ("f32" | "f64", "bf16") => {
                    add(&[ftz]);
                    for rounding in ROUND {
                        add(&[rounding, ftz]);
                    }
                }
                _ => {
                    for rounding in ROUND {
                        add(&[rounding, ftz, sat]);
                    }
                }
            }
        }
    }
    if matches!(target, "f16" | "bf16") && source == "f32" {
        add(&["rn", "relu"]);
        add(&["rz", "relu"]);
    }
}
