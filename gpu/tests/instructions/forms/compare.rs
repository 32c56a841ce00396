//! Comparisons, tests and selections.

use super::{bits_to, dotted, of};
use crate::form::{Form, Input, Relation};

const ORDERED: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];
const UNSIGNED: [&str; 4] = ["lo", "ls", "hi", "hs"];
const UNORDERED: [&str; 8] = ["equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"];
const KINDS: [&str; 13] = ["b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f16", "bf16", "f32", "f64"];

/// The comparison operators that a type has.
fn operators(kind: &str) -> Vec<&'static str> {
    match kind.as_bytes()[0] {
        b'b' if kind != "bf16" => ORDERED[..2].to_vec(),
        b'u' => [&ORDERED[..], &UNSIGNED].concat(),
        b's' => ORDERED.to_vec(),
        _ => [&ORDERED[..], &UNORDERED].concat(),
    }
}

pub(super) fn forms(forms: &mut Vec<Form>) {
    for kind in KINDS {
        let flushes: &[&str] = if matches!(kind, "f16" | "f32") { &["", "ftz"] } else { &[""] };
        for &ftz in flushes {
            for operator in operators(kind) {
                predicates(forms, operator, ftz, kind);
                words(forms, operator, ftz, kind);
            }
        }
    }
    for test in ["finite", "infinite", "number", "notanumber", "normal", "subnormal"] {
        for kind in ["f32", "f64"] {
            forms.push(Form::plain(dotted(&["testp", test, kind]), &[of(kind)], bits_to("pred")));
        }
    }
    selections(forms);
}

fn predicates(forms: &mut Vec<Form>, operator: &str, ftz: &str, kind: &str) {
    let half = matches!(kind, "f16" | "bf16");
    let (two, three) = ([of(kind), of(kind)], [of(kind), of(kind), of("pred")]);
    let outputs = [bits_to("pred"), bits_to("pred")];
    // Halves have a second result only in pairs.
    let (destination, outputs) = if half { ("%x", &outputs[..1]) } else { ("%x|%y", &outputs[..]) };
    let mut add = |name: String, rest: &str, inputs: &[Input]| {
        let text = format!("{} {destination}, %a, %b{rest};", name.trim_end_matches('!'));
        forms.push(Form::new(name, text, inputs, outputs).related(Relation::Neighbours));
    };
    add(dotted(&["setp", operator, ftz, kind]), "", &two);
    for boolean in ["and", "or", "xor"] {
        let name = dotted(&["setp", operator, boolean, ftz, kind]);
        // The predicate as it is with one, negated with the others: every operator meets both.
        match boolean {
            "and" => add(name, ", %c", &three),
            _ => add(format!("{name}!"), ", !%c", &three),
        }
    }
}

fn words(forms: &mut Vec<Form>, operator: &str, ftz: &str, kind: &str) {
    let results: &[&str] = if matches!(kind, "f16" | "bf16") { &["u32", "s32"] } else { &["u32", "s32", "f32"] };
    for result in results {
        let name = dotted(&["set", operator, ftz, result, kind]);
        forms.push(Form::plain(name, &[of(kind); 2], bits_to(result)).related(Relation::Neighbours));
    }
    if matches!(operator, "lt" | "eq" | "ltu") {
        for boolean in ["and", "or", "xor"] {
            let name = dotted(&["set", operator, boolean, ftz, "u32", kind]);
            let form = Form::plain(name, &[of(kind), of(kind), of("pred")], bits_to("u32"));
            forms.push(form.related(Relation::Neighbours));
        }
    }
}

fn selections(forms: &mut Vec<Form>) {
    for kind in ["b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64"] {
        // What is selected is moved: its bits stay.
        let value = of(&format!("b{}", &kind[1..]));
        forms.push(Form::plain(dotted(&["selp", kind]), &[value, value, of("pred")], bits_to(kind)));
        forms.push(Form::plain(dotted(&["slct", kind, "s32"]), &[value, value, of("s32")], bits_to(kind)));
        for ftz in ["", "ftz"] {
            let name = dotted(&["slct", ftz, kind, "f32"]);
            forms.push(Form::plain(name, &[value, value, of("f32")], bits_to(kind)));
        }
    }
}
