//! Guarded launches: drives any kernel from its contract, and reports what it left unwritten or touched without leave.
//!
//! Every buffer lies between guard words, outputs are filled with a signalling pattern, and each launch is made twice, with
//! two patterns: an element that differs between the two was not written, or is not reproducible.

use std::collections::BTreeMap;
use std::fmt;

use crate::contract::{BufferSpec, Contract, Dim, DomainError, Dtype, Extent, Kind, Role, Shape};
use crate::executor::{Argument, Buffer, Error, Executor, Launch, Module};

/// Bytes of guard words on either side of a buffer; a multiple of the alignment that [`Executor::alloc`] promises.
pub const GUARD: usize = 256;

/// The guard word: a signalling NaN, because zeros in its place would hide a tail that is read.
const GUARD_WORD: [u8; 4] = 0x7fa5_5a5a_u32.to_le_bytes();

/// What outputs hold before the first and the second launch: signalling NaNs, and int8 codes that differ in every byte.
pub const POISON: [[u8; 4]; 2] = [0x7fa1_b2c3_u32.to_le_bytes(), 0x7fb6_4d3c_u32.to_le_bytes()];

/// The contents of a buffer.
#[derive(Clone, Debug, PartialEq)]
pub enum Tensor {
    /// 32-bit floats.
    F32(Vec<f32>),
    /// 32-bit integers.
    I32(Vec<i32>),
    /// 8-bit integers.
    I8(Vec<i8>),
}

impl Tensor {
    /// Element type.
    pub const fn dtype(&self) -> Dtype {
        match self {
            Self::F32(_) => Dtype::F32,
            Self::I32(_) => Dtype::I32,
            Self::I8(_) => Dtype::I8,
        }
    }

    /// Element count.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(x) => x.len(),
            Self::I32(x) => x.len(),
            Self::I8(x) => x.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The floats, where it holds floats.
    pub fn f32(&self) -> Option<&[f32]> {
        match self {
            Self::F32(x) => Some(x),
            _ => None,
        }
    }

    /// The codes, where it holds int8 codes.
    pub fn i8(&self) -> Option<&[i8]> {
        match self {
            Self::I8(x) => Some(x),
            _ => None,
        }
    }

    /// The elements as little-endian bytes.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::F32(x) => x.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Self::I32(x) => x.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Self::I8(x) => x.iter().map(|&x| x as u8).collect(),
        }
    }

    /// A tensor from little-endian bytes; bytes that do not fill an element are dropped.
    pub fn from_bytes(dtype: Dtype, bytes: &[u8]) -> Self {
        let (words, _) = bytes.as_chunks::<4>();
        match dtype {
            Dtype::F32 => Self::F32(words.iter().map(|&word| f32::from_le_bytes(word)).collect()),
            Dtype::I32 => Self::I32(words.iter().map(|&word| i32::from_le_bytes(word)).collect()),
            Dtype::I8 => Self::I8(bytes.iter().map(|&byte| byte as i8).collect()),
        }
    }
}

/// Buffers by argument name.
pub type Tensors = BTreeMap<&'static str, Tensor>;

/// Something that a kernel did to memory that its contract forbids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A guard word beside the buffer was overwritten.
    GuardWritten {
        /// The buffer.
        buffer: &'static str,
        /// Distance in bytes: negative before the buffer's start, otherwise from its end on.
        at: i64,
    },
    /// An input no longer holds what was uploaded.
    InputModified {
        /// The input.
        buffer: &'static str,
        /// The first element that changed.
        index: usize,
    },
    /// An element of an output still holds the signalling pattern.
    Unwritten {
        /// The output.
        buffer: &'static str,
        /// The first such element.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// A second launch on the same inputs gave other bits.
    NotReproducible {
        /// The output.
        buffer: &'static str,
        /// The first element that differs.
        index: usize,
        /// How many differ.
        count: usize,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GuardWritten { buffer, at } if *at < 0 => {
                write!(f, "{buffer}: written {} bytes before its start", -at)
            }
            Self::GuardWritten { buffer, at } => write!(f, "{buffer}: written {at} bytes past its end"),
            Self::InputModified { buffer, index } => write!(f, "{buffer}[{index}]: an input was modified"),
            Self::Unwritten { buffer, index, count } => {
                write!(f, "{buffer}[{index}]: not written ({count} such elements)")
            }
            Self::NotReproducible { buffer, index, count } => {
                write!(f, "{buffer}[{index}]: a second run of the same case differs ({count} such elements)")
            }
        }
    }
}

/// What a guarded launch left behind.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Outputs, and buffers that their results replaced.
    pub outputs: Tensors,
    /// What the kernel did to memory that it may not do.
    pub findings: Vec<Finding>,
}

