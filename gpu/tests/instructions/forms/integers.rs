//! Integer arithmetic.

use super::{bits_to, dotted, of};
use crate::form::{Form, Relation};

const KINDS: [&str; 6] = ["u16", "u32", "u64", "s16", "s32", "s64"];

pub(super) fn forms(forms: &mut Vec<Form>) {
    for kind in KINDS {
        for name in ["add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max"] {
            let form = Form::plain(dotted(&[name, kind]), &[of(kind); 2], bits_to(kind));
            forms.push(form.related(Relation::Neighbours));
        }
        for name in ["mad.lo", "mad.hi", "sad"] {
            let form = Form::plain(dotted(&[name, kind]), &[of(kind); 3], bits_to(kind));
            forms.push(form.related(Relation::Neighbours));
        }
        if kind.starts_with('s') {
            for name in ["abs", "neg"] {
                forms.push(Form::plain(dotted(&[name, kind]), &[of(kind)], bits_to(kind)));
            }
        }
    }
    for (kind, wide) in [("u16", "b32"), ("s16", "b32"), ("u32", "b64"), ("s32", "b64")] {
        forms.push(Form::plain(dotted(&["mul.wide", kind]), &[of(kind); 2], bits_to(wide)));
        forms.push(Form::plain(dotted(&["mad.wide", kind]), &[of(kind), of(kind), of(wide)], bits_to(wide)));
    }
    for kind in ["u32", "s32"] {
        for half in ["lo", "hi"] {
            forms.push(Form::plain(dotted(&["mul24", half, kind]), &[of(kind); 2], bits_to(kind)));
            forms.push(Form::plain(dotted(&["mad24", half, kind]), &[of(kind); 3], bits_to(kind)));
        }
        for other in ["u32", "s32"] {
            forms.push(Form::plain(dotted(&["dp4a", kind, other]), &[of(kind); 3], bits_to(kind)));
        }
    }
    for name in ["add.sat", "sub.sat"] {
        forms.push(Form::plain(dotted(&[name, "s32"]), &[of("s32"); 2], bits_to("s32")));
    }
    forms.push(Form::plain("mad.hi.sat.s32", &[of("s32"); 3], bits_to("s32")));
}
