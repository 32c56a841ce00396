//! `which`: the conventions that a kernel follows, each told by a case in which the conventions known for it differ.
//!
//! The other conventions are mutants. A kernel follows the one whose outputs its own agree with; a case is chosen so that it
//! hides the kernel's other conventions where it can.

use gdn_gpu::Executor;
use gdn_gpu::run::{Tensor, Tensors};

use crate::case::Case;
use crate::draw::Draws;
use crate::error::Error;
use crate::mutants::{self, Mutant};
use crate::runner::Runner;
use crate::suites;
use crate::verdict::{Check, Want};

/// Something that kernels of this family do in one of several ways.
#[derive(Clone, Copy, Debug)]
pub struct Convention {
    /// What it is about.
    pub name: &'static str,
    /// What the contract says.
    pub contract: &'static str,
    /// Other ways, each with the mutant that goes it.
    pub others: &'static [(&'static str, &'static str)],
    /// The case that tells them apart.
    pub case: &'static str,
}

/// Every convention that is told.
pub const CONVENTIONS: &[Convention] = &[
    Convention {
        name: "head map",
        contract: "tiled: h % HK",
        others: &[("head_map_interleaved", "interleaved: h / (HV/HK)"), ("head_map_first_key", "one key head for all")],
        case: "gdn_step(d=16,hk=2,hv=6,tokens=1,regime=warm,scale=2^0,seed=0x51)",
    },
    Convention {
        name: "decay",
        contract: "before the prediction",
        others: &[
            ("prediction_from_the_undecayed_state", "after the prediction"),
            ("decay_on_the_new_term", "after the update"),
            ("decay_never_applied", "none"),
            ("decay_applied_twice", "twice"),
        ],
        case: "gdn_step(d=16,hk=1,hv=1,tokens=1,regime=fast,scale=2^0,seed=0x51)",
    },
    Convention {
        name: "gate",
        contract: "linear",
        others: &[("decay_taken_for_its_logarithm", "logarithmic")],
        case: "gdn_step(d=16,hk=1,hv=1,tokens=1,regime=fast,scale=2^0,seed=0x52)",
    },
    Convention {
        name: "β",
        contract: "times the whole correction",
        others: &[
            ("beta_multiplies_the_value_only", "times the value only"),
            ("beta_missing", "none"),
            ("beta_squared", "squared"),
        ],
        case: "gdn_step(d=16,hk=1,hv=1,tokens=1,regime=warm,scale=2^0,seed=0x53)",
    },
    Convention {
        name: "scale",
        contract: "1/√D",
        others: &[("scale_missing", "none"), ("scale_one_over_d", "1/D"), ("scale_over_key_heads", "1/√HK")],
        case: "gdn_step(d=16,hk=2,hv=2,tokens=1,regime=warm,scale=2^0,seed=0x54)",
    },
    Convention {
        name: "state layout",
        contract: "row = value index",
        others: &[
            ("state_read_transposed", "read with row = key index"),
            ("state_written_transposed", "written with row = key index"),
        ],
        case: "gdn_step(d=16,hk=1,hv=1,tokens=1,regime=warm,scale=2^0,seed=0x55)",
    },
    Convention {
        name: "rate",
        contract: "−exp(A_log), as given",
        others: &[
            ("rate_exponentiated_again", "A_log, exponentiated here"),
            ("rate_sign_lost", "exp(A_log), negated here"),
        ],
        case: "gk_gdn_gates(hv=48,regime=gaussian,scale=2^0,seed=0x51)",
    },
    Convention {
        name: "decay handed on",
        contract: "linear",
        others: &[("log_decay_handed_on", "logarithmic")],
        case: "gk_gdn_gates(hv=48,regime=gaussian,scale=2^0,seed=0x52)",
    },
    Convention {
        name: "dt",
        contract: "inside softplus",
        others: &[("dt_bias_after_softplus", "after softplus"), ("dt_bias_missing", "none")],
        case: "gk_gdn_gates(hv=48,regime=gaussian,scale=2^0,seed=0x53)",
    },
    Convention {
        name: "β handed on",
        contract: "sigmoid",
        others: &[("beta_doubled", "twice the sigmoid"), ("beta_without_sigmoid", "the raw projection")],
        case: "gk_gdn_gates(hv=48,regime=gaussian,scale=2^0,seed=0x54)",
    },
    Convention {
        name: "norm and gate",
        contract: "norm, then gate",
        others: &[("gate_before_norm", "gate, then norm")],
        case: "gdn_gate_norm(d=32,hv=3,regime=gaussian,scale=2^0,seed=0x51)",
    },
    Convention {
        name: "activation",
        contract: "silu",
        others: &[("gate_is_sigmoid", "sigmoid"), ("gate_missing", "none"), ("gate_without_sigmoid", "the raw gate")],
        case: "gdn_gate_norm(d=32,hv=1,regime=gaussian,scale=2^0,seed=0x52)",
    },
    Convention {
        name: "weight",
        contract: "w",
        others: &[("weight_plus_one", "1 + w"), ("weight_missing", "none")],
        case: "gdn_gate_norm(d=32,hv=1,regime=gaussian,scale=2^0,seed=0x53)",
    },
    Convention {
        name: "eps",
        contract: "on the mean, in the root",
        others: &[
            ("norm_eps_on_the_divisor", "on the root"),
            ("norm_eps_on_the_sum", "on the sum, in the root"),
            ("norm_eps_missing", "none"),
            ("norm_eps_another_constant", "1e-5, whatever is given"),
        ],
        case: "gdn_gate_norm(d=32,hv=1,regime=gaussian,scale=2^-10,seed=0x54)",
    },
    Convention {
        name: "eps",
        contract: "on the sum, in the root",
        others: &[
            ("l2_eps_on_the_mean", "on the mean, in the root"),
            ("l2_eps_outside_the_root", "on the root"),
            ("l2_eps_as_a_clamp", "a lower limit of the norm"),
            ("l2_eps_missing", "none"),
            ("l2_eps_another_constant", "1e-5, whatever is given"),
        ],
        case: "gk_l2norm_heads(d=32,h=1,regime=gaussian,scale=2^-24,seed=0x51)",
    },
    Convention {
        name: "norm",
        contract: "L2",
        others: &[("l2_mean_for_sum", "RMS"), ("l2_is_l1", "L1")],
        case: "gk_l2norm_heads(d=32,h=1,regime=gaussian,scale=2^0,seed=0x52)",
    },
    Convention {
        name: "taps",
        contract: "the last is the newest's",
        others: &[("taps_reversed", "the first is the newest's"), ("taps_of_another_layout", "laid out [C, T]")],
        case: "gk_conv_silu(c=31,t=4,tokens=1,regime=gaussian,scale=2^0,seed=0x51)",
    },
    Convention {
        name: "activation",
        contract: "silu",
        others: &[
            ("activation_missing", "none"),
            ("sigmoid_for_silu", "sigmoid"),
            ("activation_twice", "silu of silu"),
        ],
        case: "gk_conv_silu(c=31,t=1,tokens=1,regime=gaussian,scale=2^0,seed=0x52)",
    },
    Convention {
        name: "norm and silu",
        contract: "silu, then norm",
        others: &[("norm_before_silu", "norm, then silu")],
        case: "gk_conv_silu_l2(d=32,c=96,t=4,nl2=2,tokens=1,regime=gaussian,scale=2^0,seed=0x51)",
    },
    Convention {
        name: "rotary pairing",
        contract: "(i, i + rot/2)",
        others: &[("pairs_adjacent", "(2i, 2i + 1)"), ("pairs_across_the_head", "(i, i + hd/2)")],
        case: "gk_qk_norm_rope_part(h=1,hd=64,rot=32,pos=63,stride=64,rbase=10000.0,regime=gaussian,scale=2^0,seed=0x51)",
    },
    Convention {
        name: "rotary width",
        contract: "rot",
        others: &[("whole_head_rotated", "hd")],
        case: "gk_qk_norm_rope_part(h=1,hd=64,rot=32,pos=63,stride=64,rbase=10000.0,regime=gaussian,scale=2^0,seed=0x52)",
    },
    Convention {
        name: "rotary frequencies",
        contract: "over rot",
        others: &[("frequencies_over_the_head", "over hd")],
        case: "gk_qk_norm_rope_part(h=1,hd=64,rot=32,pos=63,stride=64,rbase=10000.0,regime=gaussian,scale=2^0,seed=0x53)",
    },
    Convention {
        name: "sense of rotation",
        contract: "counterclockwise",
        others: &[("sine_sign", "clockwise")],
        case: "gk_qk_norm_rope_part(h=1,hd=64,rot=64,pos=63,stride=64,rbase=10000.0,regime=gaussian,scale=2^0,seed=0x54)",
    },
    Convention {
        name: "weight",
        contract: "w",
        others: &[
            ("qk_weight_plus_one", "1 + w"),
            ("qk_weight_missing", "none"),
            ("qk_weight_after_the_rotation", "w, after the rotation"),
        ],
        case: "gk_qk_norm_rope_part(h=1,hd=64,rot=32,pos=63,stride=64,rbase=10000.0,regime=gaussian,scale=2^0,seed=0x55)",
    },
    Convention {
        name: "gate",
        contract: "sigmoid",
        others: &[
            ("output_gate_is_silu", "silu"),
            ("output_gate_missing", "none"),
            ("output_gate_without_sigmoid", "the raw gate"),
        ],
        case: "gk_gate_mul(n=31,regime=gaussian,scale=2^0,seed=0x51)",
    },
];

