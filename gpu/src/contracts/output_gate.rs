//! Contract of the attention layer's output gate.

use gdn_reference::scalar::Budget;

use crate::contract::{Contract, Dim, Factor::Of, Grid, MAX, Rule, Source, arg};

pub(super) const CONTRACTS: &[Contract] = &[Contract {
    kernel: "gk_gate_mul",
    family: "output_gate",
    source: Source::Qwen38,
    computes: "ctx·sigmoid(g)",
    args: &[arg::in_place("ctx", &[Of(Dim::N)]), arg::input("g", &[Of(Dim::N)]), arg::size("n", Dim::N)],
    implicit: &[],
    grid: Grid::ThreadEach(Dim::N),
    domain: &[Rule::Between(Dim::N, 1, MAX)],
    budget: Budget::CUDA,
}];
