//! The rounding budget of a kernel: how wrong each function it calls may be, and how deep its sums are.

/// Unit roundoff of f32, 2⁻²⁴: a correctly rounded result r is off by at most `U`·|r|.
pub const U: f64 = 1.0 / 16_777_216.0;

/// How a kernel adds up the terms of a reduction; decides the depth of the summation tree, and with it γ(d).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// Any order, one after the other included: depth n − 1.
    AnyOrder,
    /// A warp that strides over the terms and combines its lanes by shuffles: depth ⌈n/32⌉ + 5.
    Warp,
    /// A block of one thread a term: 5 levels in each warp, then a tree over the ⌈n/32⌉ warps.
    Block,
}

impl Reduction {
    /// Depth of the summation tree over `n` terms: the most additions that any one term passes through.
    pub fn depth(self, n: usize) -> usize {
        let warps = n.div_ceil(32);
        match self {
            Self::AnyOrder => n.saturating_sub(1),
            Self::Warp => warps + 5,
            Self::Block => 5 + warps.next_power_of_two().trailing_zeros() as usize,
        }
    }
}

/// Largest distances from the exact value, in ulp of the result, that a correct kernel's functions may have, and the shape of its sums.
///
/// The defaults are those of [`Budget::CUDA`]. Additions, multiplications and fused multiply-adds are correctly rounded
/// (0.5 ulp) in every budget: no supported compile option changes that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Division.
    pub div: f64,
    /// Square root.
    pub sqrt: f64,
    /// Reciprocal square root.
    pub rsqrt: f64,
    /// Exponential.
    pub exp: f64,
    /// ln(1 + x).
    pub log1p: f64,
    /// Sine and cosine, over the full range.
    pub sin_cos: f64,
    /// How sums are formed.
    pub reduction: Reduction,
}

impl Budget {
    /// CUDA's single-precision functions without fast math: the maximum errors of the table "Single-Precision Mathematical
    /// Standard Library Functions with Maximum ULP Error" in the CUDA C++ Programming Guide (`expf` 2, `rsqrtf` 2,
    /// `log1pf` 1, `sinf` and `cosf` 2), and the half ulp by which the correctly rounded result, from which that table counts, may
    /// itself be off. Division and square root are correctly rounded under `-prec-div=true -prec-sqrt=true`.
    pub const CUDA: Self = Self {
        div: 0.5,
        sqrt: 0.5,
        rsqrt: 2.0 + 0.5,
        exp: 2.0 + 0.5,
        log1p: 1.0 + 0.5,
        sin_cos: 2.0 + 0.5,
        reduction: Reduction::AnyOrder,
    };

    /// This budget with another shape of sums.
    #[must_use]
    pub const fn with_reduction(self, reduction: Reduction) -> Self {
        Self { reduction, ..self }
    }
}
