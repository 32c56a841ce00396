//! Device memory: buffers with identity in widely spaced ranges of a synthetic 64-bit address space.
//!
//! A pointer may stand far outside of its buffer (a row behind a base of which only a window is allocated), so each buffer has a
//! terabyte to itself and an address tells which buffer it belongs to even when it lies outside. Words are relaxed
//! atomics: blocks on several cores share them without locks, and a racing kernel is a finding, not undefined behaviour.

use super::races::Cells;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};

/// Bits of an address below the buffer's number.
const SPACING: u32 = 40;

/// Size of each of the windows for shared, local and parameter memory in the generic address space.
pub(crate) const WINDOW: u64 = 1 << 36;
/// Generic address of shared memory.
pub(crate) const SHARED_WINDOW: u64 = 1 << 36;
/// Generic address of a thread's local memory.
pub(crate) const LOCAL_WINDOW: u64 = 2 << 36;
/// Generic address of an entry's parameters.
pub(crate) const PARAM_WINDOW: u64 = 3 << 36;
/// Bytes between shared variables that belong to none.
pub(crate) const SHARED_GAP: u32 = 256;

/// A buffer.
#[derive(Debug)]
pub(crate) struct Allocation {
    /// Name for messages.
    pub(crate) name: String,
    pub(crate) bytes: usize,
    pub(crate) words: Box<[AtomicU32]>,
    /// A bit for each byte that has been written; empty when checks are off.
    pub(crate) set: Box<[AtomicU32]>,
    /// Ranges that kernels may only read.
    pub(crate) protected: Vec<(usize, usize)>,
    /// Who touched which word last; made when a launch first needs it.
    pub(crate) cells: OnceLock<Cells>,
    /// Held by 64-bit atomics, which span two words.
    pub(crate) pair: Mutex<()>,
}

/// All buffers.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    slots: Vec<Option<Allocation>>,
    free: Vec<usize>,
}

fn zeros(count: usize) -> Option<Box<[AtomicU32]>> {
    let mut words = Vec::new();
    words.try_reserve_exact(count).ok()?;
    words.extend((0..count).map(|_| AtomicU32::new(0)));
    Some(words.into_boxed_slice())
}

impl Memory {
    /// Allocates a buffer; `None` when memory runs out.
    pub(crate) fn alloc(&mut self, name: String, bytes: usize, checks: bool) -> Option<usize> {
        if bytes as u64 > 1 << (SPACING - 2) || self.slots.len() >= 1 << 22 {
            return None;
        }
        let words = zeros(bytes.div_ceil(4))?;
        let set = zeros(if checks { bytes.div_ceil(32) } else { 0 })?;
        let allocation =
            Allocation { name, bytes, words, set, protected: Vec::new(), cells: OnceLock::new(), pair: Mutex::new(()) };
        Some(if let Some(slot) = self.free.pop() {
            self.slots[slot] = Some(allocation);
            slot
        } else {
            self.slots.push(Some(allocation));
            self.slots.len() - 1
        })
    }

    pub(crate) fn free(&mut self, slot: usize) {
        if self.slots.get_mut(slot).and_then(Option::take).is_some() {
            self.free.push(slot);
        }
    }

    pub(crate) fn get(&self, slot: usize) -> Option<&Allocation> {
        self.slots.get(slot).and_then(Option::as_ref)
    }

    pub(crate) fn get_mut(&mut self, slot: usize) -> Option<&mut Allocation> {
        self.slots.get_mut(slot).and_then(Option::as_mut)
    }

    /// Forgets who touched what, before launch stamps repeat.
    pub(crate) fn forget_races(&mut self) {
        for allocation in self.slots.iter_mut().flatten() {
            allocation.cells = OnceLock::new();
        }
    }

    /// The address of a buffer's first byte.
    pub(crate) const fn address(slot: usize) -> u64 {
        (slot as u64 + 1) << SPACING | 1 << (SPACING - 1)
    }

