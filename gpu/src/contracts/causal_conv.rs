//! Contracts of the depthwise causal convolution with a carried ring, plain and with fused L2 norms.

use gdn_reference::scalar::{Budget, Reduction};

use crate::contract::{Arg, Contract, Dim, Factor, Factor::Of, Grid, MAX, Param, Rule, Source, arg};

const CHANNELS: &[Factor] = &[Of(Dim::C)];
const TAPS: &[Factor] = &[Of(Dim::T), Of(Dim::C)];
const X: Arg = arg::input("x", CHANNELS);
const WC: Arg = arg::input("wc", TAPS);
const CS: Arg = arg::carried("cs", TAPS);
const Y: Arg = arg::output("y", CHANNELS);
const C: Arg = arg::size("C", Dim::C);
const T: Arg = arg::size("T", Dim::T);

pub(super) const CONTRACTS: &[Contract] = &[
    Contract {
        kernel: "gk_conv_silu",
        family: "causal_conv",
        source: Source::Qwen38,
        computes: "shift of the ring, depthwise convolution, silu",
        args: &[X, WC, CS, Y, C, T],
        implicit: &[],
        grid: Grid::ThreadEach(Dim::C),
        domain: &[Rule::Between(Dim::C, 1, MAX), Rule::Between(Dim::T, 1, MAX)],
        budget: Budget::CUDA,
    },
    Contract {
        kernel: "gk_conv_silu_l2",
        family: "causal_conv",
        source: Source::Qwen38,
        computes: "the same; the first nl2 chunks of D channels L2-normalized",
        args: &[X, WC, CS, Y, C, T, arg::size("nl2", Dim::Nl2), arg::scalar("eps", Param::Eps)],
        implicit: &[Dim::D],
        grid: Grid::BlockAChunk { total: Dim::C, width: Dim::D },
        domain: &[
            Rule::Between(Dim::D, 1, 1024),
            Rule::Between(Dim::C, 1, MAX),
            Rule::Between(Dim::T, 1, MAX),
            Rule::MultipleOfDim(Dim::C, Dim::D),
            Rule::AtMostChunks(Dim::Nl2, Dim::C, Dim::D),
            Rule::Positive(Param::Eps),
        ],
        budget: Budget::CUDA.with_reduction(Reduction::Block),
    },
];
