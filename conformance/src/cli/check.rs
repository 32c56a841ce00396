//! `check`: runs cases and judges every output.

use std::path::{Path, PathBuf};

use gdn_gpu::vm::Options;

use super::{NONCONFORMANT, Outputs, PASS, Selection, Subject, failures, not_run, progress};
use crate::agreement;
use crate::case::Case;
use crate::cases::Profile;
use crate::check::{self, CaseResult};
use crate::coverage;
use crate::error::Error;
use crate::family::Suite;
use crate::files::{folder_of, write_whole};
use crate::regime::Regime;
use crate::report::{Header, Report};
use crate::runner::Runner;
use crate::{cases, suites};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    subject: Subject,
    /// Only this kernel; may be given several times.
    #[arg(long, value_name = "NAME")]
    kernel: Vec<String>,
    /// Only this regime; may be given several times.
    #[arg(long, value_name = "NAME")]
    regime: Vec<String>,
    /// Only this case, as a case line; may be given several times.
    #[arg(long, value_name = "LINE", conflicts_with_all = ["kernel", "regime", "cases"])]
    case: Vec<String>,
    /// Which cases: every regime and shape, or the few that together kill every mutant.
    #[arg(long, value_enum, default_value = "full", conflicts_with_all = ["case", "cases"])]
    profile: Profile,
    /// Seed of what is drawn.
    #[arg(long, default_value_t = 81)]
    seed: u64,
    /// Random cases of each kernel beyond the default profile.
    #[arg(long, default_value_t = 0)]
    cases: usize,
    /// Write the first failing cases of each kernel and output to this folder, each a file that `replay` runs again; by default
    /// `target/capsules` where there is a `target`, else `capsules`.
    #[arg(long, value_name = "FOLDER")]
    capsules: Option<PathBuf>,
    /// Also make every launch on the virtual machine, and say how many elements of the outputs agree bit for bit; and the same with
    /// exact stand-ins for the kernels' approximate instructions, which must then agree in all.
    #[arg(long)]
    compare: bool,
    #[command(flatten)]
    outputs: Outputs,
    /// Write the worst utilization of each kernel, output and regime to this file.
    #[arg(long, value_name = "FILE")]
    utilization: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn run(args: &Args) -> Result<u8, Error> {
    let mut cases = select(args)?;
    args.outputs.prepare()?;
    if let Some(path) = &args.utilization {
        folder_of(path)?;
    }
    let (mut runner, absent) = args.subject.runner(Options::default())?;
    let mut not_run = not_run(absent.as_deref());
    if let Some(path) = &args.subject.kernels {
        not_run.extend(keep_what_runs(&mut runner, &mut cases, path)?);
    }
    let description = runner.describe();
    say!("executor: {} — {} ({})", description.executor, description.device, description.versions);

    let bar = progress(cases.len(), "cases");
    let run = check::run_all(&runner, &cases, |result: &CaseResult| {
        bar.set_message(result.case.contract.kernel);
        bar.inc(1);
    });
    bar.finish_and_clear();
    let mut run = run?;
    failures::name_nearest(&mut run.results)?;

    let header = Header::new("check", selection(args), &description, args.seed, not_run.clone());
    let mut report = Report::of_run(header, &run);
    say!("{}", report.table());
    let kept = failures::keep(&mut runner, &run.results, args.capsules.as_deref(), &mut report);
    for line in failures::lines(&report) {
        say!("{line}");
    }
    // Single cases and few regimes cannot reach every block: what they miss says nothing.
    if !report.coverage.is_empty() && args.case.is_empty() && args.regime.is_empty() {
        say!("{}", coverage::table(&report.coverage));
        for line in coverage::missed(&report.coverage).iter().filter(|_| args.profile == Profile::Full) {
            say!("{line}");
        }
    }
    if args.compare {
        let machine = Subject { executor: Selection::Vm, ..args.subject.clone() };
        let (mut machine, _) = machine.runner(Options { checks: false, ..Options::default() })?;
        say!("{}", agreement::table(&agreement::compare(&mut runner, &mut machine, &cases)?));
        say!("{}", agreement::traced(&runner, &machine, &cases)?);
    }
    for line in &not_run {
        say!("not run: {line}");
    }
    if let Some(line) = kept {
        say!("{line}");
    }
    let failed = report.failures().count();
    say!("{} cases, {} verdicts, {failed} not passed", report.cases(), report.records.len());
    args.outputs.write(&report)?;
    if let Some(path) = &args.utilization {
        write_whole(path, &report.utilization_table())?;
    }
    Ok(if report.passed() { PASS } else { NONCONFORMANT })
}

/// What was selected, in words.
fn selection(args: &Args) -> String {
    let mut words = vec![super::words(&args.case, &format!("{} profile", args.profile.name()))];
    words.extend(args.kernel.iter().chain(&args.regime).cloned());
    words.extend((args.cases > 0).then(|| format!("{} random cases a kernel", args.cases)));
    words.extend(args.subject.kernels.as_ref().map(|path| format!("kernels of {}", path.display())));
    words.join(", ")
}

fn select(args: &Args) -> Result<Vec<Case>, Error> {
    if !args.case.is_empty() {
        return args.case.iter().map(|line| line.parse()).collect();
    }
    let kernels: Vec<&'static dyn Suite> = if args.kernel.is_empty() {
        suites::all().collect()
    } else {
        args.kernel.iter().map(|name| suites::find(name)).collect::<Result<_, _>>()?
    };
    let regimes: Vec<Regime> = if args.regime.is_empty() {
        Regime::ALL.to_vec()
    } else {
        args.regime.iter().map(|name| name.parse()).collect::<Result<_, _>>()?
    };
    let mut selected = Vec::new();
    if args.profile == Profile::Smoke {
        let named = |case: &Case| kernels.iter().any(|suite| suite.contract().kernel == case.contract.kernel);
        selected = cases::smoke()?;
        selected.retain(|case| named(case) && regimes.contains(&case.regime));
    }
    for suite in kernels.iter().filter(|_| args.profile == Profile::Full) {
        selected.extend(cases::profile(*suite, args.seed).into_iter().filter(|case| regimes.contains(&case.regime)));
        selected.extend(cases::random(*suite, &regimes, args.cases, args.seed));
    }
    if selected.is_empty() {
        let filter = format!("kernels {:?} with regimes {:?}", args.kernel, args.regime);
        return Err(Error::NoCases { filter });
    }
    Ok(selected)
}

/// Drops the cases of kernels that a file lacks, and says what was left out: kernels that are not in it, and entry points that
/// no contract knows.
fn keep_what_runs(runner: &mut Runner, cases: &mut Vec<Case>, path: &Path) -> Result<Vec<String>, Error> {
    let mut lines = Vec::new();
    let mut kernels: Vec<&'static str> = cases.iter().map(|case| case.contract.kernel).collect();
    kernels.dedup();
    let mut absent = Vec::new();
    for kernel in kernels {
        if !runner.has(kernel)? {
            absent.push(kernel);
        }
    }
    cases.retain(|case| !absent.contains(&case.contract.kernel));
    if !absent.is_empty() {
        lines.push(format!("{}, which {} does not have", absent.join(", "), path.display()));
    }
    let unknown = runner.unknown_entries()?;
    if !unknown.is_empty() {
        lines.push(format!("{} of {}, which no contract knows", unknown.join(", "), path.display()));
    }
    if cases.is_empty() {
        return Err(Error::NoCases { filter: format!("the entry points of {}", path.display()) });
    }
    Ok(lines)
}
