//! NVRTC, found and loaded at run time: from a CUDA toolkit, the library path, or the `nvidia-cuda-nvrtc` wheel.
//!
//! The wheel's `libnvrtc` does not find its builtins by itself: they are loaded first, by absolute path and globally.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW, Symbol};

use crate::executor::Error;

type Handle = *mut c_void;
type Create = unsafe extern "C" fn(
    *mut Handle,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type Compile = unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> c_int;
type Size = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
type Text = unsafe extern "C" fn(Handle, *mut c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Handle) -> c_int;
type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
type ErrorString = unsafe extern "C" fn(c_int) -> *const c_char;

/// The loaded compiler. It stays loaded until the process ends.
pub struct Nvrtc {
    create: Symbol<Create>,
    compile: Symbol<Compile>,
    ptx_size: Symbol<Size>,
    ptx: Symbol<Text>,
    log_size: Symbol<Size>,
    log: Symbol<Text>,
    destroy: Symbol<Destroy>,
    error_string: Symbol<ErrorString>,
    version: (i32, i32),
    path: PathBuf,
    /// Kept loaded: the symbols above point into them.
    libraries: Vec<Library>,
}

impl Nvrtc {
    /// The process's compiler, looked for once.
    ///
    /// # Errors
    /// [`Error::NoCompiler`] with the folders that were looked in.
    pub fn find() -> Result<&'static Self, Error> {
        static FOUND: OnceLock<Result<Nvrtc, Error>> = OnceLock::new();
        FOUND.get_or_init(Self::search).as_ref().map_err(Clone::clone)
    }

    fn search() -> Result<Self, Error> {
        let folders = folders();
        let mut tried: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        for folder in &folders {
            let Some(path) = newest(folder, "libnvrtc.so") else { continue };
            match Self::load(&path, newest(folder, "libnvrtc-builtins.so").as_deref()) {
                Ok(nvrtc) => return Ok(nvrtc),
                Err(error) => tried.push(format!("{}: {error}", path.display())),
            }
        }
        for name in ["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"] {
            if let Ok(nvrtc) = Self::load(Path::new(name), None) {
                return Ok(nvrtc);
            }
        }
        tried.push("the system's library path".into());
        Err(Error::NoCompiler { detail: format!("looked in {}", tried.join(", ")) })
    }

    fn load(path: &Path, builtins: Option<&Path>) -> Result<Self, libloading::Error> {
        let mut libraries = Vec::new();
        for library in builtins.into_iter().chain([path]) {
            // SAFETY: NVRTC's libraries run no code of ours when loaded, and NVIDIA's initializers may run on any thread.
            libraries.push(unsafe { Library::open(Some(library), RTLD_NOW | RTLD_GLOBAL) }?);
        }
        let library = &libraries[libraries.len() - 1];
        // SAFETY: each symbol is given the type that nvrtc.h declares for it, and the libraries are kept as long as they.
        let mut nvrtc = unsafe {
            Self {
                create: library.get(b"nvrtcCreateProgram\0")?,
                compile: library.get(b"nvrtcCompileProgram\0")?,
                ptx_size: library.get(b"nvrtcGetPTXSize\0")?,
                ptx: library.get(b"nvrtcGetPTX\0")?,
                log_size: library.get(b"nvrtcGetProgramLogSize\0")?,
                log: library.get(b"nvrtcGetProgramLog\0")?,
                destroy: library.get(b"nvrtcDestroyProgram\0")?,
                error_string: library.get(b"nvrtcGetErrorString\0")?,
                version: (0, 0),
                path: path.to_owned(),
                libraries: Vec::new(),
            }
        };
        // SAFETY: as above.
        let version: Symbol<Version> = unsafe { library.get(b"nvrtcVersion\0") }?;
        // SAFETY: both pointers are to integers of ours.
        unsafe { version(&raw mut nvrtc.version.0, &raw mut nvrtc.version.1) };
        nvrtc.libraries = libraries;
        Ok(nvrtc)
    }

    /// Major and minor version.
    pub const fn version(&self) -> (i32, i32) {
        self.version
    }

    /// Where it was found.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Compiles CUDA C++ to PTX for a virtual architecture such as `compute_90`.
    ///
    /// # Errors
    /// [`Error::Compile`] with the compiler's log.
    pub fn compile(&self, program: &str, source: &str, arch: &str, options: &[&str]) -> Result<String, Error> {
        let failed = |log: String| Error::Compile { program: program.to_owned(), log };
        let text = |text: &str| CString::new(text).map_err(|_| failed("the text has a NUL byte in it".into()));
        let (source, name) = (text(source)?, text(&format!("{program}.cu"))?);
        let arch = format!("--gpu-architecture={arch}");
        let options =
            std::iter::once(arch.as_str()).chain(options.iter().copied()).map(text).collect::<Result<Vec<_>, _>>()?;
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();

        let mut handle: Handle = std::ptr::null_mut();
        let none = std::ptr::null();
        // SAFETY: the strings live until the call returns; NVRTC copies them. No headers are given.
        let status = unsafe { (self.create)(&raw mut handle, source.as_ptr(), name.as_ptr(), 0, none, none) };
        if status != 0 {
            return Err(failed(self.reason(status)));
        }
        // SAFETY: the handle is the one just made, and the pointers outlive the call.
        let status = unsafe { (self.compile)(handle, pointers.len() as c_int, pointers.as_ptr()) };
        let result = if status == 0 {
            self.text(handle, &self.ptx_size, &self.ptx)
        } else {
            let log = self.text(handle, &self.log_size, &self.log).unwrap_or_default();
            Err(if log.trim().is_empty() { self.reason(status) } else { log })
        };
        // SAFETY: the handle is not used after this.
        unsafe { (self.destroy)(&raw mut handle) };
        result.map_err(failed)
    }

    fn text(&self, handle: Handle, size: &Symbol<Size>, fill: &Symbol<Text>) -> Result<String, String> {
        let mut bytes = 0;
        // SAFETY: a live handle and a pointer to an integer of ours.
        let status = unsafe { size(handle, &raw mut bytes) };
        if status != 0 {
            return Err(self.reason(status));
        }
        let mut buffer = vec![0u8; bytes];
        // SAFETY: the buffer has the size that NVRTC asked for, the closing NUL included.
        let status = unsafe { fill(handle, buffer.as_mut_ptr().cast()) };
        if status != 0 {
            return Err(self.reason(status));
        }
        let text = CStr::from_bytes_until_nul(&buffer).unwrap_or_default();
        Ok(text.to_string_lossy().into_owned())
    }

    fn reason(&self, status: c_int) -> String {
        // SAFETY: NVRTC returns a static string for any status.
        let text = unsafe { CStr::from_ptr((self.error_string)(status)) };
        text.to_string_lossy().into_owned()
    }
}

