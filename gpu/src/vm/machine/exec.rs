//! The interpreter's loop: picks a path, runs it until it parts, waits or ends.

use super::block::{BlockState, Turn};
use super::frames::{exit, load_entry_param, return_from, store_param};
use super::grid::Run;
use super::regs::Regs;
use super::warp::{Path, Wait, Warp};
use crate::vm::checks::FindingKind;
use crate::vm::decode::code::{Barrier, Class, Code, Kind, NO_SLOT, Op, Slot};
use std::sync::atomic::Ordering::Relaxed;

/// Atomics and strong loads that a path makes before others get their turn: it may be waiting for what they do. Loops that do not
/// poll memory are never left, so that lanes which end a loop early wait at its end for the others.
const PATIENCE: u32 = 128;
/// Basic blocks that a warp runs before other warps get their turn.
const TURN: u32 = 1 << 16;

/// What a step of a path leads to.
pub(super) enum Next {
    /// The path stands at `pc` (its own copy is up to date) and others may be preferable.
    Switch,
    /// The path is gone.
    Gone,
}

impl BlockState {
    /// Runs a warp until all its paths wait or have ended.
    pub(super) fn run_warp(&mut self, run: &Run<'_>, warp: &mut Warp) -> Turn {
        let mut turn = TURN;
        loop {
            if warp.paths.is_empty() {
                return Turn::Ended;
            }
            let Some(at) = pick(run, warp) else { return Turn::Blocked };
            if self.stopped || turn == 0 {
                return Turn::Yielded;
            }
            let mut path = warp.paths.swap_remove(at);
            match self.run_path(run, warp, &mut path, &mut turn) {
                Next::Switch => warp.paths.push(path),
                Next::Gone => {}
            }
        }
    }

    /// Runs one path, which is not in the warp's list meanwhile.
    #[allow(clippy::too_many_lines)]
    fn run_path(&mut self, run: &Run<'_>, warp: &mut Warp, path: &mut Path, turn: &mut u32) -> Next {
        let checks = run.options.checks;
        let function = warp.frames[path.frame as usize].function;
        let code = &run.program.functions[function as usize];
        let mut resumed = true;
        let mut block = 0;
        loop {
            let pc = path.pc;
            let op = &code.ops[pc as usize];
            let regs = &mut warp.frames[path.frame as usize].regs;
            let mut active = path.mask;
            if op.guard != NO_SLOT {
                let p = regs.pred[op.guard as usize];
                if checks {
                    let slot = Slot { class: Class::Pred, index: op.guard };
                    self.check_read(run, (&mut *warp, path.frame), (function, pc), slot, active);
                }
                active &= if op.negated { !p } else { p };
            }
            let regs = &mut warp.frames[path.frame as usize].regs;
            match &op.kind {
                Kind::Block(number) => {
                    if path.polls >= PATIENCE {
                        path.polls = 0;
                        path.deferred = true;
                        *turn = turn.saturating_sub(TURN / 8);
                        return Next::Switch;
                    }
                    // Another path may stand here too, or may be the one to run first.
                    if !resumed && !warp.paths.is_empty() {
                        return Next::Switch;
                    }
                    block = *number;
                    run.counters.ran(function, block);
                    let len = u64::from(code.blocks[block as usize].len);
                    *turn = turn.saturating_sub(1);
                    if self.budget < len || *turn == 0 {
                        if self.budget < len {
                            self.budget = 0;
                            self.stopped = true;
                            let detail = || {
                                format!(
                                    "the block has run {} warp instructions and does not end",
                                    run.options.step_budget
                                )
                            };
                            self.report(
                                run,
                                (function, pc),
                                warp.index,
                                path.mask.trailing_zeros(),
                                FindingKind::Endless,
                                detail,
                            );
                        } else if run.abort.load(Relaxed) {
                            self.stopped = true;
                        }
                        return Next::Switch;
                    }
                    self.budget -= len;
                    path.pc += 1;
                }
                Kind::Alu { f, args, moves } => {
                    if active != 0 {
                        if checks {
                            if *moves {
                                pass_on(regs, op, active);
                            } else {
                                if undefined(regs, op, active) {
                                    self.check_reads(run, (&mut *warp, path.frame), (function, pc), op, active);
                                }
                                define(&mut warp.frames[path.frame as usize].regs, op, active);
                            }
                        }
                        f(&mut warp.frames[path.frame as usize].regs, args, active);
                    }
                    path.pc += 1;
                }
                Kind::Branch(target) => {
                    let passed = path.mask & !active;
                    if op.guard != NO_SLOT {
                        run.counters.branched(function, block, active != 0, passed != 0);
                    }
                    if active == 0 {
                        path.pc += 1;
                    } else if passed == 0 {
                        path.pc = *target;
                    } else {
                        warp.paths.push(Path { pc: *target, mask: active, ..*path });
                        path.mask = passed;
                        path.pc += 1;
                        return Next::Switch;
                    }
                }
                _ => {
                    if checks && active != 0 {
                        if undefined(regs, op, active) {
                            self.check_reads(run, (&mut *warp, path.frame), (function, pc), op, active);
                        }
                        if !matches!(op.kind, Kind::Collective(..)) {
                            define(&mut warp.frames[path.frame as usize].regs, op, active);
                        }
                    }
                    if let Some(next) = self.step(run, warp, path, (function, op), active) {
                        return next;
                    }
                }
            }
            resumed = false;
        }
    }

