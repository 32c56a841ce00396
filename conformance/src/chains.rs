//! Long chains: the delta rule over thousands of tokens, in both views of its error, as curves of error and bound against the token.
//!
//! *Step by step*, the kernel's own state after a token, widened exactly, is the oracle's state before the next: each step keeps its
//! sharp elementwise bound, and nothing accumulates. *Free running*, the oracle keeps a state of its own from the first token on, and
//! the kernel's may be as far from it as [`ChainBound`] derives. The first view judges each step; the second judges what the steps
//! come to when the oracle knows what the kernel should have been given: a gate that is wrong upstream is an input like any other to
//! the first, and drifts away in the second.

use std::fmt;
use std::str::FromStr;

use gdn_gpu::contract::{Dim, Shape};
use gdn_gpu::run::{RunError, Tensor, Tensors};
use gdn_reference::ops::delta_rule::{self, Inputs};
use gdn_reference::{Bounded, Budget, ChainBound, HeadMap, ShapeError};
use ndarray::{Array2, Array3, ArrayView2, ArrayView3};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::family::Suite;
use crate::runner::Runner;
use crate::suites::{self, view};
use crate::verdict::{Disposition, Verdict, Want};

/// The kernel that a chain runs.
const KERNEL: &str = "gdn_step";

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

    fn shape(&self) -> Shape {
        Shape::new(&[(Dim::D, self.d as i64), (Dim::Hk, self.hk as i64), (Dim::Hv, self.hv as i64)])
    }
}

/// An error and what it may be. JSON has no infinity: a number beyond all bounds is `null`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reading {
    /// The token that it was read at, from 1.
    pub token: u32,
    /// The error; none where something was not finite that should be.
    pub error: Option<f64>,
    /// The bound; none where the range of f32 leaves the answer open.
    pub bound: Option<f64>,
    /// Error ÷ bound; none beyond all bounds.
    pub utilization: Option<f64>,
}

impl Reading {
    /// Written so that a NaN is as bad as can be, and so is a bound that leaves everything open: it would compare nothing.
    fn new(token: u32, error: f64, bound: f64) -> Self {
        let finite = |x: f64| x.is_finite().then_some(x);
        let utilization = if !bound.is_finite() {
            f64::INFINITY
        } else if error == 0.0 {
            0.0
        } else {
            error / bound
        };
        Self { token, error: finite(error), bound: finite(bound), utilization: finite(utilization) }
    }

    fn rank(self) -> f64 {
        self.utilization.unwrap_or(f64::INFINITY)
    }

    /// The worse of the two, the first of equals.
    fn or(self, other: Self) -> Self {
        if other.rank() > self.rank() { other } else { self }
    }
}

/// A stretch of a chain up to a token: each view's worst reading since the point before it, so that no worst is lost between points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChainPoint {
    /// The last token of the stretch, from 1.
    pub token: u32,
    /// Step by step: the worst element of state and output.
    pub step: Reading,
    /// Free running: the row of the state that is nearest to its norm-wise bound.
    pub state: Reading,
    /// Free running: the output that is nearest to its bound.
    pub output: Reading,
    /// Free running: the row that is furthest out of what independent rounding errors come to, which is no bound and decides nothing
    /// (see [`ChainBound::scatter`]).
    pub scatter: Reading,
    /// Norm of the state's error after the last token, relative to that of the state.
    pub relative: Option<f64>,
}

impl ChainPoint {
    fn or(self, next: Self) -> Self {
        Self {
            token: next.token,
            step: self.step.or(next.step),
            state: self.state.or(next.state),
            output: self.output.or(next.output),
            scatter: self.scatter.or(next.scatter),
            relative: next.relative,
        }
    }
}

/// What a chain came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChainCurve {
    /// The chain.
    pub plan: ChainPlan,
    /// Who ran it.
    pub executor: String,
    /// The curve, in the order of the tokens.
    pub points: Vec<ChainPoint>,
    /// What the executor ran into, and what the kernel did to memory: each ends the chain.
    pub findings: Vec<String>,
}

impl ChainCurve {
    /// Each view's worst reading over the whole chain, as one stretch; none of a chain that has no point.
    pub fn worst(&self) -> Option<ChainPoint> {
        self.points.iter().copied().reduce(ChainPoint::or)
    }

