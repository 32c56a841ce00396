//! Moves, with packing and unpacking.

use super::{bits_to, dotted, of};
use crate::form::Form;

pub(super) fn forms(forms: &mut Vec<Form>) {
    for kind in ["pred", "b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64"] {
        let plain = if kind == "pred" { kind.to_owned() } else { format!("b{}", &kind[1..]) };
        forms.push(Form::plain(dotted(&["mov", kind]), &[of(&plain)], bits_to(&plain)));
    }
    let mut add = |name: &str, text: &str, inputs: &[&str], outputs: &[&str]| {
        let inputs: Vec<_> = inputs.iter().map(|kind| of(kind)).collect();
        let outputs: Vec<_> = outputs.iter().map(|kind| bits_to(kind)).collect();
        forms.push(Form::new(name, text, &inputs, &outputs));
    };
    add("mov.b32 pack 2", "mov.b32 %x, {%a, %b};", &["b16", "b16"], &["b32"]);
    add("mov.b64 pack 2", "mov.b64 %x, {%a, %b};", &["b32", "b32"], &["b64"]);
    add("mov.b64 pack 4", "mov.b64 %x, {%a, %b, %c, %e};", &["b16", "b16", "b16", "b16"], &["b64"]);
    add("mov.b32 unpack 2", "mov.b32 {%x, %y}, %a;", &["b32"], &["b16", "b16"]);
    add("mov.b64 unpack 2", "mov.b64 {%x, %y}, %a;", &["b64"], &["b32", "b32"]);
    add("mov.b64 unpack 4 lower", "mov.b64 {%x, %y, %h0, %h1}, %a;", &["b64"], &["b16", "b16"]);
    add("mov.b64 unpack 4 upper", "mov.b64 {%h0, %h1, %x, %y}, %a;", &["b64"], &["b16", "b16"]);
}
