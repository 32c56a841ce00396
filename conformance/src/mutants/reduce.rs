//! Mutants of the shared sums.

use super::Sort::{Concurrency, Memory, Numerical};
use super::{Catalogue, Fault, Mutant};

pub(super) const CATALOGUE: Catalogue = Catalogue {
    family: "reduce",
    mutants: MUTANTS,
    faults: FAULTS,
    conventions: &[],
    ptx: include_str!("../../../golden/ptx/mutants/reduce.ptx"),
};

const WARP: &str = "gdn_warp_sum_test";
const BLOCK: &str = "gdn_block_sum3_test";

const LEVELS: &str =
    "for (int offset = 16; offset > 0; offset >>= 1) {\n        v += __shfl_xor_sync(GDN_FULL_MASK, v, offset);";
const FIRST: &str = "*oa = gdn_warp_sum(lane < warps ? scratch[0][lane] : 0.0f);";
const SECOND: &str = "*ob = gdn_warp_sum(lane < warps ? scratch[1][lane] : 0.0f);";
const THIRD: &str = "*oc = gdn_warp_sum(lane < warps ? scratch[2][lane] : 0.0f);";

const MUTANTS: &[Mutant] = &[
    Mutant::new(
        Numerical,
        "warp_sum_drops_a_level",
        WARP,
        "reduction",
        "a warp taken for 16 lanes",
        &[(
            LEVELS,
            "for (int offset = 8; offset > 0; offset >>= 1) {\n        v += __shfl_xor_sync(GDN_FULL_MASK, v, offset);",
        )],
    ),
    Mutant::new(
        Numerical,
        "warp_sum_stops_early",
        WARP,
        "reduction",
        "offset > 1: neighbouring lanes are never added",
        &[(
            LEVELS,
            "for (int offset = 16; offset > 1; offset >>= 1) {\n        v += __shfl_xor_sync(GDN_FULL_MASK, v, offset);",
        )],
    ),
    Mutant::new(
        Numerical,
        "warp_sum_in_lane_0_only",
        WARP,
        "reduction",
        "shuffle-down where every lane needs the sum",
        &[(
            LEVELS,
            "for (int offset = 16; offset > 0; offset >>= 1) {\n        v += __shfl_down_sync(GDN_FULL_MASK, v, offset);",
        )],
    ),
    Mutant::new(
        Numerical,
        "warp_sum_in_half_precision",
        WARP,
        "precision",
        "partial sums rounded to half",
        &[(
            LEVELS,
            "for (int offset = 16; offset > 0; offset >>= 1) {\n        v = gdn_fp16(v + __shfl_xor_sync(GDN_FULL_MASK, v, offset));",
        )],
    ),
    Mutant::new(
        Numerical,
        "warp_sum_in_bf16",
        WARP,
        "precision",
        "partial sums exchanged in bf16",
        &[(
            LEVELS,
            "for (int offset = 16; offset > 0; offset >>= 1) {\n        v += gdn_bf16(__shfl_xor_sync(GDN_FULL_MASK, v, offset));",
        )],
    ),
    Mutant::new(
        Numerical,
        "block_sum_last_warp_dropped",
        BLOCK,
        "reduction",
        "lane + 1 < warps",
        &[(FIRST, "*oa = gdn_warp_sum(lane + 1 < warps ? scratch[0][lane] : 0.0f);")],
    ),
    Mutant::new(
        Numerical,
        "block_sum_second_is_the_first",
        BLOCK,
        "reduction",
        "two sums read from one row of the scratch",
        &[(SECOND, "*ob = gdn_warp_sum(lane < warps ? scratch[0][lane] : 0.0f);")],
    ),
    Mutant::new(
        Numerical,
        "block_sum_of_the_own_warp",
        BLOCK,
        "reduction",
        "the pass over the warps forgotten",
        &[(THIRD, "*oc = c;")],
    ),
    Mutant::new(
        Numerical,
        "block_sum_capped_at_four_warps",
        BLOCK,
        "reduction",
        "a block of 128 threads assumed",
        &[(THIRD, "*oc = gdn_warp_sum(lane < warps && lane < 4 ? scratch[2][lane] : 0.0f);")],
    ),
    Mutant::new(
        Memory,
        "block_sum_reads_past_the_warps",
        BLOCK,
        "shared memory",
        "lanes past the last warp bring what lay in the scratch before",
        &[(FIRST, "*oa = gdn_warp_sum(scratch[0][lane]);")],
    ),
    Mutant::new(
        Memory,
        "block_sum_scratch_too_small",
        BLOCK,
        "shared memory",
        "a scratch of 4 warps under blocks of up to 32",
        &[("__shared__ float scratch[3][32];", "__shared__ float scratch[3][4];")],
    ),
    Mutant::new(
        Memory,
        "block_sum_one_row_for_two",
        BLOCK,
        "shared memory",
        "two sums through one row of the scratch",
        &[("scratch[1][warp] = b;", "scratch[0][warp] = b;")],
    ),
    Mutant::new(
        Concurrency,
        "block_sum_first_barrier_missing",
        BLOCK,
        "barrier",
        "warp sums read before all are written",
        &[("scratch[2][warp] = c;\n    }\n    __syncthreads();", "scratch[2][warp] = c;\n    }")],
    ),
    Mutant::new(
        Concurrency,
        "block_sum_warp_barrier",
        BLOCK,
        "barrier",
        "__syncwarp for __syncthreads",
        &[("scratch[2][warp] = c;\n    }\n    __syncthreads();", "scratch[2][warp] = c;\n    }\n    __syncwarp();")],
    ),
    Mutant::new(
        Concurrency,
        "block_sum_barrier_of_one_lane",
        BLOCK,
        "barrier",
        "the barrier slipped into the branch of lane 0",
        &[(
            "scratch[2][warp] = c;\n    }\n    __syncthreads();",
            "scratch[2][warp] = c;\n        __syncthreads();\n    }",
        )],
    ),
    Mutant::new(
        Concurrency,
        "block_sum_every_lane_writes",
        BLOCK,
        "shared memory",
        "each lane stores its word of the scratch: neighbouring warps write the same one",
        &[("scratch[0][warp] = a;", "scratch[0][(warp + 1) % warps] = a; scratch[0][warp] = a;")],
    ),
    Mutant::new(
        Concurrency,
        "block_sum_last_barrier_missing",
        BLOCK,
        "barrier",
        "left out because the next call's barrier would do",
        &[(
            "*oc = gdn_warp_sum(lane < warps ? scratch[2][lane] : 0.0f);\n    __syncthreads();",
            "*oc = gdn_warp_sum(lane < warps ? scratch[2][lane] : 0.0f);",
        )],
    )
    .equivalent(
        "every shipped entry point sums over the block once: the scratch is not written again after it is read",
    ),
];

const FAULTS: &[Fault] = &[
    Fault::new(
        "gdn_warp_sum_test",
        "output out",
        "out[i] = gdn_warp_sum(v[i]);",
        "out[i] = gdn_warp_sum(v[i]) * FAULT;",
    ),
    Fault::new("gdn_block_sum3_test", "output oa", "*oa = gdn_warp_sum(", "*oa = FAULT * gdn_warp_sum("),
    Fault::new("gdn_block_sum3_test", "output ob", "*ob = gdn_warp_sum(", "*ob = FAULT * gdn_warp_sum("),
    Fault::new("gdn_block_sum3_test", "output oc", "*oc = gdn_warp_sum(", "*oc = FAULT * gdn_warp_sum("),
];
