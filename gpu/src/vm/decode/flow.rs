//! Basic blocks, where they lead, and the order in which the scheduler prefers them.

use super::code::{Block, Code, Kind, NO_SLOT};

/// Finds the blocks of decoded code and orders them.
pub(super) fn blocks(code: &mut Code) {
    let starts: Vec<usize> = (0..code.ops.len()).filter(|&i| matches!(code.ops[i].kind, Kind::Block(_))).collect();
    let block_at = |op: u32| starts.binary_search(&(op as usize)).unwrap_or(0) as u32;
    let mut blocks = Vec::with_capacity(starts.len());
    for (at, &start) in starts.iter().enumerate() {
        let end = starts.get(at + 1).copied().unwrap_or(code.ops.len());
        let first = code.ops.get(start + 1).unwrap_or(&code.ops[start]);
        let last = &code.ops[end - 1];
        let next = (at + 1 < starts.len()).then_some(at as u32 + 1);
        let mut successors = match &last.kind {
            Kind::Branch(target) => vec![block_at(*target)],
            Kind::BranchIndexed { targets, .. } => targets.iter().map(|&t| block_at(t)).collect(),
            Kind::Return | Kind::Exit | Kind::Trap => Vec::new(),
            _ => next.into_iter().collect(),
        };
        let ends =
            matches!(last.kind, Kind::Branch(_) | Kind::BranchIndexed { .. } | Kind::Return | Kind::Exit | Kind::Trap);
        let conditional = ends && last.guard != NO_SLOT;
        if conditional {
            successors.extend(next);
        }
        successors.sort_unstable();
        successors.dedup();
        blocks.push(Block {
            start: start as u32,
            len: (end - start) as u32,
            line: first.line,
            source: first.source,
            order: at as u32,
            conditional: conditional && matches!(last.kind, Kind::Branch(_)),
            target: match last.kind {
                Kind::Branch(target) if conditional => Some(block_at(target)),
                _ => None,
            },
            successors,
            reachable: false,
        });
    }
    reachable(&mut blocks);
    for (place, block) in order(&blocks).into_iter().enumerate() {
        blocks[block as usize].order = place as u32;
    }
    code.blocks = blocks;
}

fn reachable(blocks: &mut [Block]) {
    let mut stack = vec![0_u32];
    while let Some(at) = stack.pop() {
        let block = &mut blocks[at as usize];
        if !block.reachable {
            block.reachable = true;
            stack.extend(&block.successors);
        }
    }
}

/// Loops nested deeper than this keep the order of the text, which bounds the work on hostile graphs.
const MAX_NESTING: usize = 64;

/// An order of the blocks in which every loop is contiguous and what follows it comes after: strongly connected components in
/// topological order, each again without the edges back to its first block.
fn order(blocks: &[Block]) -> Vec<u32> {
    let mut predecessors = vec![Vec::new(); blocks.len()];
    for (at, block) in blocks.iter().enumerate() {
        for &to in &block.successors {
            predecessors[to as usize].push(at as u32);
        }
    }
    let mut search = Search {
        blocks,
        level: vec![0; blocks.len()],
        index: vec![u32::MAX; blocks.len()],
        low: vec![0; blocks.len()],
        on_stack: vec![false; blocks.len()],
    };
    let mut result = Vec::with_capacity(blocks.len());
    // Work items: a set of blocks to order, the header whose incoming edges do not count, and how deep the set is nested.
    let mut stack: Vec<(Vec<u32>, Option<u32>, usize)> = vec![((0..blocks.len() as u32).collect(), None, 0)];
    let mut ticket = 0;
    while let Some((mut members, header, depth)) = stack.pop() {
        if members.len() == 1 || depth >= MAX_NESTING {
            members.sort_unstable();
            result.extend(members);
            continue;
        }
        ticket += 1;
        // Components come out last first, which is what a stack wants.
        for component in search.components(&members, ticket, header) {
            if component.len() == 1 {
                stack.push((component, None, depth));
                continue;
            }
            // The header: the member that is entered from outside, the earliest in the text if there are several.
            ticket += 1;
            for &m in &component {
                search.level[m as usize] = ticket;
            }
            let outside = |m: &u32| predecessors[*m as usize].iter().any(|&p| search.level[p as usize] != ticket);
            let first = component.iter().copied().filter(outside).min().or_else(|| component.iter().min().copied());
            stack.push((component, first, depth + 1));
        }
    }
    result
}

/// Strongly connected components of subsets of the blocks; the buffers are shared between searches.
struct Search<'a> {
    blocks: &'a [Block],
    /// Which search a block last took part in.
    level: Vec<u32>,
    index: Vec<u32>,
    low: Vec<u32>,
    on_stack: Vec<bool>,
}

impl Search<'_> {
    /// Tarjan's components among `members`, sinks first, without recursion and without edges to `header`.
    fn components(&mut self, members: &[u32], ticket: u32, header: Option<u32>) -> Vec<Vec<u32>> {
        for &m in members {
            self.level[m as usize] = ticket;
            self.index[m as usize] = u32::MAX;
        }
        let (mut next, mut open, mut found) = (0, Vec::new(), Vec::new());
        for root in header.into_iter().chain(members.iter().copied()) {
            if self.index[root as usize] != u32::MAX {
                continue;
            }
            let mut work = vec![(root, 0_usize)];
            while let Some(&mut (at, ref mut edge)) = work.last_mut() {
                let a = at as usize;
                if self.index[a] == u32::MAX {
                    (self.index[a], self.low[a]) = (next, next);
                    next += 1;
                    open.push(at);
                    self.on_stack[a] = true;
                }
                if let Some(&to) = self.blocks[a].successors.get(*edge) {
                    *edge += 1;
                    if self.level[to as usize] != ticket || Some(to) == header {
                        continue;
                    }
                    if self.index[to as usize] == u32::MAX {
                        work.push((to, 0));
                    } else if self.on_stack[to as usize] {
                        self.low[a] = self.low[a].min(self.index[to as usize]);
                    }
                    continue;
                }
                work.pop();
                if let Some(&(parent, _)) = work.last() {
                    self.low[parent as usize] = self.low[parent as usize].min(self.low[a]);
                }
                if self.low[a] == self.index[a] {
                    let mut component = Vec::new();
                    while let Some(member) = open.pop() {
                        self.on_stack[member as usize] = false;
                        component.push(member);
                        if member == at {
                            break;
                        }
                    }
                    found.push(component);
                }
            }
        }
        found
    }
}
