//! What there is to measure, as data.

use gdn_reference::Budget;
use gdn_reference::ops::activation::{sigmoid, silu, softplus};
use gdn_reference::scalar::{Angle, Bounded, Scalar};

use super::{Fill, Limit, Oracle, Probe, Through};
use crate::contract::{Dim, Param, Shape};

const BUDGET: Budget = Budget::CUDA;
/// Every f32.
const FLOATS: u64 = 1 << 32;

/// A function of the budget, over every f32.
const fn function(name: &'static str, entry: &'static str, ulp: f64, exact: fn(u32) -> f64) -> Probe {
    Probe {
        name,
        limit: Limit::Ulp(ulp),
        control: false,
        arguments: FLOATS,
        entry,
        parameter: 0.0,
        most: f32::INFINITY,
        through: None,
        oracle: Oracle::Exact(exact),
        words: float,
    }
}

/// A shipped gate, over every f32.
const fn gate(
    name: &'static str,
    entry: &'static str,
    through: Through,
    parameter: f32,
    bound: fn(f32, f32) -> Bounded,
) -> Probe {
    Probe {
        name,
        limit: Limit::Bound,
        control: false,
        arguments: FLOATS,
        entry,
        parameter,
        most: f32::INFINITY,
        through: Some(through),
        oracle: Oracle::Bound(bound),
        words: float,
    }
}

/// A probe that must be seen to leave its limit.
const fn control(probe: Probe) -> Probe {
    Probe { control: true, ..probe }
}

/// A probe over the angles that the kernels reduce theirs to.
const fn reduced(probe: Probe) -> Probe {
    Probe { most: std::f32::consts::PI, ..probe }
}

/// Most arguments of a launch through a kernel with a thread an element.
const ELEMENTS: u32 = 1 << 26;
/// Size of a head of `gdn_gate_norm` here, and most arguments of a launch: at most 65535 heads.
const HEAD: i64 = 256;
const IN_HEADS: u32 = 1 << 23;

const GATES: Through = Through {
    kernel: "gk_gdn_gates",
    fills: &[("br", Fill::Arguments), ("ar", Fill::Arguments), ("dt", Fill::Constant(0.0)), ("rate", Fill::Parameter)],
    results: "beta",
    shape: |n| Shape::new(&[(Dim::Hv, n)]),
    most: ELEMENTS,
};
const DECAY: Through = Through { results: "decay", ..GATES };
const GATE_MUL: Through = Through {
    kernel: "gk_gate_mul",
    fills: &[("ctx", Fill::Parameter), ("g", Fill::Arguments)],
    results: "ctx",
    shape: |n| Shape::new(&[(Dim::N, n)]),
    most: ELEMENTS,
};
/// One tap of weight 1: the sum is the argument.
const CONV: Through = Through {
    kernel: "gk_conv_silu",
    fills: &[("x", Fill::Arguments), ("wc", Fill::Constant(1.0)), ("cs", Fill::Constant(0.0))],
    results: "y",
    shape: |n| Shape::new(&[(Dim::C, n), (Dim::T, 1)]),
    most: ELEMENTS,
};
/// Ones under a norm whose eps vanishes beside their mean: the root is 1, and the gate is all that is left.
const GATE_NORM: Through = Through {
    kernel: "gdn_gate_norm",
    fills: &[("z", Fill::Arguments), ("gn", Fill::Constant(1.0)), ("o", Fill::Constant(1.0))],
    results: "out",
    shape: |n| Shape::new(&[(Dim::Hv, n / HEAD), (Dim::D, HEAD)]).with(Param::Eps, 1e-10),
    most: IN_HEADS,
};

fn exactly(x: f32) -> Bounded {
    Bounded::exact(x.into())
}

