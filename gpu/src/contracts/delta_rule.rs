//! Contract of the gated delta rule.

use gdn_reference::scalar::{Budget, Reduction};

use crate::contract::{Contract, Dim, Factor::Of, Grid, Rule, Source, arg};

pub(super) const CONTRACTS: &[Contract] = &[Contract {
    kernel: "gdn_step",
    family: "delta_rule",
    source: Source::Gdn,
    computes: "δ = β·(v − decay·S·k); S ← decay·S + δkᵀ; o = S·q/√D; value head h reads key head h % HK",
    args: &[
        arg::input("q", &[Of(Dim::Hk), Of(Dim::D)]),
        arg::input("k", &[Of(Dim::Hk), Of(Dim::D)]),
        arg::input("v", &[Of(Dim::Hv), Of(Dim::D)]),
        arg::input("beta", &[Of(Dim::Hv)]),
        arg::input("decay", &[Of(Dim::Hv)]),
        arg::carried("S", &[Of(Dim::Hv), Of(Dim::D), Of(Dim::D)]),
        arg::output("o", &[Of(Dim::Hv), Of(Dim::D)]),
        arg::size("D", Dim::D),
        arg::size("HK", Dim::Hk),
    ],
    implicit: &[Dim::Hv],
    grid: Grid::WarpARow { heads: Dim::Hv, rows: Dim::D },
    domain: &[
        Rule::Between(Dim::D, 1, 256),
        Rule::Between(Dim::Hk, 1, 65_535),
        Rule::Between(Dim::Hv, 1, 65_535),
        Rule::MultipleOfDim(Dim::Hv, Dim::Hk),
    ],
    budget: Budget::CUDA.with_reduction(Reduction::Warp),
}];
