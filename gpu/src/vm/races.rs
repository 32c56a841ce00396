//! Who touched each word of memory last, and whether that conflicts with who touches it now.
//!
//! A stamp says launch, block, thread, how many barriers the block and how many warp barriers the warp have passed, which bytes
//! of the word, and whether the access was atomic. Two accesses of one launch conflict when they share bytes, at
//! least one writes, not both are atomic, and nothing orders them: blocks are never ordered (fences aside), threads of a block are
//! by a barrier, lanes of a warp by a warp barrier.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const LAUNCH: u32 = 56;
const BLOCK: u32 = 32;
const THREAD: u32 = 21;
const BARRIER: u32 = 11;
const WARP: u32 = 5;
const ATOMIC: u64 = 1 << 4;
const BYTES: u64 = 15;

/// Stands for several blocks.
const MANY_BLOCKS: u64 = 0xFF_FFFF;
/// Added to a warp's number: several threads of that warp.
const MANY_LANES: u64 = 1024;
/// Stands for threads of several warps.
const MANY: u64 = 2047;

/// Launch stamps repeat after this many launches.
pub(crate) const MAX_LAUNCHES: u64 = 255;

/// Last write and last reads of each word of a buffer.
#[derive(Debug)]
pub(crate) struct Cells {
    cells: Box<[(AtomicU64, AtomicU64)]>,
}

/// Who accesses, as the upper bits of a stamp.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Who {
    bits: u64,
}

impl Who {
    /// `launch` from 1 on; counters wrap.
    pub(crate) const fn new(launch: u64, block: u64, barriers: u32, warp_barriers: u32) -> Self {
        let bits = launch << LAUNCH
            | (block % MANY_BLOCKS) << BLOCK
            | (barriers as u64 & 0x3FF) << BARRIER
            | (warp_barriers as u64 & 0x3F) << WARP;
        Self { bits }
    }

    #[inline(always)]
    pub(crate) const fn stamp(self, thread: u32, bytes: u64, atomic: bool) -> u64 {
        self.bits | (thread as u64) << THREAD | if atomic { ATOMIC } else { 0 } | bytes
    }

    /// What a lane adds to the stamp of its warp's first thread.
    #[inline(always)]
    pub(crate) const fn lane(lane: usize) -> u64 {
        (lane as u64) << THREAD
    }
}

const fn thread(stamp: u64) -> u64 {
    stamp >> THREAD & 0x7FF
}

/// A conflict and how far apart its parties are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conflict {
    /// Another block.
    Block,
    /// Another thread of the block, if it is a single one.
    Thread(Option<u32>),
}

/// Whether `new` conflicts with the earlier access `old`.
#[inline(always)]
pub(crate) fn conflict(old: u64, new: u64) -> Option<Conflict> {
    if old >> LAUNCH == new >> LAUNCH { conflict_in_launch(old, new) } else { None }
}

fn conflict_in_launch(old: u64, new: u64) -> Option<Conflict> {
    if old & new & ATOMIC != 0 || old & new & BYTES == 0 || old == new {
        return None;
    }
    if (old ^ new) >> BLOCK & 0xFF_FFFF != 0 {
        return Some(Conflict::Block);
    }
    if (old ^ new) >> BARRIER & 0x3FF != 0 {
        return None;
    }
    let (was, is) = (thread(old), thread(new));
    if was == is {
        return None;
    }
    let same_epoch = (old ^ new) >> WARP & 0x3F == 0;
    let same_warp = if was < MANY_LANES { was >> 5 == is >> 5 } else { was != MANY && was - MANY_LANES == is >> 5 };
    if same_warp && !same_epoch {
        return None;
    }
    Some(Conflict::Thread((was < MANY_LANES).then_some(was as u32)))
}

/// The stamp that stands for the earlier reads `old` and the new one.
pub(crate) fn joined(old: u64, new: u64) -> u64 {
    if old >> LAUNCH != new >> LAUNCH {
        return new;
    }
    let bytes = (old | new) & BYTES;
    let atomic = old & new & ATOMIC;
    let base = new & !(BYTES | ATOMIC) | bytes | atomic;
    let many = base & !(0x7FF << THREAD) | MANY << THREAD;
    if (old ^ new) >> BLOCK & 0xFF_FFFF != 0 {
        return many | MANY_BLOCKS << BLOCK;
    }
    if (old ^ new) >> BARRIER & 0x3FF != 0 {
        return new;
    }
    let (was, is) = (thread(old), thread(new));
    if was == is {
        return base;
    }
    let was_warp = if was < MANY_LANES { was >> 5 } else { was - MANY_LANES };
    if was == MANY || was_warp != is >> 5 {
        return many;
    }
    // Lanes of the same warp: earlier ones are ordered before a warp barrier, later ones are not.
    if (old ^ new) >> WARP & 0x3F != 0 { new } else { base & !(0x7FF << THREAD) | (MANY_LANES + (is >> 5)) << THREAD }
}

/// Whether reads that are noted already stand for this one too: the same thread in a loop, or threads of several warps. A short
/// way to what [`joined`] would find.
#[inline(always)]
const fn known(old: u64, new: u64) -> bool {
    old == new || old == new | MANY << THREAD
}

impl Cells {
    pub(crate) fn new(words: usize) -> Self {
        Self { cells: (0..words).map(|_| (AtomicU64::new(0), AtomicU64::new(0))).collect() }
    }

    /// Notes a read; the conflict with an earlier write, if any.
    #[inline(always)]
    pub(crate) fn read(&self, word: usize, stamp: u64) -> Option<Conflict> {
        let (written, read) = self.cells.get(word)?;
        let old = read.load(Relaxed);
        if !known(old, stamp) {
            let new = joined(old, stamp);
            if old != new {
                read.store(new, Relaxed);
            }
        }
        conflict(written.load(Relaxed), stamp)
    }

    /// Notes a write; the conflict with an earlier write and with earlier reads, if any.
    #[inline(always)]
    pub(crate) fn write(&self, word: usize, stamp: u64) -> (Option<Conflict>, Option<Conflict>) {
        let Some((written, read)) = self.cells.get(word) else { return (None, None) };
        let old = written.swap(stamp, Relaxed);
        (conflict(old, stamp), conflict(read.load(Relaxed), stamp))
    }
}

/// The same for a block's shared memory, which one thread runs.
#[derive(Debug, Default)]
pub(crate) struct SharedCells {
    pub(crate) cells: Vec<(u64, u64)>,
}

impl SharedCells {
    #[inline(always)]
    pub(crate) fn read(&mut self, word: usize, stamp: u64) -> Option<Conflict> {
        let (written, read) = self.cells.get_mut(word)?;
        // Other blocks' stamps are left over: each block has a shared memory of its own.
        if !known(*read, stamp) {
            *read = if (*read ^ stamp) >> BLOCK == 0 { joined(*read, stamp) } else { stamp };
        }
        if (*written ^ stamp) >> BLOCK == 0 { conflict(*written, stamp) } else { None }
    }

    #[inline(always)]
    pub(crate) fn write(&mut self, word: usize, stamp: u64) -> (Option<Conflict>, Option<Conflict>) {
        let Some((written, read)) = self.cells.get_mut(word) else { return (None, None) };
        let old = std::mem::replace(written, stamp);
        let of = |old: u64| if (old ^ stamp) >> BLOCK == 0 { conflict(old, stamp) } else { None };
        (of(old), of(*read))
    }
}
