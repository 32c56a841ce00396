//! Safe hands on the driver API: each owns one handle, and says why its calls are sound.

use std::ffi::{CStr, c_void};
use std::time::Duration;

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;

use super::signature::Signature;
use crate::executor::Geometry;

/// Whether the driver library can be loaded. cudarc's own loader panics where it cannot, so this is asked first.
pub(super) fn is_present() -> bool {
    // SAFETY: it tries to load the library and drops it again.
    unsafe { sys::is_culib_present() }
}

/// CUDA version of the driver, 1000·major + 10·minor; 0 where it does not say.
pub(super) fn version() -> i32 {
    let mut version = 0;
    // SAFETY: the pointer is to an integer of ours.
    match unsafe { sys::cuDriverGetVersion(&raw mut version) }.result() {
        Ok(()) => version,
        Err(_) => 0,
    }
}

/// Compute capability of a device.
pub(super) fn capability(device: sys::CUdevice) -> Result<(i32, i32), DriverError> {
    use sys::CUdevice_attribute::{
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR as MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR as MINOR,
    };
    // SAFETY: the device handle comes from the driver.
    unsafe { Ok((result::device::get_attribute(device, MAJOR)?, result::device::get_attribute(device, MINOR)?)) }
}

/// Allocates device memory in the current context.
pub(super) fn alloc(bytes: usize) -> Result<u64, DriverError> {
    // SAFETY: what it returns is owned by the executor's buffer table, which frees it once.
    unsafe { result::malloc_sync(bytes) }
}

/// Frees device memory in the current context. A failure means that the context is gone, and the memory with it.
pub(super) fn free(address: u64) {
    // SAFETY: the address came from `alloc` and leaves the buffer table before this.
    let _ = unsafe { result::free_sync(address) };
}

/// A device's primary context, retained for the life of the process: module and stream handles stay valid in it.
pub(super) struct Context(sys::CUcontext);

// SAFETY: contexts may be used from any thread that makes them current.
unsafe impl Send for Context {}
// SAFETY: as above; the driver serializes what needs it.
unsafe impl Sync for Context {}

impl Context {
    pub(super) fn retain(device: sys::CUdevice) -> Result<Self, DriverError> {
        // SAFETY: the device handle comes from the driver.
        unsafe { result::primary_ctx::retain(device) }.map(Self)
    }

    pub(super) fn make_current(&self) -> Result<(), DriverError> {
        // SAFETY: the context is retained and never released.
        unsafe { result::ctx::set_current(self.0) }
    }
}

/// An entry point of a loaded module. Modules are never unloaded, so it stays valid.
#[derive(Clone, Copy)]
pub(super) struct Function(sys::CUfunction);

// SAFETY: function handles belong to the context, not to a thread.
unsafe impl Send for Function {}

impl Function {
    /// Registers of a thread, local bytes of a thread, static shared bytes of a block.
    pub(super) fn resources(self) -> Result<[i32; 3], DriverError> {
        use sys::CUfunction_attribute_enum::{
            CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES as LOCAL, CU_FUNC_ATTRIBUTE_NUM_REGS as REGISTERS,
            CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES as SHARED,
        };
        // SAFETY: the function belongs to a module that stays loaded.
        let attribute = |which| unsafe { result::function::get_function_attribute(self.0, which) };
        Ok([attribute(REGISTERS)?, attribute(LOCAL)?, attribute(SHARED)?])
    }
}

/// A module in the primary context, loaded for the life of the process.
pub(super) struct LoadedModule {
    handle: sys::CUmodule,
    pub(super) ptx: String,
    pub(super) entries: Vec<Signature>,
}

// SAFETY: module handles belong to the context, not to a thread.
unsafe impl Send for LoadedModule {}
// SAFETY: it is only read.
unsafe impl Sync for LoadedModule {}

/// Bytes of the driver's log when it cannot load a program.
const LOG: usize = 16 << 10;

impl LoadedModule {
    /// Loads PTX into the current context; on failure, with the driver's log.
    pub(super) fn load(image: &CStr, ptx: String, entries: Vec<Signature>) -> Result<Self, (DriverError, String)> {
        use sys::CUjit_option::{CU_JIT_ERROR_LOG_BUFFER as BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES as SIZE};
        let mut log = vec![0u8; LOG];
        let mut handle = std::ptr::null_mut();
        let mut options = [BUFFER, SIZE];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), std::ptr::without_provenance_mut(LOG)];
        // SAFETY: the PTX ends in a NUL; the two options are followed by two values of the documented types (a buffer, and
        // its size in the pointer itself), and the buffer outlives the call.
        let status = unsafe {
            sys::cuModuleLoadDataEx(
                &raw mut handle,
                image.as_ptr().cast(),
                2,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        match status.result() {
            Ok(()) => Ok(Self { handle, ptx, entries }),
            Err(error) => {
                let text = CStr::from_bytes_until_nul(&log).unwrap_or_default();
                Err((error, text.to_string_lossy().into_owned()))
            }
        }
    }

    pub(super) fn function(&self, name: &CStr) -> Result<Function, DriverError> {
        // SAFETY: the module is loaded and stays so.
        unsafe { result::module::get_function(self.handle, name.to_owned()) }.map(Function)
    }
}

