//! Contract of the entry point that tests the two-word quantization.

use gdn_reference::scalar::Budget;

use crate::contract::{Contract, Dim, Factor::Of, Grid, MAX, Rule, Source, Values, arg};

pub(super) const CONTRACTS: &[Contract] = &[Contract {
    kernel: "lgx_q8hl_test",
    family: "quantize",
    source: Source::Gdn,
    computes: "two int8 words: t ≈ qh + ql/127",
    args: &[
        arg::input_of("t", &[Of(Dim::N)], Values::Within(127.0)),
        arg::codes("qh", &[Of(Dim::N)]),
        arg::codes("ql", &[Of(Dim::N)]),
        arg::size("n", Dim::N),
    ],
    implicit: &[],
    grid: Grid::ThreadEach(Dim::N),
    domain: &[Rule::Between(Dim::N, 1, MAX)],
    budget: Budget::CUDA,
}];