    /// The operations that are neither arithmetic nor plain branches.
    fn step(
        &mut self,
        run: &Run<'_>,
        warp: &mut Warp,
        path: &mut Path,
        (function, op): (u32, &Op),
        active: u32,
    ) -> Option<Next> {
        let place = (function, path.pc);
        // Ends, calls and waits of some lanes only: those lanes become a path of their own.
        let whole = active == path.mask;
        let parts = matches!(
            op.kind,
            Kind::Call(_) | Kind::Return | Kind::Barrier(_) | Kind::Collective(..) | Kind::BranchIndexed { .. }
        );
        if parts && active == 0 {
            path.pc += 1;
            return None;
        }
        if parts && !whole {
            warp.paths.push(Path { pc: path.pc + 1, mask: path.mask & !active, ..*path });
            path.mask = active;
        }
        match &op.kind {
            Kind::Load(access) => {
                path.polls += u32::from(access.strong);
                self.load(run, warp, path.frame, place, access, active);
            }
            Kind::Store(access) => self.store(run, warp, path.frame, place, access, active),
            Kind::Atom(atom) => {
                path.polls += 1;
                self.atom(run, warp, path.frame, place, atom, active);
            }
            Kind::LoadEntryParam(access) => {
                load_entry_param(&mut warp.frames[path.frame as usize].regs, run.params, access, active);
            }
            Kind::LoadParam(access) => self.load_param(run, warp, path.frame, place, access, active),
            Kind::StoreParam(access) => store_param(warp, path.frame, access, active),
            Kind::BranchIndexed { index, targets } => {
                return Some(self.branch_indexed(run, warp, path, place, *index, targets));
            }
            Kind::Call(call) => return Some(self.call(run, warp, path, place, call)),
            Kind::Return => return Some(return_from(run, warp, path)),
            Kind::Exit => {
                exit(warp, path.frame, active);
                path.mask &= !active;
                if path.mask == 0 {
                    return Some(Next::Gone);
                }
            }
            Kind::Trap => {
                if active != 0 {
                    self.report(run, place, warp.index, active.trailing_zeros(), FindingKind::Trap, || {
                        "a trap instruction was reached".to_owned()
                    });
                    self.stopped = true;
                    return Some(Next::Switch);
                }
            }
            Kind::Barrier(barrier) => return self.arrive(run, warp, path, place, barrier),
            Kind::Collective(members, what) => {
                if !self.collective(run, warp, path, place, *members, what) {
                    path.wait = Wait::Members;
                    return Some(Next::Switch);
                }
                path.forced = false;
                define(&mut warp.frames[path.frame as usize].regs, op, path.mask);
                if !whole {
                    path.pc += 1;
                    return Some(Next::Switch);
                }
            }
            Kind::ActiveMask(d) => {
                let regs = &mut warp.frames[path.frame as usize].regs;
                put32(regs, *d, active, active);
            }
            Kind::Clock(d) => {
                let regs = &mut warp.frames[path.frame as usize].regs;
                let now = run.options.step_budget - self.budget;
                for lane in lanes(active) {
                    match d.class {
                        Class::Long => regs.r64[d.index as usize][lane] = now,
                        _ => regs.r32[d.index as usize][lane] = now as u32,
                    }
                }
            }
            Kind::Fence(far) => self.fenced |= *far,
            Kind::Nop | Kind::Block(_) | Kind::Alu { .. } | Kind::Branch(_) => {}
        }
        path.pc += 1;
        None
    }

