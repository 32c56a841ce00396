//! What a failure says of itself: a correct f32 answer is spoilt in a known way, and the words must be those.

use gdn_conformance::case::Case;
use gdn_conformance::check::judge;
use gdn_conformance::draw::Draws;
use gdn_conformance::suites;
use gdn_conformance::verdict::Disposition;
use gdn_gpu::run::{Outcome, Tensor};

const STEP: &str = "gdn_step(d=40,hk=2,hv=4,regime=fast,scale=2^0,seed=0x51)";
const GATE: &str = "gk_gate_mul(n=600,regime=gaussian,scale=2^0,seed=0x51)";
const NORM: &str = "gdn_gate_norm_q(d=64,hv=6,regime=gaussian,scale=2^0,seed=0x51)";
const CONV: &str = "gk_conv_silu(c=70,t=4,regime=ramp,scale=2^0,seed=0x51)";
const ROPE: &str = "gk_qk_norm_rope_part(h=3,hd=48,rot=32,pos=2047,stride=160,regime=gaussian,scale=2^0,seed=0x51)";

/// Spoils one float output of a correct answer, and returns what the failure says.
fn said(line: &str, output: &'static str, spoil: impl Fn(&mut [f32], &[f32])) -> String {
    let case: Case = line.parse().expect("the line is written here");
    let suite = suites::find(case.contract.kernel).expect("it is registered");
    let inputs = suite.draw(&case, &Draws::new(&case, 0));
    let mut outputs = suite.model(&case.shape, &inputs, 1).expect("the inputs fit");
    let Some(Tensor::F32(data)) = outputs.get_mut(output) else { panic!("{output} holds floats") };
    let right = data.clone();
    spoil(data, &right);
    let outcome = Outcome { outputs, findings: Vec::new() };
    let verdicts = judge(suite, &case.shape, &inputs, &outcome).expect("the inputs fit");
    let verdict = verdicts.iter().find(|verdict| verdict.output == output).expect("the output is judged");
    assert_eq!(verdict.disposition, Disposition::Failed, "{line}");
    verdict.explanation.as_ref().expect("there are elements to look at").pattern.clone()
}

/// Spoils the elements that a test picks.
fn where_(pick: impl Fn(usize) -> bool, value: impl Fn(f32, usize) -> f32) -> impl Fn(&mut [f32], &[f32]) {
    move |data, right| {
        for (i, x) in data.iter_mut().enumerate().filter(|(i, _)| pick(*i)) {
            *x = value(right[i], i);
        }
    }
}

/// Puts the element of another place in each place.
fn from(place: impl Fn(usize) -> usize) -> impl Fn(&mut [f32], &[f32]) {
    move |data, right| {
        for (i, x) in data.iter_mut().enumerate() {
            *x = right[place(i)];
        }
    }
}

#[test]
fn every_pattern_is_named() {
    let (d, twice, all) = (40, |x: f32, _: usize| 2.0 * x, |_: usize| true);
    let lines = [
        ("one element", said(STEP, "S", where_(|i| i == 1723, twice))),
        ("every element, twice", said(STEP, "o", where_(all, twice))),
        ("one head", said(STEP, "S", where_(|i| i / (d * d) == 2, twice))),
        ("odd heads", said(STEP, "S", where_(|i| i / (d * d) % 2 == 1, twice))),
        ("heads from 1 on", said(STEP, "o", where_(|i| i >= d, twice))),
        ("one row", said(STEP, "S", where_(|i| i / d % d == 7, twice))),
        ("one row of one head", said(STEP, "S", where_(|i| i / d == 3 * d + 7, twice))),
        ("every fourth row", said(STEP, "S", where_(|i| i / d % 4 == 3, twice))),
        ("one column", said(STEP, "S", where_(|i| i % d == 39, twice))),
        ("one lane", said(STEP, "S", where_(|i| i % d % 32 == 5, twice))),
        ("some lanes", said(NORM, "out", where_(|i| i % 32 >= 28, twice))),
        ("the diagonal", said(STEP, "S", where_(|i| i % d == i / d % d, twice))),
        ("the tail", said(STEP, "S", where_(|i| i % d >= 32, twice))),
        ("from a block's edge", said(GATE, "ctx", where_(|i| i >= 512, twice))),
        ("from a warp's edge", said(GATE, "ctx", where_(|i| i >= 96, twice))),
        ("scattered", said(GATE, "ctx", where_(|i| i * i % 7 == 2 && i % 5 < 2, twice))),
        ("outside of the row", said(ROPE, "base", where_(|i| i == 3 || i == 470, twice))),
        ("half of the dimensions", said(ROPE, "base", where_(|i| i >= 160 && (i - 160) % 48 >= 32 && i < 304, twice))),
        ("one in 2^-20", said(GATE, "ctx", where_(all, |x, _| x * (1.0 + 2f32.powi(-19))))),
        ("1/√D", said(STEP, "o", where_(all, |x, _| x / 40f32.sqrt()))),
        ("127/128", said(NORM, "xs", where_(all, |x, _| x * 127.0 / 128.0))),
        ("a ratio of each head", said(STEP, "o", where_(all, |x, i| x * (1.5 + (i / 40) as f32)))),
        ("an offset", said(NORM, "out", where_(all, |x, _| x + 0.25))),
        ("a flipped sign", said(GATE, "ctx", where_(|i| i < 40, |x, _| -x))),
        ("zero", said(GATE, "ctx", where_(|i| i % 2 == 0, |_, _| 0.0))),
        ("NaN in one head", said(STEP, "o", where_(|i| i / d == 1, |_, _| f32::NAN))),
        ("some NaN, some zero", said(GATE, "ctx", where_(all, |_, i| if i % 3 == 0 { f32::NAN } else { 0.0 }))),
        ("infinite", said(GATE, "ctx", where_(|i| i == 5 || i == 9, |_, _| f32::INFINITY))),
        ("bf16", said(STEP, "S", where_(all, |x, _| f32::from_bits(x.to_bits() & 0xffff_0000)))),
        ("f16", said(GATE, "ctx", where_(all, |x, _| f32::from_bits(x.to_bits() & 0xffff_e000)))),
        ("transposed", said(STEP, "S", from(|i| i / (d * d) * d * d + i % d * d + i / d % d))),
        ("heads exchanged", said(STEP, "o", from(|i| ((i / d) ^ 1) * d + i % d))),
        ("a head for another", said(STEP, "o", from(|i| if i / d == 3 { i - 2 * d } else { i }))),
        ("heads turned", said(STEP, "S", from(|i| (i + d * d) % (4 * d * d)))),
        ("taps shifted", said(CONV, "cs", from(|i| if i < 210 { i + 70 } else { i }))),
        ("channels shifted", said(CONV, "y", from(|i| (i + 69) % 70))),
        ("growing", said(GATE, "ctx", where_(all, |x, i| x * (1.0 + 1e-4 * i as f32)))),
        (
            "falling",
            said(NORM, "out", where_(all, |x, i| x * (1.0 + (i * i % 13) as f32 * 1e-3 * 0.9f32.powi(i as i32 % 64)))),
        ),
    ];
    let text: Vec<String> = lines.iter().map(|(name, words)| format!("{name}\n  {words}\n")).collect();
    insta::with_settings!({ snapshot_path => "../../golden/snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("patterns", text.concat());
    });
}
