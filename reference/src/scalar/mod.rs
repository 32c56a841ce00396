//! Scalars that an operation can be evaluated with: `f64` is the oracle, `f32` a naive kernel, [`Bounded`] the oracle with its error bound.

mod budget;

pub use budget::{Budget, Reduction, U};
