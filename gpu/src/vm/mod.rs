//! A virtual machine for PTX: runs what NVRTC, nvcc and Triton make of CUDA kernels, on any machine, and looks at them more
//! strictly than hardware does.
//!
//! A library of its own with a narrow door: [`Machine::load`] a text, [`Machine::alloc`] buffers, [`Machine::launch`], and read
//! what it found ([`Finding`]) and covered ([`FunctionCoverage`]). [`VmExecutor`] is the same behind the
//! [`Executor`](crate::Executor) trait. Nothing here knows this project's kernels, and nothing here is unsafe code.
//!
//! | part | does |
//! | --- | --- |
//! | `ptx` | text to syntax, errors with a line |
//! | `decode` | syntax to flat operations over register slots, once |
//! | `machine` | warps in lockstep over 32 lanes, blocks over the cores |
//! | `memory`, `races` | buffers with identity; who touched which word |
//! | `checks`, `coverage` | what is reported |

// The loops over lanes become vector code only where everything in them is inlined, and decoders are long flat tables.
// Masks are masks, and predicates combine without branches.
#![deny(unsafe_code)]
#![allow(clippy::inline_always, clippy::too_many_lines, clippy::verbose_bit_mask, clippy::needless_bitwise_bool)]

pub(crate) mod arith;
mod bits;
mod checks;
mod coverage;
mod decode;
mod executor;
mod machine;
mod memory;
mod options;
mod ptx;
mod races;

pub use arith::Approximation;
pub use checks::{Finding, FindingKind};
pub use coverage::{BlockCoverage, FunctionCoverage};
pub use decode::SUPPORTED;
pub use executor::{Compile, VmExecutor};
pub use options::Options;
pub use ptx::TextError;

use crate::executor::{Geometry, Resources};
use coverage::Counters;
use decode::code::Program;
use machine::grid::Run;
use memory::Memory;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};

/// The widest vectors that this processor has; fused multiply-add needs them to be fast.
static ARCH: LazyLock<pulp::Arch> = LazyLock::new(pulp::Arch::new);

/// A PTX text loaded into a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LoadedModule(usize);

/// A buffer of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MachineBuffer(usize);

/// Why a launch did not run to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// No such entry point.
    #[error("no entry point `{0}`")]
    NoEntry(String),
    /// The launch itself makes no sense: sizes, parameters.
    #[error("{0}")]
    Refused(String),
    /// The kernel broke rules.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Findings(Vec<Finding>),
}

/// What a launch did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchReport {
    /// Warp instructions run, counted by whole basic blocks.
    pub instructions: u64,
}

#[derive(Debug)]
struct Loaded {
    name: String,
    program: Arc<Program>,
    globals: Vec<u64>,
    counters: Counters,
    /// Its text, by which coverage says what a block is.
    text: String,
}

/// The machine: modules and memory.
#[derive(Debug, Default)]
pub struct Machine {
    options: Options,
    memory: Memory,
    modules: Vec<Loaded>,
    launches: u64,
}

impl Machine {
    /// A machine without modules or memory.
    pub fn new(options: Options) -> Self {
        Self { options, ..Self::default() }
    }

    /// Its options.
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// Changes seed and approximation for the launches to come; whether checks are made is fixed from the start, because memory
    /// that was written without them would look unwritten.
    pub const fn reseed(&mut self, seed: u64, approximation: Approximation) {
        self.options.seed = seed;
        self.options.approximation = approximation;
    }

    /// Parses and decodes a PTX text, and allocates its global variables.
    ///
    /// # Errors
    /// The first thing wrong with the text, with its line; instructions that the machine does not know are named with their kernel.
    pub fn load(&mut self, name: &str, text: &str) -> Result<LoadedModule, TextError> {
        let program = decode::load(text)?;
        let mut slots = Vec::new();
        for global in &program.globals {
            let slot =
                self.memory.alloc(format!("variable {}", global.name), global.bytes as usize, self.options.checks);
            let Some(slot) = slot else {
                for slot in slots {
                    self.memory.free(slot);
                }
                return Err(TextError::new(1, format!("no memory for variable `{}`", global.name)));
            };
            slots.push(slot);
        }
        for (global, &slot) in program.globals.iter().zip(&slots) {
            let mut bytes = global.init.clone();
            for &(at, of, distance) in &global.pointers {
                let address = Memory::address(slots[of as usize]).wrapping_add_signed(distance);
                if let Some(place) = bytes.get_mut(at..at + 8) {
                    place.copy_from_slice(&address.to_le_bytes());
                }
            }
            if let Some(allocation) = self.memory.get_mut(slot) {
                // The rest is zero.
                allocation.upload(0, &bytes);
                allocation.mark_all_set();
                if global.constant {
                    allocation.protected.push((0, allocation.bytes));
                }
            }
        }
        let counters = Counters::new(&program);
        let globals = slots.into_iter().map(Memory::address).collect();
        let text = text.to_owned();
        self.modules.push(Loaded { name: name.to_owned(), program: Arc::new(program), globals, counters, text });
        Ok(LoadedModule(self.modules.len() - 1))
    }