/// Folders that may hold NVRTC, best first.
fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    for toolkit in toolkits.chain([PathBuf::from("/usr/local/cuda")]) {
        folders.extend(["lib64", "targets/x86_64-linux/lib", "lib"].map(|folder| toolkit.join(folder)));
    }
    if let Some(path) = std::env::var_os("LD_LIBRARY_PATH") {
        folders.extend(std::env::split_paths(&path));
    }
    folders.extend(wheel_folders());
    folders.retain(|folder| folder.is_dir());
    folders
}

/// `nvidia/*/lib` in the active Python environment's packages, where the wheel puts its libraries.
fn wheel_folders() -> Vec<PathBuf> {
    let mut packages = Vec::new();
    if let Some(environment) = std::env::var_os("VIRTUAL_ENV") {
        packages.extend(subfolders(&Path::new(&environment).join("lib")).map(|python| python.join("site-packages")));
    } else {
        let script = "import site; print('\\n'.join(site.getsitepackages() + [site.getusersitepackages()]))";
        let output = std::process::Command::new("python3").args(["-c", script]).output();
        if let Ok(output) = output {
            packages.extend(String::from_utf8_lossy(&output.stdout).lines().map(PathBuf::from));
        }
    }
    packages.iter().flat_map(|packages| subfolders(&packages.join("nvidia")).map(|part| part.join("lib"))).collect()
}

fn subfolders(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    found.sort();
    found.into_iter()
}

/// The last file of a folder, in the order of names, that starts with `prefix`: `.so`, `.so.12`, `.so.13`.
fn newest(folder: &Path, prefix: &str) -> Option<PathBuf> {
    subfolders(folder)
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix)))
        .last()
}
