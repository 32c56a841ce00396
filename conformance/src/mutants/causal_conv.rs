//! Mutants of the convolution with its carried ring.

use super::Sort::{Concurrency, Memory, Numerical};
use super::{Catalogue, Convention, Fault, Mutant};

pub(super) const CATALOGUE: Catalogue = Catalogue {
    family: "causal_conv",
    mutants: MUTANTS,
    faults: FAULTS,
    conventions: CONVENTIONS,
    ptx: include_str!("../../../golden/ptx/mutants/causal_conv.ptx"),
};

const CONV: &str = "gk_conv_silu";
const FUSED: &str = "gk_conv_silu_l2";

const TAP: &str = "const float tap = t + 1 < T ? cs[at + C] : x;";
const RING: &str = "cs[at] = tap;";
const PRODUCT: &str = "sum += wc[at] * tap;";
const SILU: &str = "return sum * gdn_sigmoid(sum);";
const NORMALIZE: &str = "value *= rsqrtf(gdn_block_sum(value * value) + eps);";
const WHICH: &str = "if ((int)blockIdx.x < nl2) {";

/// A numerical mutant of the convolution.
const fn conv(
    name: &'static str,
    term: &'static str,
    story: &'static str,
    edits: &'static [(&'static str, &'static str)],
) -> Mutant {
    Mutant::new(Numerical, name, CONV, term, story, edits)
}

/// A numerical mutant of the convolution with the L2 norm.
const fn fused(
    name: &'static str,
    term: &'static str,
    story: &'static str,
    edits: &'static [(&'static str, &'static str)],
) -> Mutant {
    Mutant::new(Numerical, name, FUSED, term, story, edits)
}

