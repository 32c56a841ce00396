//! `replay`: recorded tokens through the oracle and the kernels.

use std::path::PathBuf;

use super::{NONCONFORMANT, PASS, Selection, not_run, open};
use crate::error::Error;
use crate::replay;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Who runs the kernels.
    #[arg(long, value_enum, default_value = "auto")]
    executor: Selection,
    /// Safetensors files, under the names of golden/vectors/README.md.
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

/// Runs the command.
pub(super) fn run(args: &Args) -> Result<u8, Error> {
    let files = args.files.iter().map(|path| replay::load(path)).collect::<Result<Vec<_>, _>>()?;
    let (mut runner, absent) = open(args.executor)?;
    let description = runner.describe();
    say!("executor: {} — {} ({})", description.executor, description.device, description.versions);
    let mut passed = true;
    for file in &files {
        let outcome = replay::replay(&mut runner, file)?;
        say!("{outcome}");
        passed &= outcome.passed();
    }
    for line in not_run(absent.as_deref()) {
        say!("not run: {line}");
    }
    Ok(if passed { PASS } else { NONCONFORMANT })
}
