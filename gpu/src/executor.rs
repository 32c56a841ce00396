//! The seam between contracts and whatever runs a kernel: modules, buffers, launches, times.
//!
//! Nothing here knows this project's kernels. Two executors implement [`Executor`]: `cuda` (a device, through cudarc) and
//! `vm` (the PTX virtual machine).

use std::time::Duration;

use crate::vm::FunctionCoverage;

/// Program text that an executor can load.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// CUDA C++ for NVRTC, which needs no header.
    Cuda(String),
    /// PTX.
    Ptx(String),
}

/// A named program: the name appears in every message about it (`gdn`, or a user's file name).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    /// Name for messages.
    pub name: String,
    /// Its text.
    pub code: Code,
}

/// A loaded program, valid in the executor that loaded it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Module(pub usize);

/// A buffer in an executor's memory, valid in the executor that allocated it until it is freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Buffer(pub usize);

/// What a launch passes to an entry point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Argument {
    /// The address `offset` bytes from the start of a buffer. It may lie outside of the buffer (a row `pos · stride` behind a
    /// base of which only a window is allocated); what the kernel accesses may not.
    Pointer {
        /// The buffer that the accesses must stay in.
        buffer: Buffer,
        /// Signed distance in bytes.
        offset: i64,
    },
    /// A 32-bit integer.
    I32(i32),
    /// A 32-bit float.
    F32(f32),
}

/// Grid and block sizes of a launch, in blocks and threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Geometry {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
}

impl std::fmt::Display for Geometry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [gx, gy, gz] = self.grid;
        let [bx, by, bz] = self.block;
        write!(f, "grid ({gx}, {gy}, {gz}) × block ({bx}, {by}, {bz})")
    }
}

/// One launch of an entry point.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The program that holds the entry point.
    pub module: Module,
    /// Name of the entry point.
    pub entry: String,
    /// Grid and block.
    pub geometry: Geometry,
    /// Arguments in the order of the entry point's parameters.
    pub arguments: Vec<Argument>,
}

/// What an entry point takes of whoever runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Who says so: `driver`, or `ptx`, whose registers are virtual ones and no count of a device's.
    pub source: &'static str,
    /// Registers of a thread, of 32 bits.
    pub registers: u32,
    /// Bytes of local memory of a thread: spills, and arrays indexed at run time.
    pub local: u32,
    /// Bytes of static shared memory of a block.
    pub shared: u32,
}

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work<'a> {
    /// A launch.
    Launch(&'a Launch),
    /// A copy of the first `bytes` bytes of one buffer to another.
    Copy {
        /// Where from.
        from: Buffer,
        /// Where to.
        to: Buffer,
        /// How many.
        bytes: usize,
    },
}

/// Who runs the kernels, for the line that says so and for report headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// `cuda` or `vm`.
    pub executor: &'static str,
    /// The device, in words.
    pub device: String,
    /// Architecture compiled for, such as `sm_90`.
    pub arch: String,
    /// Driver and compiler versions, in words.
    pub versions: String,
}

/// Why an executor could not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No CUDA driver library on this machine.
    #[error("no CUDA driver was found ({detail}); install the NVIDIA driver, or use an executor that needs none")]
    NoDriver {
        /// What the loader said.
        detail: String,
    },
    /// The driver answers, but there is no device.
    #[error("the CUDA driver found no device ({detail}); check `nvidia-smi` and CUDA_VISIBLE_DEVICES")]
    NoDevice {
        /// What the driver said.
        detail: String,
    },
    /// The device is older than the kernels support.
    #[error("{device} has compute capability {found}, below {needed}, the least that these kernels are built for")]
    UnsupportedCapability {
        /// The device.
        device: String,
        /// Its capability, such as `6.1`.
        found: String,
        /// The least supported.
        needed: String,
    },
    /// No NVRTC to compile with.
    #[error(
        "NVRTC was not found ({detail}); install a CUDA toolkit, or `pip install nvidia-cuda-nvrtc` in the active Python environment"
    )]
    NoCompiler {
        /// Where it was looked for.
        detail: String,
    },
    /// The program does not compile, or its PTX does not load.
    #[error("{program} does not compile:\n{log}")]
    Compile {
        /// The program's name.
        program: String,
        /// The compiler's log.
        log: String,
    },
    /// The program has no such entry point.
    #[error("{program} has no entry point `{entry}`")]
    NoEntry {
        /// The program's name.
        program: String,
        /// The entry point asked for.
        entry: String,
    },
    /// A launch was refused, or the kernel faulted or hung.
    #[error("`{entry}` failed at {geometry}: {detail}")]
    Launch {
        /// The entry point.
        entry: String,
        /// Its geometry.
        geometry: Geometry,
        /// What happened.
        detail: String,
    },
    /// The machine's checks found a fault in the kernel: each a line naming kernel, place, thread and address.
    #[error("`{entry}` broke the rules of the machine:\n{}", findings.join("\n"))]
    Fault {
        /// The entry point.
        entry: String,
        /// The findings.
        findings: Vec<String>,
    },
    /// Memory could not be had, or a transfer failed.
    #[error("{operation} failed: {detail}")]
    Memory {
        /// What was tried.
        operation: String,
        /// What went wrong.
        detail: String,
    },
}

