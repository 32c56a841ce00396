//! Loads and stores: where an address leads, and the checks.

use super::block::BlockState;
use super::exec::lanes;
use super::grid::Run;
use super::regs::{LANES, Lane, Regs};
use super::rows::{Home, home, words};
use super::warp::Warp;
use crate::vm::checks::FindingKind;
use crate::vm::decode::code::{Access, Address, Class, Extend, Slot};
use crate::vm::memory::{LOCAL_WINDOW, Memory, PARAM_WINDOW, SHARED_WINDOW, WINDOW};
use crate::vm::ptx::Space;
use crate::vm::races::Who;
use std::sync::atomic::Ordering::Relaxed;

/// Where an access goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Buffer and byte in it.
    Global(usize, usize),
    /// Byte of shared memory.
    Shared(usize),
    /// Byte of the thread's local memory.
    Local(usize),
    /// Byte of the entry's parameters.
    Param(usize),
    /// Nowhere; what is wrong has been reported.
    Nowhere,
}

/// An access in progress: who makes it, and where in the code.
#[derive(Clone, Copy)]
pub(super) struct Site {
    pub(super) place: (u32, u32),
    pub(super) warp: u32,
    /// Who it is for the race checks.
    pub(super) who: Who,
    /// End of the frame's local memory.
    pub(super) local_top: u32,
}

/// A loaded value as its register holds it.
#[inline(always)]
pub(super) fn extended(value: u64, size: u32, extend: Extend, bits: u32) -> u64 {
    let shift = 64 - size * 8;
    match extend {
        Extend::Zero => value << shift >> shift,
        Extend::Sign => {
            let wide = ((value << shift) as i64 >> shift) as u64;
            if bits >= 64 { wide } else { wide & ((1 << bits) - 1) }
        }
    }
}

#[inline(always)]
pub(super) fn put(regs: &mut Regs, slot: Slot, lane: usize, value: u64) {
    match slot.class {
        Class::Long => regs.r64[slot.index as usize][lane] = value,
        _ => regs.r32[slot.index as usize][lane] = value as u32,
    }
}

#[inline(always)]
pub(super) fn get(regs: &Regs, slot: Slot, lane: usize) -> u64 {
    match slot.class {
        Class::Long => regs.r64[slot.index as usize][lane],
        _ => u64::from(regs.r32[slot.index as usize][lane]),
    }
}

#[inline(always)]
pub(super) fn addresses(regs: &Regs, address: Address) -> [u64; LANES] {
    let mut row = [0; LANES];
    match address.base.class {
        Class::Long => {
            for (to, base) in row.iter_mut().zip(&regs.r64[address.base.index as usize]) {
                *to = base.wrapping_add_signed(address.offset);
            }
        }
        _ => {
            for (to, base) in row.iter_mut().zip(&regs.r32[address.base.index as usize]) {
                *to = u64::from(base.wrapping_add(address.offset as u32));
            }
        }
    }
    row
}

impl BlockState {
    pub(super) fn site(&self, warp: &Warp, frame: u32, place: (u32, u32), run: &Run<'_>) -> Site {
        let frame = &warp.frames[frame as usize];
        let local_top = frame.local_base + run.program.functions[frame.function as usize].local_bytes;
        Site { place, warp: warp.index, who: self.who(run, warp.epoch), local_top }
    }

