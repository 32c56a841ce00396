//! The kill matrix: which case kills which mutant, by what factor over the bound.
//!
//! A kill counts only where it leaves no room for doubt: an error of [`DECISIVE`] times the bound or more, an element that must be
//! exact and is not, or a fault that is named (by the machine's checks, by guard words, by the second launch).

use std::fmt;

use gdn_gpu::Executor;
use gdn_gpu::vm::FindingKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::case::Case;
use crate::cases;
use crate::check::{Detail, run_case_in};
use crate::error::Error;
use crate::mutants::{self, Mutant, Sort};
use crate::runner::Runner;
use crate::suites;
use crate::verdict::{Disposition, Verdict};
use crate::workers;

/// The least error, in bounds, that counts as a kill.
pub const DECISIVE: f64 = 10.0;

/// What showed that a mutant is wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// An error of so many bounds.
    Bound(f64),
    /// An element that must be exact, bit for bit or as a code, is not; or a NaN or infinity stands where none may.
    Exact(String),
    /// A named fault: what the machine, the guard words or the second launch found.
    Fault(String),
}

/// One case that kills a mutant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Kill {
    /// The case line.
    pub case: String,
    /// The output that shows it, or what was found.
    pub output: String,
    /// What showed it.
    pub evidence: Evidence,
}

/// A mutant and what kills it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fate {
    /// The mutant's name.
    pub mutant: String,
    /// The kernel that it changes.
    pub kernel: String,
    /// The term that it breaks.
    pub term: String,
    /// What sort of fault it is.
    pub sort: Sort,
    /// Why no input can tell it from the shipped kernel, where that is so.
    pub equivalent: Option<String>,
    /// Cases that it was run on.
    pub cases: usize,
    /// The cases that kill it, smallest first.
    pub kills: Vec<Kill>,
    /// The largest error in bounds, where none is decisive.
    pub nearest_miss: f64,
}

/// What came of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Some case kills it.
    Killed,
    /// It is proven equivalent, and no case kills it.
    Equivalent,
    /// A device lets a fault of memory or of concurrency through, which is the virtual machine's to name.
    LetThrough,
    /// No case kills it.
    Survives,
    /// A case kills it, though it was proven equivalent.
    KilledThoughEquivalent,
}

impl Outcome {
    /// Whether it is as it should be.
    pub const fn is_right(self) -> bool {
        matches!(self, Self::Killed | Self::Equivalent | Self::LetThrough)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Killed => "killed",
            Self::Equivalent => "equivalent",
            Self::LetThrough => "let through by the device",
            Self::Survives => "SURVIVES",
            Self::KilledThoughEquivalent => "KILLED though equivalent",
        })
    }
}

impl Fate {
    /// The fate of a mutant that has met no case yet.
    pub fn of(mutant: &Mutant) -> Self {
        Self {
            mutant: mutant.name.into(),
            kernel: mutant.kernel.into(),
            term: mutant.term.into(),
            sort: mutant.sort,
            equivalent: mutant.equivalent.map(Into::into),
            cases: 0,
            kills: Vec::new(),
            nearest_miss: 0.0,
        }
    }

    /// What came of it, on a device or on the virtual machine.
    pub const fn outcome(&self, on_device: bool) -> Outcome {
        match (self.kills.is_empty(), self.equivalent.is_some()) {
            (false, false) => Outcome::Killed,
            (false, true) => Outcome::KilledThoughEquivalent,
            _ if self.cases == 0 => Outcome::Survives,
            (true, true) => Outcome::Equivalent,
            (true, false) if on_device && !matches!(self.sort, Sort::Numerical) => Outcome::LetThrough,
            (true, false) => Outcome::Survives,
        }
    }

    /// The smallest case that kills.
    pub fn smallest(&self) -> Option<&Kill> {
        self.kills.first()
    }

    /// The largest factor over the bound; infinite where an exact element is wrong or a fault is named.
    pub fn factor(&self) -> f64 {
        let factors = self.kills.iter().map(|kill| match kill.evidence {
            Evidence::Bound(factor) => factor,
            Evidence::Exact(_) | Evidence::Fault(_) => f64::INFINITY,
        });
        factors.fold(0.0, f64::max)
    }
}

/// The cases of a kernel in the matrix: its profile without the largest layers, smallest first.
///
/// # Errors
/// [`Error::Suite`] for a kernel without a suite.
pub fn matrix_cases(kernel: &str, seed: u64) -> Result<Vec<Case>, Error> {
    let mut cases = cases::profile(suites::find(kernel)?, seed);
    cases.retain(|case| cost(case) <= LARGEST);
    cases.sort_by_key(cost);
    Ok(cases)
}

/// Elements that a case of the matrix may have: beyond, a layer takes longer than it tells.
const LARGEST: u64 = 600_000;

/// Elements up to which a case meets every mutant. Larger ones meet the mutants that no smaller one kills.
const SMALL: u64 = 16_000;

/// What a case costs, about: elements of all its buffers times tokens.
pub fn cost(case: &Case) -> u64 {
    let elements: u64 = case.contract.buffers().map(|(_, spec)| spec.extent.elements(&case.shape) as u64).sum();
    elements * u64::from(case.tokens)
}

