//! Every kernel on every executor, each test registered by its name: on a machine without a device the tests that need one
//! are listed as ignored, with the reason.
//!
//! And how near they come to their bounds: the worst utilization per kernel, output and regime, against the accepted table of each
//! executor. A kernel that comes nearer to its bound, or further from it, is news even where it passes.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use gdn_conformance::case::Case;
use gdn_conformance::check::{CaseResult, Detail, Run, run_all, run_case};
use gdn_conformance::cli::{Selection, open};
use gdn_conformance::coverage::{self, Coverage};
use gdn_conformance::family::Suite;
use gdn_conformance::report::{Header, Report};
use gdn_conformance::runner::Runner;
use gdn_conformance::verdict::Disposition;
use gdn_conformance::{cases, suites};
use gdn_gpu::contracts;
use libtest_mimic::{Arguments, Failed, Trial};
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};

/// Random cases of a kernel on an executor.
const CASES: u32 = 48;

type Open = fn() -> Result<Runner, String>;
type Test = Box<dyn FnOnce() -> Result<(), Failed> + Send>;

#[expect(clippy::unnecessary_wraps, reason = "it is one of several ways to open a runner")]
fn model() -> Result<Runner, String> {
    Ok(Runner::Model)
}

fn cuda() -> Result<Runner, String> {
    open(Selection::Cuda).map(|(runner, _)| runner).map_err(|error| error.to_string())
}

fn vm() -> Result<Runner, String> {
    open(Selection::Vm).map(|(runner, _)| runner).map_err(|error| error.to_string())
}

/// Why a result is no pass.
fn fault(result: &CaseResult) -> String {
    let failed = |v: &&gdn_conformance::verdict::Verdict| v.disposition != Disposition::Passed;
    let lines: Vec<String> =
        result.verdicts.iter().filter(failed).map(|v| format!("{}: {}", v.output, v.detail)).collect();
    format!("{}\n  {}", result.case, lines.join("\n  "))
}

fn random_cases(open: Open, suite: &'static dyn Suite) -> Result<(), Failed> {
    let runner = Mutex::new(open()?);
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let strategy = cases::strategy(suite, suite.regimes().to_vec());
    let outcome = TestRunner::new(config).run(&strategy, |case: Case| {
        let mut runner = runner.lock().map_err(|error| TestCaseError::fail(error.to_string()))?;
        let result = run_case(&mut runner, &case).map_err(|error| TestCaseError::fail(error.to_string()))?;
        if result.passed() { Ok(()) } else { Err(TestCaseError::fail(fault(&result))) }
    });
    outcome.map_err(|error| match error {
        TestError::Fail(reason, case) => format!("minimal failing case {case}\n{reason}").into(),
        TestError::Abort(reason) => reason.to_string().into(),
    })
}

/// The profile's seed, which `check` takes by default.
const SEED: u64 = 81;

/// What comes of the default profile on an executor: run once a kernel, for whichever test asks first.
struct ProfileRuns {
    open: Open,
    runs: Vec<OnceLock<Result<Run, String>>>,
}

impl ProfileRuns {
    fn new(open: Open) -> Self {
        Self { open, runs: suites::all().map(|_| OnceLock::new()).collect() }
    }

    fn of(&self, suite: &'static dyn Suite) -> Result<&Run, Failed> {
        let same = |other: &dyn Suite| other.contract().kernel == suite.contract().kernel;
        let place = suites::all().position(same).ok_or("the suite is not registered")?;
        let run = self.runs[place].get_or_init(|| {
            let cases = cases::profile(suite, SEED);
            run_all(&(self.open)()?, &cases, Detail::Explained, |_| {}).map_err(|error| error.to_string())
        });
        run.as_ref().map_err(|error| error.clone().into())
    }
}

fn every_case_of_the_profile_passes(profile: &ProfileRuns, suite: &'static dyn Suite) -> Result<(), Failed> {
    let run = profile.of(suite)?;
    let failed: Vec<String> = run.results.iter().filter(|result| !result.passed()).map(fault).collect();
    if run.results.is_empty() {
        return Err("no case ran".into());
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n").into()) }
}

/// The accepted table of the virtual machine, or of an architecture.
fn table(name: &str) -> Option<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/utilization");
    std::fs::read_to_string(folder.join(format!("{name}.txt"))).ok()
}

