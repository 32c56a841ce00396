//! Long chains: the delta rule over thousands of tokens, in both views of its error, as curves of error and bound against the token.
//!
//! *Step by step*, the kernel's own state after a token, widened exactly, is the oracle's state before the next: each step keeps its
//! sharp elementwise bound, and nothing accumulates. *Free running*, the oracle keeps a state of its own from the first token on, and
//! the kernel's may be as far from it as [`ChainBound`](gdn_reference::ChainBound) derives. The first view judges each step; the
//! second judges what the steps come to when the oracle knows what the kernel should have been given: a gate that is wrong upstream
//! is an input like any other to the first, and drifts away in the second.

mod plan;
mod views;

pub use plan::{ChainDraws, ChainPlan, ChainRegime};
pub use views::{ChainPoint, Reading, Views};

/// The kernel that a chain runs.
pub const KERNEL: &str = "gdn_step";
