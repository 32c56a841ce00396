//! Carry chains: what an instruction makes of a carry, and the carry that it leaves.

use super::{bits_to, dotted, drawn, of};
use crate::draw::Draw;
use crate::form::Form;

pub(super) fn forms(forms: &mut Vec<Form>) {
    for kind in ["u32", "s32", "u64", "s64"] {
        let plain = format!("b{}", &kind[1..]);
        let scratch = if kind.ends_with("64") { "%l0" } else { "%s0" };
        let carry = drawn(kind, Draw::Flag);
        // A carry of one comes of adding it to all ones, a borrow of one of taking it from nothing.
        let take_carry = |from: &str| format!("add.cc.u{} {scratch}, {from}, -1; ", &kind[1..]);
        let take_borrow = |from: &str| format!("sub.cc.u{} {scratch}, 0, {from}; ", &kind[1..]);
        let leave_carry = format!(" addc.u{} %y, 0, 0;", &kind[1..]);
        let leave_borrow = format!(" subc.u{} %y, 0, 0;", &kind[1..]);
        let both = [bits_to(&plain), bits_to(&plain)];
        for (name, takes, leaves) in
            [("add", take_carry("%c"), &leave_carry), ("sub", take_borrow("%c"), &leave_borrow)]
        {
            let cc = dotted(&[name, "cc", kind]);
            forms.push(Form::new(&cc, format!("{cc} %x, %a, %b;{leaves}"), &[of(kind); 2], &both));
            let last = dotted(&[&format!("{name}c"), kind]);
            let three = [of(kind), of(kind), carry];
            forms.push(Form::new(&last, format!("{takes}{last} %x, %a, %b;"), &three, &both[..1]));
            let middle = dotted(&[&format!("{name}c"), "cc", kind]);
            forms.push(Form::new(&middle, format!("{takes}{middle} %x, %a, %b;{leaves}"), &three, &both));
        }
        for half in ["lo", "hi"] {
            let cc = dotted(&["mad", half, "cc", kind]);
            forms.push(Form::new(&cc, format!("{cc} %x, %a, %b, %c;{leave_carry}"), &[of(kind); 3], &both));
            let four = [of(kind), of(kind), of(kind), carry];
            let last = dotted(&["madc", half, kind]);
            forms.push(Form::new(&last, format!("{}{last} %x, %a, %b, %c;", take_carry("%e")), &four, &both[..1]));
            let middle = dotted(&["madc", half, "cc", kind]);
            let text = format!("{}{middle} %x, %a, %b, %c;{leave_carry}", take_carry("%e"));
            forms.push(Form::new(&middle, text, &four, &both));
        }
    }
}
