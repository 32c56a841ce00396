//! How a machine runs.

use super::arith::Approximation;

/// Options of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether memory, races, registers and lanes are checked; faults that nothing can go on from are reported either way.
    pub checks: bool,
    /// Order of warps and blocks: 0 is the natural one, any other number a permutation.
    pub seed: u64,
    /// What approximate instructions give.
    pub approximation: Approximation,
    /// Warp instructions that one block may run.
    pub step_budget: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { checks: true, seed: 0, approximation: Approximation::CorrectlyRounded, step_budget: 1 << 24 }
    }
}
