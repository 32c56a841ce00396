//! Atomics and reductions on memory, lane by lane.

use super::access::{Target, addresses, get, put, slice_read, slice_write};
use super::block::BlockState;
use super::exec::lanes;
use super::grid::Run;
use super::warp::Warp;
use crate::vm::arith::soft::{BF16, F16, Format};
use crate::vm::arith::{Mode, float, half};
use crate::vm::checks::FindingKind;
use crate::vm::decode::code::{Atom, AtomOp};
use crate::vm::memory::Allocation;
use std::sync::atomic::Ordering::Relaxed;

impl BlockState {
    pub(super) fn atom(
        &mut self,
        run: &Run<'_>,
        warp: &mut Warp,
        frame: u32,
        place: (u32, u32),
        atom: &Atom,
        active: u32,
    ) {
        let site = self.site(warp, frame, place, run);
        let at = addresses(&warp.frames[frame as usize].regs, atom.address);
        for lane in lanes(active) {
            let regs = &warp.frames[frame as usize].regs;
            let value = get(regs, atom.value, lane);
            let swap = atom.swap.map_or(0, |slot| get(regs, slot, lane));
            let target = self.resolve(run, site, lane, atom.space, at[lane], atom.size, true);
            // Sums of f32 flush subnormals in global memory, and keep them in shared memory (PTX ISA, `atom`).
            let op = match (atom.op, &target) {
                (AtomOp::AddF32, Target::Global(..)) => AtomOp::AddF32Flushed,
                (op, _) => op,
            };
            let change = |old: u64| updated(op, atom.size, old, value, swap);
            let old = match target {
                Target::Global(slot, byte) => {
                    let Some(allocation) = run.memory.get(slot) else { continue };
                    if run.options.checks {
                        if !allocation.is_set(byte, atom.size) {
                            let name = Self::name_of(run, target, atom.size);
                            let detail =
                                || format!("an atomic reads {} bytes at {name}, which hold nothing yet", atom.size);
                            self.report(run, place, warp.index, lane as u32, FindingKind::Uninitialized, detail);
                        }
                        let after = change(allocation.read(byte, atom.size));
                        if !self.note_write(run, site, lane, slot, allocation, byte, atom.size, true, after) {
                            continue;
                        }
                    }
                    global(allocation, byte, atom.size, change)
                }
                Target::Shared(byte) => {
                    if run.options.checks {
                        // Reading first notes the read as atomic, so that only plain accesses conflict.
                        self.read(run, warp, site, lane, target, 0, atom.size, true);
                    }
                    let old = slice_read(|i| self.shared[i], byte, atom.size);
                    if run.options.checks {
                        self.write(run, warp, site, lane, target, 0, atom.size, true, change(old));
                    } else {
                        let shared = &mut self.shared;
                        slice_write(
                            |i, mask, bits| shared[i] = shared[i] & !mask | bits & mask,
                            byte,
                            atom.size,
                            change(old),
                        );
                    }
                    old
                }
                Target::Local(_) | Target::Param(_) | Target::Nowhere => continue,
            };
            if let Some(slot) = atom.result {
                put(&mut warp.frames[frame as usize].regs, slot, lane, old);
            }
        }
    }
}

/// Changes an element of a buffer, atomically among blocks; the old value.
fn global(allocation: &Allocation, at: usize, size: u32, change: impl Fn(u64) -> u64) -> u64 {
    let Some(word) = allocation.words.get(at / 4) else { return 0 };
    if size == 8 {
        // Two words: all 64-bit atomics of a buffer take turns.
        let _turn = allocation.pair.lock();
        let old = allocation.read(at, 8);
        allocation.write(at, 8, change(old));
        return old;
    }
    let shift = at % 4 * 8;
    let mask = if size == 4 { u32::MAX } else { ((1_u32 << (size * 8)) - 1) << shift };
    let step = |old: u32| Some(old & !mask | (change(u64::from((old & mask) >> shift)) as u32) << shift & mask);
    let old = word.fetch_update(Relaxed, Relaxed, step).unwrap_or_else(|old| old);
    u64::from((old & mask) >> shift)
}

fn half_sum(format: Format, a: u64, b: u64) -> u64 {
    u64::from(half::add(format, a as u32, b as u32, Mode::default()))
}

/// The value that an operation leaves behind.
pub(super) fn updated(op: AtomOp, size: u32, old: u64, value: u64, swap: u64) -> u64 {
    let signed = |v: u64| if size == 8 { v as i64 } else { i64::from(v as u32 as i32) };
    match op {
        AtomOp::Add => old.wrapping_add(value),
        AtomOp::AddF32 => float::add(old as u32, value as u32, Mode::default()).into(),
        AtomOp::AddF32Flushed => float::add(old as u32, value as u32, Mode { ftz: true, ..Mode::default() }).into(),
        AtomOp::AddF64 => (f64::from_bits(old) + f64::from_bits(value)).to_bits(),
        AtomOp::AddF16 => half_sum(F16, old, value),
        AtomOp::AddBf16 => half_sum(BF16, old, value),
        AtomOp::AddF16x2 => half_sum(F16, old, value) | half_sum(F16, old >> 16, value >> 16) << 16,
        AtomOp::AddBf16x2 => half_sum(BF16, old, value) | half_sum(BF16, old >> 16, value >> 16) << 16,
        AtomOp::And => old & value,
        AtomOp::Or => old | value,
        AtomOp::Xor => old ^ value,
        AtomOp::Exch => value,
        AtomOp::Cas if old == value => swap,
        AtomOp::Cas => old,
        AtomOp::Inc => {
            if old as u32 >= value as u32 {
                0
            } else {
                old + 1
            }
        }
        AtomOp::Dec => {
            if old as u32 == 0 || old as u32 > value as u32 {
                value
            } else {
                old - 1
            }
        }
        AtomOp::MinS => {
            if signed(value) < signed(old) {
                value
            } else {
                old
            }
        }
        AtomOp::MaxS => {
            if signed(value) > signed(old) {
                value
            } else {
                old
            }
        }
        AtomOp::MinU => old.min(value),
        AtomOp::MaxU => old.max(value),
    }
}