const SIGMOID: fn(f32, f32) -> Bounded = |x, _| sigmoid(exactly(x), &BUDGET);
const SILU: fn(f32, f32) -> Bounded = |x, _| silu(exactly(x), &BUDGET);
const GATED: fn(f32, f32) -> Bounded = |g, ctx| exactly(ctx) * sigmoid(exactly(g), &BUDGET);
const DECAYED: fn(f32, f32) -> Bounded = |u, rate| (exactly(rate) * softplus(exactly(u), &BUDGET)).exp(&BUDGET);

const EXP: Probe = function("expf", "probe_expf", BUDGET.exp, |bits| of(bits).exp());
const SIN: Probe = function("sinf", "probe_sinf", BUDGET.sin_cos, |bits| of(bits).sin());
const COS: Probe = function("cosf", "probe_cosf", BUDGET.sin_cos, |bits| of(bits).cos());
const QUOTIENT: Probe = Probe {
    words: |bits| format!("{:e} / {:e}", structured(bits >> 16), structured(bits)),
    ..function("a/b", "probe_quotient", BUDGET.div, |bits| {
        f64::from(structured(bits >> 16)) / f64::from(structured(bits))
    })
};

/// Everything that is measured. The functions of the budget come first, then the shipped gates, then what is known to be wrong.
pub const PROBES: &[Probe] = &[
    EXP,
    function("log1pf", "probe_log1pf", BUDGET.log1p, |bits| of(bits).ln_1p()),
    function("rsqrtf", "probe_rsqrtf", BUDGET.rsqrt, |bits| 1.0 / of(bits).sqrt()),
    function("sqrtf", "probe_sqrtf", BUDGET.sqrt, |bits| of(bits).sqrt()),
    function("1/x", "probe_reciprocal", BUDGET.div, |bits| 1.0 / of(bits)),
    QUOTIENT,
    SIN,
    reduced(Probe { name: "sinf, |x| <= pi", ..SIN }),
    COS,
    reduced(Probe { name: "cosf, |x| <= pi", ..COS }),
    Probe {
        name: "gk_rotary_angle",
        limit: Limit::Bound,
        arguments: 1 << 28,
        oracle: Oracle::Rotary,
        words: |bits| {
            let (pair, rot, base) = pair(bits);
            format!("position {}, pair {pair} of {rot}, base {base:e}", position(bits))
        },
        ..function("", "probe_rotary_angle", 0.0, |_| 0.0)
    },
    gate("gk_gdn_gates beta", "probe_sigmoid", GATES, -1.0, SIGMOID),
    gate("gk_gdn_gates decay, rate -0", "probe_decay", DECAY, -0.0, DECAYED),
    gate("gk_gdn_gates decay, rate -2^-10", "probe_decay", DECAY, -1.0 / 1024.0, DECAYED),
    gate("gk_gdn_gates decay, rate -0.04", "probe_decay", DECAY, -0.04, DECAYED),
    gate("gk_gdn_gates decay, rate -1", "probe_decay", DECAY, -1.0, DECAYED),
    gate("gk_gdn_gates decay, rate -16", "probe_decay", DECAY, -16.0, DECAYED),
    gate("gk_gate_mul, ctx 0.1", "probe_gate", GATE_MUL, 0.1, GATED),
    gate("gk_gate_mul, ctx -3e38", "probe_gate", GATE_MUL, -3e38, GATED),
    gate("gk_gate_mul, ctx 1e-38", "probe_gate", GATE_MUL, 1e-38, GATED),
    gate("gdn_gate_norm, silu", "probe_silu", GATE_NORM, 0.0, SILU),
    gate("gk_conv_silu, one tap", "probe_silu", CONV, 0.0, SILU),
    control(Probe { name: "__expf", entry: "probe_fast_exp", ..EXP }),
    control(Probe { name: "a*(1/b)", entry: "probe_two_step_quotient", ..QUOTIENT }),
    control(Probe { name: "1/(1+__expf(-x))", through: None, ..gate("", "probe_fast_sigmoid", GATES, 0.0, SIGMOID) }),
];

/// The probe of a name.
pub fn find(name: &str) -> Option<&'static Probe> {
    PROBES.iter().find(|probe| probe.name == name)
}