    #[inline(never)]
    pub(super) fn load(
        &mut self,
        run: &Run<'_>,
        warp: &mut Warp,
        frame: u32,
        place: (u32, u32),
        access: &Access,
        active: u32,
    ) {
        let site = self.site(warp, frame, place, run);
        let regs = &mut warp.frames[frame as usize].regs;
        if let Some((home, offsets, orders)) = home(run, access, regs, active) {
            if run.options.checks {
                self.note_row_read(run, site, home, &offsets, access, active);
            }
            let shared = &self.shared[..];
            for element in 0..access.count {
                let (slot, shift) = (access.registers[element as usize], element * access.size);
                if access.size == 4 && slot.class == Class::Word {
                    let row = match home {
                        Home::Global(_, buffer) => {
                            words(&offsets, shift, orders, &buffer.words, |word| word.load(Relaxed))
                        }
                        Home::Shared => words(&offsets, shift, orders, shared, |&word| word),
                    };
                    Lane::store(regs, slot.index, active, row);
                    continue;
                }
                for lane in lanes(active) {
                    let at = (offsets[lane] + shift) as usize;
                    let value = match home {
                        Home::Global(_, buffer) => buffer.read(at, access.size),
                        Home::Shared => slice_read(|i| shared[i], at, access.size),
                    };
                    put(regs, slot, lane, extended(value, access.size, access.extend, access.bits));
                }
            }
            return;
        }
        let at = addresses(regs, access.address);
        for lane in lanes(active) {
            let target = self.resolve(run, site, lane, access.space, at[lane], access.size * access.count, false);
            for element in 0..access.count {
                let value = self.read(run, warp, site, lane, target, element * access.size, access.size, access.strong);
                let value = extended(value, access.size, access.extend, access.bits);
                put(&mut warp.frames[frame as usize].regs, access.registers[element as usize], lane, value);
            }
        }
    }

    #[inline(never)]
    pub(super) fn store(
        &mut self,
        run: &Run<'_>,
        warp: &mut Warp,
        frame: u32,
        place: (u32, u32),
        access: &Access,
        active: u32,
    ) {
        let site = self.site(warp, frame, place, run);
        let home = home(run, access, &warp.frames[frame as usize].regs, active);
        let slot = access.registers[0];
        if let Some((home, offsets, _)) = home
            && !run.options.checks
            && access.size == 4
            && access.count == 1
            && slot.class == Class::Word
        {
            let row = &warp.frames[frame as usize].regs.r32[slot.index as usize];
            match home {
                Home::Global(_, buffer) => {
                    for lane in lanes(active) {
                        if let Some(word) = buffer.words.get(offsets[lane] as usize / 4) {
                            word.store(row[lane], Relaxed);
                        }
                    }
                }
                Home::Shared => {
                    for lane in lanes(active) {
                        if let Some(word) = self.shared.get_mut(offsets[lane] as usize / 4) {
                            *word = row[lane];
                        }
                    }
                }
            }
            return;
        }
        let at = if home.is_some() { [0; LANES] } else { addresses(&warp.frames[frame as usize].regs, access.address) };
        for lane in lanes(active) {
            let target = match home {
                Some((Home::Global(buffer, _), offsets, _)) => Target::Global(buffer, offsets[lane] as usize),
                Some((Home::Shared, offsets, _)) => Target::Shared(offsets[lane] as usize),
                None => self.resolve(run, site, lane, access.space, at[lane], access.size * access.count, true),
            };
            for element in 0..access.count {
                let value = get(&warp.frames[frame as usize].regs, access.registers[element as usize], lane);
                self.write(run, warp, site, lane, target, element * access.size, access.size, access.strong, value);
            }
        }
    }

