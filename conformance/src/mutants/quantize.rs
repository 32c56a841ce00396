//! Mutants of the int8 quantization.

use super::Sort::{Memory, Numerical};
use super::{Catalogue, Mutant};

pub(super) const CATALOGUE: Catalogue = Catalogue {
    family: "quantize",
    mutants: MUTANTS,
    faults: &[],
    conventions: &[],
    ptx: include_str!("../../../golden/ptx/mutants/quantize.ptx"),
};

const WORDS: &str = "lgx_q8hl_test";
const CODES: &str = "gdn_gate_norm_q";

const HIGH: &str = "const float high = rintf(t);";
const LOW: &str = "(signed char)rintf((t - high) * 127.0f)";
const SCALE: &str = "const float s = __fdiv_rn(amax, 127.0f);";
const UNITS: &str = "return fminf(fmaxf(__fdiv_rn(x, s), -127.0f), 127.0f);";
const CODE: &str = "xq[at] = (signed char)rintf(t);";

/// A numerical mutant of the two words.
const fn words(
    name: &'static str,
    term: &'static str,
    story: &'static str,
    edits: &'static [(&'static str, &'static str)],
) -> Mutant {
    Mutant::new(Numerical, name, WORDS, term, story, edits)
}

/// A numerical mutant of the codes.
const fn codes(
    name: &'static str,
    term: &'static str,
    story: &'static str,
    edits: &'static [(&'static str, &'static str)],
) -> Mutant {
    Mutant::new(Numerical, name, CODES, term, story, edits)
}

