//! CUDA kernels of gated-delta-rule decoding, the contract of each, and the executors that run them.

pub mod contract;
pub mod executor;
pub mod vm;

pub use executor::{Error, Executor};
