//! The CUDA executor: driver API through cudarc, loaded at run time, so that the workspace builds and starts anywhere.

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cudarc::driver::result::{self, DriverError};

use crate::executor::{
    Argument, Buffer, Code, Description, Error, Executor, Geometry, Launch, Module, Program, Resources, Work,
};
use crate::nvrtc::Nvrtc;

mod driver;
mod signature;

use driver::{Context, Function, LoadedModule, Stream};
use signature::signatures;

/// Oldest compute capability that CUDA 13 still compiles for.
const LEAST_CAPABILITY: (i32, i32) = (7, 5);

/// What forks share: the device's primary context and the modules loaded in it.
struct Device {
    context: Context,
    name: String,
    capability: (i32, i32),
    driver: i32,
    modules: Mutex<Vec<(Program, Arc<LoadedModule>)>>,
}

/// An executor on the first CUDA device, with a stream of its own.
pub struct CudaExecutor {
    device: Arc<Device>,
    stream: Stream,
    buffers: Vec<Option<(u64, usize)>>,
    /// Entry points asked for so far: the module, and the place of the entry in it.
    functions: HashMap<(Module, String), (Function, Arc<LoadedModule>, usize)>,
    /// What was launched last: an asynchronous error is reported with it.
    last: Option<(String, Geometry)>,
}

/// Opens the first CUDA device.
///
/// # Errors
/// [`Error::NoDriver`], [`Error::NoDevice`], [`Error::UnsupportedCapability`].
pub fn open() -> Result<CudaExecutor, Error> {
    if !driver::is_present() {
        return Err(Error::NoDriver { detail: "libcuda.so cannot be loaded".into() });
    }
    let no_device = |error: DriverError| Error::NoDevice { detail: describe(error) };
    result::init().map_err(no_device)?;
    if result::device::get_count().map_err(no_device)? == 0 {
        return Err(Error::NoDevice { detail: "it counts none".into() });
    }
    let ordinal = result::device::get(0).map_err(no_device)?;
    let name = result::device::get_name(ordinal).map_err(no_device)?;
    let capability = driver::capability(ordinal).map_err(no_device)?;
    if capability < LEAST_CAPABILITY {
        let dotted = |(major, minor): (i32, i32)| format!("{major}.{minor}");
        return Err(Error::UnsupportedCapability {
            device: name,
            found: dotted(capability),
            needed: dotted(LEAST_CAPABILITY),
        });
    }
    let context = Context::retain(ordinal).map_err(no_device)?;
    let device = Device { context, name, capability, driver: driver::version(), modules: Mutex::new(Vec::new()) };
    CudaExecutor::on(Arc::new(device))
}

/// How many devices the driver counts; none where there is no driver.
pub fn count() -> u32 {
    if !driver::is_present() || result::init().is_err() {
        return 0;
    }
    result::device::get_count().ok().and_then(|count| u32::try_from(count).ok()).unwrap_or(0)
}

fn describe(error: DriverError) -> String {
    let text = error.error_string().map(|text| text.to_string_lossy().into_owned());
    text.unwrap_or_else(|_| format!("{error:?}"))
}

/// Bytes that an argument fills.
const fn size(argument: &Argument) -> usize {
    match argument {
        Argument::Pointer { .. } => 8,
        Argument::I32(_) | Argument::F32(_) => 4,
    }
}

fn memory(operation: impl Into<String>) -> impl FnOnce(DriverError) -> Error {
    let operation = operation.into();
    move |error| Error::Memory { operation, detail: describe(error) }
}

impl CudaExecutor {
    fn on(device: Arc<Device>) -> Result<Self, Error> {
        device.context.make_current().map_err(memory("making the device's context current"))?;
        let stream = Stream::new().map_err(memory("creating a stream"))?;
        Ok(Self { device, stream, buffers: Vec::new(), functions: HashMap::new(), last: None })
    }

    /// The executor may have moved to another thread since its last call.
    fn enter(&self) -> Result<(), Error> {
        self.device.context.make_current().map_err(memory("making the device's context current"))
    }

    fn arch(&self, prefix: &str) -> String {
        let (major, minor) = self.device.capability;
        format!("{prefix}_{major}{minor}")
    }

