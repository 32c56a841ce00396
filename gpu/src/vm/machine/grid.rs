//! A launch: blocks in a seeded order over the cores, findings and coverage gathered at the end.

use super::block::BlockState;
use crate::executor::Geometry;
use crate::vm::Options;
use crate::vm::checks::Findings;
use crate::vm::coverage::Counters;
use crate::vm::decode::code::Program;
use crate::vm::memory::Memory;
use rayon::prelude::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Everything that all blocks of a launch share.
pub(crate) struct Run<'a> {
    pub(crate) program: &'a Program,
    pub(crate) entry: u32,
    pub(crate) memory: &'a Memory,
    /// Addresses of the program's global variables.
    pub(crate) globals: &'a [u64],
    pub(crate) geometry: Geometry,
    /// The parameters' bytes.
    pub(crate) params: &'a [u8],
    pub(crate) dynamic_shared: u32,
    pub(crate) options: &'a Options,
    /// Stamp of this launch, for the race checks.
    pub(crate) stamp: u64,
    pub(crate) counters: &'a Counters,
    /// Set when a finding makes it pointless to go on.
    pub(crate) abort: AtomicBool,
    /// Warp instructions run.
    pub(crate) instructions: AtomicU64,
}

/// A pseudo-random permutation step: the splitmix finalizer.
pub(crate) const fn mix(seed: u64, value: u64) -> u64 {
    let mut z = seed ^ value.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Maps `0..count` onto itself in an order that a seed fixes, without a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shuffle {
    count: u64,
    step: u64,
    start: u64,
}

impl Shuffle {
    pub(crate) const fn new(count: u64, seed: u64) -> Self {
        if seed == 0 || count < 2 {
            return Self { count, step: 1, start: 0 };
        }
        let mut step = mix(seed, 1) % count;
        while gcd(step, count) != 1 {
            step = (step + 1) % count;
        }
        Self { count, step, start: mix(seed, 2) % count }
    }

    pub(crate) const fn at(self, index: u64) -> u64 {
        ((index as u128 * self.step as u128 + self.start as u128) % self.count as u128) as u64
    }
}

const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Run<'_> {
    /// Runs all blocks.
    pub(crate) fn go(&self) -> Findings {
        let [x, y, z] = self.geometry.grid.map(u64::from);
        let blocks = x * y * z;
        let order = Shuffle::new(blocks, self.options.seed);
        let all = Mutex::new(Findings::default());
        let keep = |state: BlockState| {
            self.instructions.fetch_add(state.instructions, Relaxed);
            if !state.findings.is_empty()
                && let Ok(mut all) = all.lock()
            {
                all.merge(state.findings);
            }
        };
        let one = |state: &mut BlockState, index: u64| {
            if self.abort.load(Relaxed) {
                return;
            }
            let linear = order.at(index);
            let ctaid = [(linear % x) as u32, (linear / x % y) as u32, (linear / x / y) as u32];
            state.run_block(self, ctaid, linear);
        };
        let threads = rayon::current_num_threads() as u64;
        if self.program.ordered || blocks == 1 || threads == 1 {
            // Blocks that order each other through memory run one after another, so that the seed fixes the outcome.
            let mut state = BlockState::new(self);
            (0..blocks).for_each(|index| one(&mut state, index));
            keep(state);
        } else {
            // A few chunks a core: state is reused within a chunk, and cores end at about the same time.
            let chunk = blocks.div_ceil(threads * 8);
            (0..blocks.div_ceil(chunk)).into_par_iter().for_each(|part| {
                let mut state = BlockState::new(self);
                (part * chunk..((part + 1) * chunk).min(blocks)).for_each(|index| one(&mut state, index));
                keep(state);
            });
        }
        all.into_inner().unwrap_or_default()
    }
}
