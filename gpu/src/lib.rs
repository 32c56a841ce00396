//! CUDA kernels of gated-delta-rule decoding, the contract of each, and the executors that run them.
//!
//! [`GDN_KERNELS`] and [`QWEN38_KERNELS`] are the published sources; [`contracts`] says of each kernel in them what it takes,
//! where it is defined and how exact it must be; [`run`] drives any of them through an [`Executor`].

pub mod contract;
pub mod contracts;
pub mod cuda;
mod emit;
pub mod executor;
mod kernels;
pub mod nvrtc;
pub mod probe;
pub mod ptx;
pub mod run;
pub mod vm;

pub use emit::{EmitError, emit_gated_delta_forward};
pub use executor::{Error, Executor};
pub use kernels::{GDN_KERNELS, PROBE_KERNELS, QWEN38_KERNELS, program};
