//! Regimes: ways to draw inputs, each for the faults that the others hide.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

macro_rules! regimes {
    ($($variant:ident = $name:literal: $about:literal,)*) => {
        /// A way to draw a case's inputs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Regime { $(#[doc = $about] $variant,)* }

        impl Regime {
            /// Every regime.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in case lines, filters and reports.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it draws, in one line.
            pub const fn about(self) -> &'static str {
                match self { $(Self::$variant => $about,)* }
            }
        }
    };
}

regimes! {
    Gaussian = "gaussian": "normal data times the case's scale",
    Ramp = "ramp": "all elements distinct, so that any that is exchanged or dropped shows",
    Integers = "integers": "small integers and powers of two, where f32 is exact and the bound is zero",
    Ladder = "ladder": "heads scaled 1, 1e-1, … 1e-8, judged each by itself",
    Huge = "huge": "heads near and beyond the overflow of a sum of squares",
    OneHot = "one_hot": "one element a row, at warp edges and at the end",
    Zeros = "zeros": "zeros",
    Extremes = "extremes": "signed zeros, subnormals, the smallest normal and the largest finite numbers",
    Nonfinite = "nonfinite": "NaN and Inf in single places: what must stay finite does",
    Warm = "warm": "a decode step in mid-flight: non-zero state, unit keys, decay .98 to 1",
    Fast = "fast": "decay .1 to .5, where the order of decay and prediction shows",
    Decays = "decays": "decay from {1, .995, .5, .1, 1e-3, 0}",
    Correlated = "correlated": "keys of all tokens nearly parallel, β near 1",
    Identity = "identity": "β = 0 and decay = 1: the state must not change",
    Edges = "edges": "gate arguments across every overflow and cancellation edge",
    Ties = "ties": "quantization ties, where round half to even shows",
    Outlier = "outlier": "one element of a group 1e7 times the others",
    TinyGroups = "tiny_groups": "groups of zeros and of amax 1e-40, 1e-37, 1e-30: zero and subnormal scales",
}

impl Regime {
    /// Whether it draws values that are not finite, or that overflow.
    pub const fn is_nonfinite(self) -> bool {
        matches!(self, Self::Nonfinite | Self::Extremes | Self::Huge)
    }
}

impl fmt::Display for Regime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Regime {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL
            .iter()
            .copied()
            .find(|regime| regime.name() == name)
            .ok_or_else(|| Error::unknown("regime", name, Self::ALL.iter().map(|regime| regime.name())))
    }
}
