//! The contracts of the shipped kernels, one file a kernel family.

use crate::contract::Contract;

mod causal_conv;
mod delta_rule;
mod gated_rms_norm;
mod gates;
mod l2_norm;
mod output_gate;
mod qk_norm_rope;
mod quantize;
mod reduce;

/// Every contract, family by family.
pub const ALL: &[&[Contract]] = &[
    reduce::CONTRACTS,
    quantize::CONTRACTS,
    causal_conv::CONTRACTS,
    l2_norm::CONTRACTS,
    gates::CONTRACTS,
    delta_rule::CONTRACTS,
    gated_rms_norm::CONTRACTS,
    qk_norm_rope::CONTRACTS,
    output_gate::CONTRACTS,
];

/// All contracts in order.
pub fn all() -> impl Iterator<Item = &'static Contract> {
    ALL.iter().flat_map(|family| family.iter())
}

/// The contract of a kernel.
pub fn find(kernel: &str) -> Option<&'static Contract> {
    all().find(|contract| contract.kernel == kernel)
}
