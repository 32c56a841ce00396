//! The machine behind the [`Executor`] trait.

use super::{LaunchError, LoadedModule, Machine, MachineBuffer, Options};
use crate::executor::{Argument, Buffer, Code, Description, Error, Executor, Launch, Module, Program};
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
    buffers: Vec<Option<MachineBuffer>>,
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

    fn buffer(&self, buffer: Buffer, operation: &str) -> Result<MachineBuffer, Error> {
        let found = self.buffers.get(buffer.0).copied().flatten();
        found.ok_or_else(|| Error::Memory {
            operation: operation.to_owned(),
            detail: format!("there is no buffer {}", buffer.0),
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

    fn alloc(&mut self, bytes: usize) -> Result<Buffer, Error> {
        let number = self.buffers.len();
        let Some(buffer) = self.machine.alloc(&format!("buffer {number}"), bytes) else {
            return Err(Error::Memory {
                operation: format!("allocating {bytes} bytes"),
                detail: "out of memory".to_owned(),
            });
        };
        self.buffers.push(Some(buffer));
        Ok(Buffer(number))
    }

    fn free(&mut self, buffer: Buffer) {
        if let Some(found) = self.buffers.get_mut(buffer.0).and_then(Option::take) {
            self.machine.free(found);
        }
    }

    fn protect(&mut self, buffer: Buffer, from: usize, to: usize) {
        if let Ok(found) = self.buffer(buffer, "protecting") {
            self.machine.protect(found, from, to);
        }
    }

    fn upload(&mut self, buffer: Buffer, at: usize, bytes: &[u8]) -> Result<(), Error> {
        let operation = format!("uploading {} bytes to byte {at} of buffer {}", bytes.len(), buffer.0);
        let found = self.buffer(buffer, &operation)?;
        if self.machine.upload(found, at, bytes) {
            Ok(())
        } else {
            Err(Error::Memory { operation, detail: "they do not fit".to_owned() })
        }
    }

    fn download(&mut self, buffer: Buffer, at: usize, bytes: &mut [u8]) -> Result<(), Error> {
        let operation = format!("downloading {} bytes from byte {at} of buffer {}", bytes.len(), buffer.0);
        let found = self.buffer(buffer, &operation)?;
        if self.machine.download(found, at, bytes) {
            Ok(())
        } else {
            Err(Error::Memory { operation, detail: "there are not as many".to_owned() })
        }
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
                    self.machine.rename(found, &format!("argument {at} (buffer {})", buffer.0));
                    self.machine.address(found).wrapping_add_signed(offset).to_le_bytes().to_vec()
                }
                Argument::I32(value) => value.to_le_bytes().to_vec(),
                Argument::F32(value) => value.to_le_bytes().to_vec(),
            });
        }
        let result = self.machine.launch(module, &launch.entry, launch.geometry, 0, &parameters);
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
}
