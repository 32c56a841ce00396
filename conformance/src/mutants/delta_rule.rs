//! Mutants of the gated delta rule.

use super::Sort::{Concurrency, Memory, Numerical};
use super::{Catalogue, Convention, Fault, Mutant};

pub(super) const CATALOGUE: Catalogue = Catalogue {
    family: "delta_rule",
    mutants: MUTANTS,
    faults: FAULTS,
    conventions: CONVENTIONS,
    ptx: include_str!("../../../golden/ptx/mutants/delta_rule.ptx"),
};

const STEP: &str = "gdn_step";

const PREDICTION: &str = "prediction += s[i] * kr[i];";
const DELTA: &str = "beta[h] * (v[value] - gdn_warp_sum(prediction))";
const UPDATE: &str = "s[i] += delta * kr[i];";
const WRITE: &str = "state[j] = s[i];";
const READOUT: &str = "sum += s[i] * q[key + j];";
const SCALE: &str = "sum * (1.0f / sqrtf((float)D))";
const READ: &str = "inside ? alpha * state[j] : 0.0f";
const ALPHA: &str = "const float alpha = decay[h];";
const KEY: &str = "kr[i] = inside ? k[key + j] : 0.0f;";

/// A numerical mutant of `gdn_step`.
const fn step(
    name: &'static str,
    term: &'static str,
    story: &'static str,
    edits: &'static [(&'static str, &'static str)],
) -> Mutant {
    Mutant::new(Numerical, name, STEP, term, story, edits)
}

