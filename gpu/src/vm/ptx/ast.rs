//! What a PTX text says, before anything is decoded.

use std::fmt;

/// A fundamental type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub(crate) enum Type {
    B8,
    B16,
    B32,
    B64,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
    Pred,
}

impl Type {
    /// The type that a suffix such as `f32` names.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "b8" => Self::B8,
            "b16" => Self::B16,
            "b32" => Self::B32,
            "b64" => Self::B64,
            "u8" => Self::U8,
            "u16" => Self::U16,
            "u32" => Self::U32,
            "u64" => Self::U64,
            "s8" => Self::S8,
            "s16" => Self::S16,
            "s32" => Self::S32,
            "s64" => Self::S64,
            "f16" => Self::F16,
            "f16x2" => Self::F16x2,
            "bf16" => Self::Bf16,
            "bf16x2" => Self::Bf16x2,
            "f32" => Self::F32,
            "f64" => Self::F64,
            "pred" => Self::Pred,
            _ => return None,
        })
    }

    /// Its size in bytes (a predicate has none that memory would see).
    pub(crate) const fn bytes(self) -> u32 {
        match self {
            Self::B8 | Self::U8 | Self::S8 | Self::Pred => 1,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 | Self::Bf16 => 2,
            Self::B32 | Self::U32 | Self::S32 | Self::F16x2 | Self::Bf16x2 | Self::F32 => 4,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 => 8,
        }
    }

    /// Whether it is a signed integer.
    pub(crate) const fn signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }

    /// Whether it is a floating-point type.
    pub(crate) const fn float(self) -> bool {
        matches!(self, Self::F16 | Self::F16x2 | Self::Bf16 | Self::Bf16x2 | Self::F32 | Self::F64)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", format!("{self:?}").to_lowercase())
    }
}

/// A state space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    /// Named by no suffix: any window.
    Generic,
    /// Device memory.
    Global,
    /// Device memory that kernels only read.
    Const,
    /// A block's memory.
    Shared,
    /// A thread's memory.
    Local,
    /// Parameters of entries and functions.
    Param,
}

/// A declared variable or parameter.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) space: Space,
    pub(crate) align: u32,
    pub(crate) bytes: u64,
    /// Its initial bytes; shorter than `bytes` where the rest is zero.
    pub(crate) init: Vec<u8>,
    /// `true` for `.extern .shared .b8 x[]`: as large as the launch says.
    pub(crate) dynamic: bool,
    /// Initial bytes that hold an address: at which byte, whose, and how far behind it.
    pub(crate) pointers: Vec<(usize, String, i64)>,
}

/// An operand as written, with registers resolved.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    /// A register, by its index in the function.
    Reg(u32),
    /// Any other name: variable, parameter, function, special register, label; and a distance from it.
    Name(String, i64),
    /// An integer, two's complement.
    Int(u64),
    /// Bits of an f32.
    F32(u32),
    /// Bits of an f64.
    F64(u64),
    /// `[base+offset]`.
    Address(Box<Operand>, i64),
    /// `{a, b}`.
    Vector(Vec<Operand>),
    /// `(a, b)` of a call.
    List(Vec<Operand>),
    /// `p|q`.
    Pair(Box<Operand>, Box<Operand>),
    /// `!p`.
    Not(Box<Operand>),
    /// `_`.
    Sink,
}

/// An instruction.
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    /// Guard predicate and whether it is negated.
    pub(crate) guard: Option<(u32, bool)>,
    /// `fma.rn.f32`.
    pub(crate) opcode: String,
    pub(crate) operands: Vec<Operand>,
    /// Line in the PTX text.
    pub(crate) line: u32,
    /// Source file (index of `.file`) and line, where `.loc` says.
    pub(crate) source: Option<(u32, u32)>,
    /// Scope that its labels are looked up from.
    pub(crate) scope: u32,
}

/// A function or entry point.
#[derive(Clone, Debug, Default)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) entry: bool,
    pub(crate) line: u32,
    pub(crate) returns: Vec<Variable>,
    pub(crate) params: Vec<Variable>,
    /// Types of the registers that the body names.
    pub(crate) registers: Vec<(String, Type)>,
    /// Variables declared in the body, `.param` ones of call sequences included.
    pub(crate) variables: Vec<Variable>,
    pub(crate) body: Vec<Instruction>,
    /// Labels: name and scope to the index of the instruction that follows.
    pub(crate) labels: std::collections::HashMap<(String, u32), u32>,
    /// Each scope's parent; scope 0 is the function's own.
    pub(crate) scopes: Vec<u32>,
    /// `.branchtargets` lists by the label before them.
    pub(crate) branch_targets: std::collections::HashMap<String, Vec<String>>,
    /// `.maxntid` or `.reqntid` as threads, 0 where not given.
    pub(crate) max_threads: u64,
    /// `true` until a body has been seen.
    pub(crate) declared_only: bool,
}

/// A whole text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Module {
    pub(crate) functions: Vec<Function>,
    pub(crate) variables: Vec<Variable>,
    /// Source files by the index that `.loc` uses.
    pub(crate) files: Vec<(u32, String)>,
}
