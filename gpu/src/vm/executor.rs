//! The machine behind the [`Executor`] trait.

use super::{FunctionCoverage, LaunchError, LoadedModule, Machine, MachineBuffer, Options};
use crate::executor::{Argument, Buffer, Code, Description, Error, Executor, Launch, Module, Program, Resources, Work};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Makes PTX of CUDA source: the program's name and its text to PTX, or the compiler's error.
pub type Compile = fn(&str, &str) -> Result<String, Error>;

/// Runs kernels on the virtual machine.
#[derive(Debug)]
pub struct VmExecutor {
    machine: Machine,
    compile: Option<Compile>,
    loaded: HashMap<Program, Module>,
    modules: Vec<LoadedModule>,
    buffers: Vec<Option<Guarded>>,
    /// Warp instructions of all launches so far.
    instructions: u64,
}

/// A buffer whose exposed bytes are the machine's. What lies around them is kept here: to the kernel it does not exist, so that
/// an access to a guard word is out of bounds by name.
#[derive(Debug)]
struct Guarded {
    inside: MachineBuffer,
    from: usize,
    to: usize,
    image: Vec<u8>,
}

impl VmExecutor {
    /// An executor that takes PTX only.
    pub fn new(options: Options) -> Self {
        Self {
            machine: Machine::new(options),
            compile: None,
            loaded: HashMap::new(),
            modules: Vec::new(),
            buffers: Vec::new(),
            instructions: 0,
        }
    }

    /// Takes CUDA source too, through a compiler.
    #[must_use]
    pub fn with_compiler(mut self, compile: Compile) -> Self {
        self.compile = Some(compile);
        self
    }

    /// The machine, for coverage and options.
    pub const fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The machine, to change its seed.
    pub const fn machine_mut(&mut self) -> &mut Machine {
        &mut self.machine
    }

    /// The machine's name of a module.
    pub fn module(&self, module: Module) -> Option<LoadedModule> {
        self.modules.get(module.0).copied()
    }

    fn buffer(&mut self, buffer: Buffer, operation: &str) -> Result<&mut Guarded, Error> {
        let found = self.buffers.get_mut(buffer.0).and_then(Option::as_mut);
        found.ok_or_else(|| Error::Memory {
            operation: operation.to_owned(),
            detail: format!("there is no buffer {}", buffer.0),
        })
    }
}

impl VmExecutor {
    fn machine_buffer(&mut self, number: usize, bytes: usize) -> Result<MachineBuffer, Error> {
        self.machine.alloc(&format!("buffer {number}"), bytes).ok_or_else(|| Error::Memory {
            operation: format!("allocating {bytes} bytes"),
            detail: "out of memory".to_owned(),
        })
    }
}

impl Executor for VmExecutor {
    fn describe(&self) -> Description {
        Description {
            executor: "vm",
            device: "PTX virtual machine".to_owned(),
            arch: "any of sm_75 to sm_120".to_owned(),
            versions: format!(
                "gdn-gpu {}, checks {}",
                env!("CARGO_PKG_VERSION"),
                if self.machine.options().checks { "on" } else { "off" }
            ),
        }
    }

    fn fork(&self) -> Result<Box<dyn Executor>, Error> {
        let mut other = Self::new(*self.machine.options());
        other.compile = self.compile;
        Ok(Box::new(other))
    }

    fn load(&mut self, program: &Program) -> Result<Module, Error> {
        if let Some(&module) = self.loaded.get(program) {
            return Ok(module);
        }
        let compiled;
        let text = match &program.code {
            Code::Ptx(text) => text,
            Code::Cuda(source) => {
                let Some(compile) = self.compile else {
                    return Err(Error::NoCompiler { detail: "the virtual machine was given PTX only".to_owned() });
                };
                compiled = compile(&program.name, source)?;
                &compiled
            }
        };
        let loaded = self.machine.load(&program.name, text);
        let loaded =
            loaded.map_err(|error| Error::Compile { program: program.name.clone(), log: error.to_string() })?;
        let module = Module(self.modules.len());
        self.modules.push(loaded);
        self.loaded.insert(program.clone(), module);
        Ok(module)
    }

    fn entries(&self, module: Module) -> Vec<String> {
        self.modules.get(module.0).map_or_else(Vec::new, |&m| self.machine.entries(m))
    }

    fn coverage(&self, module: Module) -> Vec<FunctionCoverage> {
        self.module(module).map_or_else(Vec::new, |module| self.machine.coverage(module))
    }

    fn alloc(&mut self, bytes: usize) -> Result<Buffer, Error> {
        let number = self.buffers.len();
        let inside = self.machine_buffer(number, bytes)?;
        self.buffers.push(Some(Guarded { inside, from: 0, to: bytes, image: vec![0; bytes] }));
        Ok(Buffer(number))
    }

    fn free(&mut self, buffer: Buffer) {
        if let Some(found) = self.buffers.get_mut(buffer.0).and_then(Option::take) {
            self.machine.free(found.inside);
        }
    }

