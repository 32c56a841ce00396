//! `check`: runs cases, token by token, and judges every output of every launch.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::PoisonError;

use gdn_gpu::contract::Shape;
use gdn_gpu::run::{Outcome, RunError, Tensors};
use gdn_gpu::vm::FunctionCoverage;
use gdn_reference::ShapeError;

use crate::capsule::Shelf;
use crate::case::Case;
use crate::error::Error;
use crate::family::Suite;
use crate::localize::{self, Scene};
use crate::runner::Runner;
use crate::suites;
use crate::tokens::Tokens;
use crate::verdict::{self, Disposition, Verdict};
use crate::workers;

/// The verdicts on one case, an output each.
#[derive(Clone, Debug)]
pub struct CaseResult {
    /// The case.
    pub case: Case,
    /// Its outputs' verdicts, each the worst over the tokens.
    pub verdicts: Vec<Verdict>,
    /// The first launch that failed. Of a run's many cases only the first few failing ones keep theirs.
    pub failing: Option<Box<FailingLaunch>>,
}

/// A launch that failed, whole: what a capsule is made of.
#[derive(Clone, Debug)]
pub struct FailingLaunch {
    /// The token.
    pub token: u32,
    /// What the launch was given.
    pub inputs: Tensors,
    /// What it left; nothing where it did not come to an end.
    pub outputs: Tensors,
    /// The verdicts on this launch alone.
    pub verdicts: Vec<Verdict>,
}

impl CaseResult {
    /// Whether every output passed. A case without verdicts has not.
    pub fn passed(&self) -> bool {
        !self.verdicts.is_empty() && self.verdicts.iter().all(|v| v.disposition == Disposition::Passed)
    }
}

/// Runs one case. What the executor runs into (a fault, a hang) is a failed verdict on the case, not the end of the run.
///
/// # Errors
/// Where the case is outside of the contract.
pub fn run_case(runner: &mut Runner, case: &Case) -> Result<CaseResult, Error> {
    run_case_in(runner, case, Detail::Explained)
}

/// Runs one case in the detail that is wanted.
///
/// # Errors
/// As [`run_case`].
pub fn run_case_in(runner: &mut Runner, case: &Case, detail: Detail) -> Result<CaseResult, Error> {
    let suite = suites::find(case.contract.kernel)?;
    let mut worst: BTreeMap<String, Verdict> = BTreeMap::new();
    let mut utilizations: BTreeMap<String, Vec<(u32, f64)>> = BTreeMap::new();
    let mut tokens = Tokens::of(case)?;
    let mut failing = None;
    while let Some((token, inputs)) = tokens.next() {
        let (verdicts, outputs) = match launch(runner, suite, case, &inputs, u64::from(token), detail) {
            Ok(done) => done,
            Err(Error::Run(RunError::Executor(error))) => {
                (vec![Verdict::found("launch", error.to_string())], Tensors::new())
            }
            Err(error) => return Err(error),
        };
        tokens.left(&outputs);
        let ended = outputs.is_empty();
        if failing.is_none() && verdicts.iter().any(|verdict| verdict.disposition == Disposition::Failed) {
            failing = Some(Box::new(FailingLaunch { token, inputs, outputs, verdicts: verdicts.clone() }));
        }
        for mut verdict in verdicts {
            if verdict.disposition == Disposition::Failed {
                utilizations.entry(verdict.output.clone()).or_default().push((token, verdict.utilization));
            }
            if case.tokens > 1 {
                verdict.detail = format!("token {token}: {}", verdict.detail);
            }
            merge(&mut worst, verdict);
        }
        if ended {
            break;
        }
    }
    let mut verdicts: Vec<Verdict> = worst.into_values().collect();
    for verdict in verdicts.iter_mut().filter(|_| case.tokens > 1) {
        if let (Some(explanation), Some(failed)) = (&mut verdict.explanation, utilizations.get(&verdict.output)) {
            let _ = write!(explanation.pattern, "; {}", localize::tokens(failed, case.tokens));
        }
    }
    Ok(CaseResult { case: case.clone(), verdicts, failing })
}

/// One launch and its verdicts; the outputs, for the next token.
fn launch(
    runner: &mut Runner,
    suite: &dyn Suite,
    case: &Case,
    inputs: &Tensors,
    token: u64,
    detail: Detail,
) -> Result<(Vec<Verdict>, Tensors), Error> {
    let outcome = runner.run(suite, &case.shape, inputs, case.seed.wrapping_add(token))?;
    let verdicts = judge_in(suite, &case.shape, inputs, &outcome, detail)?;
    Ok((verdicts, outcome.outputs))
}

