//! Coverage: which basic blocks of each kernel's PTX a run executed, and which ways its branches went.

use comfy_table::{CellAlignment, Table};
use gdn_gpu::vm::{BlockCoverage, FunctionCoverage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::STYLE;
use crate::suites;

/// Coverage of one kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Coverage {
    /// The kernel.
    pub kernel: String,
    /// Its basic blocks, in the PTX's order.
    pub blocks: Vec<Block>,
}

/// A basic block and what a run did with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Block {
    /// Line of the PTX that it begins at.
    pub line: u32,
    /// Line of the source, where the PTX says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Why no input reaches it, where that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether any warp ran it.
    pub ran: bool,
    /// Whether its conditional branch was taken, and whether it was passed by; nothing where it does not end in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<Outcomes>,
}

/// Which ways a conditional branch went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outcomes {
    /// Whether some lane took it.
    pub taken: bool,
    /// Whether some lane passed it by.
    pub passed: bool,
}

impl Coverage {
    /// The coverage of the kernels that a run met: those of which some block ran.
    pub fn of(functions: &[FunctionCoverage]) -> Vec<Self> {
        let ran = functions.iter().filter(|function| function.entry && function.blocks.iter().any(|b| b.ran));
        let mut coverage: Vec<Self> = ran.map(Self::one).collect();
        let order: Vec<&str> = suites::all().map(|suite| suite.contract().kernel).collect();
        coverage.sort_by_key(|kernel| order.iter().position(|known| *known == kernel.kernel));
        coverage
    }

    /// Adds what another part of the same run executed.
    pub fn add(&mut self, other: &Self) {
        for (block, other) in self.blocks.iter_mut().zip(&other.blocks) {
            block.ran |= other.ran;
            block.reason = block.reason.take().filter(|_| !block.ran);
            if let (Some(branch), Some(other)) = (&mut block.branch, other.branch) {
                branch.taken |= other.taken;
                branch.passed |= other.passed;
            }
        }
    }

    fn one(function: &FunctionCoverage) -> Self {
        let reasons = reasons(function);
        let blocks = function.blocks.iter().zip(&reasons).filter(|(block, _)| !block.empty);
        let blocks = blocks.map(|(block, reason)| Block {
            line: block.line,
            source: block.source.as_ref().map(|(file, line)| format!("{file}:{line}")),
            reason: reason.filter(|_| !block.ran).map(ToOwned::to_owned),
            ran: block.ran,
            branch: block.conditional.then_some(Outcomes { taken: block.taken, passed: block.passed }),
        });
        Self { kernel: function.name.clone(), blocks: blocks.collect() }
    }

    /// Basic blocks that ran.
    pub fn ran(&self) -> usize {
        self.blocks.iter().filter(|block| block.ran).count()
    }

    /// Basic blocks that some input can reach: all but those with a reason.
    pub fn reachable(&self) -> usize {
        self.blocks.iter().filter(|block| block.reason.is_none()).count()
    }

    /// Outcomes of conditional branches that were seen, and that there are, two a branch, in the blocks that ran.
    pub fn outcomes(&self) -> (usize, usize) {
        let branches = self.blocks.iter().filter(|block| block.ran).filter_map(|block| block.branch);
        branches.fold((0, 0), |(seen, all), branch| {
            (seen + usize::from(branch.taken) + usize::from(branch.passed), all + 2)
        })
    }

    /// Whether every block ran that some input can reach.
    pub fn is_whole(&self) -> bool {
        self.ran() > 0 && self.ran() == self.reachable()
    }
}

/// Whether a block's branch is the one that follows a constant's comparison, or another on the same predicate: the compiler sets
/// each predicate once.
fn branches_as(function: &FunctionCoverage, block: &BlockCoverage, constant: &str) -> bool {
    let guard = |block: &BlockCoverage| {
        let (_, last) = block.text.rsplit_once('@')?;
        last.split_whitespace().next().map(ToOwned::to_owned)
    };
    let compares = |other: &&BlockCoverage| other.conditional && other.text.contains(constant);
    guard(block)
        .is_some_and(|own| function.blocks.iter().filter(compares).any(|other| guard(other).as_ref() == Some(&own)))
}

/// Why no input reaches a block, for each block of a function; nothing for those that some input reaches.
fn reasons(function: &FunctionCoverage) -> Vec<Option<&'static str>> {
    let known = suites::find(&function.name).map_or(&[][..], |suite| suite.unreachable());
    let mut reasons: Vec<Option<&'static str>> = vec![Some("no branch leads to it"); function.blocks.len()];
    // First every path of the code, each block under the reason of the way that leads to it; then again without those ways.
    let mut marked = vec![false; function.blocks.len()];
    let mut stack = vec![(0, None)];
    for closed_ways in [true, false] {
        if !closed_ways {
            marked.fill(false);
            stack.push((0, None));
        }
        while let Some((at, reason)) = stack.pop() {
            if std::mem::replace(&mut marked[at], true) {
                continue;
            }
            reasons[at] = reason;
            let block = &function.blocks[at];
            for &to in &block.successors {
                let way = known.iter().find(|way| {
                    block.conditional
                        && (block.target == Some(to)) == way.taken
                        && branches_as(function, block, way.branch)
                });
                match way {
                    None => stack.push((to, reason)),
                    Some(way) if closed_ways => stack.push((to, reason.or(Some(way.reason)))),
                    Some(_) => {}
                }
            }
        }
    }
    reasons
}

/// What a run left out, in lines: blocks that no input reaches by their reasons, and each block that one would.
pub fn missed(coverage: &[Coverage]) -> Vec<String> {
    let mut lines = Vec::new();
    for Coverage { kernel, blocks } in coverage {
        let mut closed: Vec<(&str, Vec<u32>)> = Vec::new();
        for block in blocks.iter().filter(|block| !block.ran) {
            let source = block.source.as_ref().map_or_else(String::new, |source| format!(" ({source})"));
            match &block.reason {
                None => lines.push(format!("{kernel}: NOT REACHED: the block at PTX line {}{source}", block.line)),
                Some(reason) => match closed.iter_mut().find(|(known, _)| known == reason) {
                    Some((_, blocks)) => blocks.push(block.line),
                    None => closed.push((reason, vec![block.line])),
                },
            }
        }
        for (reason, blocks) in closed {
            lines.push(format!(
                "{kernel}: unreachable: {} blocks from PTX line {} on: {reason}",
                blocks.len(),
                blocks[0]
            ));
        }
    }
    lines
}

/// The table of kernels.
pub fn table(coverage: &[Coverage]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(["kernel", "blocks run", "of reachable", "coverage", "branch outcomes", "of"]);
    for kernel in coverage {
        let (outcomes, possible) = kernel.outcomes();
        table.add_row([
            kernel.kernel.clone(),
            kernel.ran().to_string(),
            kernel.reachable().to_string(),
            format!("{:.1} %", 100.0 * kernel.ran() as f64 / kernel.reachable() as f64),
            outcomes.to_string(),
            possible.to_string(),
        ]);
    }
    for column in 1..6 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}
