//! `flags`: which compile options may be turned on?

use std::collections::BTreeMap;
use std::path::PathBuf;

use comfy_table::{CellAlignment, Table};
use gdn_gpu::contract::Source;
use gdn_gpu::executor::Program;
use gdn_gpu::vm::{Approximation, Options};
use gdn_gpu::{contracts, ptx};

use super::{
    NONCONFORMANT, Outputs, PASS, Selection, announce, executor_with, not_run, present, program, progress, tell_not_run,
};
use crate::cases;
use crate::check::CaseResult;
use crate::error::Error;
use crate::family::Suite;
use crate::files::{folder_of, write_whole};
use crate::flags::{self, SETS, Set};
use crate::gate::speed;
use crate::report::{FlagRow, Header, Report, STYLE};
use crate::runner::Runner;

/// The second virtual architecture where the first is the oldest: the first one of Hopper.
const NEWER: &str = "compute_90";

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Who runs the kernels; on the virtual machine approximate instructions err as far as the ISA lets them, drawn from the seed.
    #[arg(long, value_enum, default_value = "auto")]
    executor: Selection,
    /// Compile the kernels of this CUDA file, by their entry points' names, in place of the shipped ones.
    #[arg(long, value_name = "FILE.cu")]
    kernels: Option<PathBuf>,
    /// Only this kernel; may be given several times.
    #[arg(long, value_name = "NAME")]
    kernel: Vec<String>,
    /// Only this set of options beside the default; may be given several times: default, no-fmad, no-prec-div, no-prec-sqrt, ftz or
    /// fast-math.
    #[arg(long, value_name = "SET")]
    set: Vec<String>,
    /// Only this virtual architecture, such as `compute_90`; may be given several times. Without it: the executor's own and another.
    #[arg(long, value_name = "ARCH")]
    arch: Vec<String>,
    /// Leave times out on a device.
    #[arg(long)]
    no_speed: bool,
    /// Seed of what is drawn.
    #[arg(long, default_value_t = 81)]
    seed: u64,
    #[command(flatten)]
    outputs: Outputs,
    /// Write the tables to this file.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Runs the command. It fails where the default set does, or one that was asked for.
pub(super) fn run(args: &Args) -> Result<u8, Error> {
    args.outputs.prepare()?;
    if let Some(path) = &args.out {
        folder_of(path)?;
    }
    let asked = args.set.iter().map(|name| flags::find(name)).collect::<Result<Vec<_>, _>>()?;
    let wanted = |set: &&Set| asked.is_empty() || set.options.is_empty() || asked.contains(set);
    let sets: Vec<&Set> = SETS.iter().filter(wanted).collect();
    let options = Options { checks: false, approximation: Approximation::Adversarial(args.seed), ..Options::default() };
    let (executor, absent) = executor_with(args.executor, options)?;
    let description = executor.describe();
    let on_device = description.executor == "cuda";
    let archs = if args.arch.is_empty() { archs(&description.arch) } else { args.arch.clone() };
    announce(&description);

    let sources = match &args.kernels {
        None => Source::ALL.map(gdn_gpu::program).into(),
        Some(path) => vec![program(path)?],
    };
    let mut first = Runner::programs(executor.fork()?, flags::compiled(&sources, sets[0], &archs[0])?)?;
    let kernels = present(&args.kernel, &mut first)?;
    let cases: Vec<_> = kernels.iter().flat_map(|suite| cases::profile(*suite, args.seed)).collect();

    let bar = progress(sets.len() * archs.len() * cases.len(), "cases");
    let mut rows: Vec<FlagRow> = Vec::new();
    let mut programs: Vec<(usize, Vec<Program>)> = Vec::new();
    for arch in &archs {
        for set in &sets {
            let compiled = flags::compiled(&sources, set, arch)?;
            let runner = Runner::programs(executor.fork()?, compiled.clone())?;
            bar.set_message(format!("{}, {arch}", set.name));
            let own = flags::run(&runner, set, arch, &cases, |_: &CaseResult| bar.inc(1))?;
            programs.push((rows.len(), compiled));
            rows.extend(own);
        }
    }
    bar.finish_and_clear();
    let mut left_out = not_run(absent.as_deref());
    if on_device && !args.no_speed {
        time(&mut first, &kernels, &programs, &mut rows)?;
    } else {
        left_out
            .push(if on_device { "times, left out by --no-speed" } else { "times, which only a device has" }.into());
    }

    let text = tables(&rows, on_device && !args.no_speed);
    say!("{text}");
    tell_not_run(&left_out);
    let selection = match &args.kernels {
        Some(path) => format!("{} of {}", super::words(&args.kernel, "every kernel"), path.display()),
        None => super::words(&args.kernel, "every kernel"),
    };
    let header = Header::new("flags", selection, &description, args.seed, left_out);
    let failed = rows.iter().any(|row| row.failed > 0 && (row.options.is_empty() || !asked.is_empty()));
    args.outputs.write(&Report { flags: rows, ..Report::empty(header) }, args.kernels.as_deref())?;
    if let Some(path) = &args.out {
        write_whole(path, &format!("{}\n{text}\n", description.device))?;
    }
    Ok(if failed { NONCONFORMANT } else { PASS })
}

/// The architecture that an executor's programs are compiled for, and another one.
fn archs(own: &str) -> Vec<String> {
    let own = own.strip_prefix("sm_").map_or_else(|| ptx::ARCH.to_owned(), |number| format!("compute_{number}"));
    let other = if own == ptx::ARCH { NEWER } else { ptx::ARCH };
    vec![own, other.into()]
}