    /// The buffer that an address belongs to, and the distance from its first byte.
    #[inline(always)]
    pub(crate) const fn locate(address: u64) -> Option<(usize, i64)> {
        match (address >> SPACING).checked_sub(1) {
            Some(slot) => Some((slot as usize, address.wrapping_sub(Self::address(slot as usize)) as i64)),
            None => None,
        }
    }
}

impl Allocation {
    /// Whether all of `bytes` bytes from `at` have been written.
    #[inline(always)]
    pub(crate) fn is_set(&self, at: usize, bytes: u32) -> bool {
        let wanted = ((1_u64 << bytes) - 1) as u32;
        self.set.get(at / 32).is_none_or(|word| word.load(Relaxed) >> (at % 32) & wanted == wanted)
    }

    #[inline(always)]
    pub(crate) fn mark_set(&self, at: usize, bytes: u32) {
        let wanted = (((1_u64 << bytes) - 1) as u32) << (at % 32);
        if let Some(word) = self.set.get(at / 32)
            && word.load(Relaxed) & wanted != wanted
        {
            word.fetch_or(wanted, Relaxed);
        }
    }

    /// Notes that every byte holds something.
    pub(crate) fn mark_all_set(&self) {
        for word in &self.set {
            word.store(u32::MAX, Relaxed);
        }
    }

    /// An aligned element of up to 8 bytes; the caller has checked bounds.
    #[inline(always)]
    pub(crate) fn read(&self, at: usize, bytes: u32) -> u64 {
        let word = |i: usize| self.words.get(i).map_or(0, |w| w.load(Relaxed));
        match bytes {
            4 => u64::from(word(at / 4)),
            8 => u64::from(word(at / 4)) | u64::from(word(at / 4 + 1)) << 32,
            2 => u64::from(word(at / 4) >> (at % 4 * 8) & 0xFFFF),
            _ => u64::from(word(at / 4) >> (at % 4 * 8) & 0xFF),
        }
    }

    /// Writes an aligned element; the caller has checked bounds.
    #[inline(always)]
    pub(crate) fn write(&self, at: usize, bytes: u32, value: u64) {
        let put = |i: usize, value: u32| {
            if let Some(word) = self.words.get(i) {
                word.store(value, Relaxed);
            }
        };
        match bytes {
            4 => put(at / 4, value as u32),
            8 => {
                put(at / 4, value as u32);
                put(at / 4 + 1, (value >> 32) as u32);
            }
            _ => {
                let shift = at % 4 * 8;
                let mask = (if bytes == 2 { 0xFFFF } else { 0xFF_u32 }) << shift;
                if let Some(word) = self.words.get(at / 4) {
                    // Neighbouring bytes may belong to another block: only ours change.
                    let _ =
                        word.fetch_update(Relaxed, Relaxed, |old| Some(old & !mask | (value as u32) << shift & mask));
                }
            }
        }
    }

    /// Copies bytes in and marks them written.
    pub(crate) fn upload(&self, at: usize, bytes: &[u8]) {
        let mut i = 0;
        while i < bytes.len() {
            let to = at + i;
            if to.is_multiple_of(4) && bytes.len() - i >= 4 {
                self.write(to, 4, u64::from(u32::from_le_bytes([bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]])));
                self.mark_set(to, 4);
                i += 4;
            } else {
                self.write(to, 1, u64::from(bytes[i]));
                self.mark_set(to, 1);
                i += 1;
            }
        }
    }

    /// Copies bytes out.
    pub(crate) fn download(&self, at: usize, bytes: &mut [u8]) {
        let mut i = 0;
        while i < bytes.len() {
            let from = at + i;
            if from.is_multiple_of(4) && bytes.len() - i >= 4 {
                bytes[i..i + 4].copy_from_slice(&(self.read(from, 4) as u32).to_le_bytes());
                i += 4;
            } else {
                bytes[i] = self.read(from, 1) as u8;
                i += 1;
            }
        }
    }
}
