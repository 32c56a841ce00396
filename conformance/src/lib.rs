//! Numerical conformance of gated-delta-rule GPU kernels: cases, verdicts, reports and the command line.
//!
//! Data flows one way: a [`case::Case`] draws inputs, a [`runner::Runner`] turns them into outputs, a
//! [`verdict::Verdict`] compares those with the oracle's bounds, a [`localize::Explanation`] says why it failed, a
//! [`report::Report`] says what came of it all, and a [`capsule::Capsule`] keeps a failure to be run again anywhere.
//! [`mutants`] are kernels that are known to be wrong: [`kill`], [`detect`] and [`which`] are built on them.
#![forbid(unsafe_code)]

pub use gdn_suites::{self as suites, case, draw, family, localize, regime, tokens, verdict};

pub mod agreement;
pub mod capsule;
pub mod cases;
pub mod chains;
pub mod check;
pub mod cli;
pub mod coverage;
pub mod detect;
pub mod error;
pub mod files;
pub mod flags;
pub mod gate;
pub mod kill;
pub mod mutants;
pub mod probe;
pub mod replay;
pub mod report;
pub mod runner;
pub mod sanitize;
pub mod which;
pub mod workers;
