//! Contract of the two gates of the delta rule.

use gdn_reference::scalar::Budget;

use crate::contract::{Contract, Dim, Factor, Factor::Of, Grid, MAX, Rule, Source, Values, arg};

const HEADS: &[Factor] = &[Of(Dim::Hv)];

pub(super) const CONTRACTS: &[Contract] = &[Contract {
    kernel: "gk_gdn_gates",
    family: "gates",
    source: Source::Qwen38,
    computes: "beta = sigmoid(br); decay = exp(rate·softplus(ar+dt)); rate is −exp(A_log) already",
    args: &[
        arg::input("br", HEADS),
        arg::input("ar", HEADS),
        arg::input("dt", HEADS),
        arg::input_of("rate", HEADS, Values::NonPositive),
        arg::output("beta", HEADS),
        arg::output("decay", HEADS),
        arg::size("HV", Dim::Hv),
    ],
    implicit: &[],
    grid: Grid::ThreadEach(Dim::Hv),
    domain: &[Rule::Between(Dim::Hv, 1, MAX)],
    budget: Budget::CUDA,
}];
