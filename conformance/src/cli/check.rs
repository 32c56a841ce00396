//! `check`: runs cases and judges every output.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use gdn_gpu::vm::Options;

use super::{
    NONCONFORMANT, Outputs, PASS, Parts, Selection, Subject, announce, failures, not_run, parts, progress, tell_not_run,
};
use crate::agreement;
use crate::case::Case;
use crate::cases::Profile;
use crate::check::{self, CaseResult, Detail};
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
    #[command(flatten)]
    parts: Parts,
    /// Run in so many processes, whatever there is.
    #[arg(long, hide = true, conflicts_with = "partition")]
    processes: Option<u32>,
    /// Write the worst utilization of each kernel, output and regime to this file.
    #[arg(long, value_name = "FILE")]
    utilization: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn run(args: &Args) -> Result<u8, Error> {
    args.outputs.prepare()?;
    if let Some(path) = &args.utilization {
        folder_of(path)?;
    }
    let processes = args.processes.unwrap_or_else(|| parts::processes(args.subject.executor, args.parts));
    let alone = processes <= 1 || args.compare || !args.case.is_empty();
    let (report, after) = if alone { here(args)? } else { (parts::run(&args.words(), processes)?, Vec::new()) };

    detail!("{}", report.table());
    for line in failures::lines(&report) {
        say!("{line}");
    }
    // Single cases, few regimes and parts cannot reach every block: what they miss says nothing.
    let whole = args.case.is_empty() && args.regime.is_empty() && args.parts.is_whole();
    if !report.coverage.is_empty() && whole {
        detail!("{}", coverage::table(&report.coverage));
        for line in coverage::missed(&report.coverage).iter().filter(|_| args.profile == Profile::Full) {
            detail!("{line}");
        }
    }
    for line in &after {
        say!("{line}");
    }
    tell_not_run(&report.header.not_run);
    let failed = report.failures().count();
    say!("{} cases, {} verdicts, {failed} not passed", report.cases(), report.records.len());
    args.outputs.write(&report, args.subject.kernels.as_deref())?;
    if let Some(path) = &args.utilization {
        write_whole(path, &report.utilization_table())?;
    }
    Ok(if report.passed() { PASS } else { NONCONFORMANT })
}

/// Runs the cases in this process; the report, and what else is to be said.
fn here(args: &Args) -> Result<(Report, Vec<String>), Error> {
    let mut cases = select(args)?;
    let (mut runner, absent) = args.subject.runner(Options::default())?;
    let mut not_run = not_run(absent.as_deref());
    if let Some(path) = &args.subject.kernels {
        not_run.extend(keep_what_runs(&mut runner, &mut cases, path)?);
    }
    // Each case keeps its place in the whole run, by which parts are put together.
    let part: Vec<(usize, Case)> =
        cases.into_iter().enumerate().filter(|(_, case)| args.parts.has(&case.to_string())).collect();
    let (places, cases): (Vec<usize>, Vec<Case>) = part.into_iter().unzip();
    let description = runner.describe();
    announce(&description);

    let bar = progress(cases.len(), "cases");
    let run = check::run_all(&runner, &cases, Detail::Explained, |result: &CaseResult| {
        bar.set_message(result.case.contract.kernel);
        bar.inc(1);
    });
    bar.finish_and_clear();
    let mut run = run?;
    failures::name_nearest(&mut run.results)?;

    let header = Header::new("check", selection(args), &description, args.seed, not_run);
    let mut report = Report::of_run(args.parts.of(header), &run);
    for record in &mut report.records {
        record.place = places[record.place];
    }
    let mut after = Vec::new();
    after.extend(failures::keep(&mut runner, &run.results, args.capsules.as_deref(), &mut report));
    if args.compare {
        let machine = Subject { executor: Selection::Vm, ..args.subject.clone() };
        let (mut machine, _) = machine.runner(Options { checks: false, ..Options::default() })?;
        after.push(agreement::table(&agreement::compare(&mut runner, &mut machine, &cases)?).to_string());
        after.push(agreement::traced(&runner, &machine, &cases)?);
    }
    Ok((report, after))
}

impl Args {
    /// The words that select the same cases in another process.
    fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["check".into(), "--executor".into(), self.subject.executor.name().into()];
        let mut say = |name: &str, value: OsString| words.extend([name.into(), value]);
        if let Some(path) = &self.subject.kernels {
            say("--kernels", path.into());
        }
        self.kernel.iter().for_each(|kernel| say("--kernel", kernel.into()));
        self.regime.iter().for_each(|regime| say("--regime", regime.into()));
        say("--seed", self.seed.to_string().into());
        // Random cases go beyond the full profile, and are not to be asked for together with a profile.
        match self.cases {
            0 => say("--profile", self.profile.name().into()),
            cases => say("--cases", cases.to_string().into()),
        }
        if let Some(folder) = &self.capsules {
            say("--capsules", folder.into());
        }
        words
    }
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
        return args.case.iter().map(|line| Ok(line.parse()?)).collect();
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