    /// Finds where an address leads, and reports it when that is nowhere.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn resolve(
        &mut self,
        run: &Run<'_>,
        site: Site,
        lane: usize,
        space: Space,
        address: u64,
        bytes: u32,
        write: bool,
    ) -> Target {
        let window = |base: u64| (base..base + WINDOW).contains(&address);
        let target = match space {
            Space::Shared => Self::resolve_shared(run, address, bytes),
            Space::Local => resolve_local(site, address, bytes),
            Space::Generic if window(SHARED_WINDOW) => Self::resolve_shared(run, address - SHARED_WINDOW, bytes),
            Space::Generic if window(LOCAL_WINDOW) => resolve_local(site, address - LOCAL_WINDOW, bytes),
            Space::Generic | Space::Param if window(PARAM_WINDOW) => {
                let at = (address - PARAM_WINDOW) as usize;
                if !write && at + bytes as usize <= run.params.len() {
                    Ok(Target::Param(at))
                } else {
                    Err(format!("byte {at} of the kernel's {} parameter bytes", run.params.len()))
                }
            }
            _ => resolve_global(run, address, bytes),
        };
        let verb = if write { "writes" } else { "reads" };
        match target {
            Ok(_) if !address.is_multiple_of(u64::from(bytes.next_power_of_two())) => {
                let name = Self::name_of(run, target.unwrap_or(Target::Nowhere), bytes);
                let detail = || format!("{verb} {bytes} bytes at {name}, which is not aligned to {bytes}");
                self.report(run, site.place, site.warp, lane as u32, FindingKind::Misaligned, detail);
                self.fatal(run);
                Target::Nowhere
            }
            Ok(target) => target,
            Err(what) => {
                self.report(run, site.place, site.warp, lane as u32, FindingKind::OutOfBounds, || {
                    format!("{verb} {bytes} bytes at {what}")
                });
                self.fatal(run);
                Target::Nowhere
            }
        }
    }

    /// A fault ends the launch when checks are off, as it does on a device; with checks on it goes on to find more.
    fn fatal(&mut self, run: &Run<'_>) {
        if !run.options.checks {
            self.stopped = true;
            run.abort.store(true, Relaxed);
        }
    }

    fn resolve_shared(run: &Run<'_>, address: u64, bytes: u32) -> Result<Target, String> {
        let total = u64::from(run.program.shared_bytes + run.dynamic_shared);
        let end = address.saturating_add(u64::from(bytes));
        let mut nearest = None;
        for variable in &run.program.shared {
            let size = if variable.dynamic { run.dynamic_shared } else { variable.bytes };
            let from = u64::from(variable.offset);
            if address >= from && end <= from + u64::from(size) {
                return Ok(Target::Shared(address as usize));
            }
            if address >= from {
                nearest = Some((variable, size));
            }
        }
        if !run.options.checks && end <= total {
            return Ok(Target::Shared(address as usize));
        }
        Err(match nearest {
            Some((variable, size)) => format!(
                "shared `{}` byte {}, which has {size} bytes",
                variable.name,
                address - u64::from(variable.offset)
            ),
            None => format!("shared address {address:#x}, where no variable is"),
        })
    }

    /// A target as a name and an index.
    pub(super) fn name_of(run: &Run<'_>, target: Target, bytes: u32) -> String {
        match target {
            Target::Global(slot, at) => {
                let name = run.memory.get(slot).map_or("", |a| a.name.as_str());
                element(name, at, bytes)
            }
            Target::Shared(at) => {
                let variable = run.program.shared.iter().rev().find(|v| v.offset as usize <= at);
                variable
                    .map_or_else(String::new, |v| format!("shared {}", element(&v.name, at - v.offset as usize, bytes)))
            }
            Target::Local(at) => format!("local memory byte {at}"),
            Target::Param(at) => format!("parameter byte {at}"),
            Target::Nowhere => String::from("an unknown address"),
        }
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn read(
        &mut self,
        run: &Run<'_>,
        warp: &Warp,
        site: Site,
        lane: usize,
        target: Target,
        offset: u32,
        size: u32,
        strong: bool,
    ) -> u64 {
        match target {
            Target::Global(slot, at) => {
                let at = at + offset as usize;
                let Some(allocation) = run.memory.get(slot) else { return 0 };
                if run.options.checks {
                    self.note_read(run, site, lane, allocation, at, size, strong);
                }
                allocation.read(at, size)
            }
            Target::Shared(at) => {
                let at = at + offset as usize;
                if run.options.checks {
                    self.note_shared_read(run, site, lane, at, size, strong);
                }
                slice_read(|i| self.shared[i], at, size)
            }
            Target::Local(at) => {
                let at = at + offset as usize;
                if run.options.checks {
                    let missing = (at..at + size as usize).find(|b| warp.local.set[b / 4][lane] >> (b % 4) & 1 == 0);
                    if let Some(byte) = missing {
                        let detail = || {
                            format!(
                                "reads {size} bytes of local memory at byte {at}, of which byte {byte} holds nothing yet"
                            )
                        };
                        self.report(run, site.place, site.warp, lane as u32, FindingKind::Uninitialized, detail);
                    }
                }
                slice_read(|i| warp.local.words[i][lane], at, size)
            }
            Target::Param(at) => {
                let at = at + offset as usize;
                let mut bytes = [0; 8];
                if let Some(from) = run.params.get(at..at + size as usize) {
                    bytes[..from.len()].copy_from_slice(from);
                }
                u64::from_le_bytes(bytes)
            }
            Target::Nowhere => 0,
        }
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn write(
        &mut self,
        run: &Run<'_>,
        warp: &mut Warp,
        site: Site,
        lane: usize,
        target: Target,
        offset: u32,
        size: u32,
        strong: bool,
        value: u64,
    ) {
        match target {
            Target::Global(slot, at) => {
                let at = at + offset as usize;
                let Some(allocation) = run.memory.get(slot) else { return };
                if run.options.checks && !self.note_write(run, site, lane, slot, allocation, at, size, strong, value) {
                    return;
                }
                allocation.write(at, size, value);
            }
            Target::Shared(at) => {
                let at = at + offset as usize;
                if run.options.checks {
                    self.note_shared_write(run, site, lane, at, size, strong, value);
                }
                let shared = &mut self.shared;
                slice_write(|i, mask, bits| shared[i] = shared[i] & !mask | bits & mask, at, size, value);
            }
            Target::Local(at) => {
                let at = at + offset as usize;
                for byte in at..at + size as usize {
                    warp.local.set[byte / 4][lane] |= 1 << (byte % 4);
                }
                let words = &mut warp.local.words;
                slice_write(|i, mask, bits| words[i][lane] = words[i][lane] & !mask | bits & mask, at, size, value);
            }
            Target::Param(_) | Target::Nowhere => {}
        }
    }
}

/// `name[index] (byte b)`.
pub(super) fn element(name: &str, at: usize, bytes: u32) -> String {
    format!("`{name}` byte {at} (element {} of {bytes} bytes)", at / bytes.max(1) as usize)
}

fn resolve_global(run: &Run<'_>, address: u64, bytes: u32) -> Result<Target, String> {
    let Some((slot, offset)) = Memory::locate(address) else {
        return Err(format!("address {address:#x}, which belongs to no buffer"));
    };
    let Some(allocation) = run.memory.get(slot) else {
        return Err(format!("address {address:#x}, which belongs to no buffer"));
    };
    let end = offset.wrapping_add(i64::from(bytes));
    if offset < 0 || end as u64 > allocation.bytes as u64 {
        return Err(format!(
            "`{}` byte {offset} (element {} of {bytes} bytes), which has {} bytes",
            allocation.name,
            offset.div_euclid(i64::from(bytes)),
            allocation.bytes
        ));
    }
    Ok(Target::Global(slot, offset as usize))
}

fn resolve_local(site: Site, address: u64, bytes: u32) -> Result<Target, String> {
    if address.saturating_add(u64::from(bytes)) <= u64::from(site.local_top) {
        return Ok(Target::Local(address as usize));
    }
    Err(format!("local memory byte {address}, of which the thread has {}", site.local_top))
}

/// An aligned element of a memory of words.
#[inline(always)]
pub(super) fn slice_read(word: impl Fn(usize) -> u32, at: usize, size: u32) -> u64 {
    match size {
        8 => u64::from(word(at / 4)) | u64::from(word(at / 4 + 1)) << 32,
        4 => u64::from(word(at / 4)),
        2 => u64::from(word(at / 4) >> (at % 4 * 8) & 0xFFFF),
        _ => u64::from(word(at / 4) >> (at % 4 * 8) & 0xFF),
    }
}

/// Writes an aligned element through `put(word, mask, bits)`.
#[inline(always)]
pub(super) fn slice_write(mut put: impl FnMut(usize, u32, u32), at: usize, size: u32, value: u64) {
    match size {
        8 => {
            put(at / 4, u32::MAX, value as u32);
            put(at / 4 + 1, u32::MAX, (value >> 32) as u32);
        }
        4 => put(at / 4, u32::MAX, value as u32),
        _ => {
            let shift = at % 4 * 8;
            let mask = (if size == 2 { 0xFFFF_u32 } else { 0xFF }) << shift;
            put(at / 4, mask, (value as u32) << shift);
        }
    }
}