    fn expose(&mut self, buffer: Buffer, from: usize, to: usize, writable: bool) {
        let Some(whole) = self.buffers.get_mut(buffer.0).and_then(Option::take) else { return };
        let (from, to) = (from.min(whole.image.len()), to.min(whole.image.len()));
        self.machine.free(whole.inside);
        let Ok(inside) = self.machine_buffer(buffer.0, to - from) else { return };
        if !writable {
            self.machine.protect(inside, 0, to - from);
        }
        self.buffers[buffer.0] = Some(Guarded { inside, from, to, ..whole });
    }

    fn upload(&mut self, buffer: Buffer, at: usize, bytes: &[u8]) -> Result<(), Error> {
        let operation = format!("uploading {} bytes to byte {at} of buffer {}", bytes.len(), buffer.0);
        let found = self.buffer(buffer, &operation)?;
        let (inside, from, to) = (found.inside, found.from, found.to);
        let end = at.saturating_add(bytes.len());
        let Some(place) = found.image.get_mut(at..end) else {
            return Err(Error::Memory { operation, detail: "they do not fit".to_owned() });
        };
        place.copy_from_slice(bytes);
        let (first, last) = (at.max(from), end.min(to));
        if first < last && !self.machine.upload(inside, first - from, &bytes[first - at..last - at]) {
            return Err(Error::Memory { operation, detail: "they do not fit".to_owned() });
        }
        Ok(())
    }

    fn download(&mut self, buffer: Buffer, at: usize, bytes: &mut [u8]) -> Result<(), Error> {
        let operation = format!("downloading {} bytes from byte {at} of buffer {}", bytes.len(), buffer.0);
        let found = self.buffer(buffer, &operation)?;
        let (inside, from, to) = (found.inside, found.from, found.to);
        let end = at.saturating_add(bytes.len());
        let Some(place) = found.image.get(at..end) else {
            return Err(Error::Memory { operation, detail: "there are not as many".to_owned() });
        };
        bytes.copy_from_slice(place);
        let (first, last) = (at.max(from), end.min(to));
        if first < last && !self.machine.download(inside, first - from, &mut bytes[first - at..last - at]) {
            return Err(Error::Memory { operation, detail: "there are not as many".to_owned() });
        }
        Ok(())
    }

    fn launch(&mut self, launch: &Launch) -> Result<(), Error> {
        let failed = |detail: String| Error::Launch { entry: launch.entry.clone(), geometry: launch.geometry, detail };
        let Some(&module) = self.modules.get(launch.module.0) else {
            return Err(failed("its module is not loaded".to_owned()));
        };
        let mut parameters = Vec::new();
        for (at, argument) in launch.arguments.iter().enumerate() {
            parameters.push(match *argument {
                Argument::Pointer { buffer, offset } => {
                    let found = self.buffer(buffer, "launching").map_err(|error| failed(error.to_string()))?;
                    let (inside, from) = (found.inside, found.from as u64);
                    self.machine.rename(inside, &format!("argument {at} (buffer {})", buffer.0));
                    let start = self.machine.address(inside).wrapping_sub(from);
                    start.wrapping_add_signed(offset).to_le_bytes().to_vec()
                }
                Argument::I32(value) => value.to_le_bytes().to_vec(),
                Argument::F32(value) => value.to_le_bytes().to_vec(),
            });
        }
        let result = self.machine.launch(module, &launch.entry, launch.geometry, 0, &parameters);
        if let Ok(report) = &result {
            self.instructions += report.instructions;
        }
        result.map(|_| ()).map_err(|error| match error {
            LaunchError::NoEntry(entry) => {
                let program = self
                    .loaded
                    .iter()
                    .find(|(_, m)| **m == launch.module)
                    .map_or_else(String::new, |(p, _)| p.name.clone());
                Error::NoEntry { program, entry }
            }
            LaunchError::Refused(detail) => failed(detail),
            LaunchError::Findings(findings) => Error::Fault {
                entry: launch.entry.clone(),
                findings: findings.iter().map(ToString::to_string).collect(),
            },
        })
    }

    fn synchronize(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn time(&mut self, launch: &Launch, repeats: usize) -> Result<Vec<Duration>, Error> {
        let mut times = Vec::with_capacity(repeats);
        for _ in 0..repeats {
            let start = Instant::now();
            self.launch(launch)?;
            times.push(start.elapsed());
        }
        Ok(times)
    }

    fn time_batch(&mut self, work: Work<'_>, count: usize) -> Result<Duration, Error> {
        let start = Instant::now();
        for _ in 0..count {
            match work {
                Work::Launch(launch) => self.launch(launch)?,
                Work::Copy { from, to, bytes } => {
                    let mut held = vec![0; bytes];
                    self.download(from, 0, &mut held)?;
                    self.upload(to, 0, &held)?;
                }
            }
        }
        Ok(start.elapsed())
    }

    fn ptx(&self, module: Module) -> Option<String> {
        self.machine.text(self.module(module)?).map(ToOwned::to_owned)
    }

    fn resources(&mut self, module: Module, entry: &str) -> Result<Resources, Error> {
        let no_entry = || Error::NoEntry { program: "this machine".to_owned(), entry: entry.to_owned() };
        let module = self.module(module).ok_or_else(no_entry)?;
        self.machine.resources(module, entry).ok_or_else(no_entry)
    }

    fn instructions(&self) -> Option<u64> {
        Some(self.instructions)
    }
}
