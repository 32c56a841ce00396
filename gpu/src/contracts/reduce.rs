//! Contracts of the entry points that test the shared reductions.
//!
//! Every thread of a block writes what the device function gave it, so that a result that reaches one lane only is seen.

use gdn_reference::scalar::{Budget, Reduction};

use crate::contract::{Contract, Dim, Factor::Of, Grid, Rule, Source, arg};

const THREADS: &[crate::contract::Factor] = &[Of(Dim::Blocks), Of(Dim::Threads)];
const DOMAIN: &[Rule] =
    &[Rule::Between(Dim::Blocks, 1, 65_535), Rule::Between(Dim::Threads, 32, 1024), Rule::MultipleOf(Dim::Threads, 32)];

pub(super) const CONTRACTS: &[Contract] = &[
    Contract {
        kernel: "gdn_warp_sum_test",
        family: "reduce",
        source: Source::Gdn,
        computes: "the sum over each warp, in every lane",
        args: &[arg::input("v", THREADS), arg::output("out", THREADS)],
        implicit: &[Dim::Blocks, Dim::Threads],
        grid: Grid::Free,
        domain: DOMAIN,
        budget: Budget::CUDA.with_reduction(Reduction::Block),
    },
    Contract {
        kernel: "gdn_block_sum3_test",
        family: "reduce",
        source: Source::Gdn,
        computes: "three sums over each block in one pass, in every thread",
        args: &[
            arg::input("a", THREADS),
            arg::input("b", THREADS),
            arg::input("c", THREADS),
            arg::output("oa", THREADS),
            arg::output("ob", THREADS),
            arg::output("oc", THREADS),
        ],
        implicit: &[Dim::Blocks, Dim::Threads],
        grid: Grid::Free,
        domain: DOMAIN,
        budget: Budget::CUDA.with_reduction(Reduction::Block),
    },
];
