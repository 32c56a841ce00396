//! Contract of the q/k RMSNorm with partial RoPE.

use gdn_reference::scalar::{Budget, Reduction};

use crate::contract::{Contract, Dim, Factor::Of, Grid, MAX, Param, Rule, Source, arg};

pub(super) const CONTRACTS: &[Contract] = &[Contract {
    kernel: "gk_qk_norm_rope_part",
    family: "qk_norm_rope",
    source: Source::Qwen38,
    computes: "RMSNorm over hd of the row at base + pos·stride, then rotation of dims (i, i+rot/2), i < rot/2",
    args: &[
        arg::window("base"),
        arg::index("d_pos"),
        arg::size("stride", Dim::Stride),
        arg::input("nw", &[Of(Dim::Hd)]),
        arg::size("n_heads", Dim::H),
        arg::size("hd", Dim::Hd),
        arg::size("rot", Dim::Rot),
        arg::scalar("rbase", Param::Rbase),
        arg::scalar("eps", Param::Eps),
    ],
    implicit: &[Dim::Pos],
    grid: Grid::BlockAHead { heads: Dim::H, width: Dim::Hd },
    domain: &[
        Rule::Between(Dim::Hd, 1, 1024),
        Rule::Between(Dim::H, 1, MAX),
        Rule::Between(Dim::Pos, 0, MAX - 1),
        Rule::MultipleOf(Dim::Rot, 2),
        Rule::AtMost(Dim::Rot, Dim::Hd),
        Rule::AtLeastProduct(Dim::Stride, Dim::H, Dim::Hd),
        Rule::Positive(Param::Rbase),
        Rule::Positive(Param::Eps),
    ],
    budget: Budget::CUDA.with_reduction(Reduction::Block),
}];
