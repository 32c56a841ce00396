//! Loads that extend, stores that cut, vectors, and atomics on a word that no other thread has.

use super::{bits_to, dotted, of, to};
use crate::form::Form;

pub(super) fn forms(forms: &mut Vec<Form>) {
    for kind in ["b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64", "f32", "f64"] {
        let size: usize = kind[1..].parse().unwrap_or(0);
        for wide in ["b16", "b32", "b64"] {
            let register: usize = wide[1..].parse().unwrap_or(0);
            if register < size || kind.starts_with('f') && register != size {
                continue;
            }
            let text = format!("ld.global.{kind} %x, [%ia];");
            forms.push(Form::new(format!("ld.global.{kind} into {wide}"), text, &[of("b64")], &[bits_to(wide)]));
            if size < 64 {
                let text = format!("mov.b64 %l0, -1; st.global.b64 [%ox], %l0; st.global.{kind} [%ox], %a;");
                forms.push(Form::new(format!("st.global.{kind} of {wide}"), text, &[of(wide)], &[bits_to("b64")]));
            }
        }
    }
    vectors(forms);
    atomics(forms);
}

fn vectors(forms: &mut Vec<Form>) {
    let mut add = |name: &str, text: &str, inputs: &[&str]| {
        let inputs: Vec<_> = inputs.iter().map(|kind| of(kind)).collect();
        forms.push(Form::new(name, text, &inputs, &[bits_to("b64")]));
    };
    for signed in ["u", "s", "b"] {
        let kind = |bits: u32| format!("{signed}{bits}");
        let load =
            |count: u32, bits: u32, registers: &str| format!("ld.global.v{count}.{} {registers}, [%ia];", kind(bits));
        let four = "{%h0, %h1, %h2, %h3}";
        add(&format!("ld.global.v4.{}", kind(8)), &format!("{} mov.b64 %x, {four};", load(4, 8, four)), &["b64"]);
        add(&format!("ld.global.v4.{}", kind(16)), &format!("{} mov.b64 %x, {four};", load(4, 16, four)), &["b64"]);
        let two = "{%s0, %s1}";
        for bits in [8, 16, 32] {
            let text = format!("{} mov.b64 %x, {two};", load(2, bits, two));
            add(&format!("ld.global.v2.{}", kind(bits)), &text, &["b64"]);
        }
    }
    // Sixteen bytes: those of two neighbouring threads, of which each takes half.
    let aligned = "and.b64 %l0, %ia, -16; ";
    let text = format!("{aligned}ld.global.v2.b64 {{%l1, %l2}}, [%l0]; xor.b64 %x, %l1, %l2;");
    add("ld.global.v2.b64", &text, &["b64"]);
    let text = format!(
        "{aligned}ld.global.v4.b32 {{%s0, %s1, %s2, %s3}}, [%l0]; mov.b64 %l1, {{%s0, %s1}}; mov.b64 %l2, {{%s2, %s3}}; \
         xor.b64 %x, %l1, %l2;"
    );
    add("ld.global.v4.b32", &text, &["b64"]);
    add("st.global.v2.b32", "st.global.v2.b32 [%ox], {%a, %b};", &["b32", "b32"]);
    add("st.global.v4.b16", "st.global.v4.b16 [%ox], {%a, %b, %c, %e};", &["b16", "b16", "b16", "b16"]);
    let text = "mov.b64 %l0, -1; st.global.b64 [%ox], %l0; st.global.v4.b8 [%ox], {%a, %b, %c, %e};";
    add("st.global.v4.b8", text, &["b16", "b16", "b16", "b16"]);
    let text = "mov.b64 %l0, -1; st.global.b64 [%ox], %l0; st.global.v2.b8 [%ox], {%a, %b};";
    add("st.global.v2.b8", text, &["b16", "b16"]);
    let text =
        "st.shared.v4.b32 [%cell], {%a, %b, %c, %e}; ld.shared.v2.u64 {%l0, %l1}, [%cell]; sub.u64 %x, %l0, %l1;";
    add("st.shared.v4.b32", text, &["b32", "b32", "b32", "b32"]);
}

fn atomics(forms: &mut Vec<Form>) {
    for space in ["global", "shared"] {
        // Memory holds `%a`, the operand is `%b`.
        let cell = if space == "global" { "[%ia]" } else { "[%cell]" };
        let mut add = |operation: &str, kind: &str, third: &str, red: bool| {
            let bits = 8 * super::width_of(kind).bytes();
            let plain = format!("b{bits}");
            let fill = if space == "global" { String::new() } else { format!("st.shared.b{bits} [%cell], %a; ") };
            let inputs = vec![of(kind); if third.is_empty() { 2 } else { 3 }];
            let name = dotted(&["atom", space, operation, kind]);
            let read = format!(" ld.{space}.{plain} %x, {cell};");
            // What it returns are the bits that were there.
            let outputs = [to(kind), bits_to(&plain)];
            let text = format!("{fill}{name} %y, {cell}, %b{third};{read}");
            forms.push(Form::new(&name, text, &inputs, &outputs));
            if red {
                let name = dotted(&["red", space, operation, kind]);
                let text = format!("{fill}{name} {cell}, %b;{read}");
                forms.push(Form::new(&name, text, &inputs, &outputs[..1]));
            }
        };
        for kind in ["b32", "b64"] {
            for operation in ["and", "or", "xor"] {
                add(operation, kind, "", true);
            }
            add("exch", kind, "", false);
        }
        for kind in ["b16", "b32", "b64"] {
            add("cas", kind, ", %c", false);
        }
        for kind in ["u32", "u64", "s32", "s64"] {
            for operation in ["min", "max"] {
                add(operation, kind, "", true);
            }
        }
        for kind in ["u32", "s32", "u64", "f32", "f64"] {
            add("add", kind, "", true);
        }
        for kind in ["f16", "f16x2", "bf16", "bf16x2"] {
            add("add.noftz", kind, "", true);
        }
        for operation in ["inc", "dec"] {
            add(operation, "u32", "", true);
        }
    }
}
