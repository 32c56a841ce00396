//! Which cases a run has: the default profile, and random cases from the same strategy that proptest shrinks.

use gdn_gpu::contract::Dim;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, RngSeed, TestRng, TestRunner};

use crate::case::Case;
use crate::error::Error;
use crate::family::Suite;
use crate::kill;
use crate::regime::Regime;
use crate::suites;

/// Scales of the default profile, as powers of two, in turn.
const SCALES: [i32; 3] = [0, -7, 7];

/// Draws of each regime × shape in the default profile: one draw can miss a fault that depends on a sign.
const DRAWS: usize = 2;

/// Which cases a run has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Profile {
    /// Every kernel × regime × shape.
    Full,
    /// The cases that together kill every mutant: seconds, for use while editing.
    Smoke,
}

impl Profile {
    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Smoke => "smoke",
        }
    }
}

/// The cases that together kill every mutant, as `mutants --smoke` found them.
const SMOKE: &str = include_str!("../../golden/smoke.txt");

/// The smoke profile: the lines of `golden/smoke.txt`.
///
/// # Errors
/// Where a line is no case any more; `mutants --smoke golden/smoke.txt` makes it anew.
pub fn smoke() -> Result<Vec<Case>, Error> {
    Ok(SMOKE.lines().map(str::parse).collect::<Result<_, suites::Error>>()?)
}

/// The cases of one kernel in a profile that mutants are run on: smallest first, the models' layers left out.
///
/// # Errors
/// An unknown kernel, or a line of the smoke profile that is no case.
pub fn of(profile: Profile, kernel: &str, seed: u64) -> Result<Vec<Case>, Error> {
    match profile {
        Profile::Full => kill::matrix_cases(kernel, seed),
        Profile::Smoke => Ok(smoke()?.into_iter().filter(|case| case.contract.kernel == kernel).collect()),
    }
}

/// The default profile of a kernel: every regime × every shape of it, each drawn twice at two scales.
pub fn profile(suite: &dyn Suite, seed: u64) -> Vec<Case> {
    let mut cases = Vec::new();
    for &regime in suite.regimes() {
        for (i, plan) in suite.plans(regime).into_iter().enumerate() {
            for draw in 0..DRAWS {
                cases.push(Case {
                    contract: suite.contract(),
                    shape: plan.shape.clone(),
                    tokens: plan.tokens,
                    regime,
                    scale: scale(regime, SCALES[(i + draw) % SCALES.len()]),
                    seed: seed.wrapping_add((DRAWS * i + draw) as u64),
                });
            }
        }
    }
    cases
}

/// Regimes that fix their own magnitudes are drawn at scale 1.
fn scale(regime: Regime, scale: i32) -> i32 {
    match regime {
        Regime::Integers | Regime::Huge | Regime::Extremes | Regime::Zeros | Regime::Edges | Regime::Ties => 0,
        _ => scale,
    }
}

/// Any case of a kernel: regime × shape × head size or count × tokens × scale × seed.
pub fn strategy(suite: &'static dyn Suite, regimes: Vec<Regime>) -> impl Strategy<Value = Case> {
    let contract = suite.contract();
    (proptest::sample::select(regimes), any::<prop::sample::Index>(), 1i64..=256, 1u32..=3, -10i32..=10, any::<u64>())
        .prop_map(move |(regime, plan, size, tokens, exponent, seed)| {
            // The models' layers are the profile's business: random cases stay small, so that there can be many.
            let plans: Vec<_> = suite
                .plans(regime)
                .into_iter()
                .filter(|plan| plan.shape.size(Dim::Hv).is_none_or(|hv| hv < 32 || contract.dims().len() < 3))
                .collect();
            let mut shape = plan.get(&plans).shape.clone();
            let free = [Dim::D, Dim::N].into_iter().find(|dim| contract.dims().contains(dim));
            if let Some(dim) = free {
                let mut resized = shape.clone();
                resized.set(dim, size);
                if contract.check(&resized).is_ok() {
                    shape = resized;
                }
            }
            let tokens = if contract.carries_state() { tokens } else { 1 };
            Case { contract, shape, tokens, regime, scale: scale(regime, exponent), seed }
        })
}

/// `count` random cases of a kernel.
pub fn random(suite: &'static dyn Suite, regimes: &[Regime], count: usize, seed: u64) -> Vec<Case> {
    let regimes: Vec<Regime> = suite.regimes().iter().copied().filter(|regime| regimes.contains(regime)).collect();
    if regimes.is_empty() {
        return Vec::new();
    }
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config { rng_seed: RngSeed::Fixed(seed), failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let strategy = strategy(suite, regimes);
    (0..count).filter_map(|_| strategy.new_tree(&mut runner).ok()).map(|tree| tree.current()).collect()
}
