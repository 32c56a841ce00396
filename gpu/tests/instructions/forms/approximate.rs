//! Instructions for which the ISA gives an error.

use super::{dotted, drawn, of, to};
use crate::draw::Draw;
use crate::form::{Float, Form, Output, Relation, Value, Width};

pub(super) fn forms(forms: &mut Vec<Form>) {
    for ftz in ["", "ftz"] {
        for name in ["rcp", "sqrt", "rsqrt", "ex2", "lg2"] {
            forms.push(Form::plain(dotted(&[name, "approx", ftz, "f32"]), &[of("f32")], to("f32")).approximate());
        }
        for name in ["sin", "cos"] {
            let name = dotted(&[name, "approx", ftz, "f32"]);
            forms.push(Form::plain(name, &[drawn("f32", Draw::Angle)], to("f32")).approximate());
        }
        for name in ["approx", "full"] {
            let form = Form::plain(dotted(&["div", name, ftz, "f32"]), &[of("f32"); 2], to("f32"));
            forms.push(form.related(Relation::Quotient(Float::F32)).approximate());
        }
    }
    for kind in ["f32", "f16", "f16x2", "bf16", "bf16x2"] {
        forms.push(Form::plain(dotted(&["tanh", "approx", kind]), &[of(kind)], to(kind)).approximate());
    }
    for (ftz, kind) in [("", "f16"), ("", "f16x2"), ("ftz", "bf16"), ("ftz", "bf16x2")] {
        forms.push(Form::plain(dotted(&["ex2", "approx", ftz, kind]), &[of(kind)], to(kind)).approximate());
    }
    let upper = Output { width: Width::B64, value: Value::Upper };
    forms.push(Form::plain("rcp.approx.ftz.f64", &[of("f64")], upper).approximate());
    forms.push(Form::plain("rsqrt.approx.ftz.f64", &[of("f64")], upper).approximate());
    forms.push(Form::plain("rsqrt.approx.f64", &[of("f64")], to("f64")).approximate());
}