    /// The name that a module was loaded under.
    pub fn name(&self, module: LoadedModule) -> Option<&str> {
        self.modules.get(module.0).map(|m| m.name.as_str())
    }

    /// Names of a module's entry points, in the order of the text.
    pub fn entries(&self, module: LoadedModule) -> Vec<String> {
        let functions = self.modules.get(module.0).map_or(&[][..], |m| &m.program.functions);
        functions.iter().filter(|f| f.entry).map(|f| f.name.clone()).collect()
    }

    /// Sizes in bytes of an entry point's parameters.
    pub fn parameters(&self, module: LoadedModule, entry: &str) -> Option<Vec<usize>> {
        let function = self.modules.get(module.0)?.program.functions.iter().find(|f| f.entry && f.name == entry)?;
        Some(function.entry_params.iter().map(|p| p.bytes as usize).collect())
    }

    /// Bytes of local memory that a function's frame takes (arrays in registers that were indexed at run time end there).
    pub fn local_bytes(&self, module: LoadedModule, function: &str) -> Option<u32> {
        let functions = &self.modules.get(module.0)?.program.functions;
        functions.iter().find(|f| f.name == function).map(|f| f.local_bytes)
    }

    /// The text of a module.
    pub fn text(&self, module: LoadedModule) -> Option<&str> {
        self.modules.get(module.0).map(|m| m.text.as_str())
    }

    /// What the text says that an entry point takes, without the functions that it calls: virtual registers in words of 32 bits,
    /// and the variables that it declares or names.
    pub fn resources(&self, module: LoadedModule, entry: &str) -> Option<Resources> {
        let loaded = self.modules.get(module.0)?;
        let code = loaded.program.functions.iter().find(|f| f.entry && f.name == entry)?;
        let coverage = loaded.counters.report(&loaded.program, &loaded.text);
        let blocks = &coverage.iter().find(|function| function.name == entry)?.blocks;
        let word = |c: char| !(c.is_ascii_alphanumeric() || "_$".contains(c));
        let names = |name: &str| blocks.iter().any(|block| block.text.split(word).any(|part| part == name));
        let shared = loaded.program.shared.iter().filter(|variable| !variable.dynamic && names(&variable.name));
        Some(Resources {
            source: "ptx",
            registers: (code.word_names.len() + 2 * code.long_names.len()) as u32,
            local: code.local_bytes,
            shared: shared.map(|variable| variable.bytes).sum(),
        })
    }

    /// Allocates bytes that hold nothing yet; `None` when memory runs out.
    pub fn alloc(&mut self, name: &str, bytes: usize) -> Option<MachineBuffer> {
        self.memory.alloc(name.to_owned(), bytes, self.options.checks).map(MachineBuffer)
    }

    /// Frees a buffer.
    pub fn free(&mut self, buffer: MachineBuffer) {
        self.memory.free(buffer.0);
    }

    /// The name that findings give a buffer.
    pub fn rename(&mut self, buffer: MachineBuffer, name: &str) {
        if let Some(allocation) = self.memory.get_mut(buffer.0) {
            name.clone_into(&mut allocation.name);
        }
    }

    /// The size of a buffer; `None` if it is not there.
    pub fn bytes(&self, buffer: MachineBuffer) -> Option<usize> {
        self.memory.get(buffer.0).map(|a| a.bytes)
    }

    /// The address of a buffer's first byte, as kernels see it.
    pub fn address(&self, buffer: MachineBuffer) -> u64 {
        Memory::address(buffer.0)
    }

    /// Lets kernels only read bytes `from..to` of a buffer; with checks off this is not enforced.
    pub fn protect(&mut self, buffer: MachineBuffer, from: usize, to: usize) {
        if let Some(allocation) = self.memory.get_mut(buffer.0) {
            allocation.protected.push((from, to));
        }
    }

