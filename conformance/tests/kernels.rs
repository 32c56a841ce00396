//! Every kernel on every executor, each test registered by its name: on a machine without a device the tests that need one
//! are listed as ignored, with the reason.

use std::sync::Mutex;

use gdn_conformance::case::Case;
use gdn_conformance::check::{CaseResult, Detail, run_all, run_case};
use gdn_conformance::cli::{Selection, open};
use gdn_conformance::family::Suite;
use gdn_conformance::runner::Runner;
use gdn_conformance::verdict::Disposition;
use gdn_conformance::{cases, suites};
use libtest_mimic::{Arguments, Failed, Trial};
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};

/// Random cases of a kernel on an executor.
const CASES: u32 = 48;

type Open = fn() -> Result<Runner, String>;

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

fn profile(open: Open, suite: &'static dyn Suite) -> Result<(), Failed> {
    let cases = cases::profile(suite, 81);
    let results = run_all(&open()?, &cases, Detail::Explained, |_| {}).map_err(|error| error.to_string())?.results;
    let failed: Vec<String> = results.iter().filter(|result| !result.passed()).map(fault).collect();
    if results.is_empty() {
        return Err("no case ran".into());
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n").into()) }
}

fn main() {
    let arguments = Arguments::from_args();
    let absent = gdn_gpu::cuda::open().err().map(|error| error.to_string());
    let executors: [(&str, Open, Option<String>); 3] =
        [("model", model, None), ("vm", vm, None), ("cuda", cuda, absent)];
    let mut trials = Vec::new();
    for (executor, open, absent) in executors {
        for suite in suites::all() {
            let kernel = suite.contract().kernel;
            let mut register = |statement: &str, test: fn(Open, &'static dyn Suite) -> Result<(), Failed>| {
                let trial = Trial::test(format!("{executor}::{kernel}::{statement}"), move || test(open, suite));
                trials.push(match &absent {
                    Some(reason) => trial.with_ignored_flag(true).with_kind(reason.clone()),
                    None => trial,
                });
            };
            register("random_cases_stay_within_their_bounds", random_cases);
            register("every_case_of_the_profile_passes", profile);
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}
