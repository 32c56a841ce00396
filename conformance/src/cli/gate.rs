//! `gate`: the working kernels beside the accepted baseline.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use comfy_table::Table;
use gdn_gpu::contracts;
use gdn_gpu::executor::{Code, Description, Program};
use gdn_gpu::vm::Options;

use super::{NONCONFORMANT, Outputs, PASS, Subject, announce, failures, not_run, present, progress, tell_not_run};
use crate::agreement;
use crate::case::Case;
use crate::cases;
use crate::check::{self, CaseResult, Detail};
use crate::detect;
use crate::error::Error;
use crate::gate::baseline::{self, Accepted, Baseline};
use crate::gate::measure::{Measured, pinned};
use crate::gate::{compare, speed};
use crate::mutants;
use crate::report::{Aspect, Change, Header, Report, STYLE, Severity, Speed};
use crate::runner::Runner;
use crate::workers;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    subject: Subject,
    /// Only this kernel; may be given several times.
    #[arg(long, value_name = "NAME")]
    kernel: Vec<String>,
    /// Make what is measured now the baseline, if it is conformant; kernels that are not measured keep theirs.
    #[arg(long)]
    accept: bool,
    /// The folder of baselines.
    #[arg(long, value_name = "FOLDER", default_value = "golden/baseline")]
    baseline: PathBuf,
    /// Leave detection limits out, which take most of the time without a device.
    #[arg(long)]
    no_limits: bool,
    /// Leave times out on a device.
    #[arg(long)]
    no_speed: bool,
    /// Seed of what is drawn.
    #[arg(long, default_value_t = 81)]
    seed: u64,
    #[command(flatten)]
    outputs: Outputs,
}

/// Runs the command.
pub(super) fn run(args: &Args) -> Result<u8, Error> {
    args.outputs.prepare()?;
    let (mut runner, absent) = args.subject.runner(Options::default())?;
    let description = runner.describe();
    let path = baseline::path(&args.baseline, &description);
    // Asked before long work. Accepting starts a baseline where there is none; one that is there must be whole to be added to.
    let accepted = if args.accept && !path.exists() { None } else { Some(Baseline::read(&path)?) };
    announce(&description);
    let suites = present(&args.kernel, &mut runner)?;
    let kernels: Vec<&str> = suites.iter().map(|suite| suite.contract().kernel).collect();
    let cases: Vec<Case> = suites.iter().flat_map(|&suite| cases::profile(suite, args.seed)).collect();

    let (mut report, mut measured) = measure(args, &mut runner, &description, &cases, &kernels)?;
    report.header.not_run.extend(not_run(absent.as_deref()));
    if args.accept {
        return accept(&report, &measured, accepted, &path, &description, args.seed).and_then(|status| {
            args.outputs.write(&report, args.subject.kernels.as_deref())?;
            Ok(status)
        });
    }
    let Some(accepted) = accepted else { return Err(Error::file(&path, "is missing")) };
    compare_all(args, &mut runner, &kernels, &accepted, &path, &mut report, &mut measured)?;

    for line in failures::lines(&report) {
        say!("{line}");
    }
    if !report.speed.is_empty() {
        detail!("{}", speeds(&report.speed));
    }
    if !report.changes.is_empty() {
        detail!("{}", table(&report.changes));
    }
    tell_not_run(&report.header.not_run);
    say!("{}", summary(&report.changes, kernels.len(), &path));
    args.outputs.write(&report, args.subject.kernels.as_deref())?;
    Ok(if report.passed() { PASS } else { NONCONFORMANT })
}