    fn range(&self, buffer: Buffer, at: usize, bytes: usize, operation: &str) -> Result<u64, Error> {
        let out = |detail: String| Error::Memory { operation: operation.to_owned(), detail };
        let &(address, size) = self
            .buffers
            .get(buffer.0)
            .and_then(Option::as_ref)
            .ok_or_else(|| out(format!("there is no buffer {}", buffer.0)))?;
        if at.checked_add(bytes).is_none_or(|end| end > size) {
            return Err(out(format!("bytes {at} to {} of a buffer of {size}", at.saturating_add(bytes))));
        }
        Ok(address + at as u64)
    }

    fn asynchronous(&self, error: DriverError) -> Error {
        match &self.last {
            Some((entry, geometry)) => {
                Error::Launch { entry: entry.clone(), geometry: *geometry, detail: describe(error) }
            }
            None => Error::Memory { operation: "synchronizing".into(), detail: describe(error) },
        }
    }

    /// The entry point, and why arguments of these sizes cannot be passed to it, if they cannot.
    fn function(&mut self, module: Module, entry: &str, given: &[usize]) -> Result<(Function, Option<String>), Error> {
        let key = (module, entry.to_owned());
        if let Some((function, loaded, at)) = self.functions.get(&key) {
            return Ok((*function, loaded.entries[*at].refusal(given)));
        }
        let modules = self.device.modules.lock().unwrap_or_else(PoisonError::into_inner);
        let no_entry = |program: &str| Error::NoEntry { program: program.to_owned(), entry: entry.to_owned() };
        let (program, loaded) = modules.get(module.0).ok_or_else(|| no_entry("this executor"))?;
        let missing = || no_entry(&program.name);
        let at = loaded.entries.iter().position(|signature| signature.name == entry).ok_or_else(missing)?;
        let name = CString::new(entry).map_err(|_| missing())?;
        let function = loaded.function(&name).map_err(|_| missing())?;
        let refusal = loaded.entries[at].refusal(given);
        let found = (function, Arc::clone(loaded), at);
        drop(modules);
        self.functions.insert(key, found);
        Ok((function, refusal))
    }

    fn enqueue(&mut self, launch: &Launch) -> Result<(), Error> {
        let refused = |detail: String| Error::Launch { entry: launch.entry.clone(), geometry: launch.geometry, detail };
        let sizes: Vec<usize> = launch.arguments.iter().map(size).collect();
        let (function, refusal) = self.function(launch.module, &launch.entry, &sizes)?;
        if let Some(why) = refusal {
            return Err(refused(why));
        }
        let mut words = Vec::with_capacity(launch.arguments.len());
        for argument in &launch.arguments {
            words.push(match *argument {
                Argument::Pointer { buffer, offset } => {
                    self.range(buffer, 0, 0, "passing a buffer")?.wrapping_add_signed(offset).to_le_bytes()
                }
                Argument::I32(value) => u64::from(value as u32).to_le_bytes(),
                Argument::F32(value) => u64::from(value.to_bits()).to_le_bytes(),
            });
        }
        self.last = Some((launch.entry.clone(), launch.geometry));
        self.stream.launch(function, launch.geometry, &mut words).map_err(|error| refused(describe(error)))
    }
}

impl Executor for CudaExecutor {
    fn describe(&self) -> Description {
        let nvrtc = Nvrtc::find().map_or("no NVRTC".into(), |nvrtc| {
            let (major, minor) = nvrtc.version();
            format!("NVRTC {major}.{minor}")
        });
        let driver = self.device.driver;
        Description {
            executor: "cuda",
            device: self.device.name.clone(),
            arch: self.arch("sm"),
            versions: format!("driver for CUDA {}.{}, {nvrtc}", driver / 1000, driver % 1000 / 10),
        }
    }

    fn fork(&self) -> Result<Box<dyn Executor>, Error> {
        Ok(Box::new(Self::on(Arc::clone(&self.device))?))
    }

    fn load(&mut self, program: &Program) -> Result<Module, Error> {
        self.enter()?;
        let mut modules = self.device.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = modules.iter().position(|(known, _)| known == program) {
            return Ok(Module(index));
        }
        let ptx = match &program.code {
            Code::Ptx(ptx) => ptx.clone(),
            Code::Cuda(source) => Nvrtc::find()?.compile(&program.name, source, &self.arch("compute"), &[])?,
        };
        let failed = |log: String| Error::Compile { program: program.name.clone(), log };
        let image = CString::new(ptx.as_str()).map_err(|_| failed("the PTX has a NUL byte in it".into()))?;
        let loaded = LoadedModule::load(&image, ptx.clone(), signatures(&ptx)).map_err(|(error, log)| {
            failed(if log.is_empty() { describe(error) } else { format!("{}\n{log}", describe(error)) })
        })?;
        modules.push((program.clone(), Arc::new(loaded)));
        Ok(Module(modules.len() - 1))
    }