/// Runs kernels: loads programs, holds buffers, launches, times.
///
/// Calls are made from one thread at a time. [`Executor::fork`] gives another thread an executor of the same device.
/// Work is queued in order; [`Executor::download`] and [`Executor::synchronize`] wait for what came before.
pub trait Executor: Send {
    /// Who this is.
    fn describe(&self) -> Description;

    /// Another executor on the same device, for another thread.
    ///
    /// # Errors
    /// When the device no longer answers.
    fn fork(&self) -> Result<Box<dyn Executor>, Error>;

    /// Compiles where needed and loads a program. Loading the same program again gives the same module.
    ///
    /// # Errors
    /// [`Error::Compile`] with the compiler's log, or [`Error::NoCompiler`].
    fn load(&mut self, program: &Program) -> Result<Module, Error>;

    /// Entry points of a loaded program, in the order of its text.
    fn entries(&self, module: Module) -> Vec<String>;

    /// Which basic blocks of a loaded program its launches have run; nothing from an executor that cannot see them.
    fn coverage(&self, module: Module) -> Vec<FunctionCoverage> {
        let _ = module;
        Vec::new()
    }

    /// Allocates `bytes` bytes, aligned to 256; what they hold is unspecified.
    ///
    /// # Errors
    /// [`Error::Memory`].
    fn alloc(&mut self, bytes: usize) -> Result<Buffer, Error>;

    /// Frees a buffer.
    fn free(&mut self, buffer: Buffer);

    /// Declares, before anything is uploaded, that a kernel may touch bytes `from..to` of a buffer and nothing else of it, and
    /// whether it may write them.
    ///
    /// What lies outside is guard words. An executor that cannot watch accesses ignores this; the guard words still show
    /// what was written.
    fn expose(&mut self, buffer: Buffer, from: usize, to: usize, writable: bool) {
        let _ = (buffer, from, to, writable);
    }

    /// Copies bytes into a buffer, from its byte `at` on.
    ///
    /// # Errors
    /// [`Error::Memory`].
    fn upload(&mut self, buffer: Buffer, at: usize, bytes: &[u8]) -> Result<(), Error>;

    /// Copies a buffer's bytes out, from its byte `at` on.
    ///
    /// # Errors
    /// [`Error::Memory`], or what an earlier launch ran into.
    fn download(&mut self, buffer: Buffer, at: usize, bytes: &mut [u8]) -> Result<(), Error>;

    /// Launches an entry point.
    ///
    /// # Errors
    /// [`Error::NoEntry`], [`Error::Launch`], [`Error::Fault`].
    fn launch(&mut self, launch: &Launch) -> Result<(), Error>;

    /// Waits until all launches have ended.
    ///
    /// # Errors
    /// What a launch ran into.
    fn synchronize(&mut self) -> Result<(), Error>;

    /// Times `repeats` launches, one duration each, measured by the device where it can.
    ///
    /// # Errors
    /// As [`Executor::launch`].
    fn time(&mut self, launch: &Launch, repeats: usize) -> Result<Vec<Duration>, Error>;

    /// Times `count` repeats of some work as a whole, one after the other without a pause, measured by the device where it can.
    ///
    /// # Errors
    /// As [`Executor::launch`]; [`Error::Memory`] where buffers do not hold as many bytes.
    fn time_batch(&mut self, work: Work<'_>, count: usize) -> Result<Duration, Error>;

    /// The PTX that a loaded program runs.
    fn ptx(&self, module: Module) -> Option<String>;

    /// What an entry point of a loaded program takes.
    ///
    /// # Errors
    /// [`Error::NoEntry`], or [`Error::Memory`] where the device does not say.
    fn resources(&mut self, module: Module, entry: &str) -> Result<Resources, Error>;

    /// Warp instructions run so far, from an executor that counts them. They are the same on every run of the same launches.
    fn instructions(&self) -> Option<u64> {
        None
    }
}