    /// The verdict on the chain: passed where it ran to its end and no view went beyond its bound at any token.
    pub fn verdict(&self) -> Verdict {
        let name = format!("{KERNEL} {} chain", self.plan.regime);
        if let Some(finding) = self.findings.first() {
            return Verdict::found(name, finding.clone());
        }
        let Some(worst) = self.worst().filter(|worst| worst.token == self.plan.tokens) else {
            return Verdict::found(name, format!("the chain has not run to its end, token {}", self.plan.tokens));
        };
        let views =
            [("step by step", worst.step), ("free-running state", worst.state), ("free-running output", worst.output)];
        let (view, reading) = views.into_iter().fold(views[0], |a, b| if b.1.rank() > a.1.rank() { b } else { a });
        let failures = views.iter().filter(|(_, reading)| reading.rank() > 1.0).count();
        let number = |x: Option<f64>| x.map_or_else(|| "not finite".to_owned(), |x| format!("{x:.3e}"));
        Verdict {
            output: name,
            disposition: if failures == 0 { Disposition::Passed } else { Disposition::Failed },
            utilization: reading.rank(),
            ulp: 0.0,
            index: reading.token as usize,
            elements: self.plan.tokens as usize,
            failures,
            undetermined: 0,
            detail: format!(
                "{view}: error {} at token {}, bound {}",
                number(reading.error),
                reading.token,
                number(reading.bound)
            ),
            explanation: None,
        }
    }
}

/// The inputs of one token after another.
struct Source {
    plan: ChainPlan,
    rng: ChaCha8Rng,
    common: Vec<f32>,
}

