//! Mutants of the L2 norm.

use super::Sort::{Concurrency, Memory, Numerical};
use super::{Catalogue, Convention, Fault, Mutant};

pub(super) const CATALOGUE: Catalogue = Catalogue {
    family: "l2_norm",
    mutants: MUTANTS,
    faults: FAULTS,
    conventions: CONVENTIONS,
    ptx: include_str!("../../../golden/ptx/mutants/l2_norm.ptx"),
};

const NORM: &str = "gk_l2norm_heads";

const ROOT: &str = "const float r = rsqrtf(gdn_block_sum(value * value) + eps);\n    if (inside) {\n        head[i]";

/// A numerical mutant of the L2 norm.
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
        "l2_eps_missing",
        "eps",
        "hidden on heads of norm above 1e-3; a zero head gives NaN",
        &[(ROOT, "const float r = rsqrtf(gdn_block_sum(value * value));\n    if (inside) {\n        head[i]")],
    ),
    norm(
        "l2_eps_on_the_mean",
        "eps",
        "eps D times too large: added to the mean of squares",
        &[(
            ROOT,
            "const float r = rsqrtf(gdn_block_sum(value * value) + eps * D);\n    if (inside) {\n        head[i]",
        )],
    ),
    norm(
        "l2_eps_outside_the_root",
        "eps",
        "x/(‖x‖ + eps)",
        &[(
            ROOT,
            "const float r = 1.0f / (sqrtf(gdn_block_sum(value * value)) + eps);\n    if (inside) {\n        head[i]",
        )],
    ),
    norm(
        "l2_eps_as_a_clamp",
        "eps",
        "x/max(‖x‖, eps): a framework's normalize",
        &[(
            ROOT,
            "const float r = 1.0f / fmaxf(sqrtf(gdn_block_sum(value * value)), eps);\n    if (inside) {\n        head[i]",
        )],
    ),
    norm(
        "l2_eps_another_constant",
        "eps",
        "1e-5 built in",
        &[(ROOT, "const float r = rsqrtf(gdn_block_sum(value * value) + 1e-5f);\n    if (inside) {\n        head[i]")],
    ),
    norm(
        "l2_mean_for_sum",
        "sum",
        "an RMS norm: ‖k‖ = √D, and the state overflows within 80 tokens",
        &[(
            ROOT,
            "const float r = rsqrtf(gdn_block_sum(value * value) / D + eps);\n    if (inside) {\n        head[i]",
        )],
    ),
    norm(
        "l2_divides_by_the_square",
        "root",
        "the root forgotten",
        &[(ROOT, "const float r = 1.0f / (gdn_block_sum(value * value) + eps);\n    if (inside) {\n        head[i]")],
    ),
    norm(
        "l2_is_l1",
        "sum",
        "absolute values summed",
        &[(ROOT, "const float r = 1.0f / (gdn_block_sum(fabsf(value)) + eps);\n    if (inside) {\n        head[i]")],
    ),
    norm(
        "l2_partial_warp_dropped",
        "reduction",
        "floor for ceiling in the number of warps; hidden at D = 64 and 128",
        &[(
            ROOT,
            "const float r = rsqrtf(gdn_block_sum(i < (D & ~31) ? value * value : 0.0f) + eps);\n    if (inside) {\n        head[i]",
        )],
    ),
    norm(
        "l2_last_element_left_out",
        "reduction",
        "sum over D − 1 elements",
        &[(
            ROOT,
            "const float r = rsqrtf(gdn_block_sum(i + 1 < D ? value * value : 0.0f) + eps);\n    if (inside) {\n        head[i]",
        )],
    ),
    norm(
        "l2_first_warp_counted_twice",
        "reduction",
        "lanes past the last warp read its first sum",
        &[(
            "*oa = gdn_warp_sum(lane < warps ? scratch[0][lane] : 0.0f);",
            "*oa = gdn_warp_sum(lane <= warps ? scratch[0][lane == warps ? 0 : lane] : 0.0f);",
        )],
    ),
    norm(
        "l2_only_eight_warps",
        "reduction",
        "a width assumed: blocks above 256 threads lose their tail",
        &[(
            "*oa = gdn_warp_sum(lane < warps ? scratch[0][lane] : 0.0f);",
            "*oa = gdn_warp_sum(lane < warps && lane < 8 ? scratch[0][lane] : 0.0f);",
        )],
    ),
    norm(
        "l2_factor_through_fp16",
        "precision",
        "the factor handed to the elements in half precision",
        &[("head[i] = value * r;", "head[i] = value * gdn_fp16(r);")],
    ),
    norm(
        "l2_one_head_only",
        "index",
        "every block works on the first head",
        &[(
            "float* head = x + (long long)blockIdx.x * D;\n    const float value",
            "float* head = x + (long long)blockIdx.x * D * 0;\n    const float value",
        )],
    ),
    Mutant::new(
        Memory,
        "l2_heads_of_whole_warps",
        NORM,
        "index",
        "heads placed blockDim apart: wrong and past the end where D % 32 ≠ 0",
        &[(
            "float* head = x + (long long)blockIdx.x * D;\n    const float value",
            "float* head = x + (long long)blockIdx.x * blockDim.x;\n    const float value",
        )],
    ),
    Mutant::new(
        Memory,
        "l2_tail_written",
        NORM,
        "tail",
        "threads past D write zeros into the next head",
        &[("if (inside) {\n        head[i] = value * r;", "if (i >= 0) {\n        head[i] = value * r;")],
    ),
    Mutant::new(
        Concurrency,
        "l2_barrier_missing",
        NORM,
        "barrier",
        "warp sums read before all are written",
        &[("scratch[2][warp] = c;\n    }\n    __syncthreads();", "scratch[2][warp] = c;\n    }")],
    ),
    Mutant::new(
        Concurrency,
        "l2_early_return",
        NORM,
        "shuffle",
        "threads past D leave before the reduction: a full-mask shuffle names lanes that are gone",
        &[(
            "const float value = inside ? head[i] : 0.0f;\n    const float r = rsqrtf(gdn_block_sum(value * value) + eps);\n    if (inside) {\n        head",
            "if (!inside) return;\n    const float value = head[i];\n    const float r = rsqrtf(gdn_block_sum(value * value) + eps);\n    if (inside) {\n        head",
        )],
    ),
];

const FAULTS: &[Fault] = &[
    Fault::new(
        "gk_l2norm_heads",
        "eps",
        "const float r = rsqrtf(gdn_block_sum(value * value) + eps);\n    if (inside) {\n        head",
        "const float r = rsqrtf(gdn_block_sum(value * value) + eps * FAULT);\n    if (inside) {\n        head",
    ),
    Fault::new(
        "gk_l2norm_heads",
        "sum",
        "const float r = rsqrtf(gdn_block_sum(value * value) + eps);\n    if (inside) {\n        head",
        "const float r = rsqrtf(gdn_block_sum(value * value) * FAULT + eps);\n    if (inside) {\n        head",
    ),
    Fault::new("gk_l2norm_heads", "output x", "head[i] = value * r;", "head[i] = value * r * FAULT;"),
];

const CONVENTIONS: &[Convention] = &[
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
];
