//! `compile`: the PTX that machines without NVRTC run.

use std::path::PathBuf;

use gdn_gpu::contract::Source;

use super::PASS;
use crate::error::Error;
use crate::report::write_whole;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The folder to write to.
    #[arg(long, default_value = "golden/ptx")]
    folder: PathBuf,
}

/// Runs the command.
pub(super) fn run(args: &Args) -> Result<u8, Error> {
    for source in Source::ALL {
        let path = args.folder.join(format!("{}.ptx", source.name()));
        write_whole(&path, &gdn_gpu::ptx::compile(source.name(), source.text())?)?;
        say!("{}", path.display());
    }
    Ok(PASS)
}
