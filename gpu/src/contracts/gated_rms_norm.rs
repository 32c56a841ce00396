//! Contracts of the gated RMSNorm and its two int8 epilogues.

use gdn_reference::scalar::{Budget, Reduction};

use crate::contract::{
    Arg, Contract, Dim, Factor,
    Factor::{Groups, Of},
    Grid, Param, Rule, Source, arg,
};

const HEADS: &[Factor] = &[Of(Dim::Hv), Of(Dim::D)];
const SCALES: &[Factor] = &[Of(Dim::Hv), Groups(Dim::D)];
const Z: Arg = arg::input("z", HEADS);
const GN: Arg = arg::input("gn", &[Of(Dim::D)]);
const O: Arg = arg::input("o", HEADS);
const OUT: Arg = arg::output("out", HEADS);
const D: Arg = arg::size("D", Dim::D);
const EPS: Arg = arg::scalar("eps", Param::Eps);
const GRID: Grid = Grid::BlockAHead { heads: Dim::Hv, width: Dim::D };
const BUDGET: Budget = Budget::CUDA.with_reduction(Reduction::Block);
const HEAD_RULES: [Rule; 3] =
    [Rule::Between(Dim::D, 1, 1024), Rule::Between(Dim::Hv, 1, 65_535), Rule::Positive(Param::Eps)];
const GROUP_RULES: [Rule; 4] = [HEAD_RULES[0], HEAD_RULES[1], HEAD_RULES[2], Rule::MultipleOf(Dim::D, 32)];

pub(super) const CONTRACTS: &[Contract] = &[
    Contract {
        kernel: "gdn_gate_norm",
        family: "gated_rms_norm",
        source: Source::Gdn,
        computes: "gn·o/√(mean(o²)+eps) · silu(z)",
        args: &[Z, GN, O, OUT, D, EPS],
        implicit: &[Dim::Hv],
        grid: GRID,
        domain: &HEAD_RULES,
        budget: BUDGET,
    },
    Contract {
        kernel: "gdn_gate_norm_q",
        family: "gated_rms_norm",
        source: Source::Gdn,
        computes: "the gated norm, and the same quantized to int8 in groups of 32",
        args: &[Z, GN, O, OUT, arg::codes("xq", HEADS), arg::output("xs", SCALES), D, EPS],
        implicit: &[Dim::Hv],
        grid: GRID,
        domain: &GROUP_RULES,
        budget: BUDGET,
    },
    Contract {
        kernel: "gdn_gate_norm_hl",
        family: "gated_rms_norm",
        source: Source::Gdn,
        computes: "the gated norm, and the same in two int8 words",
        args: &[Z, GN, O, OUT, arg::codes("xq", HEADS), arg::codes("xl", HEADS), arg::output("xs", SCALES), D, EPS],
        implicit: &[Dim::Hv],
        grid: GRID,
        domain: &GROUP_RULES,
        budget: BUDGET,
    },
];
