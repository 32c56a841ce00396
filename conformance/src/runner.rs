//! What a case is run with: an executor, or, where there is none, the f32 model of a correct kernel.

use gdn_gpu::contract::{Shape, Source};
use gdn_gpu::executor::{Code, Description, Module, Program, Resources};
use gdn_gpu::run::{self, Outcome, Tensors};
use gdn_gpu::vm::FunctionCoverage;
use gdn_gpu::{Executor, contracts, ptx};

use crate::error::Error;
use crate::family::Suite;

/// Runs one launch of a kernel under its contract.
pub enum Runner {
    /// The kernels, on an executor.
    Kernels {
        /// The executor.
        executor: Box<dyn Executor>,
        /// The programs that are loaded.
        programs: Vec<Program>,
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
    pub fn kernels(executor: Box<dyn Executor>) -> Result<Self, Error> {
        Self::programs(executor, Source::ALL.map(gdn_gpu::program).into())
    }

    /// Anybody's programs on an executor. A kernel is found in them by its entry point's name.
    ///
    /// # Errors
    /// Where they do not compile or load.
    pub fn programs(mut executor: Box<dyn Executor>, programs: Vec<Program>) -> Result<Self, Error> {
        for program in &programs {
            executor.load(program)?;
        }
        Ok(Self::Kernels { executor, programs })
    }

    /// The module that holds a kernel, or nothing where no program does.
    fn module(&mut self, kernel: &str) -> Result<Option<Module>, Error> {
        let Self::Kernels { executor, programs } = self else { return Ok(None) };
        for program in programs {
            // Loading again gives the module that is loaded.
            let module = executor.load(program)?;
            if executor.entries(module).iter().any(|entry| entry == kernel) {
                return Ok(Some(module));
            }
        }
        Ok(None)
    }

    /// The program that holds a kernel, or nothing where none does.
    ///
    /// # Errors
    /// When the device no longer answers.
    pub fn program(&mut self, kernel: &str) -> Result<Option<Program>, Error> {
        let module = self.module(kernel)?;
        let Self::Kernels { executor, programs } = self else { return Ok(None) };
        for program in programs {
            if Some(executor.load(program)?) == module {
                return Ok(Some(program.clone()));
            }
        }
        Ok(None)
    }

    /// Whether a kernel can be run: the model has all of them.
    ///
    /// # Errors
    /// When the device no longer answers.
    pub fn has(&mut self, kernel: &str) -> Result<bool, Error> {
        Ok(matches!(self, Self::Model) || self.module(kernel)?.is_some())
    }

    /// Entry points that no contract knows.
    ///
    /// # Errors
    /// When the device no longer answers.
    pub fn unknown_entries(&mut self) -> Result<Vec<String>, Error> {
        let Self::Kernels { executor, programs } = self else { return Ok(Vec::new()) };
        let mut unknown = Vec::new();
        for program in programs {
            let module = executor.load(program)?;
            unknown.extend(executor.entries(module).into_iter().filter(|entry| contracts::find(entry).is_none()));
        }
        Ok(unknown)
    }

    /// Which basic blocks of its programs ran, on an executor that can see them.
    ///
    /// # Errors
    /// When the device no longer answers.
    pub fn coverage(&mut self) -> Result<Vec<FunctionCoverage>, Error> {
        let Self::Kernels { executor, programs } = self else { return Ok(Vec::new()) };
        let mut functions = Vec::new();
        for program in programs {
            let module = executor.load(program)?;
            functions.extend(executor.coverage(module));
        }
        Ok(functions)
    }

    /// Another runner of the same kind for another thread.
    ///
    /// # Errors
    /// When the device no longer answers.
    pub fn fork(&self) -> Result<Self, Error> {
        match self {
            Self::Kernels { executor, programs } => Self::programs(executor.fork()?, programs.clone()),
            Self::Model => Ok(Self::Model),
        }
    }

    /// The program that holds a kernel, its PTX, and what the kernel takes; nothing where no program does.
    ///
    /// # Errors
    /// When the device no longer answers, or does not say.
    pub fn program_of(&mut self, kernel: &str) -> Result<Option<(String, String, Resources)>, Error> {
        let Some(module) = self.module(kernel)? else { return Ok(None) };
        let name = self.program(kernel)?.map(|program| program.name).unwrap_or_default();
        let Self::Kernels { executor, .. } = self else { return Ok(None) };
        let resources = executor.resources(module, kernel)?;
        Ok(executor.ptx(module).map(|text| (name, text, resources)))
    }

    /// A runner of other programs on the same executor; a model has none.
    ///
    /// # Errors
    /// Where they do not compile or load.
    pub fn beside(&self, programs: Vec<Program>) -> Result<Option<Self>, Error> {
        match self {
            Self::Kernels { executor, .. } => Ok(Some(Self::programs(executor.fork()?, programs)?)),
            Self::Model => Ok(None),
        }
    }

    /// Warp instructions run so far, where the executor counts them.
    pub fn instructions(&self) -> Option<u64> {
        match self {
            Self::Kernels { executor, .. } => executor.instructions(),
            Self::Model => None,
        }
    }

    /// The executor, to time on.
    pub fn executor(&mut self) -> Option<&mut dyn Executor> {
        match self {
            Self::Kernels { executor, .. } => Some(executor.as_mut()),
            Self::Model => None,
        }
    }

    /// Another runner of the same kind, of its programs' PTX with an edit; a model has none, and comes back as it is.
    ///
    /// # Errors
    /// Where a program does not compile, or its edited PTX does not load.
    pub fn edited(&self, edit: impl Fn(&str) -> String) -> Result<Self, Error> {
        let Self::Kernels { executor, programs } = self else { return Ok(Self::Model) };
        let mut edited = Vec::new();
        for Program { name, code } in programs {
            let text = match code {
                Code::Ptx(text) => edit(text),
                Code::Cuda(source) => edit(&ptx::of(name, source)?),
            };
            edited.push(Program { name: name.clone(), code: Code::Ptx(text) });
        }
        Self::programs(executor.fork()?, edited)
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
        let module = self.module(contract.kernel)?;
        match self {
            Self::Kernels { executor, programs } => {
                let module = module.ok_or_else(|| gdn_gpu::Error::NoEntry {
                    program: programs.iter().map(|program| program.name.as_str()).collect::<Vec<_>>().join(", "),
                    entry: contract.kernel.into(),
                })?;
                Ok(run::run(executor.as_mut(), module, contract, shape, inputs)?)
            }
            Self::Model => {
                contract.check(shape)?;
                Ok(Outcome { outputs: suite.model(shape, inputs, seed)?, findings: Vec::new() })
            }
        }
    }
}
