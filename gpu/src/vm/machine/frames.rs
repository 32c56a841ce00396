//! Calls, returns and parameters.

use super::access::{extended, get, put};
use super::block::BlockState;
use super::exec::{Next, lanes};
use super::grid::Run;
use super::regs::Regs;
use super::warp::{Path, Warp};
use crate::vm::checks::FindingKind;
use crate::vm::decode::code::{Call, Kind, ParamAccess};

/// Calls nested deeper than this are a finding.
const MAX_DEPTH: u32 = 512;
/// Local memory of a thread.
const MAX_LOCAL: u32 = 512 << 10;
/// Bytes of registers and parameters that the calls of a warp may take.
const MAX_FRAMES: usize = 64 << 20;

impl BlockState {
    pub(super) fn call(
        &mut self,
        run: &Run<'_>,
        warp: &mut Warp,
        path: &mut Path,
        place: (u32, u32),
        call: &Call,
    ) -> Next {
        let callee = &run.program.functions[call.function as usize];
        let caller = &warp.frames[path.frame as usize];
        let top = caller.local_base + run.program.functions[caller.function as usize].local_bytes;
        if path.depth >= MAX_DEPTH || top + callee.local_bytes > MAX_LOCAL || warp.frame_bytes > MAX_FRAMES {
            let detail = || {
                format!(
                    "calls are {} deep with {top} bytes of local memory when `{}` is called",
                    path.depth, callee.name
                )
            };
            self.report(run, place, warp.index, path.mask.trailing_zeros(), FindingKind::Stack, detail);
            self.stopped = true;
            return Next::Switch;
        }
        let frame = warp.enter(call.function, path.frame, path.pc + 1, path.mask, top, run, self.ctaid);
        for &(from, to, rows) in &call.arguments {
            for row in 0..rows {
                let (a, b) = ((from + row) as usize, (to + row) as usize);
                let (value, set) =
                    (warp.frames[path.frame as usize].params[a], warp.frames[path.frame as usize].params_set[a]);
                let callee = &mut warp.frames[frame as usize];
                callee.params[b] = value;
                callee.params_set[b] = set;
            }
        }
        *path = Path { pc: 0, frame, depth: path.depth + 1, ..*path };
        Next::Switch
    }

    pub(super) fn load_param(
        &mut self,
        run: &Run<'_>,
        warp: &mut Warp,
        frame: u32,
        place: (u32, u32),
        access: &ParamAccess,
        active: u32,
    ) {
        let holder = &mut warp.frames[frame as usize];
        let mut unset = 0;
        for element in 0..access.count {
            let at = access.offset + element * access.size;
            let row = (at / 4) as usize;
            let shift = at % 4 * 8;
            unset |= active & !holder.params_set[row];
            let slot = access.registers[element as usize];
            let (low, high) = (holder.params[row], holder.params.get(row + 1).copied().unwrap_or_default());
            for lane in lanes(active) {
                let value = if access.size == 8 {
                    u64::from(low[lane]) | u64::from(high[lane]) << 32
                } else {
                    u64::from(low[lane] >> shift)
                };
                put(&mut holder.regs, slot, lane, extended(value, access.size, access.extend, access.bits));
            }
        }
        if unset != 0 && run.options.checks {
            let detail = || "a parameter or result that nothing has stored is read".to_owned();
            self.report(run, place, warp.index, unset.trailing_zeros(), FindingKind::Uninitialized, detail);
        }
    }
}

pub(super) fn load_entry_param(regs: &mut Regs, params: &[u8], access: &ParamAccess, active: u32) {
    for element in 0..access.count {
        let at = (access.offset + element * access.size) as usize;
        let mut bytes = [0; 8];
        if let Some(from) = params.get(at..at + access.size as usize) {
            bytes[..from.len()].copy_from_slice(from);
        }
        let value = extended(u64::from_le_bytes(bytes), access.size, access.extend, access.bits);
        let slot = access.registers[element as usize];
        for lane in lanes(active) {
            put(regs, slot, lane, value);
        }
    }
}

pub(super) fn store_param(warp: &mut Warp, frame: u32, access: &ParamAccess, active: u32) {
    let holder = &mut warp.frames[frame as usize];
    for element in 0..access.count {
        let at = access.offset + element * access.size;
        let (row, shift) = ((at / 4) as usize, at % 4 * 8);
        let slot = access.registers[element as usize];
        let mask = match access.size {
            1 => 0xFF << shift,
            2 => 0xFFFF << shift,
            _ => u32::MAX,
        };
        for lane in lanes(active) {
            let value = get(&holder.regs, slot, lane);
            let word = &mut holder.params[row][lane];
            *word = *word & !mask | (value as u32) << shift & mask;
            if access.size == 8 {
                holder.params[row + 1][lane] = (value >> 32) as u32;
            }
        }
        holder.params_set[row] |= active;
        if access.size == 8 {
            holder.params_set[row + 1] |= active;
        }
    }
}

/// Lanes end: they leave their frame and all frames around it.
pub(super) fn exit(warp: &mut Warp, mut frame: u32, lanes: u32) {
    warp.exited |= lanes;
    while frame != u32::MAX {
        let parent = warp.frames[frame as usize].parent;
        warp.leave(frame, lanes);
        frame = parent;
    }
}

/// Lanes return to the frame that called, with the results.
pub(super) fn return_from(run: &Run<'_>, warp: &mut Warp, path: &mut Path) -> Next {
    let frame = path.frame;
    let (parent, pc) = (warp.frames[frame as usize].parent, warp.frames[frame as usize].return_pc);
    if parent == u32::MAX {
        exit(warp, frame, path.mask);
        return Next::Gone;
    }
    let caller = &run.program.functions[warp.frames[parent as usize].function as usize];
    if let Kind::Call(call) = &caller.ops[pc as usize - 1].kind {
        for &(to, from, rows) in &call.results {
            for row in 0..rows {
                let source = &warp.frames[frame as usize];
                let (value, set) = (source.params[(from + row) as usize], source.params_set[(from + row) as usize]);
                let target = &mut warp.frames[parent as usize];
                for lane in lanes(path.mask) {
                    target.params[(to + row) as usize][lane] = value[lane];
                }
                let known = &mut target.params_set[(to + row) as usize];
                *known = *known & !path.mask | set & path.mask;
            }
        }
    }
    warp.leave(frame, path.mask);
    *path = Path { pc, frame: parent, depth: path.depth - 1, ..*path };
    Next::Switch
}
