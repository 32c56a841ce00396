//! `probe`: how wrong the functions of the budgets are.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Instant;

use gdn_gpu::probe::{self, PROBES, Probe, Sweep};

use super::{NONCONFORMANT, Outputs, PASS, Selection, announce, executor, not_run, progress, tell_not_run};
use crate::error::Error;
use crate::files::{folder_of, write_whole};
use crate::probe::{Function, table};
use crate::report::{Header, Report};

/// Arguments of a function on the virtual machine, where nobody says how many.
const SAMPLE: u64 = 4096;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Who runs the functions.
    #[arg(long, value_enum, default_value = "auto")]
    executor: Selection,
    /// Only this function; may be given several times.
    #[arg(long, value_name = "NAME", conflicts_with = "out")]
    function: Vec<String>,
    /// How many arguments of each function: `all`, which a device does by default, or about this many, spread evenly, and the
    /// neighbourhoods of edges (the virtual machine's default is 4096).
    #[arg(long, value_name = "all|N")]
    arguments: Option<Count>,
    #[command(flatten)]
    outputs: Outputs,
    /// Write the table, without times, to this file; for all arguments only.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// How many arguments.
#[derive(Clone, Copy, Debug)]
struct Count(Sweep);

impl FromStr for Count {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self(Sweep::All));
        }
        match text.parse() {
            Ok(count) if count > 0 => Ok(Self(Sweep::Sample(count))),
            _ => Err("it must be `all` or a number of at least 1".into()),
        }
    }
}

/// Runs the command.
pub(super) fn run(args: &Args) -> Result<u8, Error> {
    let probes: Vec<&'static Probe> = if args.function.is_empty() {
        PROBES.iter().collect()
    } else {
        let find = |name: &String| {
            probe::find(name).ok_or_else(|| Error::unknown("function", name, PROBES.iter().map(|probe| probe.name)))
        };
        args.function.iter().map(find).collect::<Result<_, _>>()?
    };
    args.outputs.prepare()?;
    if let Some(path) = &args.out {
        folder_of(path)?;
    }
    let (mut executor, absent) = executor(args.executor)?;
    let description = executor.describe();
    let on_device = description.executor == "cuda";
    let sweep = args.arguments.map_or(if on_device { Sweep::All } else { Sweep::Sample(SAMPLE) }, |count| count.0);
    if let (Some(path), Sweep::Sample(count)) = (&args.out, sweep) {
        return Err(Error::file(
            path,
            format!("takes the worst of all arguments, and {count} would be measured; add --arguments all"),
        ));
    }
    announce(&description);

    let of = |probe: &Probe| match sweep {
        Sweep::All => probe.arguments,
        Sweep::Sample(count) => count,
    };
    let total: u64 = probes.iter().map(|probe| of(probe)).sum();
    let bar = progress(usize::try_from(total).unwrap_or(usize::MAX), "arguments");
    let start = Instant::now();
    let mut found = Vec::new();
    for probe in probes {
        bar.set_message(probe.name);
        found.push(probe::measure(executor.as_mut(), probe, sweep, |count| bar.inc(count))?);
    }
    bar.finish_and_clear();

    let mut left_out: Vec<String> = not_run(absent.as_deref());
    if sweep != Sweep::All {
        left_out
            .push("every argument: this is a sample, and a larger error may lie between; add --arguments all".into());
    }
    let selection = super::words(&args.function, "every function");
    let header = Header::new("probe", selection, &description, 0, left_out.clone());
    let report = Report { functions: found.iter().map(Function::new).collect(), ..Report::empty(header) };
    detail!("{}", table(&report.functions, true).trim_end());
    let compared: u64 = found.iter().map(|measured| measured.agreement.compared).sum();
    let apart = |of: fn(&probe::Agreement) -> f64| found.iter().map(|m| of(&m.agreement)).fold(0.0, f64::max);
    say!(
        "the CPU evaluated {compared} counterparts again: apart by at most {:.1e}, their bounds by {:.1e}, relatively",
        apart(|agreement| agreement.values),
        apart(|agreement| agreement.bounds)
    );
    tell_not_run(&left_out);
    let failed = report.functions.iter().filter(|record| !record.passed).count();
    let arguments: u64 = report.functions.iter().map(|record| record.arguments).sum();
    let seconds: f64 = report.functions.iter().map(|record| record.seconds).sum();
    let whole = start.elapsed().as_secs_f64();
    let functions = report.functions.len();
    say!(
        "{functions} functions, {arguments} arguments in {seconds:.1} s ({whole:.1} s with compilation), {failed} not as they must be"
    );
    args.outputs.write(&report, None)?;
    if let Some(path) = &args.out {
        write_whole(path, &table(&report.functions, false))?;
    }
    Ok(if report.passed() { PASS } else { NONCONFORMANT })
}
