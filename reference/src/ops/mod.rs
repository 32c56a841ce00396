//! The operations, one file a kernel family.

pub mod activation;
pub mod causal_conv;
pub mod delta_rule;
pub mod gated_rms_norm;
pub mod gates;
pub mod l2_norm;
pub mod output_gate;
pub mod qk_norm_rope;
pub mod quantize;

use crate::{Scalar, ShapeError};

/// Refuses an array whose shape is not the one that the other arguments ask for.
pub(crate) fn expect_shape(argument: &'static str, found: &[usize], expected: &[usize]) -> Result<(), ShapeError> {
    if found == expected {
        Ok(())
    } else {
        Err(ShapeError { argument, found: found.to_vec(), expected: expected.to_vec() })
    }
}

/// x·(1/√s) in the forms that kernels give it, prepared once for all elements that share s.
///
/// Accepted: x·rsqrt(s), x/√s, and x·(1/√s). A large s that overflows f32 is infinite, and all three give zero.
#[derive(Clone, Copy)]
struct RootQuotient<T> {
    rsqrt: T,
    root: T,
    reciprocal: T,
}

impl<T: Scalar> RootQuotient<T> {
    fn new(square: T, budget: &crate::Budget) -> Self {
        let root = square.sqrt(budget);
        Self { rsqrt: square.rsqrt(budget), root, reciprocal: T::exact(1.0).div(root, budget) }
    }

    fn apply(self, x: T, budget: &crate::Budget) -> T {
        (x * self.rsqrt).or_form(|| x.div(self.root, budget)).or_form(|| x * self.reciprocal)
    }

    /// The factor itself, for the forms that multiply it by something else first.
    fn factor(self) -> T {
        self.rsqrt.or_form(|| self.reciprocal)
    }
}
