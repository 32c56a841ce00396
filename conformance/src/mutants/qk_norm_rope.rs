//! Mutants of the q/k norm with its rotation.

use super::Sort::{Concurrency, Memory, Numerical};
use super::{Catalogue, Convention, Fault, Mutant};

pub(super) const CATALOGUE: Catalogue = Catalogue {
    family: "qk_norm_rope",
    mutants: MUTANTS,
    faults: FAULTS,
    conventions: CONVENTIONS,
    ptx: include_str!("../../../golden/ptx/mutants/qk_norm_rope.ptx"),
};

const ROPE: &str = "gk_qk_norm_rope_part";

const FREQUENCY: &str = "exp2(-(2.0 * i / rot) * log2((double)rbase))";
const PRODUCT: &str = "const double angle = pos * frequency;";
const ANGLE: &str = "const float angle = gk_rotary_angle(pos, i, rot, rbase);";
const SINE: &str = "const float sine = sinf(angle);";
const COSINE: &str = "const float cosine = cosf(angle);";
const PAIR: &str = "const float second = normed[i + half];\n        head[i] = first * cosine - second * sine;\n        head[i + half] = second * cosine + first * sine;";
const ROOT: &str = "const float r = rsqrtf(gdn_block_sum(x * x) / (float)hd + eps);";
const NORMED: &str = "normed[i] = x * r * nw[i];";
const PASS: &str = "} else if (i >= rot && inside) {\n        head[i] = normed[i];";
const HEAD: &str = "float* head = base + (long long)pos * stride + (long long)blockIdx.x * hd;";

/// A numerical mutant of the norm and the rotation.
const fn rope(
    name: &'static str,
    term: &'static str,
    story: &'static str,
    edits: &'static [(&'static str, &'static str)],
) -> Mutant {
    Mutant::new(Numerical, name, ROPE, term, story, edits)
}