/// An argument as the f64 it is exactly.
fn of(bits: u32) -> f64 {
    f32::from_bits(bits).into()
}

/// An f32 in words: shortest digits that give it back, and its bits.
fn float(bits: u32) -> String {
    format!("{:e} ({bits:#010x})", f32::from_bits(bits))
}

/// Operands of a division, of 16 bits: as `probe_structured` on the device.
fn structured(h: u32) -> f32 {
    let m = h & 1023;
    let middle = if m & 1 == 1 { (m.wrapping_mul(2_654_435_761) >> 12 & 0x1fff) << 5 } else { 0 };
    let exponent = (h >> 10 & 31) * 255 / 31;
    f32::from_bits((h >> 15 & 1) << 31 | exponent << 23 | (m >> 5) << 18 | middle | (m & 31))
}

/// Rotated dimensions and base of the embeddings that angles are measured for; 256 pairs in all.
const EMBEDDINGS: [(usize, f32); 6] = [(256, 1e7), (128, 1e6), (64, 1e7), (32, 1e4), (16, 1e6), (16, 1e4)];

/// Pair, rotated dimensions and base of a rotary argument.
fn pair(bits: u32) -> (usize, usize, f32) {
    let mut pair = (bits >> 20 & 255) as usize;
    for (rot, base) in EMBEDDINGS {
        if pair < rot / 2 {
            return (pair, rot, base);
        }
        pair -= rot / 2;
    }
    unreachable!("the embeddings have 256 pairs")
}

/// Position of a rotary argument.
fn position(bits: u32) -> u64 {
    u64::from(bits & 0xf_ffff)
}

/// The angle of a rotary argument.
pub(super) fn rotary(bits: u32) -> Angle {
    let (pair, rot, base) = pair(bits);
    Angle::rotary(position(bits), pair, rot, base)
}

/// The device's table of the pairs: frequency in two doubles, pair, rotated dimensions, base.
pub(super) fn table() -> Vec<f64> {
    (0..256_u32)
        .flat_map(|at| {
            let (pair, rot, base) = pair(at << 20);
            // At position 1 the angle is the frequency: at most 1, so that nothing is reduced.
            let frequency = Angle::rotary(1, pair, rot, base).radians();
            [frequency.high, frequency.low, pair as f64, rot as f64, base.into()]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_different_and_fit_their_column() {
        for (at, probe) in PROBES.iter().enumerate() {
            assert!(probe.name.len() <= 32 && !probe.name.is_empty(), "{}", probe.name);
            assert!(PROBES[..at].iter().all(|other| other.name != probe.name), "{}", probe.name);
        }
    }

    #[test]
    fn every_function_of_the_budget_is_measured() {
        let Budget { div, sqrt, rsqrt, exp, log1p, sin_cos, reduction: _ } = BUDGET;
        let named = [("a/b", div), ("1/x", div), ("sqrtf", sqrt), ("rsqrtf", rsqrt), ("expf", exp), ("log1pf", log1p)];
        for (name, ulp) in named.into_iter().chain([("sinf", sin_cos), ("cosf", sin_cos)]) {
            assert_eq!(find(name).map(|probe| probe.limit), Some(Limit::Ulp(ulp)), "{name}");
        }
    }

    #[test]
    fn the_embeddings_have_as_many_pairs_as_an_argument_can_name() {
        assert_eq!(EMBEDDINGS.iter().map(|(rot, _)| rot / 2).sum::<usize>(), 256);
        assert_eq!(pair(255 << 20), (7, 16, 1e4));
        assert_eq!(table().len(), 5 * 256);
    }

    #[test]
    fn operands_of_divisions_reach_both_ends_of_the_range() {
        let operands: Vec<f32> = (0..1 << 16).map(structured).collect();
        let any = |what: fn(&f32) -> bool| operands.iter().any(what);
        assert!(any(|x| x.is_nan()) && any(|x| x.is_infinite()) && any(|x| *x == 0.0) && any(|x| x.is_subnormal()));
    }
}
