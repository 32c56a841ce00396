//! What the machine reports: kinds of findings, where they were made, and their one-line form.

use std::collections::BTreeMap;
use std::fmt;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FindingKind {
    /// Memory or a register is read that nothing has written.
    Uninitialized,
    /// An address outside of every buffer, variable or frame.
    OutOfBounds,
    /// An address that is no multiple of the access's size.
    Misaligned,
    /// A write to what may only be read.
    ReadOnly,
    /// Two accesses that nothing orders, one of them a write.
    Race,
    /// A lane named by a member mask, or read by a shuffle, is not there or not active.
    Lane,
    /// A barrier in divergent flow, with a wrong count, or never completed.
    Barrier,
    /// The step budget ran out.
    Endless,
    /// Calls nested too deep, or frames too large.
    Stack,
    /// A `trap` instruction, or an index outside of a branch table.
    Trap,
}

impl FindingKind {
    /// Every kind.
    pub const ALL: [Self; 10] = [
        Self::Uninitialized,
        Self::OutOfBounds,
        Self::Misaligned,
        Self::ReadOnly,
        Self::Race,
        Self::Lane,
        Self::Barrier,
        Self::Endless,
        Self::Stack,
        Self::Trap,
    ];

    /// The kind in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uninitialized => "uninitialized read",
            Self::OutOfBounds => "out-of-bounds access",
            Self::Misaligned => "misaligned access",
            Self::ReadOnly => "write to read-only memory",
            Self::Race => "data race",
            Self::Lane => "absent or inactive lane",
            Self::Barrier => "barrier misuse",
            Self::Endless => "step budget exhausted",
            Self::Stack => "stack overflow",
            Self::Trap => "trap",
        }
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One thing that a kernel does wrong, at one instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What is wrong.
    pub kind: FindingKind,
    /// The entry point.
    pub kernel: String,
    /// The function that the instruction stands in, where it is not the entry point itself.
    pub function: Option<String>,
    /// Source file and line, where the PTX says.
    pub source: Option<(String, u32)>,
    /// Line of the PTX text.
    pub line: u32,
    /// Block.
    pub block: [u32; 3],
    /// Thread in the block.
    pub thread: [u32; 3],
    /// What happened, with the address as a buffer's name and an index.
    pub detail: String,
    /// How many times it happened at this instruction.
    pub count: u64,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kernel, self.kind)?;
        if let Some((file, line)) = &self.source {
            write!(f, " at {file}:{line}")?;
        }
        let ([bx, by, bz], [tx, ty, tz]) = (self.block, self.thread);
        write!(f, " (PTX line {}", self.line)?;
        if let Some(function) = &self.function {
            write!(f, " in {function}")?;
        }
        write!(f, "), block ({bx}, {by}, {bz}) thread ({tx}, {ty}, {tz}): {}", self.detail)?;
        if self.count > 1 {
            write!(f, " [{} times]", self.count)?;
        }
        Ok(())
    }
}

/// Findings by kind and instruction; of several, that of the first block and thread is kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    found: BTreeMap<(u32, u32, FindingKind), (u64, Finding)>,
}

impl Findings {
    /// Adds a finding made at an operation (function and index) by a thread of the grid.
    pub(crate) fn add(&mut self, function: u32, op: u32, rank: u64, kind: FindingKind, make: impl FnOnce() -> Finding) {
        let entry = self.found.entry((function, op, kind));
        match entry {
            std::collections::btree_map::Entry::Vacant(vacant) => {
                vacant.insert((rank, make()));
            }
            std::collections::btree_map::Entry::Occupied(mut occupied) => {
                let (first, finding) = occupied.get_mut();
                let count = finding.count + 1;
                if rank < *first {
                    *first = rank;
                    *finding = make();
                }
                finding.count = count;
            }
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for (key, (rank, finding)) in other.found {
            match self.found.get_mut(&key) {
                None => {
                    self.found.insert(key, (rank, finding));
                }
                Some((first, mine)) => {
                    let count = mine.count + finding.count;
                    if rank < *first {
                        (*first, *mine) = (rank, finding);
                    }
                    mine.count = count;
                }
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub(crate) fn into_list(self) -> Vec<Finding> {
        self.found.into_values().map(|(_, finding)| finding).collect()
    }
}
