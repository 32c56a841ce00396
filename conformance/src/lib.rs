//! Numerical conformance of gated-delta-rule GPU kernels: cases, verdicts, reports and the command line.
//!
//! Data flows one way: a [`case::Case`] draws inputs, a [`runner::Runner`] turns them into outputs, a
//! [`verdict::Verdict`] compares those with the oracle's bounds, a [`localize::Explanation`] says why it failed, a
//! [`report::Report`] says what came of it all, and a [`capsule::Capsule`] keeps a failure to be run again anywhere.
//! [`mutants`] are kernels that are known to be wrong: [`kill`], [`detect`] and [`which`] are built on them.
#![forbid(unsafe_code)]

pub mod agreement;
pub mod capsule;
pub mod case;
pub mod cases;
pub mod chains;
pub mod check;
pub mod cli;
pub mod coverage;
pub mod detect;
pub mod draw;
pub mod error;
pub mod family;
pub mod files;
pub mod flags;
pub mod gate;
pub mod kill;
pub mod localize;
pub mod mutants;
pub mod probe;
pub mod regime;
pub mod replay;
pub mod report;
pub mod runner;
pub mod sanitize;
pub mod suites;
pub mod tokens;
pub mod verdict;
pub mod which;
pub mod workers;
