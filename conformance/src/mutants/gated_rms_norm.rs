//! Mutants of the gated RMS norm and of its epilogues.

use super::Sort::{Concurrency, Memory, Numerical};
use super::{Catalogue, Convention, Fault, Mutant};

pub(super) const CATALOGUE: Catalogue = Catalogue {
    family: "gated_rms_norm",
    mutants: MUTANTS,
    faults: FAULTS,
    conventions: CONVENTIONS,
    ptx: include_str!("../../../golden/ptx/mutants/gated_rms_norm.ptx"),
};

const NORM: &str = "gdn_gate_norm";

const MEAN: &str = "const float mean = __fdiv_rn(gdn_block_sum(__fmul_rn(o, o)), (float)D);";
const ROOT: &str = "const float r = rsqrtf(__fadd_rn(mean, eps));";
const SILU: &str = "const float silu = __fmul_rn(z, gdn_sigmoid(z));";
const RESULT: &str = "return __fmul_rn(__fmul_rn(gn, __fmul_rn(o, r)), silu);";
const INPUTS: &str = "inside ? z[at] : 0.0f, inside ? gn[i] : 0.0f, inside ? o[at] : 0.0f, D, eps);";

/// A numerical mutant of the gated RMS norm.
const fn norm(
    name: &'static str,
    term: &'static str,
    story: &'static str,
    edits: &'static [(&'static str, &'static str)],
) -> Mutant {
    Mutant::new(Numerical, name, NORM, term, story, edits)
}

