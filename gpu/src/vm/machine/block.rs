//! A block: its shared memory, its barriers, and its warps in turn until all have ended.

use super::grid::{Run, Shuffle, mix};
use super::regs::LANES;
use super::warp::{Wait, Warp};
use crate::vm::checks::{Finding, FindingKind, Findings};
use crate::vm::decode::code::{BarrierRed, Class, Op, Slot};
use crate::vm::races::{SharedCells, Who};
use std::sync::atomic::Ordering::Relaxed;

/// One of a block's sixteen barriers.
#[derive(Clone, Debug, Default)]
pub(crate) struct BarrierState {
    /// Threads that have arrived.
    pub(crate) arrived: u32,
    /// Threads that it needs, if an instruction has said.
    pub(crate) wanted: Option<u32>,
    /// Where the first arrived: function and operation.
    pub(crate) place: Option<(u32, u32)>,
    /// Threads whose predicate held.
    pub(crate) trues: u32,
    /// Results to deliver: warp, frame, lanes, operation, destination.
    pub(crate) results: Vec<(u32, u32, u32, BarrierRed, Slot)>,
}

/// How a warp's turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// All its lanes have ended.
    Ended,
    /// All its paths wait.
    Blocked,
    /// It ran long enough for now.
    Yielded,
}

/// A block in progress, reused from block to block.
pub(crate) struct BlockState {
    pub(crate) ctaid: [u32; 3],
    pub(crate) linear: u64,
    pub(crate) shared: Vec<u32>,
    /// A bit for each byte of shared memory that has been written.
    pub(crate) shared_set: Vec<u32>,
    pub(crate) shared_cells: SharedCells,
    /// Barriers passed.
    pub(crate) epoch: u32,
    /// Whether a fence beyond the block has been passed: what follows may be ordered with other blocks.
    pub(crate) fenced: bool,
    pub(crate) barriers: Vec<BarrierState>,
    pub(crate) findings: Findings,
    pub(crate) instructions: u64,
    /// Warp instructions left in the block's budget.
    pub(crate) budget: u64,
    pub(crate) stopped: bool,
    warps: Vec<Warp>,
}

impl BlockState {
    pub(crate) fn new(run: &Run<'_>) -> Self {
        let bytes = run.program.shared_bytes + run.dynamic_shared;
        let words = bytes.div_ceil(4) as usize + 4;
        let checked = if run.options.checks { words } else { 0 };
        Self {
            ctaid: [0; 3],
            linear: 0,
            shared: vec![0; words],
            shared_set: vec![0; checked.div_ceil(8)],
            shared_cells: SharedCells { cells: vec![(0, 0); checked] },
            epoch: 0,
            fenced: false,
            barriers: vec![BarrierState::default(); 16],
            findings: Findings::default(),
            instructions: 0,
            budget: 0,
            stopped: false,
            warps: Vec::new(),
        }
    }

    /// Runs one block to its end.
    pub(crate) fn run_block(&mut self, run: &Run<'_>, ctaid: [u32; 3], linear: u64) {
        let threads = run.geometry.block.iter().product::<u32>();
        let count = threads.div_ceil(32);
        (self.ctaid, self.linear, self.epoch, self.fenced, self.stopped) = (ctaid, linear, 0, false, false);
        self.budget = run.options.step_budget;
        self.shared_set.fill(0);
        self.barriers.fill(BarrierState::default());
        let mut warps = std::mem::take(&mut self.warps);
        warps.resize_with(count as usize, Warp::default);
        for (index, warp) in warps.iter_mut().enumerate() {
            let left = threads - index as u32 * 32;
            let present = if left >= 32 { u32::MAX } else { (1 << left) - 1 };
            warp.start(index as u32, present, run, ctaid, run.entry);
        }
        self.rounds(run, &mut warps);
        self.instructions += run.options.step_budget - self.budget;
        self.warps = warps;
    }

    /// Gives each warp its turn until none is left.
    fn rounds(&mut self, run: &Run<'_>, warps: &mut [Warp]) {
        let mut round = 0;
        loop {
            let seed = if run.options.seed == 0 { 0 } else { mix(run.options.seed, self.linear ^ round << 32) };
            let order = Shuffle::new(warps.len() as u64, seed);
            round += 1;
            let (mut ended, mut progress) = (0, false);
            for at in 0..warps.len() as u64 {
                let warp = &mut warps[order.at(at) as usize];
                if warp.paths.is_empty() {
                    ended += 1;
                    continue;
                }
                if !warp.paths.iter().any(|p| p.wait == Wait::Nothing) {
                    continue;
                }
                let before = self.budget;
                let turn = self.run_warp(run, warp);
                progress |= before != self.budget || turn != Turn::Blocked;
                ended += usize::from(turn == Turn::Ended);
                if self.stopped {
                    run.abort.store(true, Relaxed);
                    return;
                }
            }
            if ended == warps.len() {
                return;
            }
            progress |= self.release(run, warps);
            if !progress && !self.unblock(run, warps) {
                return;
            }
        }
    }