/// Runs everything that is measured of the working kernels alone.
fn measure(
    args: &Args,
    runner: &mut Runner,
    description: &Description,
    cases: &[Case],
    kernels: &[&'static str],
) -> Result<(Report, Measured), Error> {
    let bar = progress(cases.len(), "cases");
    let run = check::run_all(runner, cases, Detail::Explained, |result: &CaseResult| {
        bar.set_message(result.case.contract.kernel);
        bar.inc(1);
    });
    bar.finish_and_clear();
    let mut run = run?;
    failures::name_nearest(&mut run.results)?;
    let selection = super::words(&args.kernel, "every kernel");
    let selection = match &args.subject.kernels {
        Some(path) => format!("{selection} of {}", path.display()),
        None => selection,
    };
    let header = Header::new("gate", selection, description, args.seed, Vec::new());
    let mut report = Report::of_run(header, &run);
    let folder = failures::default_folder();
    if let Some(line) = failures::keep(runner, &run.results, Some(&folder), &mut report) {
        say!("{line}");
    }

    let mut measured = Measured::default();
    measured.take_report(&report);
    measured.take_programs(runner, kernels)?;
    report.resources.clone_from(&measured.resources);
    let pinned = pinned(kernels, args.seed)?;
    let bar = progress(pinned.len(), "pinned cases");
    measured.take_bits(runner, &pinned, |_| bar.inc(1))?;
    bar.finish_and_clear();

    // Faults are patches of the shipped sources: other people's kernels have none.
    if args.subject.kernels.is_none() && !args.no_limits {
        let faults: Vec<_> = mutants::faults().filter(|fault| kernels.contains(&fault.kernel)).collect();
        let bar = progress(faults.len(), "terms");
        let (executor, _) = super::executor(args.subject.executor)?;
        let forks = (0..workers::threads(faults.len())).map(|_| executor.fork()).collect::<Result<Vec<_>, _>>()?;
        let (limits, _) = workers::share(&faults, forks, |own, _, fault| {
            let limit = detect::limit(own.as_ref(), fault, args.seed);
            bar.inc(1);
            limit
        })?;
        bar.finish_and_clear();
        measured.take_limits(&limits);
        report.limits = limits;
    } else if args.subject.kernels.is_some() {
        report.header.not_run.push("detection limits, which only the shipped sources have".into());
    } else {
        report.header.not_run.push("detection limits, left out by --no-limits".into());
    }
    Ok((report, measured))
}

/// Fills the report's changes and times.
fn compare_all(
    args: &Args,
    runner: &mut Runner,
    kernels: &[&'static str],
    accepted: &Baseline,
    path: &Path,
    report: &mut Report,
    measured: &mut Measured,
) -> Result<(), Error> {
    let mut changes = Vec::new();
    for &kernel in kernels {
        let before = accepted.kernels.get(kernel).ok_or_else(|| {
            Error::file(path, format!("has nothing of {kernel}; accept it with `gate --accept --kernel {kernel}`"))
        })?;
        let after = measured.facts.remove(kernel).unwrap_or_default();
        changes.extend(compare::kernel(kernel, &before.facts, &after));
    }
    let distances = distances(runner, accepted, path, &changes)?;
    compare::tell_distances(&mut changes, &distances);
    let on_device = runner.describe().executor == "cuda";
    if on_device && !args.no_speed {
        let bar = progress(kernels.len(), "kernels timed");
        for &kernel in kernels {
            let Some(before) = accepted.program(path, kernel)? else { continue };
            let Some((name, text, _)) = runner.program_of(kernel)? else { continue };
            let after = Program { name, code: Code::Ptx(text) };
            let Some(contract) = contracts::find(kernel) else { continue };
            let Some(executor) = runner.executor() else { continue };
            report.speed.push(speed::measure(executor, &before, &after, contract)?);
            bar.inc(1);
        }
        bar.finish_and_clear();
        changes.extend(report.speed.iter().filter_map(compare::speed));
    } else if on_device {
        report.header.not_run.push("times, left out by --no-speed".into());
    } else {
        let what = "times, which only a device has; the virtual machine counted instructions instead";
        report.header.not_run.push(what.into());
    }
    report.changes = changes;
    Ok(())
}

/// How far the changed outputs are from what the accepted kernel makes of the same cases.
fn distances(
    runner: &Runner,
    accepted: &Baseline,
    path: &Path,
    changes: &[Change],
) -> Result<BTreeMap<(String, String), String>, Error> {
    let mut distances = BTreeMap::new();
    for change in changes.iter().filter(|change| change.aspect == Aspect::Bits) {
        let Some((output, line)) = change.place.split_once(" of ") else { continue };
        let Some(program) = accepted.program(path, &change.kernel)? else { continue };
        let Ok(case) = line.parse::<Case>() else { continue };
        let Some(mut before) = runner.beside(vec![program])? else { continue };
        let mut after = runner.fork()?;
        let Ok(agreements) = agreement::compare(&mut before, &mut after, &[case]) else { continue };
        let found = agreements.iter().find(|((_, name), _)| *name == output).map(|(_, agreement)| agreement);
        if let Some(agreement) = found {
            let words = format!(
                "{} of {} elements, by up to {} ulp",
                agreement.elements - agreement.same,
                agreement.elements,
                agreement.apart
            );
            distances.insert((change.kernel.clone(), change.place.clone()), words);
        }
    }
    Ok(distances)
}

/// Writes the baseline, where what was measured is conformant.
fn accept(
    report: &Report,
    measured: &Measured,
    before: Option<Baseline>,
    path: &Path,
    description: &Description,
    seed: u64,
) -> Result<u8, Error> {
    for line in failures::lines(report) {
        say!("{line}");
    }
    tell_not_run(&report.header.not_run);
    let problems = report.problems();
    if !problems.is_empty() {
        for problem in &problems {
            say!("{problem}");
        }
        say!("not accepted: only what is conformant can be; {} stays as it was", path.display());
        return Ok(NONCONFORMANT);
    }
    let mut kernels = before.map(|before| before.kernels).unwrap_or_default();
    for (kernel, facts) in &measured.facts {
        let Some(stem) = measured.stems.get(kernel) else { continue };
        let mut facts = facts.clone();
        // What this run left out keeps what was accepted of it.
        if let Some(before) = kernels.remove(kernel) {
            for (aspect, places) in before.facts {
                facts.entry(aspect).or_insert(places);
            }
        }
        kernels.insert(kernel.clone(), Accepted { program: stem.clone(), facts });
    }
    let baseline = Baseline {
        schema: baseline::SCHEMA,
        executor: description.executor.into(),
        device: format!("{} ({})", description.device, description.versions),
        seed,
        kernels,
    };
    baseline.write(path, &measured.programs)?;
    say!("accepted {} kernels into {}", measured.facts.len(), path.display());
    Ok(PASS)
}

/// What changed, worst first.
fn table(changes: &[Change]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(["", "kernel", "aspect", "where", "accepted", "now"]);
    let mut changes: Vec<&Change> = changes.iter().collect();
    changes.sort_by_key(|change| change.severity);
    for change in changes {
        table.add_row([
            change.severity.to_string(),
            change.kernel.clone(),
            change.aspect.to_string(),
            change.place.clone(),
            change.before.clone(),
            change.after.clone(),
        ]);
    }
    table
}

/// Times, and what part of a copy's bandwidth they come to.
fn speeds(speeds: &[Speed]) -> Table {
    let mut table = Table::new();
    let header = ["kernel", "accepted, µs", "now, µs", "ratio", "between", "of a copy's bandwidth"];
    table.load_style(STYLE).set_header(header);
    for speed in speeds {
        table.add_row([
            speed.kernel.clone(),
            format!("{:.2}", speed.accepted_ns / 1e3),
            format!("{:.2}", speed.ns / 1e3),
            format!("{:.3}", speed.ratio),
            format!("{:.3} to {:.3}", speed.low, speed.high),
            format!("{:.0} %", 100.0 * speed.copy_ns / speed.ns),
        ]);
    }
    for column in 1..6 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(comfy_table::CellAlignment::Right);
        }
    }
    table
}

fn summary(changes: &[Change], kernels: usize, path: &Path) -> String {
    let count = |severity| changes.iter().filter(|change| change.severity == severity).count();
    let [regressed, changed, improved] = [Severity::Regressed, Severity::Changed, Severity::Improved].map(count);
    let against = format!("against {}", path.display());
    if changes.is_empty() {
        return format!("{kernels} kernels: nothing changed {against}");
    }
    let hint = if regressed == 0 { "; `gate --accept` makes this the baseline" } else { "" };
    format!("{kernels} kernels: {regressed} regressed, {changed} changed, {improved} improved {against}{hint}")
}