fn utilization_is_the_accepted_one(profile: &ProfileRuns, selection: Selection, name: &str) -> Result<(), Failed> {
    let accepted = table(name).ok_or_else(|| format!("there is no golden/utilization/{name}.txt"))?;
    let mut run = Run { results: Vec::new(), coverage: Vec::new() };
    for suite in suites::all() {
        run.add(profile.of(suite)?);
    }
    let (runner, _) = open(selection).map_err(|error| error.to_string())?;
    let report = Report::of_run(Header::new("check", "full profile".into(), &runner.describe(), SEED, vec![]), &run);
    if selection == Selection::Vm {
        every_reachable_block_ran(&report.coverage)?;
    }
    let found = report.utilization_table();
    if found == accepted {
        return Ok(());
    }
    let changed: Vec<String> = accepted
        .lines()
        .zip(found.lines())
        .filter(|(before, after)| before != after)
        .map(|(before, after)| format!("- {before}\n+ {after}"))
        .collect();
    let how = format!("accept with `check --utilization golden/utilization/{name}.txt` if it is meant");
    Err(format!("{} rows changed; {how}\n{}", changed.len(), changed.join("\n")).into())
}

/// The default profile reaches every basic block that some input reaches.
fn every_reachable_block_ran(coverage: &[Coverage]) -> Result<(), Failed> {
    if coverage.len() != contracts::all().count() {
        return Err(format!("coverage of {} kernels, of {} there are", coverage.len(), contracts::all().count()).into());
    }
    let missed: Vec<String> =
        coverage::missed(coverage).into_iter().filter(|line| line.contains("NOT REACHED")).collect();
    if missed.is_empty() && coverage.iter().all(Coverage::is_whole) { Ok(()) } else { Err(missed.join("\n").into()) }
}

fn main() {
    let arguments = Arguments::from_args();
    let absent = gdn_gpu::cuda::open().err().map(|error| error.to_string());
    let arch = || match open(Selection::Cuda) {
        Ok((runner, _)) => Ok(runner.describe().arch),
        Err(error) => Err(error.to_string()),
    };
    let executors: [(&str, Open, Option<String>); 3] =
        [("model", model, None), ("vm", vm, None), ("cuda", cuda, absent)];
    let mut trials = Vec::new();
    for (executor, open, absent) in executors {
        let profile = Arc::new(ProfileRuns::new(open));
        let mut register = |statement: String, absent: Option<&String>, test: Test| {
            let trial = Trial::test(format!("{executor}::{statement}"), test);
            trials.push(match absent {
                Some(reason) => trial.with_ignored_flag(true).with_kind(reason.clone()),
                None => trial,
            });
        };
        for suite in suites::all() {
            let kernel = suite.contract().kernel;
            let random = format!("{kernel}::random_cases_stay_within_their_bounds");
            register(random, absent.as_ref(), Box::new(move || random_cases(open, suite)));
            let (passes, profile) = (format!("{kernel}::every_case_of_the_profile_passes"), Arc::clone(&profile));
            register(passes, absent.as_ref(), Box::new(move || every_case_of_the_profile_passes(&profile, suite)));
        }
        let accepted = match executor {
            "vm" => Some((Selection::Vm, Ok("vm".to_owned()))),
            "cuda" => {
                let arch = arch();
                let table = arch
                    .and_then(|arch| table(&arch).map(|_| arch.clone()).ok_or(format!("no accepted table for {arch}")));
                Some((Selection::Cuda, table))
            }
            // The model has no accepted table: it is not a kernel.
            _ => None,
        };
        if let Some((selection, table)) = accepted {
            let absent = table.as_ref().err().cloned();
            let name = table.unwrap_or_default();
            let test = move || utilization_is_the_accepted_one(&profile, selection, &name);
            register("utilization_is_the_accepted_one".into(), absent.as_ref(), Box::new(test));
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}
