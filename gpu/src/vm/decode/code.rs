//! What a module decodes into: a flat array of operations per function, with slots instead of names.

use crate::vm::machine::regs::{Args, RowFn};
use crate::vm::ptx::Space;

/// A register file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Up to 32 bits.
    Word,
    /// 64 bits.
    Long,
    /// Predicates.
    Pred,
}

/// A place in a register file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) class: Class,
    pub(crate) index: u32,
}

/// The slot of operands that are not there.
pub(crate) const NO_SLOT: u32 = u32::MAX;

/// A special register whose value a frame starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Tid(usize),
    Ntid(usize),
    Ctaid(usize),
    Nctaid(usize),
    LaneId,
    WarpId,
    NWarpId,
    LaneMaskEq,
    LaneMaskLt,
    LaneMaskLe,
    LaneMaskGt,
    LaneMaskGe,
    /// `%smid`, `%gridid` and the like: some number that a kernel must not depend on.
    Arbitrary,
    NSmId,
    DynamicSharedSize,
    TotalSharedSize,
}

/// How a memory access treats the loaded bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extend {
    Zero,
    /// Sign-extended from the element's size, then cut to the register's.
    Sign,
}

/// An address: a register (or constant) and a distance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub(crate) base: Slot,
    pub(crate) offset: i64,
}

/// A load or store of one to four elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) space: Space,
    pub(crate) address: Address,
    /// Bytes of an element.
    pub(crate) size: u32,
    pub(crate) count: u32,
    pub(crate) registers: [Slot; 4],
    /// Bits of each destination register, for extension.
    pub(crate) bits: u32,
    pub(crate) extend: Extend,
    /// `volatile`, `relaxed` and stronger: ordered by the memory model, hence no data race with its like.
    pub(crate) strong: bool,
}

/// What an atomic does to the old value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomOp {
    Add,
    AddF32,
    AddF32Flushed,
    AddF64,
    AddF16x2,
    AddBf16x2,
    AddF16,
    AddBf16,
    And,
    Or,
    Xor,
    Exch,
    Cas,
    Inc,
    Dec,
    MinS,
    MaxS,
    MinU,
    MaxU,
}

/// An atomic or reduction on memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Atom {
    pub(crate) space: Space,
    pub(crate) address: Address,
    pub(crate) op: AtomOp,
    pub(crate) size: u32,
    /// `None` for `red`.
    pub(crate) result: Option<Slot>,
    pub(crate) value: Slot,
    /// The new value of `cas`.
    pub(crate) swap: Option<Slot>,
}

/// How `shfl.sync` finds its source lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShflMode {
    Up,
    Down,
    Bfly,
    Idx,
}

/// What lanes of a warp combine.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Collective {
    Shfl {
        mode: ShflMode,
        d: u32,
        valid: Option<u32>,
        value: u32,
        lane: u32,
        clamp: u32,
    },
    VoteAll {
        d: u32,
        p: u32,
        negated: bool,
    },
    VoteAny {
        d: u32,
        p: u32,
        negated: bool,
    },
    VoteUni {
        d: u32,
        p: u32,
        negated: bool,
    },
    Ballot {
        d: u32,
        p: u32,
        negated: bool,
    },
    MatchAny {
        d: u32,
        value: Slot,
    },
    MatchAll {
        d: u32,
        valid: Option<u32>,
        value: Slot,
    },
    Redux {
        op: AtomOp,
        d: u32,
        value: u32,
    },
    /// `bar.warp.sync`.
    Warp,
}

/// What a barrier does with its predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierRed {
    Popc,
    And,
    Or,
}

/// A block barrier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Barrier {
    pub(crate) id: u32,
    /// Slot of the thread count, or [`NO_SLOT`].
    pub(crate) count: u32,
    /// `bar.arrive` goes on without waiting.
    pub(crate) wait: bool,
    pub(crate) aligned: bool,
    /// Operation, destination, predicate and whether it is negated.
    pub(crate) red: Option<(BarrierRed, Slot, u32, bool)>,
}

/// A parameter access: word row `row` of the frame's parameter area, byte `byte` within it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParamAccess {
    pub(crate) offset: u32,
    pub(crate) size: u32,
    pub(crate) count: u32,
    pub(crate) registers: [Slot; 4],
    pub(crate) bits: u32,
    pub(crate) extend: Extend,
}

