//! `compile`: the PTX that machines without NVRTC run, of the shipped kernels and of the mutants.

use std::path::PathBuf;

use gdn_gpu::ptx;

use super::{PASS, progress};
use crate::detect;
use crate::error::Error;
use crate::files::{folder_of, write_whole};
use crate::mutants::{self, store};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The folder to write to.
    #[arg(long, default_value = "golden/ptx")]
    folder: PathBuf,
}

/// Runs the command. What would differ by the numbers of registers alone is kept as it is, and so are mutants whose accepted PTX was
/// made of their very source.
pub(super) fn run(args: &Args) -> Result<u8, Error> {
    let mutants_folder = args.folder.join("mutants");
    folder_of(&mutants_folder.join("any"))?;
    for accepted in ptx::Accepted::ALL {
        let path = args.folder.join(format!("{}.ptx", accepted.name));
        write_whole(&path, &ptx::renewed(&accepted)?)?;
        say!("{}", path.display());
    }
    let bar = progress(mutants::all().count() + mutants::faults().count(), "kernels");
    for catalogue in mutants::FAMILIES {
        let mut patched = Vec::new();
        for mutant in catalogue.mutants {
            patched.push((mutant.name.to_owned(), mutant.kernel, mutant.source()?));
        }
        for fault in catalogue.faults {
            patched.push((fault.name(), fault.kernel, detect::source(fault)?));
        }
        let mut sections = Vec::new();
        for (name, kernel, source) in patched {
            let text = match mutants::accepted(&name, &source) {
                Some(text) => text.to_owned(),
                None => mutants::compile(&name, kernel, &source)?,
            };
            sections.push((name, ptx::hash(&source), text));
            bar.inc(1);
        }
        let path = mutants_folder.join(format!("{}.ptx", catalogue.family));
        write_whole(&path, &store::join(&sections))?;
        say!("{}", path.display());
    }
    bar.finish_and_clear();
    Ok(PASS)
}
