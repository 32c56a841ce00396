//! Runs decoded code: a grid of blocks over the cores, a block of warps in turn, a warp in lockstep over its lanes.

mod access;
mod atomics;
pub(crate) mod block;
mod collective;
mod exec;
pub(crate) mod grid;
pub(crate) mod regs;
mod warp;
