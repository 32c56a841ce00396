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
    pub(crate) fn report(&self, program: &Program) -> Vec<FunctionCoverage> {
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
                    .filter(|(block, _)| block.len > 1)
                    .map(|(block, mark)| {
                        let mark = mark.load(Relaxed);
                        BlockCoverage {
                            line: block.line,
                            source: block.source.map(|(index, line)| (file(index), line)),
                            reachable: block.reachable,
                            ran: mark & RAN != 0,
                            conditional: block.conditional,
                            taken: mark & TAKEN != 0,
                            passed: mark & PASSED != 0,
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
}

impl FunctionCoverage {
    /// Blocks that ran, and reachable blocks.
    pub fn ran(&self) -> (usize, usize) {
        let reachable = self.blocks.iter().filter(|b| b.reachable);
        (reachable.clone().filter(|b| b.ran).count(), reachable.count())
    }
}