/// Times each kernel of every compiled program beside the first one's.
fn time(
    runner: &mut Runner,
    kernels: &[&'static dyn Suite],
    programs: &[(usize, Vec<Program>)],
    rows: &mut [FlagRow],
) -> Result<(), Error> {
    let bar = progress(kernels.len(), "kernels timed");
    for suite in kernels {
        let kernel = suite.contract().kernel;
        let Some(contract) = contracts::find(kernel) else { continue };
        let Some(first) = runner.program(kernel)? else { continue };
        let same = |compiled: &[Program]| compiled.iter().find(|program| program.name == first.name).cloned();
        let all: Vec<Program> = programs.iter().filter_map(|(_, compiled)| same(compiled)).collect();
        let Some(executor) = runner.executor() else { continue };
        let speeds = speed::measure_all(executor, &first, &all, contract)?;
        for (i, ((from, _), speed)) in programs.iter().zip(speeds).enumerate() {
            let to = programs.get(i + 1).map_or(rows.len(), |(next, _)| *next);
            for row in rows[*from..to].iter_mut().filter(|row| row.kernel == kernel) {
                row.time = Some(speed.ratio);
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}

/// What a set comes to: may it be turned on?; and the utilization of each output under each set.
fn tables(rows: &[FlagRow], timed: bool) -> String {
    let mut sets: Vec<(&str, &str)> = Vec::new();
    let mut outputs: Vec<(&str, &str)> = Vec::new();
    for row in rows {
        let (set, output) = ((row.set.as_str(), row.arch.as_str()), (row.kernel.as_str(), row.output.as_str()));
        if !sets.contains(&set) {
            sets.push(set);
        }
        if !outputs.contains(&output) {
            outputs.push(output);
        }
    }
    let beyond = |row: &FlagRow| row.utilization.unwrap_or(f64::INFINITY);
    let mut summary = Table::new();
    let header = ["options", "architecture", "outputs within", "verdicts failed", "worst", "of"];
    summary
        .load_style(STYLE)
        .set_header(header.into_iter().chain(timed.then_some("time, median")).chain(["may be on"]));
    let mut reasons = Vec::new();
    for &(set, arch) in &sets {
        let own: Vec<&FlagRow> = rows.iter().filter(|row| row.set == set && row.arch == arch).collect();
        let Some(worst) = own.iter().max_by(|a, b| beyond(a).total_cmp(&beyond(b))) else { continue };
        let within = own.iter().filter(|row| row.failed == 0).count();
        let time = timed.then(|| median(&own));
        let sum = |of: fn(&FlagRow) -> usize| own.iter().map(|row| of(row)).sum::<usize>();
        reasons.extend(failing(set, arch, &own));
        let verdict = if within == own.len() { "YES" } else { "NO" };
        let cells = [
            if worst.options.is_empty() { set.to_owned() } else { worst.options.join(" ") },
            arch.to_owned(),
            format!("{within} of {}", own.len()),
            format!("{} of {}", sum(|row| row.failed), sum(|row| row.cases)),
            number(worst.utilization),
            format!("{} {}", worst.kernel, worst.output),
        ];
        summary.add_row(cells.into_iter().chain(time).chain([verdict.to_owned()]));
    }
    let mut detail = Table::new();
    let columns: Vec<String> = sets.iter().map(|(set, arch)| format!("{set}\n{arch}")).collect();
    detail.load_style(STYLE).set_header(["kernel".to_owned(), "output".to_owned()].into_iter().chain(columns));
    for &(kernel, output) in &outputs {
        let cells = sets.iter().map(|&(set, arch)| {
            let of =
                |row: &&FlagRow| row.kernel == kernel && row.output == output && row.set == set && row.arch == arch;
            rows.iter().find(of).map_or_else(String::new, |row| number(row.utilization))
        });
        detail.add_row([kernel.to_owned(), output.to_owned()].into_iter().chain(cells));
    }
    for column in 2..2 + sets.len() {
        if let Some(column) = detail.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let text = format!("{summary}\n\n{}{detail}", reasons.concat());
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// Which regimes a set's outputs fail in, one block of lines; nothing where all are within.
fn failing(set: &str, arch: &str, rows: &[&FlagRow]) -> Option<String> {
    let mut regimes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for row in rows {
        for regime in &row.failing {
            regimes.entry(regime).or_default().push(format!("{} {}", row.kernel, row.output));
        }
    }
    let line = |(regime, outputs): (&&str, &Vec<String>)| format!("  {regime}: {}\n", outputs.join(", "));
    let lines: Vec<String> = regimes.iter().map(line).collect();
    (!lines.is_empty()).then(|| format!("{set}, {arch}, is outside of the bounds in\n{}\n", lines.concat()))
}

/// Error ÷ bound; what is not finite where a number is due has none.
fn number(utilization: Option<f64>) -> String {
    match utilization {
        None => "∞".into(),
        Some(x) if x < 1e4 => format!("{x:.3}"),
        Some(x) => format!("{x:.1e}"),
    }
}

/// The median over kernels of the time against the default's.
fn median(rows: &[&FlagRow]) -> String {
    let mut kernels: Vec<(&str, f64)> = rows.iter().filter_map(|row| Some((row.kernel.as_str(), row.time?))).collect();
    kernels.dedup_by_key(|(kernel, _)| *kernel);
    let mut times: Vec<f64> = kernels.into_iter().map(|(_, time)| time).collect();
    times.sort_by(f64::total_cmp);
    match (times.first(), times.get(times.len() / 2), times.last()) {
        (Some(least), Some(median), Some(most)) => format!("{median:.2} ({least:.2} to {most:.2})"),
        _ => String::new(),
    }
}
