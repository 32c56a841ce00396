//! What checks keep of each access: bytes written, who touched them, and the findings that follow.

use super::access::{Site, Target, element, slice_read};
use super::block::BlockState;
use super::grid::Run;
use crate::vm::checks::FindingKind;
use crate::vm::memory::Allocation;
use crate::vm::races::{Cells, Conflict};

impl BlockState {
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
        let who = self.who(run, site.epoch);
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
        let who = self.who(run, site.epoch);
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
        let who = self.who(run, site.epoch);
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
        let who = self.who(run, site.epoch);
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

/// Words that an access covers, each with the bytes of it as bits.
#[inline(always)]
fn covered(at: usize, size: u32) -> impl Iterator<Item = (usize, u64)> {
    let word = at / 4;
    let bits = if size < 4 { ((1 << size) - 1) << (at % 4) } else { 15 };
    (0..size.div_ceil(4) as usize).map(move |i| (word + i, bits))
}
