//! What checks keep of each access: bytes written, who touched them, and the findings that follow.

use super::access::{Site, Target, element, slice_read};
use super::block::BlockState;
use super::exec::lanes;
use super::grid::Run;
use super::regs::LANES;
use super::rows::{Home, Offsets};
use crate::vm::checks::FindingKind;
use crate::vm::decode::code::Access;
use crate::vm::memory::Allocation;
use crate::vm::races::{Cells, Conflict, Who};

impl BlockState {
    /// Checks and notes the reads of a whole row; lane by lane only if something is wrong in it, because noting a read again
    /// changes nothing.
    pub(super) fn note_row_read(
        &mut self,
        run: &Run<'_>,
        site: Site,
        home: Home<'_>,
        offsets: &Offsets,
        access: &Access,
        active: u32,
    ) {
        let bytes = access.size * access.count;
        // Several elements in one word are several stamps, so they are left to the careful way.
        let whole = access.size >= 4 || access.count == 1;
        let fine = whole
            && match home {
                Home::Global(_, allocation) => {
                    let cells = allocation.cells.get_or_init(|| Cells::new(allocation.words.len()));
                    let set = |at: usize| allocation.is_set(at, bytes);
                    row_is_fine(site, offsets, bytes, access.strong, active, set, |word, stamp| {
                        cells.read(word, stamp).is_none()
                    })
                }
                Home::Shared => {
                    let (cells, written) = (&mut self.shared_cells, &self.shared_set);
                    let wanted = ((1_u64 << bytes) - 1) as u32;
                    let set = |at: usize| written.get(at / 32).is_some_and(|w| w >> (at % 32) & wanted == wanted);
                    row_is_fine(site, offsets, bytes, access.strong, active, set, |word, stamp| {
                        cells.read(word, stamp).is_none()
                    })
                }
            };
        if fine {
            return;
        }
        for lane in lanes(active) {
            for element in 0..access.count {
                let at = (offsets[lane] + element * access.size) as usize;
                match home {
                    Home::Global(_, allocation) => {
                        self.note_read(run, site, lane, allocation, at, access.size, access.strong);
                    }
                    Home::Shared => self.note_shared_read(run, site, lane, at, access.size, access.strong),
                }
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn note_read(
        &mut self,
        run: &Run<'_>,
        site: Site,
        lane: usize,
        allocation: &Allocation,
        at: usize,
        size: u32,
        strong: bool,
    ) {
        if !allocation.is_set(at, size) {
            let name = element(&allocation.name, at, size);
            let detail = || format!("reads {size} bytes at {name}, which hold nothing yet");
            self.report(run, site.place, site.warp, lane as u32, FindingKind::Uninitialized, detail);
        }
        let cells = allocation.cells.get_or_init(|| Cells::new(allocation.words.len()));
        let who = site.who;
        for (word, bytes) in covered(at, size) {
            let stamp = who.stamp(site.warp * 32 + lane as u32, bytes, strong);
            if let Some(conflict) = cells.read(word, stamp) {
                self.race(run, site, lane, conflict, "reads", "written", || element(&allocation.name, at, size));
            }
        }
    }

    /// Checks and notes a write; `false` when the memory is read-only.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn note_write(
        &mut self,
        run: &Run<'_>,
        site: Site,
        lane: usize,
        _slot: usize,
        allocation: &Allocation,
        at: usize,
        size: u32,
        strong: bool,
        value: u64,
    ) -> bool {
        if allocation.protected.iter().any(|&(from, to)| at < to && at + size as usize > from) {
            let name = element(&allocation.name, at, size);
            let detail = || format!("writes {size} bytes at {name}, which is read-only");
            self.report(run, site.place, site.warp, lane as u32, FindingKind::ReadOnly, detail);
            return false;
        }
        allocation.mark_set(at, size);
        let cells = allocation.cells.get_or_init(|| Cells::new(allocation.words.len()));
        let who = site.who;
        for (word, bytes) in covered(at, size) {
            let stamp = who.stamp(site.warp * 32 + lane as u32, bytes, strong);
            let (written, read) = cells.write(word, stamp);
            if let Some(conflict) = written {
                // Lanes of one warp that store the same value are one store.
                let same = matches!(conflict, Conflict::Thread(Some(other)) if other / 32 == site.warp)
                    && allocation.read(at, size) == value;
                if !same {
                    self.race(run, site, lane, conflict, "writes", "written", || element(&allocation.name, at, size));
                }
            }
            if let Some(conflict) = read {
                self.race(run, site, lane, conflict, "writes", "read", || element(&allocation.name, at, size));
            }
        }
        true
    }

    pub(super) fn note_shared_read(
        &mut self,
        run: &Run<'_>,
        site: Site,
        lane: usize,
        at: usize,
        size: u32,
        strong: bool,
    ) {
        let missing = (at..at + size as usize).any(|b| self.shared_set[b / 32] >> (b % 32) & 1 == 0);
        if missing {
            let name = Self::name_of(run, Target::Shared(at), size);
            let detail = || format!("reads {size} bytes at {name}, which hold nothing yet");
            self.report(run, site.place, site.warp, lane as u32, FindingKind::Uninitialized, detail);
        }
        let who = site.who;
        for (word, bytes) in covered(at, size) {
            let stamp = who.stamp(site.warp * 32 + lane as u32, bytes, strong);
            if let Some(conflict) = self.shared_cells.read(word, stamp) {
                let name = Self::name_of(run, Target::Shared(at), size);
                self.race(run, site, lane, conflict, "reads", "written", || name);
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn note_shared_write(
        &mut self,
        run: &Run<'_>,
        site: Site,
        lane: usize,
        at: usize,
        size: u32,
        strong: bool,
        value: u64,
    ) {
        for byte in at..at + size as usize {
            self.shared_set[byte / 32] |= 1 << (byte % 32);
        }
        let who = site.who;
        for (word, bytes) in covered(at, size) {
            let stamp = who.stamp(site.warp * 32 + lane as u32, bytes, strong);
            let (written, read) = self.shared_cells.write(word, stamp);
            if let Some(conflict) = written {
                let same = matches!(conflict, Conflict::Thread(Some(other)) if other / 32 == site.warp)
                    && slice_read(|i| self.shared[i], at, size) == value;
                if !same {
                    let name = Self::name_of(run, Target::Shared(at), size);
                    self.race(run, site, lane, conflict, "writes", "written", || name);
                }
            }
            if let Some(conflict) = read {
                let name = Self::name_of(run, Target::Shared(at), size);
                self.race(run, site, lane, conflict, "writes", "read", || name);
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn race(
        &mut self,
        run: &Run<'_>,
        site: Site,
        lane: usize,
        conflict: Conflict,
        verb: &str,
        earlier: &str,
        name: impl FnOnce() -> String,
    ) {
        let other = match conflict {
            // Fences and atomics may order blocks in ways that stamps do not see.
            Conflict::Block if self.fenced => return,
            Conflict::Block => "another block".to_owned(),
            Conflict::Thread(Some(thread)) => format!("thread {thread} of the block"),
            Conflict::Thread(None) => "other threads of the block".to_owned(),
        };
        let detail = || format!("{verb} {}, which {other} has {earlier} with no barrier between", name());
        self.report(run, site.place, site.warp, lane as u32, FindingKind::Race, detail);
    }
}

/// Notes the reads of a row; whether all bytes hold something and nothing conflicts.
///
/// Of lanes in succession that read the same place the first two stand for all: what is noted says one lane or several, and an
/// earlier write by one lane of the warp conflicts with at least one of any two.
#[inline(always)]
fn row_is_fine(
    site: Site,
    offsets: &Offsets,
    bytes: u32,
    strong: bool,
    active: u32,
    set: impl Fn(usize) -> bool,
    mut read: impl FnMut(usize, u64) -> bool,
) -> bool {
    // A row of single words is by far the most frequent.
    let first = site.who.stamp(site.warp * 32, 15, strong);
    if active == u32::MAX && bytes == 4 {
        let mut fine = true;
        for lane in 0..LANES {
            let at = offsets[lane];
            if lane > 1 && at == offsets[lane - 1] && at == offsets[lane - 2] {
                continue;
            }
            fine &= set(at as usize) & read(at as usize / 4, first | Who::lane(lane));
        }
        return fine;
    }
    let (mut before, mut last) = (u32::MAX, u32::MAX);
    let mut fine = true;
    for lane in lanes(active) {
        let at = offsets[lane];
        if at == last && at == before {
            continue;
        }
        (before, last) = (last, at);
        fine &= set(at as usize);
        for (word, bits) in covered(at as usize, bytes) {
            fine &= read(word, site.who.stamp(site.warp * 32 + lane as u32, bits, strong));
        }
    }
    fine
}

/// Words that an access covers, each with the bytes of it as bits.
#[inline(always)]
fn covered(at: usize, size: u32) -> impl Iterator<Item = (usize, u64)> {
    let word = at / 4;
    let bits = if size < 4 { ((1 << size) - 1) << (at % 4) } else { 15 };
    (0..size.div_ceil(4) as usize).map(move |i| (word + i, bits))
}
