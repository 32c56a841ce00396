//! Contract of the L2 norm of each head.

use gdn_reference::scalar::{Budget, Reduction};

use crate::contract::{Contract, Dim, Factor::Of, Grid, MAX, Param, Rule, Source, arg};

pub(super) const CONTRACTS: &[Contract] = &[Contract {
    kernel: "gk_l2norm_heads",
    family: "l2_norm",
    source: Source::Qwen38,
    computes: "x/√(Σx²+eps) for each head; a head whose Σx² overflows becomes zeros",
    args: &[arg::in_place("x", &[Of(Dim::H), Of(Dim::D)]), arg::size("D", Dim::D), arg::scalar("eps", Param::Eps)],
    implicit: &[Dim::H],
    grid: Grid::BlockAHead { heads: Dim::H, width: Dim::D },
    domain: &[Rule::Between(Dim::D, 1, 1024), Rule::Between(Dim::H, 1, MAX), Rule::Positive(Param::Eps)],
    budget: Budget::CUDA.with_reduction(Reduction::Block),
}];
