//! Logic, shifts and bit fields.

use super::{bits_to, dotted, drawn, of};
use crate::draw::Draw;
use crate::form::Form;

pub(super) fn forms(forms: &mut Vec<Form>) {
    let amount = drawn("u32", Draw::Amount);
    for kind in ["pred", "b16", "b32", "b64"] {
        for name in ["and", "or", "xor"] {
            forms.push(Form::plain(dotted(&[name, kind]), &[of(kind); 2], bits_to(kind)));
        }
        forms.push(Form::plain(dotted(&["not", kind]), &[of(kind)], bits_to(kind)));
    }
    for kind in ["b16", "b32", "b64"] {
        forms.push(Form::plain(dotted(&["cnot", kind]), &[of(kind)], bits_to(kind)));
        forms.push(Form::plain(dotted(&["shl", kind]), &[of(kind), amount], bits_to(kind)));
    }
    for kind in ["b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"] {
        forms.push(Form::plain(dotted(&["shr", kind]), &[of(kind), amount], bits_to(kind)));
    }
    for kind in ["b32", "b64"] {
        forms.push(Form::plain(dotted(&["brev", kind]), &[of(kind)], bits_to(kind)));
        for name in ["popc", "clz"] {
            forms.push(Form::plain(dotted(&[name, kind]), &[of(kind)], bits_to("b32")));
        }
        forms.push(Form::plain(dotted(&["bfi", kind]), &[of(kind), of(kind), amount, amount], bits_to(kind)));
    }
    for kind in ["u32", "u64", "s32", "s64"] {
        for name in ["bfind", "bfind.shiftamt"] {
            forms.push(Form::plain(dotted(&[name, kind]), &[of(kind)], bits_to("b32")));
        }
        forms.push(Form::plain(dotted(&["bfe", kind]), &[of(kind), amount, amount], bits_to(kind)));
    }
    for mode in ["clamp", "wrap"] {
        forms.push(Form::plain(dotted(&["bmsk", mode, "b32"]), &[amount; 2], bits_to("b32")));
        for kind in ["u32", "s32"] {
            forms.push(Form::plain(dotted(&["szext", mode, kind]), &[of(kind), amount], bits_to(kind)));
        }
        for direction in ["l", "r"] {
            let name = dotted(&["shf", direction, mode, "b32"]);
            forms.push(Form::plain(name, &[of("b32"), of("b32"), amount], bits_to("b32")));
        }
    }
    for mode in ["", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"] {
        forms.push(Form::plain(dotted(&["prmt.b32", mode]), &[of("b32"); 3], bits_to("b32")));
    }
    // Each input alone, logic of all three, and tables without symmetry.
    for table in [0xF0, 0xCC, 0xAA, 0x80, 0xFE, 0x96, 0xE8, 0xCA, 0x1B, 0x2D, 0x01, 0x7F] {
        let text = format!("lop3.b32 %x, %a, %b, %c, {table:#04x};");
        forms.push(Form::new(format!("lop3.b32 {table:#04x}"), text, &[of("b32"); 3], &[bits_to("b32")]));
    }
    // A base above 31 is not defined.
    let base = drawn("u32", Draw::Below(32));
    forms.push(Form::plain("fns.b32", &[of("b32"), base, of("s32")], bits_to("b32")));
    let text = "and.b32 %s0, %c, 63; sub.s32 %s0, %s0, 32; fns.b32 %x, %a, %b, %s0;";
    forms.push(Form::new("fns.b32 near", text, &[of("b32"), base, of("s32")], &[bits_to("b32")]));
}
