//! Shape vocabulary shared by the oracle and the contracts: head maps, and the error for arrays that do not fit together.

/// Which key head a value head reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HeadMap {
    /// Value head `h` reads key head `h % HK`: the order of the GGUF conversion, and of the kernels here.
    Tile,
    /// Value head `h` reads key head `h / (HV / HK)`: the order of the original checkpoints.
    Interleave,
}

impl HeadMap {
    /// The key head that value head `h` of `hv` reads among `hk` key heads.
    ///
    /// `hk` must be non-zero and divide `hv`; contracts and operations check that before they ask.
    pub fn key_head(self, h: usize, hv: usize, hk: usize) -> usize {
        match self {
            Self::Tile => h % hk,
            Self::Interleave => h / (hv / hk),
        }
    }
}

/// Arrays that do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{argument}: shape {found:?}, expected {expected:?}")]
pub struct ShapeError {
    /// The argument that does not fit.
    pub argument: &'static str,
    /// Its shape.
    pub found: Vec<usize>,
    /// The shape that the other arguments ask for.
    pub expected: Vec<usize>,
}
