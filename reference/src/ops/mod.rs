//! The operations, one file a kernel family, each written once over a scalar.
//!
//! Arrays are row-major views. Every operation checks that its arrays fit together and returns a
//! [`ShapeError`](crate::ShapeError) that names the one that does not; no size makes it panic.

pub mod activation;
pub mod causal_conv;
pub mod delta_rule;
pub mod gated_rms_norm;
pub mod gates;
pub mod l2_norm;
pub mod output_gate;
pub mod qk_norm_rope;
pub mod quantize;

use crate::ShapeError;

/// Whether an argument has the shape that the others ask for.
fn expect(argument: &'static str, found: &[usize], expected: &[usize]) -> Result<(), ShapeError> {
    if found == expected {
        return Ok(());
    }
    Err(ShapeError { argument, found: found.to_vec(), expected: expected.to_vec() })
}
