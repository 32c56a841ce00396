//! Parts of a run: one of them here, or all of them in a process each.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use super::Selection;
use crate::error::Error;
use crate::report::{Header, Partition, Report, Reports, merge};

#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(super) struct Parts {
    /// Run only this part of it, told by the hash of each case; `report` puts the parts' --json files together.
    #[arg(long, value_name = "K/N")]
    partition: Option<Partition>,
}

impl Parts {
    /// Whether something of this name is to be run here.
    pub(super) fn has(self, name: &str) -> bool {
        self.partition.is_none_or(|part| part.has(name))
    }

    /// Whether this is the whole run.
    pub(super) const fn is_whole(self) -> bool {
        self.partition.is_none()
    }

    /// The header of this part.
    pub(super) fn of(self, header: Header) -> Header {
        Header { partition: self.partition, ..header }
    }
}

/// How many processes a run is to have: one a GPU, where there are several and nothing was said of parts.
pub(super) fn processes(executor: Selection, parts: Parts) -> u32 {
    match executor {
        Selection::Vm => 1,
        _ if !parts.is_whole() => 1,
        Selection::Auto | Selection::Cuda => gdn_gpu::cuda::count().max(1),
    }
}

/// The devices that this process may see, by the names that the driver takes.
fn devices(count: u32) -> Vec<String> {
    match std::env::var("CUDA_VISIBLE_DEVICES") {
        Ok(list) if !list.trim().is_empty() => list.split(',').map(|device| device.trim().to_owned()).collect(),
        _ => (0..count).map(|device| device.to_string()).collect(),
    }
}

/// Runs a command in `count` processes, a GPU and a part each, and puts their reports together.
///
/// # Errors
/// [`Error::Process`] where one ends without a report.
pub(super) fn run(words: &[OsString], count: u32) -> Result<Report, Error> {
    let failed = |part: Partition, problem: String| Error::Process { part: part.to_string(), problem };
    let whole = Partition { index: 1, count };
    let folder = tempfile::tempdir().map_err(|error| failed(whole, error.to_string()))?;
    let program = std::env::current_exe().map_err(|error| failed(whole, error.to_string()))?;
    let devices = devices(count);
    let mut children = Vec::new();
    for index in 1..=count {
        let part = Partition { index, count };
        let path = folder.path().join(format!("{index}.json"));
        let mut command = Command::new(&program);
        command.args(words).args(["--partition", &part.to_string(), "--json"]).arg(&path);
        if let Some(device) = devices.get(index as usize - 1) {
            command.env("CUDA_VISIBLE_DEVICES", device);
        }
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        children.push((part, path, child.map_err(|error| failed(part, error.to_string()))?));
    }
    let mut reports = Vec::new();
    for (part, path, child) in children {
        let output = child.wait_with_output().map_err(|error| failed(part, error.to_string()))?;
        if !path.exists() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(failed(part, format!("{}: {said}", output.status)));
        }
        reports.extend(Reports::read(&path)?.reports);
    }
    merge(reports)?.into_iter().next().ok_or_else(|| failed(whole, "there was no report".into()))
}