const MUTANTS: &[Mutant] = &[
    norm(
        "gate_before_norm",
        "order",
        "the order of another architecture's gated norm",
        &[(MEAN, "const float g = o * (z * gdn_sigmoid(z)); const float mean = gdn_block_sum(g * g) / (float)D;")],
    ),
    norm(
        "gate_is_sigmoid",
        "activation",
        "sigmoid for silu; exactly hidden where z = 1",
        &[(SILU, "const float silu = gdn_sigmoid(z);")],
    ),
    norm("gate_missing", "gate", "a plain RMS norm", &[(SILU, "const float silu = 1.0f;")]),
    norm("gate_without_sigmoid", "activation", "z itself as a gate", &[(SILU, "const float silu = z;")]),
    norm(
        "gate_overflows",
        "activation",
        "e^z/(1 + e^z): NaN above 88",
        &[(SILU, "const float silu = z * (expf(z) / (1.0f + expf(z)));")],
    ),
    norm(
        "gate_of_the_first_head",
        "gate index",
        "one gate row for all heads",
        &[(INPUTS, "inside ? z[i] : 0.0f, inside ? gn[i] : 0.0f, inside ? o[at] : 0.0f, D, eps);")],
    ),
    norm(
        "weight_missing",
        "weight",
        "norm without its weight",
        &[(RESULT, "return __fmul_rn(__fmul_rn(o, r), silu);")],
    ),
    norm(
        "weight_plus_one",
        "weight",
        "1 + w where the file has w; hidden near w = 0",
        &[(RESULT, "return __fmul_rn(__fmul_rn(1.0f + gn, __fmul_rn(o, r)), silu);")],
    ),
    norm(
        "weight_rotated",
        "weight index",
        "weight indexed by head as well",
        &[(INPUTS, "inside ? z[at] : 0.0f, inside ? gn[(i + blockIdx.x) % D] : 0.0f, inside ? o[at] : 0.0f, D, eps);")],
    ),
    norm(
        "variance_over_all_heads",
        "mean",
        "one variance for the row; hidden by equal head scales",
        &[(
            "const float value = gdn_gate_norm_value(\n        inside ? z[at] : 0.0f, inside ? gn[i] : 0.0f, inside ? o[at] : 0.0f, D, eps);",
            "float all = 0.0f;\n    for (int h = 0; inside && h < (int)gridDim.x; ++h) all += o[(long long)h * D + i] * o[(long long)h * D + i];\n    \
             const float r = rsqrtf(gdn_block_sum(all) / (float)(D * gridDim.x) + eps);\n    \
             const float value = inside ? gn[i] * (o[at] * r) * (z[at] * gdn_sigmoid(z[at])) : 0.0f;",
        )],
    ),
    norm(
        "last_element_left_out_of_the_mean",
        "mean",
        "sum over D − 1 elements; one-hot at the end shows it",
        &[(
            MEAN,
            "const float mean = __fdiv_rn(gdn_block_sum((int)threadIdx.x + 1 < D ? __fmul_rn(o, o) : 0.0f), (float)D);",
        )],
    ),
    norm(
        "mean_subtracted",
        "mean",
        "a layer norm",
        &[
            (
                MEAN,
                "const float m = gdn_block_sum(o) / (float)D; const float e = (int)threadIdx.x < D ? o - m : 0.0f; const float mean = gdn_block_sum(e * e) / (float)D;",
            ),
            (RESULT, "return __fmul_rn(__fmul_rn(gn, __fmul_rn(o - m, r)), silu);"),
        ],
    ),
    norm(
        "mean_is_the_sum",
        "mean",
        "the division by D forgotten",
        &[(MEAN, "const float mean = gdn_block_sum(__fmul_rn(o, o));")],
    ),
    norm(
        "mean_over_the_block",
        "mean",
        "divided by the threads of the block, not by D; hidden where D % 32 = 0",
        &[(MEAN, "const float mean = __fdiv_rn(gdn_block_sum(__fmul_rn(o, o)), (float)blockDim.x);")],
    ),
    norm("norm_eps_missing", "eps", "hidden where the RMS is .1 or more", &[(ROOT, "const float r = rsqrtf(mean);")]),
    norm(
        "norm_eps_another_constant",
        "eps",
        "1e-5 for 1e-6; real heads have an RMS of 6e-3",
        &[(ROOT, "const float r = rsqrtf(__fadd_rn(mean, 1e-5f));")],
    ),
    norm("norm_eps_on_the_divisor", "eps", "√mean + eps", &[(ROOT, "const float r = 1.0f / (sqrtf(mean) + eps);")]),
    norm(
        "norm_eps_on_the_sum",
        "eps",
        "added before the division by D",
        &[(ROOT, "const float r = rsqrtf(mean + eps / (float)D);")],
    ),
    norm(
        "normed_through_bf16",
        "precision",
        "rounded to the activations' type before the gate, as a framework's module does",
        &[(RESULT, "return __fmul_rn(__fmul_rn(gn, gdn_bf16(__fmul_rn(o, r))), silu);")],
    ),
    norm(
        "gate_through_bf16",
        "precision",
        "the gate in the activations' type",
        &[(SILU, "const float silu = gdn_bf16(__fmul_rn(z, gdn_sigmoid(z)));")],
    ),
    norm(
        "root_without_its_refinement",
        "root",
        "a factor in half precision",
        &[(ROOT, "const float r = gdn_fp16(rsqrtf(__fadd_rn(mean, eps)));")],
    ),
    Mutant::new(
        Numerical,
        "epilogue_gate_is_sigmoid",
        "gdn_gate_norm_hl",
        "activation",
        "the f32 output beside the codes differs from the plain kernel's",
        &[(SILU, "const float silu = gdn_sigmoid(z);")],
    ),
    Mutant::new(
        Numerical,
        "epilogue_words_of_the_value",
        "gdn_gate_norm_hl",
        "units",
        "words of the value in place of its units of the scale",
        &[(
            "lgx_q8hl(t, xq + head, xl + head, i);",
            "lgx_q8hl(fminf(fmaxf(value, -127.0f), 127.0f), xq + head, xl + head, i);",
        )],
    ),
    Mutant::new(
        Numerical,
        "epilogue_words_of_the_first_head",
        "gdn_gate_norm_hl",
        "index",
        "words of each head at the start of the row: later heads are never written",
        &[(
            "const long long head = (long long)blockIdx.x * D;\n    lgx_q8hl",
            "const long long head = 0 * (long long)blockIdx.x * D;\n    lgx_q8hl",
        )],
    ),
    Mutant::new(
        Memory,
        "weight_by_the_flat_index",
        NORM,
        "weight index",
        "past the end of the weight from the second head on",
        &[(INPUTS, "inside ? z[at] : 0.0f, inside ? gn[at] : 0.0f, inside ? o[at] : 0.0f, D, eps);")],
    ),
    Mutant::new(
        Memory,
        "tail_of_a_head_loaded",
        NORM,
        "tail",
        "threads past D bring the next head's values into the sum",
        &[(INPUTS, "inside ? z[at] : 0.0f, inside ? gn[i] : 0.0f, o[at], D, eps);")],
    ),
    Mutant::new(
        Memory,
        "scales_of_every_thread",
        "gdn_gate_norm_q",
        "scale index",
        "a scale a thread in place of one a group",
        &[(
            "xq[at] = (signed char)rintf(t);\n    if ((i & 31) == 0) {\n        xs[at / 32] = scale;",
            "xq[at] = (signed char)rintf(t);\n    if ((i & 31) == 0) {\n        xs[at] = scale;",
        )],
    ),
    Mutant::new(
        Concurrency,
        "norm_barrier_missing",
        NORM,
        "barrier",
        "warp sums read before all are written",
        &[("scratch[2][warp] = c;\n    }\n    __syncthreads();", "scratch[2][warp] = c;\n    }")],
    ),
    Mutant::new(
        Concurrency,
        "epilogue_barrier_missing",
        "gdn_gate_norm_q",
        "barrier",
        "warp sums read before all are written",
        &[("scratch[2][warp] = c;\n    }\n    __syncthreads();", "scratch[2][warp] = c;\n    }")],
    ),
    Mutant::new(
        Concurrency,
        "norm_early_return",
        NORM,
        "shuffle",
        "threads past D return before the reduction",
        &[(
            "const long long at = (long long)blockIdx.x * D + i;\n    const float value = gdn_gate_norm_value(\n        inside",
            "const long long at = (long long)blockIdx.x * D + i;\n    if (!inside) return;\n    const float value = gdn_gate_norm_value(\n        inside",
        )],
    ),
];