/// A stream of an executor's own.
pub(super) struct Stream(sys::CUstream);

// SAFETY: a stream may be used from any thread with its context current; an executor uses it from one at a time.
unsafe impl Send for Stream {}

impl Stream {
    pub(super) fn new() -> Result<Self, DriverError> {
        result::stream::create(result::stream::StreamKind::NonBlocking).map(Self)
    }

    pub(super) fn synchronize(&self) -> Result<(), DriverError> {
        // SAFETY: the stream is ours and alive.
        unsafe { result::stream::synchronize(self.0) }
    }

    /// Copies to the device and waits, so that the host's bytes need not outlive the call.
    pub(super) fn upload(&self, address: u64, bytes: &[u8]) -> Result<(), DriverError> {
        // SAFETY: the executor checked the range against the buffer, and the bytes live until the wait returns.
        unsafe { result::memcpy_htod_async(address, bytes, self.0) }?;
        self.synchronize()
    }

    /// Copies from the device and waits.
    pub(super) fn download(&self, bytes: &mut [u8], address: u64) -> Result<(), DriverError> {
        // SAFETY: as for `upload`.
        unsafe { result::memcpy_dtoh_async(bytes, address, self.0) }?;
        self.synchronize()
    }

    /// Enqueues a copy within the device.
    pub(super) fn copy(&self, from: u64, to: u64, bytes: usize) -> Result<(), DriverError> {
        // SAFETY: the executor checked both ranges against their buffers.
        unsafe { result::memcpy_dtod_async(to, from, bytes, self.0) }
    }

    /// Enqueues a launch; each word holds one parameter in its low bytes.
    pub(super) fn launch(
        &self,
        function: Function,
        geometry: Geometry,
        words: &mut [[u8; 8]],
    ) -> Result<(), DriverError> {
        let mut parameters: Vec<*mut c_void> = words.iter_mut().map(|word| word.as_mut_ptr().cast()).collect();
        let [gx, gy, gz] = geometry.grid;
        let [bx, by, bz] = geometry.block;
        // SAFETY: the driver reads each parameter through its pointer before the call returns. The executor compared their
        // number and sizes with what the entry point declares; memory the kernel may reach is the buffers' between their guards.
        unsafe { result::launch_kernel(function.0, (gx, gy, gz), (bx, by, bz), 0, self.0, &mut parameters) }
    }

    /// Starts a timer on the stream.
    pub(super) fn timer(&self) -> Result<Timer, DriverError> {
        let flags = sys::CUevent_flags::CU_EVENT_DEFAULT;
        let timer = Timer { start: result::event::create(flags)?, end: result::event::create(flags)? };
        // SAFETY: event and stream are ours and alive.
        unsafe { result::event::record(timer.start, self.0) }?;
        Ok(timer)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: nothing uses the stream after this; a failure means that the context is gone.
        let _ = unsafe { result::stream::destroy(self.0) };
    }
}

type ElapsedTime = unsafe extern "C" fn(*mut f32, sys::CUevent, sys::CUevent) -> sys::CUresult;

/// The driver's elapsed time of two events. cudarc asks for the second version only, and panics where a driver before CUDA 12.8
/// has but the first.
fn elapsed_time() -> Result<ElapsedTime, DriverError> {
    for name in [&b"cuEventElapsedTime_v2\0"[..], b"cuEventElapsedTime\0"] {
        // SAFETY: the library is loaded, and both versions have this type.
        if let Ok(symbol) = unsafe { sys::culib().get::<ElapsedTime>(name) } {
            return Ok(*symbol);
        }
    }
    Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_FOUND))
}

/// Two events around what is timed.
pub(super) struct Timer {
    start: sys::CUevent,
    end: sys::CUevent,
}

impl Timer {
    /// Device time since the start, once all that was enqueued has run.
    pub(super) fn elapsed(self, stream: &Stream) -> Result<Duration, DriverError> {
        // SAFETY: events and stream are ours and alive, and both events are recorded before they are compared.
        let mut milliseconds = 0.0;
        unsafe {
            result::event::record(self.end, stream.0)?;
            result::event::synchronize(self.end)?;
            elapsed_time()?(&raw mut milliseconds, self.start, self.end).result()?;
        }
        Ok(Duration::from_secs_f32(milliseconds / 1000.0))
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        for event in [self.start, self.end] {
            // SAFETY: nothing uses the event after this.
            let _ = unsafe { result::event::destroy(event) };
        }
    }
}