    /// Copies bytes in; `false` when they do not fit.
    #[must_use]
    pub fn upload(&mut self, buffer: MachineBuffer, at: usize, bytes: &[u8]) -> bool {
        let Some(allocation) = self.memory.get(buffer.0) else { return false };
        let fits = at.checked_add(bytes.len()).is_some_and(|end| end <= allocation.bytes);
        if fits {
            allocation.upload(at, bytes);
        }
        fits
    }

    /// Copies bytes out; `false` when there are not as many.
    #[must_use]
    pub fn download(&self, buffer: MachineBuffer, at: usize, bytes: &mut [u8]) -> bool {
        let Some(allocation) = self.memory.get(buffer.0) else { return false };
        let fits = at.checked_add(bytes.len()).is_some_and(|end| end <= allocation.bytes);
        if fits {
            allocation.download(at, bytes);
        }
        fits
    }

    /// Runs an entry point to its end. `parameters` holds each parameter's bytes.
    ///
    /// # Errors
    /// [`LaunchError::Findings`] when the kernel broke a rule; with checks off only what no run can go on from.
    pub fn launch(
        &mut self,
        module: LoadedModule,
        entry: &str,
        geometry: Geometry,
        dynamic_shared: u32,
        parameters: &[Vec<u8>],
    ) -> Result<LaunchReport, LaunchError> {
        let refuse = |why: String| Err(LaunchError::Refused(why));
        let Some(loaded) = self.modules.get(module.0) else { return Err(LaunchError::NoEntry(entry.to_owned())) };
        let program = Arc::clone(&loaded.program);
        let Some(index) = program.functions.iter().position(|f| f.entry && f.name == entry) else {
            return Err(LaunchError::NoEntry(entry.to_owned()));
        };
        let code = &program.functions[index];
        if code.entry_params.len() != parameters.len() {
            return refuse(format!("it takes {} arguments, {} were given", code.entry_params.len(), parameters.len()));
        }
        let mut bytes = vec![0; code.entry_param_bytes as usize];
        for (at, (param, given)) in code.entry_params.iter().zip(parameters).enumerate() {
            if param.bytes as usize != given.len() {
                return refuse(format!("argument {at} has {} bytes, {} were given", param.bytes, given.len()));
            }
            let from = param.offset as usize;
            bytes[from..from + given.len()].copy_from_slice(given);
        }
        let [bx, by, bz] = geometry.block.map(u64::from);
        let threads = bx * by * bz;
        if threads == 0 || threads > 1024 || bz > 64 || code.max_threads != 0 && threads > code.max_threads {
            return refuse(format!(
                "a block of {threads} threads is not possible{}",
                if code.max_threads == 0 {
                    String::new()
                } else {
                    format!(": the kernel is built for {}", code.max_threads)
                }
            ));
        }
        let [gx, gy, gz] = geometry.grid;
        if gx == 0 || gy == 0 || gz == 0 || gx > i32::MAX as u32 || gy > 65535 || gz > 65535 {
            return refuse(format!("a grid of ({gx}, {gy}, {gz}) blocks is not possible"));
        }
        if dynamic_shared > 227 << 10 {
            return refuse(format!("{dynamic_shared} bytes of dynamic shared memory are more than a block can have"));
        }
        if self.launches.is_multiple_of(races::MAX_LAUNCHES) {
            self.memory.forget_races();
        }
        let stamp = self.launches % races::MAX_LAUNCHES + 1;
        self.launches += 1;
        let run = Run {
            program: &program,
            entry: index as u32,
            memory: &self.memory,
            globals: &loaded.globals,
            geometry,
            params: &bytes,
            dynamic_shared,
            options: &self.options,
            stamp,
            counters: &loaded.counters,
            abort: AtomicBool::new(false),
            instructions: AtomicU64::new(0),
        };
        let findings = run.go();
        let instructions = run.instructions.load(Relaxed);
        if findings.is_empty() {
            Ok(LaunchReport { instructions })
        } else {
            Err(LaunchError::Findings(findings.into_list()))
        }
    }

    /// What has run of a module since it was loaded.
    pub fn coverage(&self, module: LoadedModule) -> Vec<FunctionCoverage> {
        self.modules.get(module.0).map_or_else(Vec::new, |m| m.counters.report(&m.program, &m.text))
    }
}
