//! The vocabulary of contracts: what a kernel takes, how it is launched, where it is defined and how exact it must be.
//!
//! A [`Contract`] is data. [`crate::run`] drives any kernel from it; nothing about a kernel is spread over code.

use std::fmt;

use gdn_reference::scalar::Budget;

use crate::executor::Geometry;
use crate::{GDN_KERNELS, QWEN38_KERNELS};

pub mod arg;
mod shape;

pub use shape::{Dim, Param, Shape};

/// Element type of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dtype {
    /// 32-bit float.
    F32,
    /// 32-bit integer.
    I32,
    /// 8-bit integer.
    I8,
}

impl Dtype {
    /// Bytes of an element.
    pub const fn bytes(self) -> usize {
        match self {
            Self::F32 | Self::I32 => 4,
            Self::I8 => 1,
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::I32 => "i32",
            Self::I8 => "i8",
        })
    }
}

/// What a kernel does with a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Read only: bitwise unchanged afterwards.
    Input,
    /// Written whole, never read.
    Output,
    /// Read and replaced by the result.
    InPlace,
    /// Read and replaced by the state that the next token starts from.
    Carried,
}

/// One factor of a buffer's element count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factor {
    /// A size.
    Of(Dim),
    /// A size divided by 32: groups of the int8 epilogues.
    Groups(Dim),
}

/// How many elements a buffer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The product of the factors, row-major in their order.
    Product(&'static [Factor]),
    /// One element.
    One,
    /// Rows pos − 1 (where there is one), pos and pos + 1 of an array of rows `stride` apart whose row 0 the kernel is given.
    Window,
}

/// Values that an input may hold, apart from NaN, which any input may hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Values {
    /// Anything.
    Any,
    /// Zero or less.
    NonPositive,
    /// At most this in magnitude.
    Within(f32),
}

/// A pointer argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BufferSpec {
    /// What the kernel does with it.
    pub role: Role,
    /// Element type.
    pub dtype: Dtype,
    /// Element count.
    pub extent: Extent,
    /// Values it may hold.
    pub values: Values,
}

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A pointer.
    Buffer(BufferSpec),
    /// An `int`.
    Size(Dim),
    /// A `float`.
    Scalar(Param),
}

/// One argument of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arg {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
}

/// Launch geometry as a function of the shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid {
    /// Grid (heads, ⌈rows/4⌉), block 128: one warp a row.
    WarpARow {
        /// Heads.
        heads: Dim,
        /// Rows of a head.
        rows: Dim,
    },
    /// A block a head, of ⌈width/32⌉·32 threads.
    BlockAHead {
        /// Heads.
        heads: Dim,
        /// Elements of a head.
        width: Dim,
    },
    /// A block a chunk of `width` among `total` elements, of ⌈width/32⌉·32 threads.
    BlockAChunk {
        /// All elements.
        total: Dim,
        /// Elements of a chunk.
        width: Dim,
    },
    /// A thread an element, in blocks of 256.
    ThreadEach(Dim),
    /// Blocks and threads are sizes of the shape.
    Free,
}

/// Threads of a block of [`Grid::ThreadEach`].
pub const THREADS: usize = 256;

impl Grid {
    /// Grid and block for a shape inside the domain.
    pub fn geometry(self, shape: &Shape) -> Geometry {
        let whole_warps = |width: usize| width.div_ceil(32) * 32;
        let (x, y, threads) = match self {
            Self::WarpARow { heads, rows } => (shape.get(heads), shape.get(rows).div_ceil(4), 128),
            Self::BlockAHead { heads, width } => (shape.get(heads), 1, whole_warps(shape.get(width))),
            Self::BlockAChunk { total, width } => {
                (shape.get(total) / shape.get(width), 1, whole_warps(shape.get(width)))
            }
            Self::ThreadEach(count) => (shape.get(count).div_ceil(THREADS), 1, THREADS),
            Self::Free => (shape.get(Dim::Blocks), 1, shape.get(Dim::Threads)),
        };
        Geometry { grid: [x as u32, y as u32, 1], block: [threads as u32, 1, 1] }
    }
}

/// One condition on a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// least ≤ dim ≤ most.
    Between(Dim, i64, i64),
    /// dim is a multiple of a constant.
    MultipleOf(Dim, i64),
    /// dim is a multiple of another size.
    MultipleOfDim(Dim, Dim),
    /// dim is at most another size.
    AtMost(Dim, Dim),
    /// dim is at most the number of chunks total / width.
    AtMostChunks(Dim, Dim, Dim),
    /// dim is at least the product of two sizes.
    AtLeastProduct(Dim, Dim, Dim),
    /// The parameter is finite and greater than zero.
    Positive(Param),
}

