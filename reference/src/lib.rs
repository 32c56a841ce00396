//! The oracle: every operation of a gated-delta-rule decode step, written once over a scalar.
#![forbid(unsafe_code)]

pub mod ops;
pub mod scalar;
mod shape;

pub use shape::{HeadMap, ShapeError};
