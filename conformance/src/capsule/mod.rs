//! Capsules: a failing launch in one file, which `replay` runs again on either executor, or judges again without one.
//!
//! A capsule is a safetensors file: `in.*` as the launch got them, `out.*` as the kernel left them (nothing where it did not come
//! to an end), the program as text, and as metadata the case line, the token, who ran it and what the verdicts were.

use std::collections::{BTreeMap, BTreeSet};

use gdn_gpu::executor::{Code, Description, Program};
use gdn_gpu::ptx;
use gdn_gpu::run::Tensors;
use serde::{Deserialize, Serialize};

use crate::case::Case;
use crate::check::FailingLaunch;
use crate::verdict::{Disposition, Verdict};

mod read;
mod replay;
mod write;

pub use read::load;
pub use replay::{Replayed, replay};
pub use write::{Written, write_all};

/// Version of the files' layout; a reader refuses another.
pub const SCHEMA: u32 = 1;

/// The metadata `kind` of a capsule.
pub const KIND: &str = "gdn_capsule";

/// Most capsules of one kernel and output in a run: a kernel that is wrong everywhere is not more wrong in the ninth.
pub const MOST: usize = 8;

/// A failing launch, and everything that is needed to make it again.
#[derive(Clone, Debug)]
pub struct Capsule {
    /// The case.
    pub case: Case,
    /// The token of it that failed first.
    pub token: u32,
    /// What the launch was given.
    pub inputs: Tensors,
    /// What it left; nothing where it did not come to an end.
    pub outputs: Tensors,
    /// The program that was run, where one was.
    pub program: Option<Program>,
    /// PTX of that program for the virtual machine, where it is CUDA and could be compiled.
    pub ptx: Option<String>,
    /// Who ran it.
    pub runner: Maker,
    /// The verdicts.
    pub verdicts: Vec<Recorded>,
}

/// Who wrote a capsule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maker {
    /// Version of this suite.
    pub version: String,
    /// `cuda`, `vm` or `model`.
    pub executor: String,
    /// The device, in words.
    pub device: String,
    /// Architecture compiled for.
    pub arch: String,
    /// Versions of driver and compiler.
    pub versions: String,
}

impl From<&Description> for Maker {
    fn from(runner: &Description) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            executor: runner.executor.into(),
            device: runner.device.clone(),
            arch: runner.arch.clone(),
            versions: runner.versions.clone(),
        }
    }
}

/// A verdict as it is kept in a capsule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// The output, with the aspect where there is one.
    pub output: String,
    /// What it came to.
    pub disposition: Disposition,
    /// Worst error ÷ bound; nothing where it is beyond all bounds.
    pub utilization: Option<f64>,
    /// Flat index of the worst element.
    pub index: usize,
    /// Elements compared; none where something was found rather than compared.
    pub elements: usize,
    /// The worst element in words.
    pub detail: String,
}

impl From<&Verdict> for Recorded {
    fn from(verdict: &Verdict) -> Self {
        Self {
            output: verdict.output.clone(),
            disposition: verdict.disposition,
            utilization: Some(verdict.utilization).filter(|utilization| utilization.is_finite()),
            index: verdict.index,
            elements: verdict.elements,
            detail: verdict.detail.clone(),
        }
    }
}

impl Capsule {
    /// Hash of the CUDA source, where it is known: of the program, or of what its PTX says that it was made of.
    fn source_hash(&self) -> Option<String> {
        match &self.program.as_ref()?.code {
            Code::Cuda(source) => Some(ptx::hash(source)),
            Code::Ptx(text) => ptx::source_hash(text).map(ToOwned::to_owned),
        }
    }

    /// Hash of the PTX, where there is one.
    fn ptx_hash(&self) -> Option<String> {
        match (&self.program.as_ref()?.code, &self.ptx) {
            (Code::Ptx(text), _) | (Code::Cuda(_), Some(text)) => Some(ptx::hash(text)),
            (Code::Cuda(_), None) => None,
        }
    }

    /// What the program was compiled with.
    fn flags(&self) -> String {
        match (self.program.as_ref().map(|program| &program.code), self.runner.executor.as_str()) {
            (Some(Code::Cuda(_)), "cuda") => {
                format!("--gpu-architecture={}", self.runner.arch.replacen("sm_", "compute_", 1))
            }
            (Some(Code::Cuda(_)), _) => format!("--gpu-architecture={}", ptx::ARCH),
            (Some(Code::Ptx(_)), _) => "none: it is PTX".into(),
            (None, _) => "none: no program was run".into(),
        }
    }
}

/// The failing launches that a run keeps: of each kernel and output the first [`MOST`] in the order of cases, whatever the order
/// in which threads finish them.
#[derive(Debug, Default)]
pub struct Shelf {
    launches: BTreeMap<usize, Box<FailingLaunch>>,
    places: BTreeMap<(&'static str, String), BTreeSet<usize>>,
}

impl Shelf {
    /// Offers the launch of a case, by its number and kernel.
    pub fn offer(&mut self, (index, kernel): (usize, &'static str), launch: Box<FailingLaunch>) {
        for verdict in launch.verdicts.iter().filter(|verdict| verdict.disposition == Disposition::Failed) {
            let places = self.places.entry((kernel, verdict.output.clone())).or_default();
            places.insert(index);
            if places.len() > MOST {
                places.pop_last();
            }
        }
        self.launches.insert(index, launch);
        let places = &self.places;
        self.launches.retain(|index, _| places.values().any(|kept| kept.contains(index)));
    }

    /// What is kept, by case number.
    pub fn kept(self) -> BTreeMap<usize, Box<FailingLaunch>> {
        self.launches
    }
}