/// Largest size of an `int` argument.
pub const MAX: i64 = i32::MAX as i64;

/// Most elements of a buffer that a shape may ask for: 2³¹ elements, 8 GiB of f32, is more than any layer has.
pub const MAX_ELEMENTS: u128 = 1 << 31;

/// A shape, or a value, outside of a kernel's domain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kernel}: {argument} = {value} is outside the contract: it must be {limit}")]
pub struct DomainError {
    /// The kernel.
    pub kernel: &'static str,
    /// The argument.
    pub argument: String,
    /// Its value.
    pub value: String,
    /// What it must be.
    pub limit: String,
}

/// Which published source holds a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// `GDN_KERNELS`.
    Gdn,
    /// `QWEN38_KERNELS`.
    Qwen38,
}

impl Source {
    /// Both sources.
    pub const ALL: [Self; 2] = [Self::Gdn, Self::Qwen38];

    /// The name in messages and of the file in `golden/ptx/`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gdn => "gdn",
            Self::Qwen38 => "qwen38",
        }
    }

    /// The published text.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Gdn => GDN_KERNELS,
            Self::Qwen38 => QWEN38_KERNELS,
        }
    }
}

/// Everything there is to know of a kernel in order to run and judge it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contract {
    /// Name of the entry point, C linkage.
    pub kernel: &'static str,
    /// Its family: the name of its file in every crate.
    pub family: &'static str,
    /// The source that holds it.
    pub source: Source,
    /// What it computes, in one line.
    pub computes: &'static str,
    /// Arguments in order.
    pub args: &'static [Arg],
    /// Sizes that shape the launch but are no arguments (a grid's extent).
    pub implicit: &'static [Dim],
    /// Launch geometry.
    pub grid: Grid,
    /// Domain.
    pub domain: &'static [Rule],
    /// Rounding budget.
    pub budget: Budget,
}

impl Contract {
    /// The sizes that a shape of this kernel has, in order.
    pub fn dims(&self) -> Vec<Dim> {
        let mut dims: Vec<Dim> = self.implicit.to_vec();
        dims.extend(self.args.iter().filter_map(|arg| match arg.kind {
            Kind::Size(dim) => Some(dim),
            _ => None,
        }));
        dims.sort_unstable();
        dims.dedup();
        dims
    }

    /// The parameters that a shape of this kernel has.
    pub fn params(&self) -> Vec<Param> {
        self.args
            .iter()
            .filter_map(|arg| match arg.kind {
                Kind::Scalar(param) => Some(param),
                _ => None,
            })
            .collect()
    }

    /// The buffers in order.
    pub fn buffers(&self) -> impl Iterator<Item = (&'static str, BufferSpec)> {
        self.args.iter().filter_map(|arg| match arg.kind {
            Kind::Buffer(spec) => Some((arg.name, spec)),
            _ => None,
        })
    }

    /// Whether the kernel carries a state from token to token.
    pub fn carries_state(&self) -> bool {
        self.buffers().any(|(_, spec)| spec.role == Role::Carried)
    }

    fn error(&self, argument: impl fmt::Display, value: impl fmt::Display, limit: impl Into<String>) -> DomainError {
        DomainError {
            kernel: self.kernel,
            argument: argument.to_string(),
            value: value.to_string(),
            limit: limit.into(),
        }
    }