const FAULTS: &[Fault] = &[
    Fault::new("gdn_gate_norm", "eps", "rsqrtf(__fadd_rn(mean, eps))", "rsqrtf(__fadd_rn(mean, eps * FAULT))"),
    Fault::new("gdn_gate_norm", "mean", "rsqrtf(__fadd_rn(mean, eps))", "rsqrtf(__fadd_rn(mean * FAULT, eps))"),
    Fault::new("gdn_gate_norm", "weight", "__fmul_rn(gn, __fmul_rn(o, r))", "__fmul_rn(gn * FAULT, __fmul_rn(o, r))"),
    Fault::new(
        "gdn_gate_norm",
        "z in the sigmoid",
        "__fmul_rn(z, gdn_sigmoid(z))",
        "__fmul_rn(z, gdn_sigmoid(z * FAULT))",
    ),
    Fault::new(
        "gdn_gate_norm",
        "output out",
        "return __fmul_rn(__fmul_rn(gn,",
        "return FAULT * __fmul_rn(__fmul_rn(gn,",
    ),
    Fault::new(
        "gdn_gate_norm_q",
        "output out",
        "return __fmul_rn(__fmul_rn(gn,",
        "return FAULT * __fmul_rn(__fmul_rn(gn,",
    ),
    Fault::new("gdn_gate_norm_q", "output xs", "*scale = s;", "*scale = s * FAULT;"),
    Fault::new(
        "gdn_gate_norm_hl",
        "output out",
        "return __fmul_rn(__fmul_rn(gn,",
        "return FAULT * __fmul_rn(__fmul_rn(gn,",
    ),
    Fault::new("gdn_gate_norm_hl", "output xs", "*scale = s;", "*scale = s * FAULT;"),
];

const CONVENTIONS: &[Convention] = &[
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
];