const MUTANTS: &[Mutant] = &[
    step(
        "decay_never_applied",
        "decay",
        "an update loop ported from the ungated delta rule; one token from a zero state hides it exactly",
        &[(READ, "inside ? state[j] : 0.0f")],
    ),
    step(
        "decay_applied_twice",
        "decay",
        "the caller had decayed the state already",
        &[(READ, "inside ? alpha * (alpha * state[j]) : 0.0f")],
    ),
    step(
        "prediction_from_the_undecayed_state",
        "decay order",
        "S·k taken before the decay; a thousandth of the output at decay near 1",
        &[(PREDICTION, "prediction += (inside ? state[j] : 0.0f) * kr[i];")],
    ),
    step(
        "decay_of_another_head",
        "decay index",
        "one scalar gate broadcast to all heads",
        &[(ALPHA, "const float alpha = decay[0];")],
    ),
    step(
        "decay_on_the_new_term",
        "decay order",
        "decay applied after the update instead of before it",
        &[(UPDATE, "s[i] += alpha * delta * kr[i];")],
    ),
    step(
        "decay_taken_for_its_logarithm",
        "decay form",
        "a kernel that takes log decay behind a caller that exponentiates already",
        &[(ALPHA, "const float alpha = expf(decay[h]);")],
    ),
    step(
        "decay_through_bf16",
        "decay precision",
        "gates handed on in the activations' type",
        &[(ALPHA, "const float alpha = gdn_bf16(decay[h]);")],
    ),
    step(
        "beta_multiplies_the_value_only",
        "β",
        "parentheses lost when v − S·k was split over two lines",
        &[(DELTA, "beta[h] * v[value] - gdn_warp_sum(prediction)")],
    ),
    step(
        "no_correction_term",
        "prediction",
        "plain gated linear attention run with these weights",
        &[(DELTA, "beta[h] * (v[value] - 0.0f * gdn_warp_sum(prediction))")],
    ),
    step(
        "prediction_added",
        "prediction",
        "sign of the correction lost",
        &[(DELTA, "beta[h] * (v[value] + gdn_warp_sum(prediction))")],
    ),
    step(
        "beta_squared",
        "β",
        "keys had been scaled by β by the caller already",
        &[(DELTA, "beta[h] * beta[h] * (v[value] - gdn_warp_sum(prediction))")],
    ),
    step("beta_missing", "β", "β taken for part of the value", &[(DELTA, "v[value] - gdn_warp_sum(prediction)")]),
    step(
        "beta_of_another_head",
        "β index",
        "per-head parameter read with the block's wrong index",
        &[(DELTA, "beta[0] * (v[value] - gdn_warp_sum(prediction))")],
    ),
    step(
        "beta_through_bf16",
        "β precision",
        "β kept in the activations' type: 0.0013 to 0.0018 at any length",
        &[(DELTA, "gdn_bf16(beta[h]) * (v[value] - gdn_warp_sum(prediction))")],
    ),
    step(
        "value_of_another_head",
        "v index",
        "value heads rotated by one against their states",
        &[(DELTA, "beta[h] * (v[(long long)((h + 1) % gridDim.x) * D + row] - gdn_warp_sum(prediction))")],
    ),
    step(
        "head_map_interleaved",
        "head map",
        "the checkpoint's order of heads under a kernel for the converted order; hidden where HK = HV",
        &[("(h % HK)", "(h / (gridDim.x / HK))")],
    ),
    step("head_map_first_key", "head map", "HK taken for 1", &[("(h % HK)", "(h % 1)")]),
    step(
        "state_read_transposed",
        "state layout",
        "(key, value) state read as (value, key); hidden in symmetric states",
        &[(READ, "inside ? alpha * S[((long long)h * D + j) * D + row] : 0.0f")],
    ),
    step(
        "state_written_transposed",
        "state layout",
        "the writing half of a layout change forgotten",
        &[(WRITE, "S[((long long)h * D + j) * D + row] = s[i];")],
    ),
    step(
        "state_transposed",
        "state layout",
        "a kernel for (value, key) states given (key, value) ones; hidden in symmetric states",
        &[
            (READ, "inside ? alpha * S[((long long)h * D + j) * D + row] : 0.0f"),
            (WRITE, "S[((long long)h * D + j) * D + row] = s[i];"),
        ],
    ),
    step(
        "state_never_written",
        "state",
        "the update landed in a copy: the first output is right, the state frozen",
        &[(WRITE, "if (D < 0) state[j] = s[i];")],
    ),
    step(
        "last_row_updated_with_the_query",
        "update",
        "one row of the outer product fed from the neighbouring vector",
        &[(UPDATE, "s[i] += delta * (row == D - 1 ? q[key + j] : kr[i]);")],
    ),
    step(
        "output_before_the_update",
        "output order",
        "o read from the old state; the state stays bit-identical",
        &[(
            "s[i] += delta * kr[i];\n            state[j] = s[i];\n            sum += s[i] * q[key + j];",
            "sum += s[i] * q[key + j];\n            s[i] += delta * kr[i];\n            state[j] = s[i];",
        )],
    ),
    step(
        "query_and_key_exchanged",
        "q, k",
        "argument order of another engine",
        &[(KEY, "kr[i] = inside ? q[key + j] : 0.0f;"), (READOUT, "sum += s[i] * k[key + j];")],
    ),
    step(
        "query_of_another_head",
        "q index",
        "q indexed by the value head, k by the key head",
        &[(READOUT, "sum += s[i] * q[(long long)((h + 1) % HK) * D + j];")],
    ),
    step(
        "scale_missing",
        "scale",
        "1/√D left to the norm that follows, where eps keeps it from cancelling",
        &[(SCALE, "sum")],
    ),
    step("scale_one_over_d", "scale", "1/D for 1/√D", &[(SCALE, "sum * (1.0f / (float)D)")]),
    step(
        "scale_over_key_heads",
        "scale",
        "1/√HK for 1/√D: a swapped size",
        &[(SCALE, "sum * (1.0f / sqrtf((float)HK))")],
    ),
    step(
        "scale_twice",
        "scale",
        "q had been scaled by the caller",
        &[(SCALE, "sum * (1.0f / sqrtf((float)D)) * (1.0f / sqrtf((float)D))")],
    ),
    step(
        "scale_on_the_state",
        "scale",
        "the scale moved onto the stored row",
        &[(WRITE, "state[j] = s[i] * (1.0f / sqrtf((float)D));")],
    ),
    step(
        "state_through_bf16",
        "state precision",
        "state kept in bf16: .0017 after a token",
        &[(WRITE, "state[j] = gdn_bf16(s[i]);")],
    ),
    step("state_through_fp16", "state precision", "state kept in fp16", &[(WRITE, "state[j] = gdn_fp16(s[i]);")]),
    step(
        "key_through_bf16",
        "k precision",
        "keys left in the activations' type",
        &[(KEY, "kr[i] = inside ? gdn_bf16(k[key + j]) : 0.0f;")],
    ),
    step(
        "key_through_tf32",
        "k precision",
        "the products moved to tensor cores",
        &[(KEY, "kr[i] = inside ? gdn_tf32(k[key + j]) : 0.0f;")],
    ),
    step(
        "reduction_through_fp16",
        "reduction",
        "partial sums exchanged in half precision",
        &[(DELTA, "beta[h] * (v[value] - gdn_warp_sum(gdn_fp16(prediction)))")],
    ),
    step(
        "columns_past_whole_warps_dropped",
        "tail",
        "D / 32 for ⌈D / 32⌉; hidden at D = 64 and 128",
        &[("const bool inside = j < D;", "const bool inside = j < (D & ~31);")],
    ),
    step(
        "row_too_short_in_registers",
        "tail",
        "four registers a lane: D above 128 loses its columns",
        &[("#define GDN_STEP_MOST 8", "#define GDN_STEP_MOST 4")],
    ),
    step(
        "last_register_dropped",
        "tail",
        "seven registers a lane: only D above 224 shows it",
        &[("#define GDN_STEP_MOST 8", "#define GDN_STEP_MOST 7")],
    ),
    step(
        "sum_in_the_first_lane_only",
        "reduction",
        "a shuffle-down sum used as if every lane had it",
        &[(
            "extern \"C\" __device__ float gdn_warp_sum(float v) {\n    for (int offset = 16; offset > 0; offset >>= 1) {\n        v += __shfl_xor_sync(GDN_FULL_MASK, v, offset);",
            "extern \"C\" __device__ float gdn_warp_sum(float v) {\n    for (int offset = 16; offset > 0; offset >>= 1) {\n        v += __shfl_down_sync(GDN_FULL_MASK, v, offset);",
        )],
    ),
    step(
        "output_from_the_last_lane",
        "reduction",
        "a reviewer's question: does it matter which lane writes?",
        &[("if (lane == 0) {\n        o[value]", "if (lane == 31) {\n        o[value]")],
    )
    .equivalent("the butterfly of gdn_warp_sum leaves the same bits in all 32 lanes, and every block has whole warps"),
    Mutant::new(
        Memory,
        "last_row_never_computed",
        STEP,
        "tail",
        "row guard off by one: one element of an output is never written",
        &[("if (row >= D) {", "if (row >= D - 1) {")],
    ),
    Mutant::new(
        Memory,
        "row_guard_missing",
        STEP,
        "tail",
        "no guard for D not a multiple of 4: rows of the next head, and past the end",
        &[("if (row >= D) {", "if (row < 0) {")],
    ),
    Mutant::new(
        Memory,
        "columns_past_the_head_loaded",
        STEP,
        "tail",
        "unmasked tail of a row: lanes past D bring the next row's values",
        &[(READ, "alpha * state[j]")],
    ),
    Mutant::new(
        Memory,
        "head_map_by_value_heads",
        STEP,
        "head map",
        "key head = value head: past the end of k where HK < HV",
        &[("(h % HK)", "(h % (int)gridDim.x)")],
    ),
    Mutant::new(
        Memory,
        "key_loaded_as_vectors",
        STEP,
        "alignment",
        "16-byte loads of rows that start anywhere: misaligned where D is no multiple of 4",
        &[(
            KEY,
            "float4 four = make_float4(0, 0, 0, 0);\n        if (inside) four = *(const float4*)(k + key + (j & ~3));\n        \
             kr[i] = (j & 3) == 0 ? four.x : (j & 3) == 1 ? four.y : (j & 3) == 2 ? four.z : four.w;",
        )],
    ),
    Mutant::new(
        Memory,
        "key_scratch_not_filled",
        STEP,
        "shared memory",
        "the key staged in shared memory by the first warp for its own columns only",
        &[
            (
                "float s[GDN_STEP_MOST], kr[GDN_STEP_MOST];",
                "__shared__ float staged[256];\n    if (threadIdx.x < 32 && threadIdx.x < D) staged[threadIdx.x] = k[key + threadIdx.x];\n    \
                 __syncwarp();\n    float s[GDN_STEP_MOST], kr[GDN_STEP_MOST];",
            ),
            (KEY, "kr[i] = inside ? (threadIdx.x < 32 ? staged[j] : k[key + j]) : 0.0f;"),
        ],
    ),
    Mutant::new(
        Concurrency,
        "two_blocks_write_a_row",
        STEP,
        "grid",
        "rows of a block counted 3 instead of 4: each fourth row is updated twice",
        &[("blockIdx.y * 4 + (threadIdx.x >> 5)", "blockIdx.y * 3 + (threadIdx.x >> 5)")],
    ),
    Mutant::new(
        Concurrency,
        "rows_past_the_head_never_end",
        STEP,
        "tail",
        "a wait for work that never comes in the warps past the last row",
        &[(
            "return;  // a whole warp, and no barrier follows",
            "while (((volatile float*)o)[0] == ((volatile float*)o)[0] || D > 0) {}",
        )],
    ),
    Mutant::new(
        Concurrency,
        "key_staged_without_a_barrier",
        STEP,
        "barrier",
        "the key staged in shared memory by the first warp, read by the others at once",
        &[
            (
                "float s[GDN_STEP_MOST], kr[GDN_STEP_MOST];",
                "__shared__ float staged[256];\n    for (int j = threadIdx.x; j < D && threadIdx.x < 32; j += 32) staged[j] = k[key + j];\n    \
                 __syncwarp();\n    float s[GDN_STEP_MOST], kr[GDN_STEP_MOST];",
            ),
            (KEY, "kr[i] = inside ? staged[j] : 0.0f;"),
        ],
    ),
];