/// What a kernel was found to follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The kernel.
    pub kernel: &'static str,
    /// The convention.
    pub convention: &'static str,
    /// What it follows; nothing where it agrees with none that is known.
    pub follows: Option<&'static str>,
    /// Whether that is what the contract says.
    pub contract: bool,
    /// The mutant that goes the same way, where it is another.
    pub mutant: Option<&'static str>,
    /// The case that told.
    pub case: &'static str,
}

/// Tells the conventions of the kernels that a runner has, by running the shipped kernels and the mutants on `machine`.
///
/// # Errors
/// What either executor ran into, faults of the kernel in question excepted: a kernel that faults follows nothing.
pub fn which(runner: &mut Runner, machine: &dyn Executor) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    for convention in CONVENTIONS {
        let case: Case = convention.case.parse()?;
        let kernel = case.contract.kernel;
        if !runner.has(kernel)? {
            continue;
        }
        let suite = suites::find(kernel)?;
        let inputs = suite.draw(&case, &Draws::new(&case, 0));
        let own = runner.run(suite, &case.shape, &inputs, case.seed).ok().map(|outcome| outcome.outputs);
        let mut shipped = Runner::kernels(machine.fork()?)?;
        let right = shipped.run(suite, &case.shape, &inputs, case.seed)?.outputs;
        let checks = suite.expect(&case.shape, &inputs, &right)?;
        let agrees = |other: &Tensors| own.as_ref().is_some_and(|own| agree(&checks, own, other));
        let mut found = Finding {
            kernel,
            convention: convention.name,
            follows: None,
            contract: agrees(&right),
            mutant: None,
            case: convention.case,
        };
        if found.contract {
            found.follows = Some(convention.contract);
        } else {
            for (name, label) in convention.others {
                if let Some(outputs) = outputs_of(mutants::find(name)?, machine, &case, &inputs)?
                    && agrees(&outputs)
                {
                    found.follows = Some(label);
                    found.mutant = Some(name);
                    break;
                }
            }
        }
        findings.push(found);
    }
    Ok(findings)
}

