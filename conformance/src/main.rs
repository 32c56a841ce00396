//! The `gdn-conformance` command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use gdn_conformance::cli::{self, Cli};

fn main() -> ExitCode {
    ExitCode::from(cli::run(Cli::parse()))
}