const FAULTS: &[Fault] = &[
    Fault::new("gdn_step", "q", "sum += s[i] * q[key + j];", "sum += s[i] * (q[key + j] * FAULT);"),
    Fault::new("gdn_step", "k", "inside ? k[key + j] : 0.0f", "inside ? k[key + j] * FAULT : 0.0f"),
    Fault::new("gdn_step", "v", "(v[value] - gdn_warp_sum", "(v[value] * FAULT - gdn_warp_sum"),
    Fault::new("gdn_step", "β", "= beta[h] * (v", "= beta[h] * FAULT * (v"),
    Fault::new("gdn_step", "decay", "const float alpha = decay[h];", "const float alpha = decay[h] * FAULT;"),
    Fault::new(
        "gdn_step",
        "prediction",
        "v[value] - gdn_warp_sum(prediction)",
        "v[value] - FAULT * gdn_warp_sum(prediction)",
    ),
    Fault::new(
        "gdn_step",
        "decay in the prediction",
        "prediction += s[i] * kr[i];",
        "prediction += s[i] * FAULT * kr[i];",
    ),
    Fault::new("gdn_step", "1/√D", "(1.0f / sqrtf((float)D))", "(1.0f / sqrtf((float)D) * FAULT)"),
    Fault::new("gdn_step", "output S", "state[j] = s[i];", "state[j] = s[i] * FAULT;"),
    Fault::new("gdn_step", "output o", "o[value] = sum *", "o[value] = FAULT * sum *"),
];

const CONVENTIONS: &[Convention] = &[
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
        // Half of the layout makes rows race for the state: four of them are one block, which has one order.
        others: &[
            ("state_transposed", "row = key index"),
            ("state_read_transposed", "read with row = key index"),
            ("state_written_transposed", "written with row = key index"),
        ],
        case: "gdn_step(d=4,hk=1,hv=1,tokens=1,regime=warm,scale=2^0,seed=0x55)",
    },
];