impl Source {
    fn new(plan: &ChainPlan) -> Self {
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

    /// The next token's tensors, the state aside.
    fn token(&mut self) -> Tensors {
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

/// A token's tensors as the oracle takes them.
struct Wide {
    q: Vec<f64>,
    k: Vec<f64>,
    v: Vec<f64>,
    beta: Vec<f64>,
    decay: Vec<f64>,
}

impl Wide {
    fn new(tensors: &Tensors) -> Self {
        let wide = |name| {
            let floats = tensors.get(name).and_then(Tensor::f32).unwrap_or_default();
            floats.iter().map(|&x| f64::from(x)).collect()
        };
        Self { q: wide("q"), k: wide("k"), v: wide("v"), beta: wide("beta"), decay: wide("decay") }
    }

    fn inputs(&self, plan: &ChainPlan) -> Result<Inputs<'_, f64>, ShapeError> {
        let (hk, hv, d) = (plan.hk, plan.hv, plan.d);
        Ok(Inputs {
            q: view("q", &self.q, (hk, d))?,
            k: view("k", &self.k, (hk, d))?,
            v: view("v", &self.v, (hv, d))?,
            beta: view("beta", &self.beta, hv)?,
            decay: view("decay", &self.decay, hv)?,
        })
    }
}

/// The free-running oracle: its state, its last output, and how far the kernel may be from them.
struct Free {
    state: Array3<f64>,
    output: Array2<f64>,
    bound: ChainBound,
}

impl Free {
    fn new(plan: &ChainPlan, state: &[f32]) -> Result<Self, ShapeError> {
        let (hv, d) = (plan.hv, plan.d);
        let state: ArrayView3<'_, f32> = view("S", state, (hv, d, d))?;
        Ok(Self { state: state.mapv(f64::from), output: Array2::zeros((hv, d)), bound: ChainBound::new(hv, d) })
    }

    /// One token on; `state` and `o` are the kernel's bounds for this token alone.
    fn step(&mut self, x: &Inputs<'_, f64>, state: &[Bounded], o: &[Bounded]) -> Result<(), ShapeError> {
        let (hv, d) = self.output.dim();
        let (state, o) = (view("S", state, (hv, d, d))?, view("o", o, (hv, d))?);
        self.bound.step(x, state, o, HeadMap::Tile)?;
        delta_rule::step(x, self.state.view_mut(), self.output.view_mut(), HeadMap::Tile, &Budget::CUDA)
    }

    /// The kernel's state and output against the oracle's: worst row, worst output, worst scatter, relative error.
    fn compare(&self, token: u32, state: &[f32], o: &[f32]) -> Result<([Reading; 3], f64), ShapeError> {
        let (hv, d) = self.output.dim();
        let own: ArrayView3<'_, f32> = view("S", state, (hv, d, d))?;
        let own_output: ArrayView2<'_, f32> = view("o", o, (hv, d))?;
        let mut readings = [Reading::new(token, 0.0, 0.0); 3];
        let (mut errors, mut norms) = (0.0, 0.0);
        for h in 0..hv {
            for row in 0..d {
                let elements = (0..d).map(|j| (f64::from(own[[h, row, j]]), self.state[[h, row, j]]));
                let (error, norm) = elements
                    .fold((0.0, 0.0), |(error, norm), (own, free)| (error + (own - free).powi(2), norm + free.powi(2)));
                errors += error;
                norms += norm;
                let error = error.sqrt();
                let output_error = (f64::from(own_output[[h, row]]) - self.output[[h, row]]).abs();
                let found = [
                    Reading::new(token, error, self.bound.state(h, row)),
                    Reading::new(token, output_error, self.bound.output(h, row)),
                    Reading::new(token, error, self.bound.scatter(h, row)),
                ];
                for (worst, found) in readings.iter_mut().zip(found) {
                    *worst = worst.or(found);
                }
            }
        }
        // A state that is and stays zero is not wrong.
        Ok((readings, if errors == 0.0 { 0.0 } else { (errors / norms).sqrt() }))
    }
}

/// The bounds of an output of one token.
fn bounds(checks: &[crate::verdict::Check], output: &'static str) -> Result<Vec<Bounded>, ShapeError> {
    let wants = checks.iter().find(|check| check.output == output).map(|check| check.wants.iter());
    let near = |want: &Want| match want {
        Want::Near(bounded) => Some(*bounded),
        _ => None,
    };
    wants.and_then(|wants| wants.map(near).collect()).ok_or_else(|| ShapeError {
        argument: output,
        found: vec![],
        expected: vec![1],
    })
}

/// Runs a chain.
///
/// # Errors
/// Where the plan is outside of the kernel's contract. What the executor runs into is a finding of the curve.
pub fn run(runner: &mut Runner, plan: &ChainPlan) -> Result<ChainCurve, Error> {
    run_given(runner, plan, |_, _| {})
}

/// Runs a chain in which the kernel is not given what the oracle takes: `hand_on` changes a token's tensors on their way to the kernel,
/// as a kernel before it would. It is called with the token, from 1.
///
/// The view step by step judges the kernel by what it was given; the free-running one by what it should have been given.
///
/// # Errors
/// As [`run`].
pub fn run_given(
    runner: &mut Runner,
    plan: &ChainPlan,
    mut hand_on: impl FnMut(u32, &mut Tensors),
) -> Result<ChainCurve, Error> {
    let suite = suites::find(KERNEL)?;
    let shape = plan.shape();
    suite.contract().check(&shape)?;
    let mut curve = ChainCurve {
        plan: plan.clone(),
        executor: runner.describe().executor.into(),
        points: Vec::new(),
        findings: Vec::new(),
    };
    let mut source = Source::new(plan);
    let mut state = source.normal(plan.hv * plan.d * plan.d);
    let mut free = Free::new(plan, &state)?;
    let growth = f64::from(plan.tokens).powf(1.0 / f64::from(plan.points.max(1)));
    let (mut stretch, mut next): (Option<ChainPoint>, f64) = (None, 1.0);
    for token in 1..=plan.tokens {
        let truth = source.token();
        let mut given = truth.clone();
        hand_on(token, &mut given);
        given.insert("S", Tensor::F32(state));
        let outcome = match runner.run(suite, &shape, &given, plan.seed.wrapping_add(u64::from(token))) {
            Ok(outcome) => outcome,
            Err(Error::Run(RunError::Executor(error))) => {
                curve.findings.push(format!("token {token}: {error}"));
                break;
            }
            Err(error) => return Err(error),
        };
        curve.findings.extend(outcome.findings.iter().map(|finding| format!("token {token}: {finding}")));
        let point;
        (point, state) = advance(suite, &shape, plan, token, &given, &truth, outcome.outputs, &mut free)?;
        stretch = Some(stretch.map_or(point, |before| before.or(point)));
        let ends = !curve.findings.is_empty() || state.iter().any(|x| !x.is_finite());
        if token == plan.tokens || f64::from(token) >= next || ends {
            curve.points.extend(stretch.take());
            next = (f64::from(token) * growth).max(f64::from(token) + 1.0).floor();
        }
        if ends {
            break;
        }
    }
    Ok(curve)
}

/// Judges one token in both views; the point that it makes, and the kernel's state.
#[expect(clippy::too_many_arguments, reason = "one token is all of this, and it is called in one place")]
fn advance(
    suite: &dyn Suite,
    shape: &Shape,
    plan: &ChainPlan,
    token: u32,
    given: &Tensors,
    truth: &Tensors,
    mut outputs: Tensors,
    free: &mut Free,
) -> Result<(ChainPoint, Vec<f32>), Error> {
    let checks = suite.expect(shape, given, &outputs)?;
    let (state_bounds, output_bounds) = (bounds(&checks, "S")?, bounds(&checks, "o")?);
    let mut floats = |name: &'static str| match outputs.remove(name) {
        Some(Tensor::F32(data)) => Ok(data),
        _ => Err(ShapeError { argument: name, found: vec![], expected: vec![1] }),
    };
    let (state, o) = (floats("S")?, floats("o")?);
    let mut step = Reading::new(token, 0.0, 0.0);
    for (bound, &got) in state_bounds.iter().zip(&state).chain(output_bounds.iter().zip(&o)) {
        step = step.or(Reading::new(token, bound.error(got), bound.bound));
    }
    free.step(&Wide::new(truth).inputs(plan)?, &state_bounds, &output_bounds)?;
    let ([state_reading, output, scatter], relative) = free.compare(token, &state, &o)?;
    let relative = relative.is_finite().then_some(relative);
    Ok((ChainPoint { token, step, state: state_reading, output, scatter, relative }, state))
}
