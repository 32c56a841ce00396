//! Which chains there are, and what their tokens hold.

use std::fmt;
use std::str::FromStr;

use gdn_gpu::contract::{Dim, Shape};
use gdn_gpu::run::{Tensor, Tensors};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// How a chain draws its gates and keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChainRegime {
    /// Decay exactly 1, β near 1, one key for all tokens.
    Held,
    /// Decay exactly 1, fresh keys: nothing is ever forgotten.
    Kept,
    /// Decay from .995 to 1, fresh keys.
    Slow,
    /// Decay from .98 to 1, β near 1, all keys nearly parallel.
    Correlated,
    /// Decay .9.
    Steady,
    /// Decay from .1 to .5.
    Fast,
    /// Decay .001.
    Vanishing,
    /// Decay 0: each token starts anew.
    Cleared,
}

/// Where a regime's keys come from.
#[derive(Clone, Copy)]
enum Keys {
    Fresh,
    /// One key for all tokens, with this much noise.
    Common(f32),
}

/// The numbers of a regime.
struct Law {
    decay: [f32; 2],
    beta: [f32; 2],
    keys: Keys,
}

impl ChainRegime {
    /// Every regime.
    pub const ALL: [Self; 8] = [
        Self::Held,
        Self::Kept,
        Self::Slow,
        Self::Correlated,
        Self::Steady,
        Self::Fast,
        Self::Vanishing,
        Self::Cleared,
    ];

    /// The name in options and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Kept => "kept",
            Self::Slow => "slow",
            Self::Correlated => "correlated",
            Self::Steady => "steady",
            Self::Fast => "fast",
            Self::Vanishing => "vanishing",
            Self::Cleared => "cleared",
        }
    }

    const fn law(self) -> Law {
        const WRITE: [f32; 2] = [0.05, 0.95];
        match self {
            Self::Held => Law { decay: [1.0, 1.0], beta: [0.99, 1.0], keys: Keys::Common(0.0) },
            Self::Kept => Law { decay: [1.0, 1.0], beta: WRITE, keys: Keys::Fresh },
            Self::Slow => Law { decay: [0.995, 1.0], beta: WRITE, keys: Keys::Fresh },
            Self::Correlated => Law { decay: [0.98, 1.0], beta: [0.98, 1.0], keys: Keys::Common(0.01) },
            Self::Steady => Law { decay: [0.9, 0.9], beta: WRITE, keys: Keys::Fresh },
            Self::Fast => Law { decay: [0.1, 0.5], beta: WRITE, keys: Keys::Fresh },
            Self::Vanishing => Law { decay: [1e-3, 1e-3], beta: WRITE, keys: Keys::Fresh },
            Self::Cleared => Law { decay: [0.0, 0.0], beta: WRITE, keys: Keys::Fresh },
        }
    }
}

impl fmt::Display for ChainRegime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ChainRegime {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|regime| regime.name() == name);
        found.ok_or_else(|| Error::unknown("chain regime", name, Self::ALL.iter().map(|regime| regime.name())))
    }
}

/// A chain to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChainPlan {
    /// How gates and keys are drawn.
    pub regime: ChainRegime,
    /// Head size.
    pub d: usize,
    /// Key heads.
    pub hk: usize,
    /// Value heads.
    pub hv: usize,
    /// Tokens.
    pub tokens: u32,
    /// Seed of everything drawn.
    pub seed: u64,
    /// Points that the curve has at most, or a few more: spaced evenly in the logarithm of the token.
    pub points: u32,
}

impl ChainPlan {
    /// One head of 16, small enough for 65,536 tokens on the virtual machine, with 240 points.
    pub const fn new(regime: ChainRegime, tokens: u32, seed: u64) -> Self {
        Self { regime, d: 16, hk: 1, hv: 1, tokens, seed, points: 240 }
    }

    /// The shape that its kernel is launched with.
    pub fn shape(&self) -> Shape {
        Shape::new(&[(Dim::D, self.d as i64), (Dim::Hk, self.hk as i64), (Dim::Hv, self.hv as i64)])
    }
}

/// Draws the inputs of one token after another.
pub struct ChainDraws {
    plan: ChainPlan,
    rng: ChaCha8Rng,
    common: Vec<f32>,
}

impl ChainDraws {
    /// Before the first token.
    pub fn new(plan: &ChainPlan) -> Self {
        let mut source = Self { plan: plan.clone(), rng: ChaCha8Rng::seed_from_u64(plan.seed), common: Vec::new() };
        source.common = source.unit(None);
        source
    }

    fn normal(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| StandardNormal.sample(&mut self.rng)).collect()
    }

    fn gates(&mut self, [low, high]: [f32; 2]) -> Vec<f32> {
        (0..self.plan.hv).map(|_| if low < high { self.rng.random_range(low..high) } else { low }).collect()
    }

    /// Rows of norm 1 up to rounding, near the common ones where there is noise to add to them.
    fn unit(&mut self, noise: Option<f32>) -> Vec<f32> {
        let mut rows = self.normal(self.plan.hk * self.plan.d);
        if let Some(noise) = noise {
            for (x, common) in rows.iter_mut().zip(&self.common) {
                *x = common + noise * *x;
            }
        }
        for row in rows.chunks_mut(self.plan.d) {
            let norm = row.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
            for x in row {
                *x = (f64::from(*x) / norm) as f32;
            }
        }
        rows
    }

    /// The state before the first token.
    pub fn state(&mut self) -> Vec<f32> {
        self.normal(self.plan.hv * self.plan.d * self.plan.d)
    }

    /// The next token's tensors, the state aside.
    pub fn token(&mut self) -> Tensors {
        let law = self.plan.regime.law();
        let k = match law.keys {
            Keys::Fresh => self.unit(None),
            Keys::Common(noise) if noise > 0.0 => self.unit(Some(noise)),
            Keys::Common(_) => self.common.clone(),
        };
        Tensors::from([
            ("q", Tensor::F32(self.unit(None))),
            ("k", Tensor::F32(k)),
            ("v", Tensor::F32(self.normal(self.plan.hv * self.plan.d))),
            ("beta", Tensor::F32(self.gates(law.beta))),
            ("decay", Tensor::F32(self.gates(law.decay))),
        ])
    }
}
