//! Mutants of the two gates.

use super::Sort::{Memory, Numerical};
use super::{Catalogue, Convention, Fault, Mutant};

pub(super) const CATALOGUE: Catalogue = Catalogue {
    family: "gates",
    mutants: MUTANTS,
    faults: FAULTS,
    conventions: CONVENTIONS,
    ptx: include_str!("../../../golden/ptx/mutants/gates.ptx"),
};

const GATES: &str = "gk_gdn_gates";

const BETA: &str = "beta[h] = gdn_sigmoid(br[h]);";
const SUM: &str = "const float u = ar[h] + dt[h];";
const DECAY: &str = "decay[h] = expf(rate[h] * (positive + log1pf(expf(-fabsf(u)))));";

/// A numerical mutant of the gates.
const fn gate(
    name: &'static str,
    term: &'static str,
    story: &'static str,
    edits: &'static [(&'static str, &'static str)],
) -> Mutant {
    Mutant::new(Numerical, name, GATES, term, story, edits)
}

// Not here: `__expf` for the decay. Its error grows with the argument, as does that of the rounded argument itself, which any f32
// kernel has: it stays inside the bound (utilization 0.75), and so is no fault.
const MUTANTS: &[Mutant] = &[
    gate(
        "rate_exponentiated_again",
        "rate",
        "A_log expected where the file has −exp(A_log): exponent −0.04 becomes −0.96",
        &[(DECAY, "decay[h] = expf(-expf(rate[h]) * (positive + log1pf(expf(-fabsf(u)))));")],
    ),
    gate(
        "rate_sign_lost",
        "rate",
        "a growth instead of a decay",
        &[(DECAY, "decay[h] = expf(-rate[h] * (positive + log1pf(expf(-fabsf(u)))));")],
    ),
    gate(
        "rate_of_another_head",
        "rate index",
        "per-head parameter read with the wrong index; hidden where all are equal",
        &[(DECAY, "decay[h] = expf(rate[0] * (positive + log1pf(expf(-fabsf(u)))));")],
    ),
    gate(
        "rate_through_bf16",
        "rate precision",
        "A_log stored in the weights' type: 2e-4 to 1e-3",
        &[(DECAY, "decay[h] = expf(gdn_bf16(rate[h]) * (positive + log1pf(expf(-fabsf(u)))));")],
    ),
    gate(
        "softplus_overflows",
        "softplus",
        "log(1 + e^u): infinite above 88.7, zero below −16.6, NaN at rate 0",
        &[(DECAY, "decay[h] = expf(rate[h] * logf(1.0f + expf(u)));")],
    ),
    gate(
        "softplus_cancels",
        "softplus",
        "1 + e^−|u| rounds to 1 below −16.6",
        &[(DECAY, "decay[h] = expf(rate[h] * (positive + logf(1.0f + expf(-fabsf(u)))));")],
    ),
    gate(
        "decay_as_a_power",
        "softplus",
        "(1 + e^u)^rate: 0 above 88.7 where the answer is exp(rate·u)",
        &[(DECAY, "decay[h] = powf(1.0f + expf(u), rate[h]);")],
    ),
    gate(
        "softplus_threshold_at_10",
        "softplus",
        "the threshold of a framework's default, set too low",
        &[(DECAY, "decay[h] = expf(rate[h] * (u > 10.0f ? u : positive + log1pf(expf(-fabsf(u)))));")],
    ),
    gate(
        "softplus_is_relu",
        "softplus",
        "the correction term dropped as small",
        &[(DECAY, "decay[h] = expf(rate[h] * positive);")],
    ),
    gate("dt_bias_missing", "dt", "bias left out", &[(SUM, "const float u = ar[h];")]),
    gate(
        "dt_bias_after_softplus",
        "dt",
        "bias added to the time step instead of to its argument",
        &[
            (SUM, "const float u = ar[h];"),
            (DECAY, "decay[h] = expf(rate[h] * (positive + log1pf(expf(-fabsf(u))) + dt[h]));"),
        ],
    ),
    gate(
        "dt_bias_of_another_head",
        "dt index",
        "bias read at the block's start",
        &[(SUM, "const float u = ar[h] + dt[0];")],
    ),
    gate(
        "log_decay_handed_on",
        "decay form",
        "the kernel that follows expected the logarithm",
        &[(DECAY, "decay[h] = rate[h] * (positive + log1pf(expf(-fabsf(u))));")],
    ),
    gate(
        "decay_loses_digits_in_bf16",
        "decay precision",
        "gates stored in the activations' type",
        &[(DECAY, "decay[h] = gdn_bf16(expf(rate[h] * (positive + log1pf(expf(-fabsf(u))))));")],
    ),
    gate(
        "gates_exchanged",
        "β, decay",
        "the two outputs in the other order",
        &[
            (BETA, "decay[h] = gdn_sigmoid(br[h]);"),
            (DECAY, "beta[h] = expf(rate[h] * (positive + log1pf(expf(-fabsf(u)))));"),
        ],
    ),
    gate("beta_of_the_other_projection", "β", "sigmoid of a instead of b", &[(BETA, "beta[h] = gdn_sigmoid(ar[h]);")]),
    gate(
        "beta_doubled",
        "β",
        "the variant that allows negative eigenvalues",
        &[(BETA, "beta[h] = 2.0f * gdn_sigmoid(br[h]);")],
    ),
    gate("beta_without_sigmoid", "β", "the raw projection handed on", &[(BETA, "beta[h] = br[h];")]),
    gate(
        "beta_loses_digits_in_bf16",
        "β precision",
        "β stored in bf16: all outputs survive a bf16 round trip",
        &[(BETA, "beta[h] = gdn_bf16(gdn_sigmoid(br[h]));")],
    ),
    gate(
        "beta_sigmoid_overflows",
        "sigmoid",
        "e^x/(1 + e^x): NaN above 88",
        &[(BETA, "beta[h] = expf(br[h]) / (1.0f + expf(br[h]));")],
    ),
    gate(
        "nan_turned_into_zero",
        "NaN",
        "fmaxf drops a NaN: a broken projection becomes a plausible decay",
        &[
            ("const float positive = u < 0.0f ? 0.0f : u;", "const float positive = fmaxf(u, 0.0f);"),
            (DECAY, "decay[h] = expf(rate[h] * (positive + log1pf(expf(-fmaxf(fabsf(u), 0.0f)))));"),
        ],
    ),
    Mutant::new(
        Memory,
        "time_step_kept_in_the_input",
        GATES,
        "input",
        "a scratch value written back over the projection that it came from: whoever reads it next gets another",
        &[(SUM, "const float u = ar[h] + dt[h];\n    ((float*)ar)[h] = u;")],
    ),
    Mutant::new(
        Memory,
        "last_head_never_computed",
        GATES,
        "tail",
        "guard off by one",
        &[("if (h >= HV) {", "if (h >= HV - 1) {")],
    ),
    Mutant::new(
        Memory,
        "one_head_too_many",
        GATES,
        "tail",
        "> for >= in the guard: one past the end, where no launch crashes",
        &[("if (h >= HV) {", "if (h > HV) {")],
    ),
    Mutant::new(
        Memory,
        "guard_by_whole_warps",
        GATES,
        "tail",
        "HV rounded up to whole warps in the guard",
        &[("if (h >= HV) {", "if (h >= (HV + 31) / 32 * 32) {")],
    ),
];

const FAULTS: &[Fault] = &[
    Fault::new("gk_gdn_gates", "br", "gdn_sigmoid(br[h])", "gdn_sigmoid(br[h] * FAULT)"),
    Fault::new("gk_gdn_gates", "ar", "ar[h] + dt[h]", "ar[h] * FAULT + dt[h]"),
    Fault::new("gk_gdn_gates", "dt", "ar[h] + dt[h]", "ar[h] + dt[h] * FAULT"),
    Fault::new("gk_gdn_gates", "rate", "expf(rate[h] *", "expf(rate[h] * FAULT *"),
    Fault::new("gk_gdn_gates", "output beta", "beta[h] = gdn_sigmoid", "beta[h] = FAULT * gdn_sigmoid"),
    Fault::new("gk_gdn_gates", "output decay", "decay[h] = expf", "decay[h] = FAULT * expf"),
];

const CONVENTIONS: &[Convention] = &[
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
];