    fn entries(&self, module: Module) -> Vec<String> {
        let modules = self.device.modules.lock().unwrap_or_else(PoisonError::into_inner);
        modules
            .get(module.0)
            .map(|(_, loaded)| loaded.entries.iter().map(|entry| entry.name.clone()).collect())
            .unwrap_or_default()
    }

    fn alloc(&mut self, bytes: usize) -> Result<Buffer, Error> {
        self.enter()?;
        // The driver refuses to allocate nothing.
        let address = driver::alloc(bytes.max(1)).map_err(memory(format!("allocating {bytes} bytes on the device")))?;
        let slot = self.buffers.iter().position(Option::is_none).unwrap_or(self.buffers.len());
        if slot == self.buffers.len() {
            self.buffers.push(None);
        }
        self.buffers[slot] = Some((address, bytes));
        Ok(Buffer(slot))
    }

    fn free(&mut self, buffer: Buffer) {
        if let Some((address, _)) = self.buffers.get_mut(buffer.0).and_then(Option::take)
            && self.enter().is_ok()
        {
            driver::free(address);
        }
    }

    fn upload(&mut self, buffer: Buffer, at: usize, bytes: &[u8]) -> Result<(), Error> {
        self.enter()?;
        let operation = format!("uploading {} bytes", bytes.len());
        let address = self.range(buffer, at, bytes.len(), &operation)?;
        self.stream.upload(address, bytes).map_err(|error| self.asynchronous(error))
    }

    fn download(&mut self, buffer: Buffer, at: usize, bytes: &mut [u8]) -> Result<(), Error> {
        self.enter()?;
        let operation = format!("downloading {} bytes", bytes.len());
        let address = self.range(buffer, at, bytes.len(), &operation)?;
        self.stream.download(bytes, address).map_err(|error| self.asynchronous(error))
    }

    fn launch(&mut self, launch: &Launch) -> Result<(), Error> {
        self.enter()?;
        self.enqueue(launch)
    }

    fn synchronize(&mut self) -> Result<(), Error> {
        self.enter()?;
        self.stream.synchronize().map_err(|error| self.asynchronous(error))
    }

    fn time(&mut self, launch: &Launch, repeats: usize) -> Result<Vec<Duration>, Error> {
        self.enter()?;
        let mut durations = Vec::with_capacity(repeats);
        for _ in 0..repeats {
            let timer = self.stream.timer().map_err(memory("creating an event"))?;
            self.enqueue(launch)?;
            durations.push(timer.elapsed(&self.stream).map_err(|error| self.asynchronous(error))?);
        }
        Ok(durations)
    }

    fn time_batch(&mut self, work: Work<'_>, count: usize) -> Result<Duration, Error> {
        self.enter()?;
        let timer = self.stream.timer().map_err(memory("creating an event"))?;
        for _ in 0..count {
            match work {
                Work::Launch(launch) => self.enqueue(launch)?,
                Work::Copy { from, to, bytes } => {
                    let operation = format!("copying {bytes} bytes");
                    let (from, to) = (self.range(from, 0, bytes, &operation)?, self.range(to, 0, bytes, &operation)?);
                    self.stream.copy(from, to, bytes).map_err(memory(operation))?;
                }
            }
        }
        timer.elapsed(&self.stream).map_err(|error| self.asynchronous(error))
    }

    fn ptx(&self, module: Module) -> Option<String> {
        let modules = self.device.modules.lock().unwrap_or_else(PoisonError::into_inner);
        modules.get(module.0).map(|(_, loaded)| loaded.ptx.clone())
    }

    fn resources(&mut self, module: Module, entry: &str) -> Result<Resources, Error> {
        self.enter()?;
        let (function, _) = self.function(module, entry, &[])?;
        let counts = function.resources().map_err(memory(format!("asking what `{entry}` takes")))?;
        let [registers, local, shared] = counts.map(|count| u32::try_from(count).unwrap_or(0));
        Ok(Resources { source: "driver", registers, local, shared })
    }
}

impl Drop for CudaExecutor {
    fn drop(&mut self) {
        for slot in 0..self.buffers.len() {
            self.free(Buffer(slot));
        }
    }
}
