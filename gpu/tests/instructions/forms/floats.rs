//! Floating-point arithmetic that IEEE 754 and the ISA define to the bit.

use super::{bits_to, dotted, float_of, of, to};
use crate::form::{Float, Form, Relation};

const ROUNDINGS: [&str; 4] = ["rn", "rz", "rm", "rp"];

pub(super) fn forms(forms: &mut Vec<Form>) {
    single_and_double(forms);
    halves(forms);
    extremes_and_signs(forms);
}

/// `add`, `sub` and `mul` or `fma` of one form of modifiers.
fn sums_and_products(forms: &mut Vec<Form>, modifiers: &[&str], kind: &str) {
    let Some(float) = float_of(kind) else { return };
    for (name, relation) in [("add", Relation::Opposite(float)), ("sub", Relation::Neighbours), ("mul", Relation::None)]
    {
        let name = dotted(&[&[name], modifiers, &[kind]].concat());
        forms.push(Form::plain(name, &[of(kind); 2], to(kind)).related(relation));
    }
}

fn fused(forms: &mut Vec<Form>, name: &str, modifiers: &[&str], kind: &str) {
    let Some(float) = float_of(kind) else { return };
    let name = dotted(&[&[name], modifiers, &[kind]].concat());
    forms.push(Form::plain(name, &[of(kind); 3], to(kind)).related(Relation::Product(float)));
}

fn single_and_double(forms: &mut Vec<Form>) {
    for rounding in ["", "rn", "rz", "rm", "rp"] {
        for ftz in ["", "ftz"] {
            for sat in ["", "sat"] {
                sums_and_products(forms, &[rounding, ftz, sat], "f32");
            }
        }
        sums_and_products(forms, &[rounding], "f64");
    }
    for rounding in ROUNDINGS {
        for ftz in ["", "ftz"] {
            for sat in ["", "sat"] {
                fused(forms, "fma", &[rounding, ftz, sat], "f32");
                fused(forms, "mad", &[rounding, ftz, sat], "f32");
            }
            quotients(forms, &[rounding, ftz], "f32", Float::F32);
        }
        fused(forms, "fma", &[rounding], "f64");
        fused(forms, "mad", &[rounding], "f64");
        quotients(forms, &[rounding], "f64", Float::F64);
    }
}

fn quotients(forms: &mut Vec<Form>, modifiers: &[&str], kind: &str, float: Float) {
    let name = |name| dotted(&[&[name], modifiers, &[kind]].concat());
    forms.push(Form::plain(name("div"), &[of(kind); 2], to(kind)).related(Relation::Quotient(float)));
    forms.push(Form::plain(name("rcp"), &[of(kind)], to(kind)));
    forms.push(Form::plain(name("sqrt"), &[of(kind)], to(kind)).related(Relation::Square(float)));
}

fn halves(forms: &mut Vec<Form>) {
    for kind in ["f16", "f16x2"] {
        for ftz in ["", "ftz"] {
            for sat in ["", "sat"] {
                for rounding in ["", "rn"] {
                    sums_and_products(forms, &[rounding, ftz, sat], kind);
                }
                fused(forms, "fma", &["rn", ftz, sat], kind);
            }
            fused(forms, "fma", &["rn", ftz, "relu"], kind);
        }
    }
    for kind in ["bf16", "bf16x2"] {
        for rounding in ["", "rn"] {
            sums_and_products(forms, &[rounding], kind);
        }
        for relu in ["", "relu"] {
            fused(forms, "fma", &["rn", relu], kind);
        }
    }
}

fn extremes_and_signs(forms: &mut Vec<Form>) {
    for kind in ["f16", "f16x2", "bf16", "bf16x2", "f32", "f64"] {
        let flushes: &[&str] = if kind.starts_with("bf") || kind == "f64" { &[""] } else { &["", "ftz"] };
        for &ftz in flushes {
            for nan in ["", "NaN"] {
                for sign in ["", "xorsign.abs"] {
                    if kind == "f64" && !(nan.is_empty() && sign.is_empty()) {
                        continue;
                    }
                    for name in ["min", "max"] {
                        let name = dotted(&[name, ftz, nan, sign, kind]);
                        forms.push(Form::plain(name, &[of(kind); 2], to(kind)).related(Relation::Neighbours));
                    }
                }
            }
            for name in ["abs", "neg"] {
                forms.push(Form::plain(dotted(&[name, ftz, kind]), &[of(kind)], to(kind)));
            }
        }
    }
    for kind in ["f32", "f64"] {
        forms.push(Form::plain(dotted(&["copysign", kind]), &[of(kind); 2], bits_to(kind)));
    }
}
