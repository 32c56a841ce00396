//! Runs decoded code: a grid of blocks over the cores, a block of warps in turn, a warp in lockstep over its lanes.

mod access;
mod atomics;
pub(crate) mod block;
mod collective;
mod exec;
mod frames;
pub(crate) mod grid;
mod notes;
pub(crate) mod regs;
mod rows;
mod warp;