const MUTANTS: &[Mutant] = &[
    conv(
        "taps_reversed",
        "taps",
        "convolution for correlation: the newest pairs with the first tap; hidden by equal or symmetric taps",
        &[(PRODUCT, "sum += wc[(long long)(T - 1 - t) * C + c] * tap;")],
    ),
    conv("ring_never_shifted", "ring", "shift forgotten", &[(RING, "if (T < 0) cs[at] = tap;")]),
    conv(
        "ring_holds_the_result",
        "ring",
        "the result written into the ring in place of the input",
        &[(SILU, "cs[(long long)(T - 1) * C + c] = sum; return sum * gdn_sigmoid(sum);")],
    ),
    conv(
        "window_from_the_wrong_end",
        "ring",
        "the window before the shift: the newest input is not in it",
        &[
            (TAP, "const float tap = t + 1 < T ? cs[at + C] : x; const float old = cs[at];"),
            (PRODUCT, "sum += wc[at] * old;"),
        ],
    ),
    conv(
        "newest_input_first",
        "ring",
        "the ring runs the other way",
        &[(TAP, "const float tap = t > 0 ? cs[at] : x;")],
    ),
    conv(
        "ring_in_bf16",
        "ring precision",
        "the ring kept in the activations' type",
        &[(RING, "cs[at] = gdn_bf16(tap);")],
    ),
    conv("activation_missing", "silu", "no activation", &[(SILU, "return sum;")]),
    conv(
        "activation_twice",
        "silu",
        "activated by the kernel and by the caller",
        &[(SILU, "const float y = sum * gdn_sigmoid(sum); return y * gdn_sigmoid(y);")],
    ),
    conv("sigmoid_for_silu", "silu", "sigmoid(x) for x·sigmoid(x)", &[(SILU, "return gdn_sigmoid(sum);")]),
    conv(
        "silu_overflows",
        "silu",
        "x·e^x/(1 + e^x): NaN above 88",
        &[(SILU, "return sum * (expf(sum) / (1.0f + expf(sum)));")],
    ),
    conv(
        "conv_sum_in_bf16",
        "precision",
        "the sum rounded before the activation",
        &[(SILU, "sum = gdn_bf16(sum); return sum * gdn_sigmoid(sum);")],
    ),
    conv(
        "taps_of_another_layout",
        "layout",
        "weights read as [C, T]",
        &[(PRODUCT, "sum += wc[(long long)c * T + t] * tap;")],
    ),
    conv(
        "oldest_entry_left_out",
        "taps",
        "T − 1 entries kept where T are needed",
        &[(PRODUCT, "sum += t > 0 || T == 1 ? wc[at] * tap : 0.0f;")],
    ),
    Mutant::new(
        Memory,
        "last_channel_never_computed",
        CONV,
        "tail",
        "1 channel of 8,192 is .0027 in RMS: judged by element",
        &[("if (c < C) {", "if (c < C - 1) {")],
    ),
    Mutant::new(
        Memory,
        "channels_past_the_end",
        CONV,
        "tail",
        "C not a multiple of the block, and no guard",
        &[("if (c < C) {", "if (c >= 0) {")],
    ),
    Mutant::new(
        Memory,
        "ring_one_row_too_long",
        CONV,
        "ring",
        "the ring read a row past its end for the last tap",
        &[(TAP, "const float next = cs[at + C]; const float tap = t + 1 < T ? next : x;")],
    ),
    Mutant::new(
        Concurrency,
        "ring_shifted_by_the_neighbour",
        CONV,
        "ring",
        "a thread shifts the channel that another still reads",
        &[(TAP, "const float tap = t + 1 < T ? cs[(long long)(t + 1) * C + (c + 32) % C] : x;")],
    ),
    fused(
        "norm_of_one_chunk_too_many",
        "nl2",
        "the first value chunk normalized as a key: <= for <",
        &[(WHICH, "if ((int)blockIdx.x <= nl2) {")],
    ),
    fused(
        "norm_of_one_chunk_too_few",
        "nl2",
        "the last key chunk left as it is",
        &[(WHICH, "if ((int)blockIdx.x < nl2 - 1) {")],
    ),
    fused("norm_flag_ignored", "nl2", "every chunk normalized", &[(WHICH, "if ((int)blockIdx.x >= 0) {")]),
    fused(
        "norm_before_silu",
        "order",
        "the norm of the pre-activation",
        &[
            (SILU, "return sum;"),
            (
                NORMALIZE,
                "value *= rsqrtf(gdn_block_sum(value * value) + eps);\n        value = value * gdn_sigmoid(value);\n    } else {\n        value = value * gdn_sigmoid(value);",
            ),
        ],
    ),
    fused("fused_eps_missing", "eps", "eps left out", &[(NORMALIZE, "value *= rsqrtf(gdn_block_sum(value * value));")]),
    fused(
        "fused_eps_on_the_mean",
        "eps",
        "eps D times too large",
        &[(NORMALIZE, "value *= rsqrtf(gdn_block_sum(value * value) + eps * D);")],
    ),
    fused(
        "fused_mean_for_sum",
        "sum",
        "RMS norm for L2 norm",
        &[(NORMALIZE, "value *= rsqrtf(gdn_block_sum(value * value) / D + eps);")],
    ),
    fused(
        "fused_last_channel_left_out",
        "reduction",
        "a chunk's sum over D − 1 channels",
        &[(NORMALIZE, "value *= rsqrtf(gdn_block_sum(i + 1 < D ? value * value : 0.0f) + eps);")],
    ),
    Mutant::new(
        Concurrency,
        "fused_barrier_missing",
        FUSED,
        "barrier",
        "warp sums read before all are written",
        &[("scratch[2][warp] = c;\n    }\n    __syncthreads();", "scratch[2][warp] = c;\n    }")],
    ),
    Mutant::new(
        Concurrency,
        "fused_norm_of_the_threads_inside",
        FUSED,
        "barrier",
        "the norm under the guard of the data: absent lanes, and a barrier in divergent flow",
        &[(WHICH, "if (inside && (int)blockIdx.x < nl2) {")],
    ),
];

const FAULTS: &[Fault] = &[
    Fault::new("gk_conv_silu", "taps", "sum += wc[at] * tap;", "sum += wc[at] * FAULT * tap;"),
    Fault::new(
        "gk_conv_silu",
        "sum in the sigmoid",
        "return sum * gdn_sigmoid(sum);",
        "return sum * gdn_sigmoid(sum * FAULT);",
    ),
    Fault::new("gk_conv_silu", "output y", "return sum * gdn_sigmoid(sum);", "return sum * gdn_sigmoid(sum) * FAULT;"),
    Fault::new("gk_conv_silu", "output cs", "cs[at] = tap;", "cs[at] = tap * FAULT;"),
    Fault::new(
        "gk_conv_silu_l2",
        "eps",
        "rsqrtf(gdn_block_sum(value * value) + eps);\n    }",
        "rsqrtf(gdn_block_sum(value * value) + eps * FAULT);\n    }",
    ),
    Fault::new("gk_conv_silu_l2", "output y", "y[c] = value;", "y[c] = value * FAULT;"),
    Fault::new("gk_conv_silu_l2", "output cs", "cs[at] = tap;", "cs[at] = tap * FAULT;"),
];

const CONVENTIONS: &[Convention] = &[
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
];
