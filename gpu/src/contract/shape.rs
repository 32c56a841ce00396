//! Sizes and parameters of a launch, by name.

use std::collections::BTreeMap;
use std::fmt;

macro_rules! names {
    ($(#[$meta:meta])* $type:ident { $($(#[$vmeta:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $type { $($(#[$vmeta])* $variant,)* }

        impl $type {
            /// Every value, in the order of the case line.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in case lines, messages and documentation.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

names! {
    /// A size that shapes a launch.
    Dim {
        /// Head size, in elements.
        D = "d",
        /// Key heads.
        Hk = "hk",
        /// Value heads.
        Hv = "hv",
        /// Heads of a kernel that has one sort of them.
        H = "h",
        /// Channels.
        C = "c",
        /// Convolution taps.
        T = "t",
        /// Leading chunks that are L2-normalized.
        Nl2 = "nl2",
        /// Elements.
        N = "n",
        /// Head size of an attention layer.
        Hd = "hd",
        /// Rotated dimensions of a head.
        Rot = "rot",
        /// Position of the token.
        Pos = "pos",
        /// Distance between rows, in elements.
        Stride = "stride",
        /// Blocks of a launch whose geometry is free.
        Blocks = "blocks",
        /// Threads of a block whose size is free.
        Threads = "threads",
    }
}

names! {
    /// A floating-point parameter.
    Param {
        /// The constant under a norm's root.
        Eps = "eps",
        /// The base of the rotary frequencies.
        Rbase = "rbase",
    }
}

/// Sizes and parameters of one launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shape {
    sizes: BTreeMap<Dim, i64>,
    params: BTreeMap<Param, f32>,
}

impl Shape {
    /// A shape of the given sizes.
    pub fn new(sizes: &[(Dim, i64)]) -> Self {
        Self { sizes: sizes.iter().copied().collect(), params: BTreeMap::new() }
    }

    /// The same shape with a parameter set.
    #[must_use]
    pub fn with(mut self, param: Param, value: f32) -> Self {
        self.params.insert(param, value);
        self
    }

    /// Sets a size.
    pub fn set(&mut self, dim: Dim, value: i64) {
        self.sizes.insert(dim, value);
    }

    /// The size `dim`, where the shape has it.
    pub fn size(&self, dim: Dim) -> Option<i64> {
        self.sizes.get(&dim).copied()
    }

    /// The parameter `param`, where the shape has it.
    pub fn param(&self, param: Param) -> Option<f32> {
        self.params.get(&param).copied()
    }

    /// The size `dim` of a shape inside the contract's domain, where every size is there and not negative.
    ///
    /// # Panics
    /// If the shape was not checked by [`Contract::check`](super::Contract::check).
    pub fn get(&self, dim: Dim) -> usize {
        usize::try_from(self.sizes[&dim]).expect("Contract::check refuses negative sizes")
    }

    /// All sizes, in order.
    pub fn sizes(&self) -> impl Iterator<Item = (Dim, i64)> + '_ {
        self.sizes.iter().map(|(&dim, &value)| (dim, value))
    }

    /// All parameters, in order.
    pub fn params(&self) -> impl Iterator<Item = (Param, f32)> + '_ {
        self.params.iter().map(|(&param, &value)| (param, value))
    }
}