/// The verdicts on what a launch left, each failure explained.
///
/// # Errors
/// Where inputs do not fit the shape.
pub fn judge(
    suite: &dyn Suite,
    shape: &Shape,
    inputs: &Tensors,
    outcome: &Outcome,
) -> Result<Vec<Verdict>, ShapeError> {
    judge_in(suite, shape, inputs, outcome, Detail::Explained)
}

/// Whether failures are explained, which takes longer than to find them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Verdicts only.
    Plain,
    /// With the pattern of the failing elements and the inputs that feed the worst.
    Explained,
}

fn judge_in(
    suite: &dyn Suite,
    shape: &Shape,
    inputs: &Tensors,
    outcome: &Outcome,
    detail: Detail,
) -> Result<Vec<Verdict>, ShapeError> {
    let checks = suite.expect(shape, inputs, &outcome.outputs)?;
    let scene = Scene { suite, shape, inputs, outputs: &outcome.outputs };
    let judged = checks.iter().map(|check| {
        let mut verdict = verdict::judge(check, outcome.outputs.get(check.output));
        if verdict.failures > 0 && detail == Detail::Explained {
            verdict.explanation = localize::explain(&scene, check, verdict.index);
        }
        verdict
    });
    Ok(judged.chain(outcome.findings.iter().map(verdict::memory)).collect())
}

/// Keeps the worse of two verdicts on the same output.
fn merge(worst: &mut BTreeMap<String, Verdict>, verdict: Verdict) {
    let rank = |v: &Verdict| (v.disposition == Disposition::Failed, v.utilization, v.ulp);
    match worst.get_mut(&verdict.output) {
        Some(kept) if rank(kept) >= rank(&verdict) => {}
        _ => {
            worst.insert(verdict.output.clone(), verdict);
        }
    }
}

/// What came of a list of cases.
#[derive(Clone, Debug)]
pub struct Run {
    /// A result a case, in the cases' order.
    pub results: Vec<CaseResult>,
    /// Which basic blocks of the programs ran; empty where the executor cannot see them.
    pub coverage: Vec<FunctionCoverage>,
}

impl Run {
    /// Takes up what came of more cases on the same executor.
    pub fn add(&mut self, other: &Self) {
        self.results.extend_from_slice(&other.results);
        add_coverage(&mut self.coverage, &other.coverage);
    }
}

/// Adds the coverage of another run of the same programs.
fn add_coverage(sum: &mut Vec<FunctionCoverage>, other: &[FunctionCoverage]) {
    if sum.is_empty() {
        sum.extend_from_slice(other);
    } else {
        sum.iter_mut().zip(other).for_each(|(sum, other)| sum.add(other));
    }
}

/// Runs all cases over the machine's cores, in their order, calling `done` after each.
///
/// Each thread owns a fork of the runner and takes the next case when it is free; an executor that spreads one launch over
/// cores by itself is not starved by that.
///
/// # Errors
/// The first error of a case, or of a fork of the runner.
pub fn run_all(
    runner: &Runner,
    cases: &[Case],
    detail: Detail,
    done: impl Fn(&CaseResult) + Sync,
) -> Result<Run, Error> {
    let forks = (0..workers::threads(cases.len())).map(|_| runner.fork()).collect::<Result<Vec<_>, _>>()?;
    let shelf = Mutex::new(Shelf::default());
    let (mut results, forks) = workers::share(cases, forks, |own, i, case| {
        let mut result = run_case_in(own, case, detail)?;
        if let Some(failing) = result.failing.take() {
            shelf.lock().unwrap_or_else(PoisonError::into_inner).offer((i, case.contract.kernel), failing);
        }
        done(&result);
        Ok(result)
    })?;
    let mut coverage: Vec<FunctionCoverage> = Vec::new();
    for mut fork in forks {
        add_coverage(&mut coverage, &fork.coverage()?);
    }
    let mut kept = shelf.into_inner().unwrap_or_else(PoisonError::into_inner).kept();
    for (i, result) in results.iter_mut().enumerate() {
        result.failing = kept.remove(&i);
    }
    Ok(Run { results, coverage })
}
