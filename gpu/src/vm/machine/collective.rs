//! What lanes of a warp do together: shuffles, votes, matches, reductions, warp barriers.
//!
//! Each has a member mask and waits until all living members have come to it, as the ISA demands; members that do not exist or
//! have ended are findings, as is a shuffle that reads a lane outside of the mask.

use super::access::get;
use super::atomics::updated;
use super::block::BlockState;
use super::exec::{lanes, put32};
use super::grid::Run;
use super::regs::{LANES, Regs};
use super::warp::{Path, Warp};
use crate::vm::checks::FindingKind;
use crate::vm::decode::code::{Collective, ShflMode};

impl BlockState {
    /// Runs a collective for the lanes of a path; `false` when it must wait for members that are elsewhere.
    pub(super) fn collective(
        &mut self,
        run: &Run<'_>,
        warp: &mut Warp,
        path: &Path,
        place: (u32, u32),
        members: u32,
        what: &Collective,
    ) -> bool {
        let masks = warp.frames[path.frame as usize].regs.r32[members as usize];
        // Lanes with different masks form groups of their own; all must be ready before any goes on.
        let group_of = |left: u32| {
            let mask = masks[left.trailing_zeros() as usize];
            let mut group = 0;
            for (lane, other) in masks.iter().enumerate() {
                group |= u32::from(*other == mask) << lane;
            }
            (mask, group & left)
        };
        let mut left = path.mask;
        while left != 0 && !path.forced {
            let (mask, group) = group_of(left);
            if mask & warp.live() & !group & !path.mask != 0 {
                return false;
            }
            left &= !group;
        }
        let mut left = path.mask;
        while left != 0 {
            let (mask, group) = group_of(left);
            left &= !group;
            let first = group.trailing_zeros();
            let absent = mask & !warp.present;
            let gone = mask & warp.exited;
            let elsewhere = mask & warp.live() & !group;
            let outside = group & !mask;
            let mut complain = |lanes: u32, text: &str| {
                if lanes != 0 {
                    let detail = || format!("member mask {mask:#010x} {text} (lanes {lanes:#010x})");
                    self.report(run, place, warp.index, first, FindingKind::Lane, detail);
                }
            };
            complain(absent, "names lanes that do not exist");
            complain(gone, "names lanes that have ended");
            complain(elsewhere, "names lanes that never arrive");
            complain(outside, "lacks lanes that execute the instruction");
            if matches!(what, Collective::Warp) {
                warp.epoch += 1;
            }
            self.perform(run, warp, path.frame, place, group, what);
        }
        true
    }

    fn perform(
        &mut self,
        run: &Run<'_>,
        warp: &mut Warp,
        frame: u32,
        place: (u32, u32),
        group: u32,
        what: &Collective,
    ) {
        let regs = &mut warp.frames[frame as usize].regs;
        let held = |regs: &Regs, p: u32, negated: bool| if negated { !regs.pred[p as usize] } else { regs.pred[p as usize] } & group;
        let vote = |regs: &mut Regs, d: u32, value: bool| {
            let to = &mut regs.pred[d as usize];
            *to = *to & !group | if value { group } else { 0 };
        };
        match *what {
            Collective::Warp => {}
            Collective::Shfl { mode, d, valid, value, lane, clamp } => {
                let rows = (regs.r32[value as usize], regs.r32[lane as usize], regs.r32[clamp as usize]);
                let known = if run.options.checks { regs.set32[value as usize] } else { u32::MAX };
                let (mut result, mut within) = (regs.r32[d as usize], 0);
                let mut wrong: Option<(usize, usize)> = None;
                let mut undefined: Option<(usize, usize)> = None;
                for at in lanes(group) {
                    let (source, inside) = source_lane(mode, at, rows.1[at], rows.2[at]);
                    if group >> source & 1 == 0 {
                        wrong = wrong.or(Some((at, source)));
                        result[at] = 0;
                    } else {
                        result[at] = rows.0[source];
                        if known >> source & 1 == 0 {
                            undefined = undefined.or(Some((at, source)));
                        }
                    }
                    within |= u32::from(inside) << at;
                }
                regs.r32[d as usize] = result;
                if let Some(p) = valid {
                    let to = &mut regs.pred[p as usize];
                    *to = *to & !group | within & group;
                }
                if let Some((at, source)) = wrong {
                    let exists = warp.present >> source & 1 != 0;
                    let detail = || {
                        format!(
                            "lane {at} reads lane {source}, which {}",
                            if exists { "takes no part" } else { "does not exist" }
                        )
                    };
                    self.report(run, place, warp.index, at as u32, FindingKind::Lane, detail);
                }
                if let Some((at, source)) = undefined {
                    let detail = || format!("lane {at} reads lane {source}, whose register holds nothing yet");
                    self.report(run, place, warp.index, at as u32, FindingKind::Uninitialized, detail);
                }
            }
            Collective::VoteAll { d, p, negated } => {
                let held = held(regs, p, negated);
                vote(regs, d, held == group);
            }
            Collective::VoteAny { d, p, negated } => {
                let held = held(regs, p, negated);
                vote(regs, d, held != 0);
            }
            Collective::VoteUni { d, p, negated } => {
                let held = held(regs, p, negated);
                vote(regs, d, held == group || held == 0);
            }
            Collective::Ballot { d, p, negated } => {
                let held = held(regs, p, negated);
                put32(regs, d, group, held);
            }
            Collective::MatchAny { d, value } => {
                let values: [u64; LANES] = std::array::from_fn(|lane| get(regs, value, lane));
                for at in lanes(group) {
                    let same = lanes(group).filter(|&o| values[o] == values[at]).fold(0, |m, o| m | 1 << o);
                    regs.r32[d as usize][at] = same;
                }
            }
            Collective::MatchAll { d, valid, value } => {
                let first = get(regs, value, group.trailing_zeros() as usize);
                let all = lanes(group).all(|lane| get(regs, value, lane) == first);
                put32(regs, d, group, if all { group } else { 0 });
                if let Some(p) = valid {
                    vote(regs, p, all);
                }
            }
            Collective::Redux { op, d, value } => {
                let row = regs.r32[value as usize];
                let total =
                    lanes(group).map(|lane| u64::from(row[lane])).reduce(|a, b| updated(op, 4, a, b, 0) & 0xFFFF_FFFF);
                put32(regs, d, group, total.unwrap_or(0) as u32);
            }
        }
    }
}

/// The lane that a shuffle reads, and whether it lies in the segment that the clamp operand sets.
#[inline(always)]
fn source_lane(mode: ShflMode, lane: usize, b: u32, c: u32) -> (usize, bool) {
    let lane = lane as u32;
    let b = b & 31;
    let segment = c >> 8 & 31;
    let clamp = c & 31;
    let max = lane & segment | clamp & !segment;
    let min = lane & segment;
    let (source, inside) = match mode {
        ShflMode::Up => {
            let j = lane as i32 - b as i32;
            (j, j >= max as i32)
        }
        ShflMode::Down => {
            let j = (lane + b) as i32;
            (j, j <= max as i32)
        }
        ShflMode::Bfly => {
            let j = (lane ^ b) as i32;
            (j, j <= max as i32)
        }
        ShflMode::Idx => {
            let j = (min | b & !segment) as i32;
            (j, j <= max as i32)
        }
    };
    if inside { ((source & 31) as usize, true) } else { (lane as usize, false) }
}
