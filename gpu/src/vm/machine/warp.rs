//! A warp's state: frames of registers, and paths, the groups of lanes that stand at one instruction.
//!
//! Paths part at branches that lanes take differently. The scheduler runs the path that is least in an order where loops are
//! contiguous and exits come last (innermost call first), so paths meet again at the first point they have in
//! common; those that stand at the same instruction of the same frame become one.

use super::grid::Run;
use super::regs::{LANES, Regs};
use crate::vm::decode::code::{Class, Code, Slot, Special};

/// What a path waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    Nothing,
    /// Lanes that its member mask names and that are elsewhere.
    Members,
    /// Block barrier of this number.
    Barrier(u32),
}

/// Lanes at one instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub(crate) pc: u32,
    pub(crate) mask: u32,
    pub(crate) frame: u32,
    pub(crate) depth: u32,
    pub(crate) wait: Wait,
    /// Atomics and strong loads since it was last put back.
    pub(crate) polls: u32,
    /// Polled memory for long: lets others go first.
    pub(crate) deferred: bool,
    /// Goes on although lanes that it waits for have not come.
    pub(crate) forced: bool,
}

/// A call in progress.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    pub(crate) function: u32,
    pub(crate) regs: Regs,
    pub(crate) parent: u32,
    pub(crate) return_pc: u32,
    /// The parameter area, a row a word.
    pub(crate) params: Vec<[u32; LANES]>,
    pub(crate) params_set: Vec<u32>,
    pub(crate) local_base: u32,
    /// Lanes that have not returned.
    pub(crate) lanes: u32,
}

/// A thread's local memory, for 32 threads: a row a word.
#[derive(Debug, Default)]
pub(crate) struct Local {
    pub(crate) words: Vec<[u32; LANES]>,
    /// Bytes written, four bits a word and lane.
    pub(crate) set: Vec<[u8; LANES]>,
}

/// A warp.
#[derive(Debug, Default)]
pub(crate) struct Warp {
    pub(crate) index: u32,
    /// Lanes that exist.
    pub(crate) present: u32,
    /// Lanes that have ended.
    pub(crate) exited: u32,
    pub(crate) frames: Vec<Frame>,
    pub(crate) free_frames: Vec<u32>,
    /// Bytes of all frames, those to be used again included.
    pub(crate) frame_bytes: usize,
    pub(crate) paths: Vec<Path>,
    pub(crate) local: Local,
    /// Warp barriers passed.
    pub(crate) epoch: u32,
}

impl Warp {
    /// Makes the warp stand at the beginning of an entry.
    pub(crate) fn start(&mut self, index: u32, present: u32, run: &Run<'_>, ctaid: [u32; 3], entry: u32) {
        self.index = index;
        self.present = present;
        self.exited = 0;
        self.epoch = 0;
        self.free_frames.clear();
        self.free_frames.extend((0..self.frames.len() as u32).rev());
        self.local.set.iter_mut().for_each(|row| *row = [0; LANES]);
        let frame = self.enter(entry, u32::MAX, 0, present, 0, run, ctaid);
        self.paths.clear();
        self.paths.push(Path {
            pc: 0,
            mask: present,
            frame,
            depth: 0,
            wait: Wait::Nothing,
            polls: 0,
            deferred: false,
            forced: false,
        });
    }

    /// A new frame of a function.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn enter(
        &mut self,
        function: u32,
        parent: u32,
        return_pc: u32,
        lanes: u32,
        local_base: u32,
        run: &Run<'_>,
        ctaid: [u32; 3],
    ) -> u32 {
        let at = self.free_frames.pop().unwrap_or_else(|| {
            self.frames.push(Frame { function: u32::MAX, ..Frame::default() });
            self.frames.len() as u32 - 1
        });
        let code = &run.program.functions[function as usize];
        let frame = &mut self.frames[at as usize];
        let same = frame.function == function;
        if !same {
            let held = run.program.functions.get(frame.function as usize).map_or(0, frame_bytes);
            self.frame_bytes = (self.frame_bytes - held) + frame_bytes(code);
        }
        frame.function = function;
        frame.parent = parent;
        frame.return_pc = return_pc;
        frame.lanes = lanes;
        frame.local_base = local_base;
        frame.params.resize(code.param_rows as usize, [0; LANES]);
        frame.params.shrink_to(4 * code.param_rows as usize + 256);
        frame.params_set.clear();
        frame.params_set.resize(code.param_rows as usize, 0);
        fill(&mut frame.regs, code, run, same);
        frame.specials(code, run, self.index, ctaid, same);
        let top = local_base + code.local_bytes;
        let rows = top.div_ceil(4) as usize;
        if self.local.words.len() < rows {
            self.local.words.resize(rows, [0; LANES]);
            self.local.set.resize(rows, [0; LANES]);
        }
        // A frame's memory holds nothing yet, whatever an earlier call left there.
        for row in &mut self.local.set[(local_base / 4) as usize..rows] {
            for (lane, set) in row.iter_mut().enumerate() {
                *set = if lanes >> lane & 1 != 0 { 0 } else { *set };
            }
        }
        at
    }

    /// Lanes that exist and have not ended.
    pub(crate) const fn live(&self) -> u32 {
        self.present & !self.exited
    }

    /// Takes lanes out of a frame; a frame without lanes is free.
    pub(crate) fn leave(&mut self, frame: u32, lanes: u32) {
        let left = &mut self.frames[frame as usize].lanes;
        *left &= !lanes;
        if *left == 0 {
            self.free_frames.push(frame);
        }
    }
}

