//! What the lanes of a warp do together: all of them, halves, quarters, or sides drawn by chance.

use super::{bits_to, dotted, drawn};
use crate::draw::Draw;
use crate::form::{Form, Input};

/// Who takes part: a name for it, and the member mask.
const MEMBERS: [(&str, Draw); 3] =
    [("all lanes", Draw::Segment(32)), ("segments of 8", Draw::Segment(8)), ("two sides", Draw::Side)];

pub(super) fn forms(forms: &mut Vec<Form>) {
    // A lane that is read must take part, so segments are what the clamp operand keeps together.
    for segment in [32, 16, 8] {
        for mode in ["up", "down", "bfly", "idx"] {
            let opcode = dotted(&["shfl.sync", mode, "b32"]);
            let inputs = [
                drawn("b32", Draw::Lanes),
                drawn("b32", Draw::Lane(segment)),
                drawn("b32", Draw::Clamp(segment)),
                drawn("b32", Draw::Segment(segment)),
            ];
            let outputs = [bits_to("b32"), bits_to("pred")];
            let text = format!("{opcode} %x|%y, %a, %b, %c, %e;");
            forms.push(Form::new(format!("{opcode} segments of {segment}"), text, &inputs, &outputs));
        }
    }
    for (who, mask) in MEMBERS {
        let mask = drawn("b32", mask);
        let mut add = |opcode: String, text: &str, value: Input, outputs: &[&str]| {
            let outputs: Vec<_> = outputs.iter().map(|kind| bits_to(kind)).collect();
            let text = text.replace("OP", opcode.trim_end_matches('!'));
            forms.push(Form::new(format!("{opcode} {who}"), text, &[value, mask], &outputs));
        };
        let vote = drawn("pred", Draw::Vote);
        for mode in ["all", "any", "uni"] {
            add(dotted(&["vote.sync", mode, "pred"]), "OP %x, %a, %b;", vote, &["pred"]);
            add(format!("{}!", dotted(&["vote.sync", mode, "pred"])), "OP %x, !%a, %b;", vote, &["pred"]);
        }
        add("vote.sync.ballot.b32".into(), "OP %x, %a, %b;", vote, &["b32"]);
        add("vote.sync.ballot.b32!".into(), "OP %x, !%a, %b;", vote, &["b32"]);
        for kind in ["b32", "b64"] {
            let value = drawn(kind, Draw::Few);
            add(dotted(&["match.any.sync", kind]), "OP %x, %a, %b;", value, &["b32"]);
            add(dotted(&["match.all.sync", kind]), "OP %x|%y, %a, %b;", value, &["b32", "pred"]);
        }
        for (operation, kind) in [
            ("add", "u32"),
            ("add", "s32"),
            ("min", "u32"),
            ("min", "s32"),
            ("max", "u32"),
            ("max", "s32"),
            ("and", "b32"),
            ("or", "b32"),
            ("xor", "b32"),
        ] {
            let value =
                if operation == "and" || operation == "or" { drawn(kind, Draw::Few) } else { drawn(kind, Draw::Lanes) };
            add(dotted(&["redux.sync", operation, kind]), "OP %x, %a, %b;", value, &["b32"]);
        }
    }
}