    fn branch_indexed(
        &mut self,
        run: &Run<'_>,
        warp: &mut Warp,
        path: &mut Path,
        place: (u32, u32),
        index: u32,
        targets: &[u32],
    ) -> Next {
        let indices = warp.frames[path.frame as usize].regs.r32[index as usize];
        let mut left = path.mask;
        while left != 0 {
            let first = left.trailing_zeros();
            let chosen = indices[first as usize];
            let same = lanes(left).filter(|&lane| indices[lane] == chosen).fold(0, |mask, lane| mask | 1 << lane);
            left &= !same;
            if let Some(&target) = targets.get(chosen as usize) {
                warp.paths.push(Path { pc: target, mask: same, ..*path });
            } else {
                let detail = || format!("index {chosen} of a branch table of {} entries", targets.len());
                self.report(run, place, warp.index, first, FindingKind::Trap, detail);
                exit(warp, path.frame, same);
            }
        }
        Next::Gone
    }

    /// A path arrives at a barrier.
    fn arrive(
        &mut self,
        run: &Run<'_>,
        warp: &mut Warp,
        path: &mut Path,
        place: (u32, u32),
        barrier: &Barrier,
    ) -> Option<Next> {
        let regs = &warp.frames[path.frame as usize].regs;
        let first = path.mask.trailing_zeros();
        let id = regs.r32[barrier.id as usize][first as usize];
        let wanted = (barrier.count != NO_SLOT).then(|| regs.r32[barrier.count as usize][first as usize]);
        if id > 15 {
            self.report(run, place, warp.index, first, FindingKind::Barrier, || {
                format!("barrier {id} does not exist: there are 16")
            });
            path.pc += 1;
            return None;
        }
        let missing = warp.live() & !path.mask;
        if barrier.aligned && missing != 0 {
            let detail = || format!("barrier {id} in divergent flow: lanes {missing:#010x} of the warp are elsewhere");
            self.report(run, place, warp.index, first, FindingKind::Barrier, detail);
        }
        if let Some(count) = wanted.filter(|c| c % 32 != 0 || *c == 0) {
            self.report(run, place, warp.index, first, FindingKind::Barrier, || {
                format!("a thread count of {count} is no multiple of 32")
            });
        }
        // An aligned barrier counts whole warps.
        let threads = if wanted.is_some() && barrier.aligned && missing == 0 { 32 } else { path.mask.count_ones() };
        let state = &mut self.barriers[id as usize];
        state.arrived += threads;
        let other_place = *state.place.get_or_insert(place);
        let other_count = state.wanted;
        state.wanted = wanted.or(state.wanted);
        if let Some((op, slot, p, negated)) = barrier.red {
            let bits = regs.pred[p as usize];
            state.trues += (if negated { !bits } else { bits } & path.mask).count_ones();
            state.results.push((warp.index, path.frame, path.mask, op, slot));
        }
        if other_place != place && barrier.wait && wanted.is_none() {
            let line = run.program.functions[other_place.0 as usize].ops[other_place.1 as usize].line;
            self.report(run, place, warp.index, first, FindingKind::Barrier, || {
                format!("other threads wait at barrier {id} on PTX line {line}")
            });
        }
        if other_count.is_some_and(|c| wanted.is_some_and(|w| w != c)) {
            self.report(run, place, warp.index, first, FindingKind::Barrier, || {
                format!("threads disagree on the count of barrier {id}")
            });
        }
        path.pc += 1;
        if barrier.wait {
            path.wait = Wait::Barrier(id);
            return Some(Next::Switch);
        }
        None
    }

    /// Reports the registers of an operation that hold nothing in some lane.
    #[cold]
    fn check_reads(&mut self, run: &Run<'_>, (warp, frame): (&mut Warp, u32), place: (u32, u32), op: &Op, active: u32) {
        for &slot in &op.reads {
            self.check_read(run, (&mut *warp, frame), place, slot, active);
        }
    }