/// Runs a mutant on cases, which come smallest first, calling `before` ahead of each.
///
/// Where a launch fails on a device, the device answers no more: the cases after it are not run.
///
/// # Errors
/// An edit that does not fit its source; NVRTC missing for a mutant without accepted PTX.
pub fn fate(
    executor: Box<dyn Executor>,
    mutant: &Mutant,
    cases: &[Case],
    mut before: impl FnMut(&Case),
) -> Result<Fate, Error> {
    let mut runner = Runner::programs(executor, vec![mutant.program()?])?;
    let survives_faults = runner.describe().executor != "cuda";
    let mut fate = Fate::of(mutant);
    for case in cases {
        if cost(case) > SMALL && !fate.kills.is_empty() {
            break;
        }
        before(case);
        let result = run_case_in(&mut runner, case, Detail::Plain)?;
        fate.cases += 1;
        let failed = result.verdicts.iter().filter(|verdict| verdict.disposition == Disposition::Failed);
        let strongest =
            failed.filter_map(|v| Some((v, evidence(v)?))).max_by(|a, b| strength(&a.1).total_cmp(&strength(&b.1)));
        if let Some((verdict, evidence)) = strongest {
            fate.kills.push(Kill { case: case.to_string(), output: verdict.output.clone(), evidence });
        } else {
            let worst = result.verdicts.iter().map(|verdict| verdict.utilization).fold(0.0, f64::max);
            fate.nearest_miss = fate.nearest_miss.max(worst);
        }
        // A launch that does not end would take its whole budget again and again.
        let launch = result.verdicts.iter().find(|verdict| verdict.output == "launch");
        if launch.is_some_and(|verdict| !survives_faults || verdict.detail.contains(&FindingKind::Endless.to_string()))
        {
            break;
        }
    }
    Ok(fate)
}

/// What a failed verdict proves, where it is decisive.
fn evidence(verdict: &Verdict) -> Option<Evidence> {
    if verdict.elements == 0 {
        return Some(Evidence::Fault(verdict.detail.clone()));
    }
    if !verdict.utilization.is_finite() {
        return Some(Evidence::Exact(verdict.detail.clone()));
    }
    (verdict.utilization >= DECISIVE).then_some(Evidence::Bound(verdict.utilization))
}

fn strength(evidence: &Evidence) -> f64 {
    match evidence {
        Evidence::Bound(factor) => *factor,
        Evidence::Exact(_) => f64::MAX,
        Evidence::Fault(_) => f64::INFINITY,
    }
}

/// Runs mutants over the machine's cores, each with an executor of its own, in their order.
///
/// # Errors
/// The first error of a mutant or of an executor.
pub fn matrix(
    executor: &dyn Executor,
    mutants: &[&'static Mutant],
    cases: impl Fn(&Mutant) -> Result<Vec<Case>, Error> + Sync,
    done: impl Fn(&Fate) + Sync,
) -> Result<Vec<Fate>, Error> {
    let forks = (0..workers::threads(mutants.len())).map(|_| executor.fork()).collect::<Result<Vec<_>, _>>()?;
    let (fates, _) = workers::share(mutants, forks, |own, _, mutant| {
        let fate = fate(own.fork()?, mutant, &cases(mutant)?, |_| ())?;
        done(&fate);
        Ok(fate)
    })?;
    Ok(fates)
}

/// A small set of cases that kills every mutant that anything kills: greedy, most kills for their cost first.
pub fn killing_set(fates: &[Fate]) -> Vec<Case> {
    let mut cases: Vec<(Case, Vec<usize>)> = Vec::new();
    for (i, fate) in fates.iter().enumerate() {
        for kill in &fate.kills {
            let Ok(case) = kill.case.parse::<Case>() else { continue };
            match cases.iter_mut().find(|(known, _)| *known == case) {
                Some((_, kills)) => kills.push(i),
                None => cases.push((case, vec![i])),
            }
        }
    }
    let mut open: Vec<bool> = fates.iter().map(|fate| !fate.kills.is_empty()).collect();
    let mut set = Vec::new();
    while open.contains(&true) {
        let worth = |kills: &[usize], case: &Case| {
            // A launch costs as much as some thousand elements.
            kills.iter().filter(|&&i| open[i]).count() as f64 / (cost(case) as f64 + 4096.0)
        };
        let best = cases.iter().max_by(|a, b| worth(&a.1, &a.0).total_cmp(&worth(&b.1, &b.0)));
        let Some((case, kills)) = best else { break };
        for &i in kills {
            open[i] = false;
        }
        set.push(case.clone());
    }
    // What later choices made superfluous is dropped again.
    let kills = |case: &Case| cases.iter().find(|(known, _)| known == case).map_or(&[][..], |(_, kills)| kills);
    for i in (0..set.len()).rev() {
        let covered = |m: &usize| set.iter().enumerate().any(|(j, other)| j != i && kills(other).contains(m));
        if kills(&set[i]).iter().all(covered) {
            set.remove(i);
        }
    }
    let order: Vec<&str> = suites::all().map(|suite| suite.contract().kernel).collect();
    set.sort_by_key(|case| (order.iter().position(|kernel| *kernel == case.contract.kernel), cost(case)));
    set
}

/// The mutants of a selection by name; every one where there is none.
///
/// # Errors
/// [`Error::Suite`] with the nearest name.
pub fn select(names: &[String]) -> Result<Vec<&'static Mutant>, Error> {
    if names.is_empty() {
        return Ok(mutants::all().collect());
    }
    names.iter().map(|name| mutants::find(name)).collect()
}
