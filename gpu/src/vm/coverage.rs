//! Which basic blocks of each function ran, and which ways its branches went.

use super::decode::code::Program;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

const RAN: u8 = 1;
const TAKEN: u8 = 2;
const PASSED: u8 = 4;

/// Marks of all functions of a program.
#[derive(Debug)]
pub(crate) struct Counters {
    marks: Vec<Vec<AtomicU8>>,
}

impl Counters {
    pub(crate) fn new(program: &Program) -> Self {
        Self { marks: program.functions.iter().map(|f| f.blocks.iter().map(|_| AtomicU8::new(0)).collect()).collect() }
    }

    #[inline(always)]
    fn mark(&self, function: u32, block: u32, bits: u8) {
        let mark = &self.marks[function as usize][block as usize];
        let old = mark.load(Relaxed);
        if old & bits != bits {
            mark.store(old | bits, Relaxed);
        }
    }

    #[inline(always)]
    pub(crate) fn ran(&self, function: u32, block: u32) {
        self.mark(function, block, RAN);
    }

    #[inline(always)]
    pub(crate) fn branched(&self, function: u32, block: u32, taken: bool, passed: bool) {
        self.mark(function, block, if taken { TAKEN } else { 0 } | if passed { PASSED } else { 0 });
    }

    /// The marks in words.
    pub(crate) fn report(&self, program: &Program, text: &str) -> Vec<FunctionCoverage> {
        let lines: Vec<&str> = text.lines().collect();
        let between = |from: u32, to: u32| {
            let (from, to) = (from.saturating_sub(1) as usize, to.saturating_sub(1) as usize);
            lines.get(from..to.min(lines.len()).max(from)).map_or_else(String::new, |part| part.join("\n"))
        };
        let file = |index: u32| program.files.iter().find(|f| f.0 == index).map_or_else(String::new, |f| f.1.clone());
        let functions = program.functions.iter().zip(&self.marks).filter(|(f, _)| !f.blocks.is_empty());
        functions
            .map(|(function, marks)| FunctionCoverage {
                name: function.name.clone(),
                entry: function.entry,
                blocks: function
                    .blocks
                    .iter()
                    .zip(marks)
                    .enumerate()
                    .map(|(at, (block, mark))| {
                        let mark = mark.load(Relaxed);
                        let next = function.blocks.get(at + 1);
                        BlockCoverage {
                            line: block.line,
                            source: block.source.map(|(index, line)| (file(index), line)),
                            text: next.map_or_else(String::new, |next| between(block.line, next.line)),
                            empty: block.len <= 1 || next.is_none(),
                            reachable: block.reachable,
                            ran: mark & RAN != 0,
                            conditional: block.conditional,
                            taken: mark & TAKEN != 0,
                            passed: mark & PASSED != 0,
                            successors: block.successors.iter().map(|&to| to as usize).collect(),
                            target: block.target.map(|to| to as usize),
                        }
                    })
                    .collect(),
            })
            .collect()
    }
}

/// Coverage of one function over all launches since its program was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionCoverage {
    /// Its name.
    pub name: String,
    /// Whether it is an entry point.
    pub entry: bool,
    /// Its basic blocks in the order of the text.
    pub blocks: Vec<BlockCoverage>,
}

/// Coverage of one basic block.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)]
pub struct BlockCoverage {
    /// PTX line of its first instruction.
    pub line: u32,
    /// Source file and line of its first instruction.
    pub source: Option<(String, u32)>,
    /// Its lines of PTX, and what stands between them and the next block's.
    pub text: String,
    /// Whether it has no instruction of its own: a label right before another, or the end after the last instruction.
    pub empty: bool,
    /// Whether any path from the function's beginning leads to it.
    pub reachable: bool,
    /// Whether any warp ran it.
    pub ran: bool,
    /// Whether it ends in a conditional branch.
    pub conditional: bool,
    /// Whether some lane took that branch.
    pub taken: bool,
    /// Whether some lane passed it by.
    pub passed: bool,
    /// Blocks that it can go on to, as places in the function's list.
    pub successors: Vec<usize>,
    /// The block that its conditional branch leads to when taken.
    pub target: Option<usize>,
}

impl FunctionCoverage {
    /// Adds what the same function of the same program ran elsewhere, on another thread's machine.
    pub fn add(&mut self, other: &Self) {
        for (block, other) in self.blocks.iter_mut().zip(&other.blocks) {
            block.ran |= other.ran;
            block.taken |= other.taken;
            block.passed |= other.passed;
        }
    }

    /// Blocks that ran, and reachable blocks.
    pub fn ran(&self) -> (usize, usize) {
        let reachable = self.blocks.iter().filter(|b| b.reachable && !b.empty);
        (reachable.clone().filter(|b| b.ran).count(), reachable.count())
    }
}