/// The known-wrong kernel that a failing launch looks like: the first whose outputs agree with it.
///
/// # Errors
/// What the machine ran into, apart from faults of the mutants.
pub fn nearest(
    machine: &dyn Executor,
    case: &Case,
    inputs: &Tensors,
    outputs: &Tensors,
) -> Result<Option<&'static Mutant>, Error> {
    let suite = suites::find(case.contract.kernel)?;
    let checks = suite.expect(&case.shape, inputs, outputs)?;
    for mutant in mutants::all().filter(|m| m.kernel == case.contract.kernel && m.equivalent.is_none()) {
        if let Some(theirs) = outputs_of(mutant, machine, case, inputs)?
            && agree(&checks, outputs, &theirs)
        {
            return Ok(Some(mutant));
        }
    }
    Ok(None)
}

/// What a mutant makes of inputs; nothing where it faults, or where its PTX is not at hand.
fn outputs_of(
    mutant: &Mutant,
    machine: &dyn Executor,
    case: &Case,
    inputs: &Tensors,
) -> Result<Option<Tensors>, Error> {
    let Ok(mut runner) = Runner::programs(machine.fork()?, vec![mutant.program()?]) else { return Ok(None) };
    let suite = suites::find(mutant.kernel)?;
    Ok(runner.run(suite, &case.shape, inputs, case.seed).ok().map(|outcome| outcome.outputs))
}

/// Whether two kernels compute the same: apart by no more than two correct kernels may be, by the bounds of the oracle's value
/// and, where a convention makes the value larger, in proportion.
fn agree(checks: &[Check], one: &Tensors, other: &Tensors) -> bool {
    checks.iter().filter(|check| check.aspect.is_empty()).all(|check| {
        match (one.get(check.output), other.get(check.output)) {
            (Some(Tensor::F32(one)), Some(Tensor::F32(other))) => {
                one.len() == other.len()
                    && check.wants.iter().zip(one.iter().zip(other)).all(|(want, (&one, &other))| {
                        if one.to_bits() == other.to_bits() || (one.is_nan() && other.is_nan()) {
                            return true;
                        }
                        let Want::Near(want) = want else { return false };
                        let scale = (f64::from(other) / want.value).abs().max(1.0);
                        (f64::from(one) - f64::from(other)).abs() <= 2.0 * want.bound * scale
                    })
            }
            (Some(Tensor::I8(one)), Some(Tensor::I8(other))) => one == other,
            _ => false,
        }
    })
}
