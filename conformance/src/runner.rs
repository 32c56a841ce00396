//! What a case is run with: an executor, or, where there is none, the f32 model of a correct kernel.

use gdn_gpu::Executor;
use gdn_gpu::contract::{Contract, Shape, Source};
use gdn_gpu::executor::{Description, Module};
use gdn_gpu::run::{self, Outcome, Tensors};

use crate::error::Error;
use crate::family::Suite;

/// Runs one launch of a kernel under its contract.
pub enum Runner {
    /// The kernels, on an executor.
    Kernels {
        /// The executor.
        executor: Box<dyn Executor>,
        /// The loaded program of each source, in the order of [`Source::ALL`].
        modules: Vec<Module>,
    },
    /// The f32 model: the reference evaluated in f32, in a random order of operations, every function at an edge of its
    /// budget. It tests the bounds, and no kernel.
    Model,
}

impl Runner {
    /// The shipped kernels on an executor.
    ///
    /// # Errors
    /// Where they do not compile or load.
    pub fn kernels(mut executor: Box<dyn Executor>) -> Result<Self, Error> {
        let programs = Source::ALL.map(gdn_gpu::program);
        let modules = programs.iter().map(|program| executor.load(program)).collect::<Result<_, _>>()?;
        Ok(Self::Kernels { executor, modules })
    }

    /// Another runner of the same kind for another thread.
    ///
    /// # Errors
    /// When the device no longer answers.
    pub fn fork(&self) -> Result<Self, Error> {
        match self {
            Self::Kernels { executor, .. } => Self::kernels(executor.fork()?),
            Self::Model => Ok(Self::Model),
        }
    }

    /// Who runs the cases.
    pub fn describe(&self) -> Description {
        match self {
            Self::Kernels { executor, .. } => executor.describe(),
            Self::Model => Description {
                executor: "model",
                device: "f32 model of a correct kernel on the CPU; no kernel was run".into(),
                arch: std::env::consts::ARCH.into(),
                versions: format!("gdn-conformance {}", env!("CARGO_PKG_VERSION")),
            },
        }
    }

    /// Runs one launch on checked inputs.
    ///
    /// # Errors
    /// Inputs outside of the contract; what the executor ran into.
    pub fn run(&mut self, suite: &dyn Suite, shape: &Shape, inputs: &Tensors, seed: u64) -> Result<Outcome, Error> {
        let contract = suite.contract();
        match self {
            Self::Kernels { executor, modules } => {
                let module = modules[source_index(contract)];
                Ok(run::run(executor.as_mut(), module, contract, shape, inputs)?)
            }
            Self::Model => {
                contract.check(shape)?;
                Ok(Outcome { outputs: suite.model(shape, inputs, seed)?, findings: Vec::new() })
            }
        }
    }
}

fn source_index(contract: &Contract) -> usize {
    Source::ALL.iter().position(|&source| source == contract.source).unwrap_or(0)
}
