//! Runs long chains and keeps what they come to: the curve of each view's error and bound against the token.
//!
//! What a chain is and how its tokens are judged is [`gdn_suites::chains`].

use gdn_gpu::run::{RunError, Tensor, Tensors};
use gdn_suites::chains::{ChainDraws, KERNEL, Views};
pub use gdn_suites::chains::{ChainPlan, ChainPoint, ChainRegime, Reading};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::runner::Runner;
use crate::suites;
use crate::verdict::{Disposition, Verdict};

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
    let (suite, shape) = (suites::find(KERNEL)?, plan.shape());
    let mut curve = ChainCurve {
        plan: plan.clone(),
        executor: runner.describe().executor.into(),
        points: Vec::new(),
        findings: Vec::new(),
    };
    let mut draws = ChainDraws::new(plan);
    let mut state = draws.state();
    let mut views = Views::new(plan, &state)?;
    let growth = f64::from(plan.tokens).powf(1.0 / f64::from(plan.points.max(1)));
    let (mut stretch, mut next): (Option<ChainPoint>, f64) = (None, 1.0);
    for token in 1..=plan.tokens {
        let truth = draws.token();
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
        (point, state) = views.token(token, &given, &truth, outcome.outputs)?;
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