/// Why a guarded launch could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The shape or a value is outside of the contract.
    #[error(transparent)]
    Domain(#[from] DomainError),
    /// A buffer's contents are missing or do not fit the shape.
    #[error("{kernel}: {buffer} {problem}")]
    Input {
        /// The kernel.
        kernel: &'static str,
        /// The buffer.
        buffer: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// The executor could not run it.
    #[error(transparent)]
    Executor(#[from] Error),
}

/// Checks shape and inputs against the contract, launches twice, and downloads what the kernel wrote.
///
/// `inputs` holds every buffer but the outputs, by argument name, row-major, in the contract's types and element counts.
///
/// # Errors
/// [`RunError::Domain`] and [`RunError::Input`] before anything is launched; [`RunError::Executor`] from the executor.
pub fn run(
    executor: &mut dyn Executor,
    module: Module,
    contract: &'static Contract,
    shape: &Shape,
    inputs: &Tensors,
) -> Result<Outcome, RunError> {
    contract.check(shape)?;
    check_inputs(contract, shape, inputs)?;
    let mut guarded: Vec<Guarded> = Vec::new();
    let result = launch_twice(executor, module, contract, shape, inputs, &mut guarded);
    for buffer in &guarded {
        executor.free(buffer.handle);
    }
    result
}

fn check_inputs(contract: &'static Contract, shape: &Shape, inputs: &Tensors) -> Result<(), RunError> {
    for (buffer, spec) in contract.buffers().filter(|(_, spec)| spec.role != Role::Output) {
        let error = |problem: String| RunError::Input { kernel: contract.kernel, buffer, problem };
        let tensor = inputs.get(buffer).ok_or_else(|| error("is missing".into()))?;
        if tensor.dtype() != spec.dtype {
            return Err(error(format!("holds {}, not {}", tensor.dtype(), spec.dtype)));
        }
        let expected = spec.extent.elements(shape);
        if tensor.len() != expected {
            return Err(error(format!("has {} elements, not {expected}", tensor.len())));
        }
        if let Tensor::F32(data) = tensor {
            contract.check_values(buffer, spec.values, data)?;
        }
    }
    Ok(())
}

/// A buffer between its guard words.
struct Guarded {
    name: &'static str,
    spec: BufferSpec,
    handle: Buffer,
    bytes: usize,
}

impl Guarded {
    fn alloc(executor: &mut dyn Executor, name: &'static str, spec: BufferSpec, shape: &Shape) -> Result<Self, Error> {
        let bytes = spec.extent.elements(shape) * spec.dtype.bytes();
        let handle = executor.alloc(GUARD + bytes.next_multiple_of(4) + GUARD)?;
        executor.expose(handle, GUARD, GUARD + bytes, spec.role != Role::Input);
        Ok(Self { name, spec, handle, bytes })
    }

    fn padded(&self) -> usize {
        GUARD + self.bytes.next_multiple_of(4) + GUARD
    }

    /// Guard words all over, with `contents` in the middle.
    fn image(&self, contents: &[u8]) -> Vec<u8> {
        let mut image = GUARD_WORD.repeat(self.padded() / 4);
        image[GUARD..GUARD + self.bytes].copy_from_slice(contents);
        image
    }

    fn guard_written(&self, image: &[u8]) -> Option<Finding> {
        let end = GUARD + self.bytes;
        let changed = (0..GUARD).chain(end..image.len()).find(|&i| image[i] != GUARD_WORD[i % 4])?;
        let at = if changed < GUARD { changed as i64 - GUARD as i64 } else { (changed - end) as i64 };
        Some(Finding::GuardWritten { buffer: self.name, at })
    }
}

/// A launch with its buffers, for whoever times it.
pub struct Prepared {
    /// The launch.
    pub launch: Launch,
    /// Bytes that it reads and writes by its contract: elements that it replaces count twice, and of a window one row.
    pub bytes: usize,
    guarded: Vec<Guarded>,
}

impl Prepared {
    /// Gives the buffers back.
    pub fn free(self, executor: &mut dyn Executor) {
        for buffer in self.guarded {
            executor.free(buffer.handle);
        }
    }
}

/// Checks shape and inputs against the contract and uploads them; the launch can then be made any number of times.
///
/// # Errors
/// As [`run`].
pub fn prepare(
    executor: &mut dyn Executor,
    module: Module,
    contract: &'static Contract,
    shape: &Shape,
    inputs: &Tensors,
) -> Result<Prepared, RunError> {
    contract.check(shape)?;
    check_inputs(contract, shape, inputs)?;
    let mut guarded = Vec::new();
    let launch = launch_of(executor, module, contract, shape, &mut guarded)?;
    for buffer in &guarded {
        upload(executor, buffer, inputs, POISON[0])?;
    }
    let touched = |spec: &BufferSpec| {
        let elements = match spec.extent {
            Extent::Window => shape.get(Dim::Stride),
            extent => extent.elements(shape),
        };
        let times = if matches!(spec.role, Role::Carried | Role::InPlace) { 2 } else { 1 };
        times * elements * spec.dtype.bytes()
    };
    let bytes = guarded.iter().map(|buffer| touched(&buffer.spec)).sum();
    Ok(Prepared { launch, bytes, guarded })
}

/// Allocates the buffers of a launch and says what it passes.
fn launch_of(
    executor: &mut dyn Executor,
    module: Module,
    contract: &'static Contract,
    shape: &Shape,
    guarded: &mut Vec<Guarded>,
) -> Result<Launch, Error> {
    let mut arguments = Vec::new();
    for arg in contract.args {
        arguments.push(match arg.kind {
            Kind::Buffer(spec) => {
                let buffer = Guarded::alloc(executor, arg.name, spec, shape)?;
                let lead = spec.extent.lead(shape) * spec.dtype.bytes();
                let argument = Argument::Pointer { buffer: buffer.handle, offset: GUARD as i64 - lead as i64 };
                guarded.push(buffer);
                argument
            }
            Kind::Size(dim) => Argument::I32(shape.get(dim) as i32),
            Kind::Scalar(param) => Argument::F32(shape.param(param).unwrap_or(f32::NAN)),
        });
    }
    Ok(Launch { module, entry: contract.kernel.to_owned(), geometry: contract.grid.geometry(shape), arguments })
}

/// Fills a buffer: with its input, or with a pattern where it is an output.
fn upload(executor: &mut dyn Executor, buffer: &Guarded, inputs: &Tensors, poison: [u8; 4]) -> Result<(), Error> {
    let contents = match inputs.get(buffer.name) {
        Some(tensor) if buffer.spec.role != Role::Output => tensor.bytes(),
        _ => poison.iter().copied().cycle().take(buffer.bytes).collect(),
    };
    executor.upload(buffer.handle, 0, &buffer.image(&contents))
}

fn launch_twice(
    executor: &mut dyn Executor,
    module: Module,
    contract: &'static Contract,
    shape: &Shape,
    inputs: &Tensors,
    guarded: &mut Vec<Guarded>,
) -> Result<Outcome, RunError> {
    let launch = launch_of(executor, module, contract, shape, guarded)?;
    let mut findings = Vec::new();
    let mut images: [Vec<Vec<u8>>; 2] = [Vec::new(), Vec::new()];
    for (&poison, images) in POISON.iter().zip(&mut images) {
        for buffer in &*guarded {
            upload(executor, buffer, inputs, poison)?;
        }
        executor.launch(&launch)?;
        executor.synchronize()?;
        for buffer in &*guarded {
            let mut image = vec![0; buffer.padded()];
            executor.download(buffer.handle, 0, &mut image)?;
            images.push(image);
        }
    }

    let [first, second] = images;
    let mut outputs = Tensors::new();
    for ((buffer, first), second) in guarded.iter().zip(&first).zip(&second) {
        findings.extend(buffer.guard_written(first).or_else(|| buffer.guard_written(second)));
        let element = buffer.spec.dtype.bytes();
        let inside = |image: &[u8]| image[GUARD..GUARD + buffer.bytes].to_vec();
        let (first, second) = (inside(first), inside(second));
        if buffer.spec.role == Role::Input {
            let given = inputs[buffer.name].bytes();
            let changed = given.iter().zip(&first).position(|(a, b)| a != b);
            findings.extend(changed.map(|i| Finding::InputModified { buffer: buffer.name, index: i / element }));
            continue;
        }
        findings.extend(compare_runs(buffer, &first, &second));
        outputs.insert(buffer.name, Tensor::from_bytes(buffer.spec.dtype, &first));
    }
    Ok(Outcome { outputs, findings })
}

/// Elements that differ between the two launches: unwritten where each still holds its own pattern.
fn compare_runs(buffer: &Guarded, first: &[u8], second: &[u8]) -> Vec<Finding> {
    let element = buffer.spec.dtype.bytes();
    let (mut unwritten, mut unstable) = (Vec::new(), Vec::new());
    for (index, (a, b)) in first.chunks_exact(element).zip(second.chunks_exact(element)).enumerate() {
        if a == b {
            continue;
        }
        let pattern = |poison: &[u8; 4]| (0..element).map(|i| poison[(index * element + i) % 4]).collect::<Vec<u8>>();
        if a == pattern(&POISON[0]) && b == pattern(&POISON[1]) {
            unwritten.push(index);
        } else {
            unstable.push(index);
        }
    }
    let name = buffer.name;
    let first_of = |list: &[usize]| list.first().map(|&index| (index, list.len()));
    let unwritten = first_of(&unwritten).map(|(index, count)| Finding::Unwritten { buffer: name, index, count });
    let unstable = first_of(&unstable).map(|(index, count)| Finding::NotReproducible { buffer: name, index, count });
    unwritten.into_iter().chain(unstable).collect()
}