/// An operation.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// The start of a basic block.
    Block(u32),
    /// A row function; `moves` when it only moves data, so that undefined lanes may pass through.
    Alu {
        f: RowFn,
        args: Args,
        moves: bool,
    },
    Load(Box<Access>),
    Store(Box<Access>),
    Atom(Box<Atom>),
    /// `ld.param` of an entry's parameter.
    LoadEntryParam(ParamAccess),
    /// `ld.param`/`st.param` in the frame's parameter area.
    LoadParam(ParamAccess),
    StoreParam(ParamAccess),
    Branch(u32),
    BranchIndexed {
        index: u32,
        targets: Box<[u32]>,
    },
    Call(Box<Call>),
    Return,
    Exit,
    Trap,
    Barrier(Barrier),
    /// Member mask slot and what to do.
    Collective(u32, Collective),
    ActiveMask(u32),
    /// `elect.sync`: lane number and leader predicate.
    Clock(Slot),
    /// A fence; `true` when its scope reaches other blocks.
    Fence(bool),
    /// Nothing, kept for its line.
    Nop,
}

/// A call: where the caller's arguments lie in its parameter area, and the results.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) function: u32,
    /// Caller row, callee row, number of rows.
    pub(crate) arguments: Vec<(u32, u32, u32)>,
    pub(crate) results: Vec<(u32, u32, u32)>,
}

/// An operation with its guard and its place in the text.
#[derive(Clone, Debug)]
pub(crate) struct Op {
    pub(crate) kind: Kind,
    /// Slot of the guard predicate, or [`NO_SLOT`].
    pub(crate) guard: u32,
    pub(crate) negated: bool,
    pub(crate) line: u32,
    /// Source file and line.
    pub(crate) source: Option<(u32, u32)>,
    /// Registers read, for the check on uninitialized ones.
    pub(crate) reads: Box<[Slot]>,
    /// Registers written.
    pub(crate) writes: Box<[Slot]>,
}

/// A basic block.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// First operation (its [`Kind::Block`]).
    pub(crate) start: u32,
    /// Operations in it.
    pub(crate) len: u32,
    /// Line of its first instruction.
    pub(crate) line: u32,
    /// Source line of its first instruction.
    pub(crate) source: Option<(u32, u32)>,
    /// Place in an order in which loops are contiguous and exits come last: the scheduler runs the least first, which makes
    /// paths meet again where they can.
    pub(crate) order: u32,
    /// Where it can go on, by block.
    pub(crate) successors: Vec<u32>,
    /// Whether it ends in a conditional branch.
    pub(crate) conditional: bool,
    /// Where that branch leads when it is taken.
    pub(crate) target: Option<u32>,
    /// Whether any path from the entry leads here.
    pub(crate) reachable: bool,
}

/// An entry's parameter.
#[derive(Clone, Debug)]
pub(crate) struct EntryParam {
    pub(crate) offset: u32,
    pub(crate) bytes: u32,
}

/// A decoded function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    pub(crate) name: String,
    pub(crate) entry: bool,
    pub(crate) ops: Vec<Op>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) words: u32,
    pub(crate) longs: u32,
    pub(crate) preds: u32,
    pub(crate) const_words: Vec<(u32, u32)>,
    pub(crate) const_longs: Vec<(u32, u64)>,
    pub(crate) const_preds: Vec<(u32, bool)>,
    /// Addresses of module variables: slot, variable, distance.
    pub(crate) symbols: Vec<(u32, u32, i64)>,
    pub(crate) specials: Vec<(Slot, Special)>,
    /// Slots that hold the frame's local base plus a distance.
    pub(crate) locals: Vec<(Slot, u32)>,
    pub(crate) local_bytes: u32,
    /// Rows of the parameter area.
    pub(crate) param_rows: u32,
    pub(crate) entry_params: Vec<EntryParam>,
    pub(crate) entry_param_bytes: u32,
    pub(crate) max_threads: u64,
    /// Where results and arguments of a device function lie: row and rows.
    pub(crate) result_rows: Vec<(u32, u32)>,
    pub(crate) argument_rows: Vec<(u32, u32)>,
    /// Names of the registers behind the first slots of each file, for messages.
    pub(crate) word_names: Vec<String>,
    pub(crate) long_names: Vec<String>,
    pub(crate) pred_names: Vec<String>,
}

/// A region of a block's shared memory.
#[derive(Clone, Debug)]
pub(crate) struct SharedVariable {
    pub(crate) name: String,
    pub(crate) offset: u32,
    pub(crate) bytes: u32,
    pub(crate) dynamic: bool,
}

/// A module variable in device memory.
#[derive(Clone, Debug)]
pub(crate) struct GlobalVariable {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) init: Vec<u8>,
    pub(crate) constant: bool,
    pub(crate) pointers: Vec<(usize, u32, i64)>,
}

/// A decoded module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub(crate) functions: Vec<Code>,
    pub(crate) globals: Vec<GlobalVariable>,
    pub(crate) shared: Vec<SharedVariable>,
    pub(crate) shared_bytes: u32,
    pub(crate) files: Vec<(u32, String)>,
    /// Whether some kernel orders blocks through memory (atomics): such run in sequence so that a seed fixes the outcome.
    pub(crate) ordered: bool,
}