    /// Checks a shape against the domain, before anything is allocated or launched.
    ///
    /// # Errors
    /// Names the first argument outside of the domain, its value and the limit.
    pub fn check(&self, shape: &Shape) -> Result<(), DomainError> {
        let size = |dim: Dim| shape.size(dim).ok_or_else(|| self.error(dim, "nothing", "given"));
        for dim in self.dims() {
            let value = size(dim)?;
            if !(0..=MAX).contains(&value) {
                return Err(self.error(dim, value, format!("between 0 and {MAX}")));
            }
        }
        for param in self.params() {
            if shape.param(param).is_none() {
                return Err(self.error(param, "nothing", "given"));
            }
        }
        for &rule in self.domain {
            match rule {
                Rule::Between(dim, least, most) => {
                    let value = size(dim)?;
                    if !(least..=most).contains(&value) {
                        let limit = if most == MAX {
                            format!("at least {least}")
                        } else {
                            format!("between {least} and {most}")
                        };
                        return Err(self.error(dim, value, limit));
                    }
                }
                Rule::MultipleOf(dim, of) => {
                    let value = size(dim)?;
                    if value % of != 0 {
                        return Err(self.error(dim, value, format!("a multiple of {of}")));
                    }
                }
                Rule::MultipleOfDim(dim, of) => {
                    let (value, divisor) = (size(dim)?, size(of)?);
                    if divisor == 0 || value % divisor != 0 {
                        return Err(self.error(dim, value, format!("a multiple of {of} = {divisor}")));
                    }
                }
                Rule::AtMost(dim, limit) => {
                    let (value, most) = (size(dim)?, size(limit)?);
                    if value > most {
                        return Err(self.error(dim, value, format!("at most {limit} = {most}")));
                    }
                }
                Rule::AtMostChunks(dim, total, width) => {
                    let (value, all, each) = (size(dim)?, size(total)?, size(width)?);
                    let chunks = all.checked_div(each).unwrap_or(0);
                    if value > chunks {
                        return Err(self.error(dim, value, format!("at most {total}/{width} = {chunks} chunks")));
                    }
                }
                Rule::AtLeastProduct(dim, a, b) => {
                    let (value, left, right) = (size(dim)?, size(a)?, size(b)?);
                    if i128::from(value) < i128::from(left) * i128::from(right) {
                        return Err(self.error(dim, value, format!("at least {a}·{b} = {}", left * right)));
                    }
                }
                Rule::Positive(param) => {
                    let value = shape.param(param).unwrap_or(f32::NAN);
                    if !(value.is_finite() && value > 0.0) {
                        return Err(self.error(param, value, "finite and greater than zero"));
                    }
                }
            }
        }
        for (name, spec) in self.buffers() {
            let elements = spec.extent.checked_elements(shape);
            if elements > MAX_ELEMENTS {
                return Err(self.error(
                    name,
                    format!("{elements} elements"),
                    format!("at most {MAX_ELEMENTS} elements"),
                ));
            }
        }
        Ok(())
    }

    /// Checks the values of an input.
    ///
    /// # Errors
    /// Names the first element outside of the domain.
    pub fn check_values(&self, name: &'static str, values: Values, data: &[f32]) -> Result<(), DomainError> {
        let (limit, outside): (String, Box<dyn Fn(f32) -> bool>) = match values {
            Values::Any => return Ok(()),
            Values::NonPositive => ("zero or less".into(), Box::new(|x| x > 0.0)),
            Values::Within(most) => (format!("at most {most} in magnitude"), Box::new(move |x| x.abs() > most)),
        };
        match data.iter().position(|&x| outside(x)) {
            Some(i) => Err(self.error(format!("{name}[{i}]"), data[i], limit)),
            None => Ok(()),
        }
    }
}

impl Factor {
    /// The factor for a shape.
    ///
    /// # Panics
    /// If the shape has no such size.
    pub fn size(self, shape: &Shape) -> usize {
        match self {
            Self::Of(dim) => shape.get(dim),
            Self::Groups(dim) => shape.get(dim) / 32,
        }
    }
}

impl Extent {
    /// The factors of the element count, outermost first; none where it is no product.
    pub const fn factors(self) -> &'static [Factor] {
        match self {
            Self::Product(factors) => factors,
            Self::One | Self::Window => &[],
        }
    }

    /// Sizes for a shape inside the domain, outermost first.
    pub fn sizes(self, shape: &Shape) -> Vec<usize> {
        match self {
            Self::Product(factors) => factors.iter().map(|factor| factor.size(shape)).collect(),
            Self::One | Self::Window => vec![self.elements(shape)],
        }
    }

    fn checked_elements(self, shape: &Shape) -> u128 {
        let size = |dim: Dim| shape.size(dim).unwrap_or(0).max(0) as u128;
        match self {
            Self::Product(factors) => factors
                .iter()
                .map(|factor| match *factor {
                    Factor::Of(dim) => size(dim),
                    Factor::Groups(dim) => size(dim) / 32,
                })
                .fold(1, u128::saturating_mul),
            Self::One => 1,
            Self::Window => size(Dim::Stride) * if size(Dim::Pos) == 0 { 2 } else { 3 },
        }
    }

    /// Element count for a shape inside the domain.
    pub fn elements(self, shape: &Shape) -> usize {
        self.checked_elements(shape) as usize
    }

    /// How many elements before the buffer's start the pointer lies that the kernel is given: a window's row 0.
    pub fn lead(self, shape: &Shape) -> usize {
        match self {
            Self::Window => shape.get(Dim::Pos).saturating_sub(1) * shape.get(Dim::Stride),
            _ => 0,
        }
    }
}
