//! `replay`: recorded tokens through the oracle and the kernels, and failures out of their capsules.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use gdn_gpu::Executor;

use super::{NONCONFORMANT, PASS, Selection, executor, not_run, program};
use crate::capsule::{self, Capsule};
use crate::error::Error;
use crate::replay::{self, Recording};
use crate::runner::Runner;

/// Who runs what is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Player {
    /// A CUDA device where one answers, else the virtual machine.
    Auto,
    /// A CUDA device, or an error.
    Cuda,
    /// The PTX virtual machine, with all its checks.
    Vm,
    /// Nobody: a capsule's recorded outputs are judged again, a recording's answers compared with the oracle.
    None,
}

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Who runs the kernels.
    #[arg(long, value_enum, default_value = "auto")]
    executor: Player,
    /// Run the kernels of this CUDA or PTX file in place of the shipped ones, and of those in a capsule.
    #[arg(long, value_name = "FILE.cu|FILE.ptx")]
    kernels: Option<PathBuf>,
    /// Capsules that `check` wrote, or recordings under the names of golden/vectors/README.md.
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

/// One file, by what it holds.
enum Replayable {
    Capsule(Box<Capsule>),
    Recording(Box<Recording>),
}

fn load(path: &Path) -> Result<Replayable, Error> {
    match capsule::load(path)? {
        Some(capsule) => Ok(Replayable::Capsule(Box::new(capsule))),
        None => Ok(Replayable::Recording(Box::new(replay::load(path)?))),
    }
}

/// Runs the command.
pub(super) fn run(args: &Args) -> Result<u8, Error> {
    let files = args.files.iter().map(|path| load(path)).collect::<Result<Vec<_>, _>>()?;
    let kernels = args.kernels.as_deref().map(program).transpose()?;
    let (device, absent) = match args.executor {
        Player::None => (None, None),
        Player::Auto => open(Selection::Auto)?,
        Player::Cuda => open(Selection::Cuda)?,
        Player::Vm => open(Selection::Vm)?,
    };
    if let Some(device) = &device {
        let description = device.describe();
        say!("executor: {} — {} ({})", description.executor, description.device, description.versions);
    } else {
        say!("executor: none");
    }
    let mut passed = true;
    // One runner for all recordings: they share their kernels.
    let mut shared: Option<Runner> = None;
    for (file, path) in files.into_iter().zip(&args.files) {
        match file {
            Replayable::Capsule(capsule) => {
                let runner = match (&device, &kernels) {
                    (None, _) => None,
                    (Some(device), Some(program)) => Some(Runner::programs(device.fork()?, vec![program.clone()])?),
                    (Some(device), None) => Some(capsule.runner(device.fork()?)?),
                };
                let replayed = capsule::replay(*capsule, { runner }.as_mut())?;
                say!("{}: {replayed}", path.display());
                passed &= replayed.passed();
            }
            Replayable::Recording(recording) => {
                if let (None, Some(device)) = (&shared, &device) {
                    let own = kernels.clone().map(|program| vec![program]);
                    shared = Some(match own {
                        Some(programs) => Runner::programs(device.fork()?, programs)?,
                        None => Runner::kernels(device.fork()?)?,
                    });
                }
                let replayed = match &mut shared {
                    Some(runner) => replay::replay(runner, &recording)?,
                    None => replay::agree(&recording)?,
                };
                say!("{replayed}");
                passed &= replayed.passed();
            }
        }
    }
    for line in not_run(absent.as_deref()) {
        say!("not run: {line}");
    }
    if device.is_none() {
        say!("not run: the kernels, because nobody was to run them");
    }
    Ok(if passed { PASS } else { NONCONFORMANT })
}

type Opened = (Option<Box<dyn Executor>>, Option<String>);

fn open(selection: Selection) -> Result<Opened, Error> {
    let (executor, absent) = executor(selection)?;
    Ok((Some(executor), absent))
}