    /// Opens the barriers that are complete.
    fn release(&mut self, run: &Run<'_>, warps: &mut [Warp]) -> bool {
        let live: u32 = warps.iter().map(|w| w.live().count_ones()).sum();
        let mut opened = false;
        for id in 0..16 {
            let barrier = &self.barriers[id as usize];
            if barrier.arrived == 0 || barrier.arrived < barrier.wanted.unwrap_or(live) {
                continue;
            }
            opened = true;
            self.epoch += 1;
            let barrier = std::mem::take(&mut self.barriers[id as usize]);
            if let Some(wanted) = barrier.wanted
                && barrier.arrived > wanted
                && let Some((function, op)) = barrier.place
            {
                let detail = format!("{} threads arrived at barrier {id}, which is for {wanted}", barrier.arrived);
                self.report(run, (function, op), 0, 0, FindingKind::Barrier, || detail);
            }
            for (warp, frame, lanes, op, slot) in barrier.results {
                let regs = &mut warps[warp as usize].frames[frame as usize].regs;
                let value = match op {
                    BarrierRed::Popc => barrier.trues,
                    BarrierRed::And => u32::from(barrier.trues == barrier.arrived),
                    BarrierRed::Or => u32::from(barrier.trues != 0),
                };
                match slot.class {
                    Class::Pred => {
                        let to = &mut regs.pred[slot.index as usize];
                        *to = *to & !lanes | if value != 0 { lanes } else { 0 };
                    }
                    _ => {
                        for lane in 0..LANES {
                            if lanes >> lane & 1 != 0 {
                                regs.r32[slot.index as usize][lane] = value;
                            }
                        }
                    }
                }
            }
            for warp in warps.iter_mut() {
                for path in &mut warp.paths {
                    if path.wait == Wait::Barrier(id) {
                        path.wait = Wait::Nothing;
                    }
                }
            }
        }
        opened
    }

    /// Nothing moves: says why, and lets go of what can go on. `false` when the block is stuck for good.
    fn unblock(&mut self, run: &Run<'_>, warps: &mut [Warp]) -> bool {
        let mut forced = false;
        for warp in warps.iter_mut() {
            for path in &mut warp.paths {
                if path.wait == Wait::Members {
                    (path.wait, path.forced, forced) = (Wait::Nothing, true, true);
                }
            }
        }
        if forced {
            return true;
        }
        let live: u32 = warps.iter().map(|w| w.live().count_ones()).sum();
        for warp in warps.iter() {
            for path in &warp.paths {
                if let Wait::Barrier(id) = path.wait {
                    let barrier = &self.barriers[id as usize];
                    let wanted = barrier.wanted.unwrap_or(live);
                    let detail = format!(
                        "barrier {id} never completes: {} of {wanted} threads arrived, no other thread of the block can go on",
                        barrier.arrived
                    );
                    let place = (warp.frames[path.frame as usize].function, path.pc - 1);
                    self.report(run, place, warp.index, path.mask.trailing_zeros(), FindingKind::Barrier, || detail);
                }
            }
        }
        run.abort.store(true, Relaxed);
        false
    }

    /// Who accesses memory now, for the race checks.
    pub(crate) fn who(&self, run: &Run<'_>, warp_epoch: u32) -> Who {
        Who::new(run.stamp, self.linear, self.epoch, warp_epoch)
    }

    /// Notes a finding of a lane at an operation.
    pub(crate) fn report(
        &mut self,
        run: &Run<'_>,
        (function, op): (u32, u32),
        warp: u32,
        lane: u32,
        kind: FindingKind,
        detail: impl FnOnce() -> String,
    ) {
        let thread = warp * 32 + lane;
        let ctaid = self.ctaid;
        self.findings.add(function, op, self.linear << 10 | u64::from(thread), kind, || {
            let code = &run.program.functions[function as usize];
            let place: &Op = &code.ops[op as usize];
            let file = |index: u32| {
                run.program.files.iter().find(|f| f.0 == index).map_or_else(|| format!("file {index}"), |f| f.1.clone())
            };
            let [nx, ny, _] = run.geometry.block;
            Finding {
                kind,
                kernel: run.program.functions[run.entry as usize].name.clone(),
                function: (function != run.entry).then(|| code.name.clone()),
                source: place.source.map(|(index, line)| (file(index), line)),
                line: place.line,
                block: ctaid,
                thread: [thread % nx, thread / nx % ny, thread / nx / ny],
                detail: detail(),
                count: 1,
            }
        });
    }
}
