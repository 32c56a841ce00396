//! Mutants of the output gate.

use super::Sort::{Memory, Numerical};
use super::{Catalogue, Convention, Fault, Mutant};

pub(super) const CATALOGUE: Catalogue = Catalogue {
    family: "output_gate",
    mutants: MUTANTS,
    faults: FAULTS,
    conventions: CONVENTIONS,
    ptx: include_str!("../../../golden/ptx/mutants/output_gate.ptx"),
};

const MUL: &str = "gk_gate_mul";
const PRODUCT: &str = "ctx[i] *= gdn_sigmoid(g[i]);";

/// A numerical mutant of the output gate.
const fn gate(
    name: &'static str,
    term: &'static str,
    story: &'static str,
    edits: &'static [(&'static str, &'static str)],
) -> Mutant {
    Mutant::new(Numerical, name, MUL, term, story, edits)
}

const MUTANTS: &[Mutant] = &[
    gate("output_gate_missing", "gate", "an attention layer without a gate", &[(PRODUCT, "ctx[i] *= 1.0f;")]),
    gate("output_gate_is_silu", "activation", "silu for sigmoid", &[(PRODUCT, "ctx[i] *= g[i] * gdn_sigmoid(g[i]);")]),
    gate(
        "output_gate_square_rooted",
        "activation",
        "a gate split over two places",
        &[(PRODUCT, "ctx[i] *= sqrtf(gdn_sigmoid(g[i]));")],
    ),
    gate(
        "output_gate_applied_twice",
        "gate",
        "once in the kernel, once by the caller",
        &[(PRODUCT, "ctx[i] *= gdn_sigmoid(g[i]) * gdn_sigmoid(g[i]);")],
    ),
    gate("output_gate_without_sigmoid", "activation", "the raw projection as a gate", &[(PRODUCT, "ctx[i] *= g[i];")]),
    gate(
        "output_gate_of_another_element",
        "gate index",
        "gates read backwards; hidden by a constant gate",
        &[(PRODUCT, "ctx[i] *= gdn_sigmoid(g[n - 1 - i]);")],
    ),
    gate(
        "output_gate_of_the_block",
        "gate index",
        "one gate for each block of elements",
        &[(PRODUCT, "ctx[i] *= gdn_sigmoid(g[blockIdx.x * blockDim.x]);")],
    ),
    gate(
        "output_gate_overflows",
        "sigmoid",
        "e^x/(1 + e^x): NaN above 88",
        &[(PRODUCT, "ctx[i] *= expf(g[i]) / (1.0f + expf(g[i]));")],
    ),
    gate(
        "output_gate_by_fast_exponential",
        "exp",
        "what fast math makes of expf: digits lost where the gate is nearly shut, and nothing left below 2^-126",
        &[(
            "const float e = expf(-fabsf(x));",
            "float e; asm(\"ex2.approx.ftz.f32 %0, %1;\" : \"=f\"(e) : \"f\"(-fabsf(x) * 1.44269504f));",
        )],
    ),
    gate(
        "output_gate_by_tanh",
        "sigmoid",
        "0.5 + 0.5·tanh(x/2) with the approximate instruction",
        &[(
            PRODUCT,
            "float t; asm(\"tanh.approx.f32 %0, %1;\" : \"=f\"(t) : \"f\"(0.5f * g[i])); ctx[i] *= 0.5f + 0.5f * t;",
        )],
    ),
    gate(
        "output_gate_through_bf16",
        "gate precision",
        "the gate rounded to the activations' type",
        &[(PRODUCT, "ctx[i] *= gdn_bf16(gdn_sigmoid(g[i]));")],
    ),
    Mutant::new(
        Memory,
        "last_element_not_gated",
        MUL,
        "tail",
        "tail not computed",
        &[("if (i < n) {\n        ctx", "if (i < n - 1) {\n        ctx")],
    ),
    Mutant::new(
        Memory,
        "tail_past_the_end_gated",
        MUL,
        "tail",
        "no guard: the last block writes past the end",
        &[("if (i < n) {\n        ctx", "if (i >= 0) {\n        ctx")],
    ),
];

const FAULTS: &[Fault] = &[
    Fault::new("gk_gate_mul", "g", "ctx[i] *= gdn_sigmoid(g[i]);", "ctx[i] *= gdn_sigmoid(g[i] * FAULT);"),
    Fault::new("gk_gate_mul", "output ctx", "ctx[i] *= gdn_sigmoid(g[i]);", "ctx[i] *= gdn_sigmoid(g[i]) * FAULT;"),
];

const CONVENTIONS: &[Convention] = &[Convention {
    name: "gate",
    contract: "sigmoid",
    others: &[
        ("output_gate_is_silu", "silu"),
        ("output_gate_missing", "none"),
        ("output_gate_without_sigmoid", "the raw gate"),
    ],
    case: "gk_gate_mul(n=31,regime=gaussian,scale=2^0,seed=0x51)",
}];