    fn check_read(
        &mut self,
        run: &Run<'_>,
        (warp, frame): (&mut Warp, u32),
        place: (u32, u32),
        slot: Slot,
        active: u32,
    ) {
        let files = &mut warp.frames[frame as usize].regs;
        let set = set_of(files, slot);
        let missing = active & !*set;
        if missing == 0 {
            return;
        }
        *set |= missing;
        let code: &Code = &run.program.functions[place.0 as usize];
        let names = match slot.class {
            Class::Word => &code.word_names,
            Class::Long => &code.long_names,
            Class::Pred => &code.pred_names,
        };
        let detail =
            || format!("register {} holds nothing yet", names.get(slot.index as usize).map_or("", String::as_str));
        self.report(run, place, warp.index, missing.trailing_zeros(), FindingKind::Uninitialized, detail);
    }
}

/// Which path to run: of those that can, the innermost call's, then the least in the order of blocks. Paths that stand together
/// become one first.
fn pick(run: &Run<'_>, warp: &mut Warp) -> Option<usize> {
    let paths = &mut warp.paths;
    let mut at = 0;
    while at < paths.len() && paths.len() > 1 {
        let (frame, pc, wait) = (paths[at].frame, paths[at].pc, paths[at].wait);
        let mergeable = matches!(wait, Wait::Nothing | Wait::Members);
        let other = (at + 1..paths.len()).find(|&o| {
            let p = &paths[o];
            mergeable && p.frame == frame && p.pc == pc && matches!(p.wait, Wait::Nothing | Wait::Members)
        });
        match other {
            Some(other) => {
                let gone = paths.swap_remove(other);
                let path = &mut paths[at];
                path.mask |= gone.mask;
                path.wait = Wait::Nothing;
                path.deferred &= gone.deferred;
            }
            None => at += 1,
        }
    }
    let ready = |p: &Path| p.wait == Wait::Nothing;
    if paths.len() == 1 {
        return ready(&paths[0]).then_some(0);
    }
    if paths.iter().filter(|p| ready(p)).all(|p| p.deferred) {
        for path in paths.iter_mut() {
            path.deferred = false;
        }
    }
    let rank = |p: &Path| {
        let code = &run.program.functions[warp.frames[p.frame as usize].function as usize];
        let block = code.blocks.partition_point(|b| b.start <= p.pc).saturating_sub(1);
        (std::cmp::Reverse(p.depth), code.blocks.get(block).map_or(0, |b| b.order), p.pc)
    };
    let candidates = paths.iter().enumerate().filter(|(_, p)| ready(p) && !p.deferred);
    candidates.min_by_key(|(_, p)| rank(p)).map(|(at, _)| at)
}

fn set_of(regs: &mut Regs, slot: Slot) -> &mut u32 {
    match slot.class {
        Class::Word => &mut regs.set32[slot.index as usize],
        Class::Long => &mut regs.set64[slot.index as usize],
        Class::Pred => &mut regs.set_pred[slot.index as usize],
    }
}

fn set_in(regs: &Regs, slot: Slot) -> u32 {
    match slot.class {
        Class::Word => regs.set32[slot.index as usize],
        Class::Long => regs.set64[slot.index as usize],
        Class::Pred => regs.set_pred[slot.index as usize],
    }
}

/// Whether some active lane of some register read holds nothing.
#[inline(always)]
fn undefined(regs: &Regs, op: &Op, active: u32) -> bool {
    op.reads.iter().any(|&slot| active & !set_in(regs, slot) != 0)
}

/// Marks what an operation writes.
#[inline(always)]
fn define(regs: &mut Regs, op: &Op, active: u32) {
    if regs.set32.is_empty() && regs.set64.is_empty() && regs.set_pred.is_empty() {
        return;
    }
    for &slot in &op.writes {
        *set_of(regs, slot) |= active;
    }
}

/// A move: the destination holds something where all its sources do.
#[inline(always)]
fn pass_on(regs: &mut Regs, op: &Op, active: u32) {
    let set = op.reads.iter().fold(u32::MAX, |set, &slot| set & set_in(regs, slot));
    for &slot in &op.writes {
        let to = set_of(regs, slot);
        *to = *to & !active | set & active;
    }
}

/// The lanes of a mask.
#[inline(always)]
pub(super) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| mask >> lane & 1 != 0)
}

/// Writes one value to the lanes of a mask.
pub(super) fn put32(regs: &mut Regs, slot: u32, mask: u32, value: u32) {
    for lane in lanes(mask) {
        regs.r32[slot as usize][lane] = value;
    }
}