const MUTANTS: &[Mutant] = &[
    words(
        "high_word_truncated",
        "rounding",
        "the low word makes up for it: the decoded value hides it",
        &[(HIGH, "const float high = truncf(t);")],
    ),
    words("high_word_ties_away", "rounding", "roundf for rintf; only exact ties show it", &[(HIGH, "const float high = roundf(t);")]),
    words("low_word_over_128", "low word", "the step of a binary fraction", &[(LOW, "(signed char)rintf((t - high) * 128.0f)")]),
    words("low_word_sign_lost", "low word", "magnitude of the rest", &[(LOW, "(signed char)rintf(fabsf(t - high) * 127.0f)")]),
    words("low_word_truncated", "rounding", "a cast for a rounding", &[(LOW, "(signed char)((t - high) * 127.0f)")]),
    words("low_word_missing", "low word", "one word in the place of two", &[(LOW, "(signed char)0")]),
    words(
        "low_word_overflows",
        "low word",
        "twice the step: overflows at half",
        &[(LOW, "(signed char)(int)rintf((t - high) * 256.0f)")],
    ),
    words(
        "words_exchanged",
        "low word",
        "the two arrays in the other order",
        &[("qh[i] = (signed char)high;\n    ql[i]", "ql[i] = (signed char)high;\n    qh[i]")],
    ),
    Mutant::new(
        Memory,
        "last_word_not_written",
        WORDS,
        "tail",
        "tail not computed",
        &[("if (i < n) {\n        lgx_q8hl", "if (i < n - 1) {\n        lgx_q8hl")],
    ),
    Mutant::new(
        Memory,
        "words_past_the_end",
        WORDS,
        "tail",
        "no guard in the last block",
        &[("if (i < n) {\n        lgx_q8hl", "if (i >= 0) {\n        lgx_q8hl")],
    ),
    codes("scale_over_128", "scale", "amax/128", &[(SCALE, "const float s = __fdiv_rn(amax, 128.0f);")]),
    codes("scale_of_the_largest_signed", "scale", "maximum without magnitude", &[("float amax = fabsf(x);", "float amax = x;")]),
    codes(
        "scale_of_half_a_group",
        "group",
        "groups of 16 under a scale for 32",
        &[("for (int offset = 16; offset > 0; offset >>= 1) {\n        amax", "for (int offset = 8; offset > 0; offset >>= 1) {\n        amax")],
    ),
    codes(
        "scale_of_another_group",
        "group",
        "scales stored in the other order within a head",
        &[("xq[at] = (signed char)rintf(t);\n    if ((i & 31) == 0) {\n        xs[at / 32] = scale;",
           "xq[at] = (signed char)rintf(t);\n    if ((i & 31) == 0) {\n        xs[blockIdx.x * (D / 32) + (D / 32 - 1 - i / 32)] = scale;")],
    ),
    codes(
        "scale_rounded_after_use",
        "scale",
        "codes by the f32 scale, the scale stored in bf16",
        &[("xq[at] = (signed char)rintf(t);\n    if ((i & 31) == 0) {\n        xs[at / 32] = scale;",
           "xq[at] = (signed char)rintf(t);\n    if ((i & 31) == 0) {\n        xs[at / 32] = gdn_bf16(scale);")],
    ),
    codes("scale_in_bf16", "scale", "a bf16 scale, used as stored", &[(SCALE, "const float s = gdn_bf16(__fdiv_rn(amax, 127.0f));")]),
    codes(
        "scale_by_reciprocal",
        "scale",
        "amax·(1/127): off by an ulp in some groups",
        &[(SCALE, "const float s = __fmul_rn(amax, 1.0f / 127.0f);")],
    ),
    codes(
        "zero_group_divides",
        "zero group",
        "0/0: NaN, cast to whatever code",
        &[("if (s < 1.17549435e-38f) {", "if (s < 0.0f) {")],
    ),
    codes(
        "subnormal_scale_kept",
        "zero group",
        "a scale that flushes to zero elsewhere",
        &[("if (s < 1.17549435e-38f) {", "if (s <= 0.0f) {")],
    ),
    codes(
        "nan_in_a_group_dropped",
        "NaN",
        "fmaxf drops it: finite codes, finite scale",
        &[("const bool whole = __all_sync(GDN_FULL_MASK, finite);", "const bool whole = true; (void)finite;")],
    ),
    codes("codes_truncated", "rounding", "a cast for a rounding: 46 % of codes", &[(CODE, "xq[at] = (signed char)t;")]),
    codes("codes_ties_away", "rounding", "roundf; only exact ties show it", &[(CODE, "xq[at] = (signed char)roundf(t);")]),
    codes("codes_ties_up", "rounding", "floor(t + 1/2)", &[(CODE, "xq[at] = (signed char)floorf(t + 0.5f);")]),
    codes("codes_rounded_up", "rounding", "ceil", &[(CODE, "xq[at] = (signed char)ceilf(t);")]),
    codes(
        "codes_of_the_bf16_value",
        "value",
        "codes of another value than the one stored: 3 % of codes",
        &[("const float value = gdn_gate_norm_value(z[at], gn[i], o[at], D, eps);\n    float scale;\n    const float t = gdn_group_units(value, &scale);\n    out[at] = value;\n    xq[at] = (signed char)rintf(t);",
           "const float value = gdn_gate_norm_value(z[at], gn[i], o[at], D, eps);\n    float scale;\n    const float t = gdn_group_units(gdn_bf16(value), &scale);\n    out[at] = value;\n    xq[at] = (signed char)rintf(t);")],
    ),
    codes(
        "output_dequantized",
        "value",
        "the f32 output beside the codes is what they decode to",
        &[("out[at] = value;\n    xq[at] = (signed char)rintf(t);", "out[at] = rintf(t) * scale;\n    xq[at] = (signed char)rintf(t);")],
    ),
    codes(
        "saturation_early",
        "saturation",
        "codes clamped at 126",
        &[(UNITS, "return fminf(fmaxf(__fdiv_rn(x, s), -126.0f), 126.0f);")],
    ),
    codes(
        "code_minus_128",
        "saturation",
        "the asymmetric range of int8: −128 is emitted",
        &[(SCALE, "const float s = __fdiv_rn(amax, 128.0f);"), (UNITS, "return fminf(fmaxf(__fdiv_rn(x, s), -128.0f), 127.0f);")],
    ),
    codes("saturation_missing", "saturation", "no clamp after the division", &[(UNITS, "return __fdiv_rn(x, s);")])
        .equivalent(
            "s is normal, so s >= amax/127·(1 - 2^-24) and |x/s| <= 127·(1 + 2^-23) after rounding, which rounds to 127",
        ),
];