const MUTANTS: &[Mutant] = &[
    rope(
        "frequencies_over_the_head",
        "frequency",
        "exponents over hd in place of rot; hidden at position 0 and where rot = hd",
        &[(ANGLE, "const float angle = gk_rotary_angle(pos, i, hd, rbase);")],
    ),
    rope(
        "pairs_adjacent",
        "pairing",
        "(2i, 2i + 1): the other convention of rotary embeddings",
        &[
            ("const float first = normed[i];", "const float first = normed[2 * i];"),
            (
                PAIR,
                "const float second = normed[2 * i + 1];\n        head[2 * i] = first * cosine - second * sine;\n        head[2 * i + 1] = second * cosine + first * sine;",
            ),
        ],
    ),
    rope(
        "pairs_across_the_head",
        "pairing",
        "(i, i + hd/2) with a rotation of rot dims",
        &[
            (
                PAIR,
                "const float second = normed[i + hd / 2];\n        head[i] = first * cosine - second * sine;\n        head[i + hd / 2] = second * cosine + first * sine;",
            ),
            (
                PASS,
                "}\n    if (inside && i >= half && !(i >= hd / 2 && i < hd / 2 + half)) {\n        head[i] = normed[i];",
            ),
        ],
    ),
    rope(
        "whole_head_rotated",
        "width",
        "partial rotary factor ignored",
        &[("const int half = rot / 2;", "rot = hd & ~1; const int half = rot / 2;")],
    ),
    rope(
        "half_the_width_rotated",
        "width",
        "rot taken for the number of pairs' dims twice",
        &[
            (
                "const int half = rot / 2;",
                "const int half = rot / 2;\n    const bool turned = i < half && (i & 1) == 0;",
            ),
            (SINE, "const float sine = turned ? sinf(angle) : 0.0f;"),
            (COSINE, "const float cosine = turned ? cosf(angle) : 1.0f;"),
        ],
    ),
    rope(
        "rest_not_normalized",
        "pass-through",
        "dims from rot on copied as they came",
        &[(PASS, "} else if (i >= rot && inside) {\n        head[i] = x;")],
    ),
    rope(
        "rest_not_written",
        "pass-through",
        "nothing but the rotated dims written: the rest stays unnormalized in place",
        &[(PASS, "} else if (i >= rot && inside && hd < 0) {\n        head[i] = normed[i];")],
    ),
    rope("sine_sign", "rotation", "rotation the other way", &[(SINE, "const float sine = -sinf(angle);")]),
    rope(
        "sine_and_cosine_exchanged",
        "rotation",
        "the table's halves in the other order",
        &[(SINE, "const float sine = cosf(angle);"), (COSINE, "const float cosine = sinf(angle);")],
    ),
    rope(
        "position_plus_one",
        "position",
        "counted from 1",
        &[(PRODUCT, "const double angle = (pos + 1) * frequency;")],
    ),
    rope(
        "position_minus_one",
        "position",
        "the previous token's table row",
        &[(PRODUCT, "const double angle = (pos - 1) * frequency;")],
    ),
    rope(
        "position_read_as_float",
        "position",
        "an int read through a float pointer",
        &[(PRODUCT, "const double angle = (double)__int_as_float(pos) * frequency;")],
    ),
    rope(
        "angle_in_f32",
        "angle",
        "pos·frequency in f32: 1e-2 rad at position 262143",
        &[(PRODUCT, "const double angle = (float)pos * (float)frequency;")],
    ),
    rope(
        "frequency_in_bf16",
        "frequency",
        "the table cast with the model",
        &[(PRODUCT, "const double angle = pos * (double)gdn_bf16((float)frequency);")],
    ),
    rope(
        "frequency_by_powf",
        "frequency",
        "powf in f32: an error that the position multiplies",
        &[(FREQUENCY, "(double)(1.0f / powf(rbase, 2.0f * i / rot))")],
    ),
    rope(
        "table_in_bf16",
        "table",
        "sine and cosine kept in the activations' type",
        &[(SINE, "const float sine = gdn_bf16(sinf(angle));"), (COSINE, "const float cosine = gdn_bf16(cosf(angle));")],
    ),
    rope(
        "fast_sine_of_the_unreduced_angle",
        "angle",
        "__sinf and __cosf of pos·frequency: 3e-6 off at 40, 1e-2 at 131,071",
        &[
            (ANGLE, "const float angle = (float)(pos * exp2(-(2.0 * i / rot) * log2((double)rbase)));"),
            (SINE, "const float sine = __sinf(angle);"),
            (COSINE, "const float cosine = __cosf(angle);"),
        ],
    ),
    rope(
        "base_ten_thousand",
        "base",
        "the constant of the first rotary models built in",
        &[("log2((double)rbase)", "log2(rbase == 1e4f ? 1e7 : 1e4)")],
    ),
    rope(
        "base_off_by_a_factor",
        "base",
        "a base scaled for long contexts applied twice",
        &[("log2((double)rbase)", "log2(2.0 * (double)rbase)")],
    ),
    rope(
        "norm_over_the_rotated_dims",
        "mean",
        "RMS over rot in place of hd",
        &[(ROOT, "const float r = rsqrtf(gdn_block_sum(i < rot ? x * x : 0.0f) / (float)rot + eps);")],
    ),
    rope(
        "qk_mean_is_the_sum",
        "mean",
        "L2 norm for RMS norm",
        &[(ROOT, "const float r = rsqrtf(gdn_block_sum(x * x) + eps);")],
    ),
    rope(
        "qk_mean_over_the_block",
        "mean",
        "divided by the block's threads",
        &[(ROOT, "const float r = rsqrtf(gdn_block_sum(x * x) / (float)blockDim.x + eps);")],
    ),
    rope(
        "qk_eps_missing",
        "eps",
        "eps left out",
        &[(ROOT, "const float r = rsqrtf(gdn_block_sum(x * x) / (float)hd);")],
    ),
    rope(
        "qk_eps_another_constant",
        "eps",
        "1e-5 built in",
        &[(ROOT, "const float r = rsqrtf(gdn_block_sum(x * x) / (float)hd + 1e-5f);")],
    ),
    rope("qk_weight_missing", "weight", "norm without its weight", &[(NORMED, "normed[i] = x * r;")]),
    rope(
        "qk_weight_plus_one",
        "weight",
        "1 + w where the file has 1 + w already",
        &[(NORMED, "normed[i] = x * r * (1.0f + nw[i]);")],
    ),
    rope(
        "qk_weight_after_the_rotation",
        "order",
        "rotated first: pairs of unequal weights show it",
        &[
            (NORMED, "normed[i] = x * r;"),
            (
                PAIR,
                "const float second = normed[i + half];\n        head[i] = (first * cosine - second * sine) * nw[i];\n        head[i + half] = (second * cosine + first * sine) * nw[i + half];",
            ),
            (PASS, "} else if (i >= rot && inside) {\n        head[i] = normed[i] * nw[i];"),
        ],
    ),
    rope("norm_missing", "norm", "the rotation alone", &[(NORMED, "normed[i] = x * nw[i]; (void)r;")]),
    Mutant::new(
        Memory,
        "stride_of_the_heads",
        ROPE,
        "stride",
        "rows n_heads·hd apart: the wrong row where the stride is larger",
        &[(HEAD, "float* head = base + (long long)pos * (n_heads * hd) + (long long)blockIdx.x * hd;")],
    ),
    Mutant::new(
        Memory,
        "row_of_the_next_position",
        ROPE,
        "stride",
        "the neighbouring row rewritten, the token's own left as it was",
        &[(HEAD, "float* head = base + (long long)(pos + 1) * stride + (long long)blockIdx.x * hd;")],
    ),
    Mutant::new(
        Memory,
        "staging_too_small",
        ROPE,
        "shared memory",
        "a staging row for heads of 64",
        &[("__shared__ float normed[1024];", "__shared__ float normed[64];")],
    ),
    Mutant::new(
        Memory,
        "last_dim_not_staged",
        ROPE,
        "shared memory",
        "one word of the staging row never written",
        &[("if (inside) {\n        normed[i]", "if (inside && i + 1 < hd) {\n        normed[i]")],
    ),
    Mutant::new(
        Concurrency,
        "staging_barrier_missing",
        ROPE,
        "barrier",
        "pairs read before their warp has written them",
        &[(";\n    }\n    __syncthreads();\n    const int half", ";\n    }\n    const int half")],
    ),
    Mutant::new(
        Concurrency,
        "rope_sum_barrier_missing",
        ROPE,
        "barrier",
        "warp sums read before all are written",
        &[("scratch[2][warp] = c;\n    }\n    __syncthreads();", "scratch[2][warp] = c;\n    }")],
    ),
    Mutant::new(
        Concurrency,
        "rotated_in_place",
        ROPE,
        "staging",
        "rotated values written over the staging row that the pair still reads",
        &[(
            PAIR,
            "const float second = normed[i + half];\n        normed[i] = first * cosine - second * sine;\n        head[i] = normed[i];\n        head[i + half] = second * cosine + normed[i] * sine;",
        )],
    ),
    Mutant::new(
        Concurrency,
        "rope_early_return",
        ROPE,
        "barrier",
        "threads past the head leave before the reduction",
        &[(
            "const float x = inside ? head[i] : 0.0f;\n    const float r",
            "if (!inside) return;\n    const float x = inside ? head[i] : 0.0f;\n    const float r",
        )],
    ),
];

const FAULTS: &[Fault] = &[
    Fault::new(
        "gk_qk_norm_rope_part",
        "angle",
        "const double angle = pos * frequency;",
        "const double angle = pos * frequency * (double)FAULT;",
    ),
    Fault::new("gk_qk_norm_rope_part", "base", "log2((double)rbase)", "log2((double)(rbase * FAULT))"),
    Fault::new("gk_qk_norm_rope_part", "eps", "(float)hd + eps)", "(float)hd + eps * FAULT)"),
    Fault::new(
        "gk_qk_norm_rope_part",
        "mean",
        "gdn_block_sum(x * x) / (float)hd",
        "gdn_block_sum(x * x) * FAULT / (float)hd",
    ),
    Fault::new(
        "gk_qk_norm_rope_part",
        "sine",
        "const float sine = sinf(angle);",
        "const float sine = sinf(angle) * FAULT;",
    ),
    Fault::new(
        "gk_qk_norm_rope_part",
        "output base",
        "normed[i] = x * r * nw[i];",
        "normed[i] = x * r * nw[i] * FAULT;",
    ),
];

const CONVENTIONS: &[Convention] = &[
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
];