/// Bytes that a frame of a function takes.
fn frame_bytes(code: &Code) -> usize {
    let words = code.words as usize + 2 * code.longs as usize + code.param_rows as usize;
    words * size_of::<[u32; LANES]>()
}

/// Sizes the register files and fills constants; `same` when the frame held this function before.
fn fill(regs: &mut Regs, code: &Code, run: &Run<'_>, same: bool) {
    regs.carry = 0;
    regs.approximation = run.options.approximation;
    if !same {
        regs.r32.clear();
        regs.r32.resize(code.words as usize, [0; LANES]);
        // What a far larger function held here before is given back.
        regs.r32.shrink_to(4 * code.words as usize + 256);
        regs.r64.clear();
        regs.r64.resize(code.longs as usize, [0; LANES]);
        regs.r64.shrink_to(4 * code.longs as usize + 256);
        regs.pred.clear();
        regs.pred.resize(code.preds as usize, 0);
        for &(slot, value) in &code.const_words {
            regs.r32[slot as usize] = [value; LANES];
        }
        for &(slot, value) in &code.const_longs {
            regs.r64[slot as usize] = [value; LANES];
        }
        for &(slot, global, distance) in &code.symbols {
            let base = run.globals.get(global as usize).copied().unwrap_or(0);
            regs.r64[slot as usize] = [base.wrapping_add_signed(distance); LANES];
        }
        for &(slot, value) in &code.const_preds {
            regs.pred[slot as usize] = if value { u32::MAX } else { 0 };
        }
    }
    if run.options.checks {
        // Only registers of the text start undefined; the slots behind them are constants and scratch.
        let set = |files: &mut Vec<u32>, named: usize, all: u32| {
            files.clear();
            files.resize(named, 0);
            files.resize(all as usize, u32::MAX);
        };
        set(&mut regs.set32, code.word_names.len(), code.words);
        set(&mut regs.set64, code.long_names.len(), code.longs);
        set(&mut regs.set_pred, code.pred_names.len(), code.preds);
    }
}

impl Frame {
    fn put(&mut self, slot: Slot, values: [u32; LANES]) {
        match slot.class {
            Class::Word => self.regs.r32[slot.index as usize] = values,
            Class::Long => self.regs.r64[slot.index as usize] = values.map(u64::from),
            Class::Pred => {}
        }
    }

    /// Fills the slots of special registers and of local addresses; `same` when the frame held this function before, of which a
    /// warp's frame keeps all but the block's place in the grid.
    fn specials(&mut self, code: &Code, run: &Run<'_>, warp: u32, ctaid: [u32; 3], same: bool) {
        let [nx, ny, _] = run.geometry.block;
        for &(slot, special) in &code.specials {
            if same && !matches!(special, Special::Ctaid(_)) {
                continue;
            }
            let each = |of: fn(u32) -> u32| std::array::from_fn(|lane| of(lane as u32));
            let row: [u32; LANES] = match special {
                Special::Tid(axis) => std::array::from_fn(|lane| {
                    let thread = warp * 32 + lane as u32;
                    match axis {
                        0 => thread % nx,
                        1 => thread / nx % ny,
                        _ => thread / nx / ny,
                    }
                }),
                Special::Ntid(axis) => [run.geometry.block[axis]; LANES],
                Special::Ctaid(axis) => [ctaid[axis]; LANES],
                Special::Nctaid(axis) => [run.geometry.grid[axis]; LANES],
                Special::LaneId => each(|lane| lane),
                Special::WarpId => [warp; LANES],
                Special::NWarpId => [32; LANES],
                Special::LaneMaskEq => each(|lane| 1 << lane),
                Special::LaneMaskLt => each(|lane| (1 << lane) - 1),
                Special::LaneMaskLe => each(|lane| u32::MAX >> (31 - lane)),
                Special::LaneMaskGt => each(|lane| !(u32::MAX >> (31 - lane))),
                Special::LaneMaskGe => each(|lane| !((1 << lane) - 1)),
                Special::Arbitrary => [0; LANES],
                Special::NSmId => [1; LANES],
                Special::DynamicSharedSize => [run.dynamic_shared; LANES],
                Special::TotalSharedSize => [run.program.shared_bytes + run.dynamic_shared; LANES],
            };
            self.put(slot, row);
        }
        for &(slot, distance) in &code.locals {
            self.put(slot, [self.local_base + distance; LANES]);
        }
    }
}
