//! The oracle: every operation of a gated-delta-rule decode step, written once over a scalar.
#![forbid(unsafe_code)]

pub mod chain;
pub mod layer;
pub mod ops;
pub mod scalar;
mod shape;

pub use chain::ChainBound;
pub use scalar::{Bounded, Budget, Perturbed, Reduction, Scalar};
pub use shape::{HeadMap, ShapeError};
