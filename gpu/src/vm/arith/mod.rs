//! The arithmetic of PTX as pure functions: bits in, bits out, no state, no panics.
//!
//! | module | holds |
//! | --- | --- |
//! | `soft`, `real` | formats, exact integer evaluation, one rounding |
//! | `float` | f32: `add sub mul fma div rcp sqrt`, every mode, `.ftz`, `.sat` |
//! | `double` | f64: the same, NaN payloads kept |
//! | `half` | f16, bf16 and their pairs, `.relu` |
//! | `compare` | `min max` |
//! | `cvt` | conversions between all of them and integers |
//! | `approx` | approximate instructions, correctly rounded or adversarial |
//!
//! The decoder has vector loops of its own for what is correctly rounded by the processor too.
//!
//! Conventions: an f16 or bf16 is the low half of a u32, a pair has its second element in the upper half; [`Mode`] carries
//! the modifiers of floating-point instructions. Sections in comments are those of NVIDIA's PTX ISA 9.1.

pub(crate) mod approx;
pub(crate) mod compare;
pub(crate) mod cvt;
pub(crate) mod double;
pub(crate) mod float;
pub(crate) mod half;
mod real;
pub(crate) mod soft;
#[cfg(test)]
mod tests;

/// The modifiers of a floating-point instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mode {
    /// `.rn`, `.rz`, `.rm`, `.rp`, `.rna`.
    pub(crate) rounding: Rounding,
    /// Subnormal operands and results become zeros of their sign.
    pub(crate) ftz: bool,
    /// The result is clamped to [+0, 1]; NaN becomes +0.
    pub(crate) sat: bool,
    /// A negative result becomes +0 (NaN stays).
    pub(crate) relu: bool,
}

impl Mode {
    /// A rounding mode without modifiers.
    pub(crate) const fn rounding(rounding: Rounding) -> Self {
        Self { rounding, ftz: false, sat: false, relu: false }
    }
}

/// A rounding mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// To nearest, ties to even.
    #[default]
    Nearest,
    /// Towards zero.
    Zero,
    /// Towards minus infinity.
    Down,
    /// Towards plus infinity.
    Up,
    /// To nearest, ties away from zero.
    Away,
}

/// How approximate instructions choose their result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Approximation {
    /// The correctly rounded value.
    #[default]
    CorrectlyRounded,
    /// Any value within the error that the ISA documents, drawn from a seed and the operands.
    Adversarial(u64),
    /// The least value within that error.
    Least,
    /// The greatest value within it.
    Greatest,
}
