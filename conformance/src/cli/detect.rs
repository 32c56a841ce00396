//! `detect`: how small a fault in each term is still seen, by this suite and by the rules in use elsewhere.

use std::path::PathBuf;

use comfy_table::{CellAlignment, Table};

use super::{NONCONFORMANT, Outputs, PASS, Parts, Selection, announce, executor, not_run, progress, tell_not_run};
use crate::detect::{self, Limit, RULES};
use crate::error::Error;
use crate::files::{folder_of, write_whole};
use crate::mutants;
use crate::report::{Header, Report, STYLE};
use crate::workers;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Who runs the faulty kernels.
    #[arg(long, value_enum, default_value = "auto")]
    executor: Selection,
    /// Only this kernel; may be given several times.
    #[arg(long, value_name = "NAME")]
    kernel: Vec<String>,
    /// Seed of what is drawn.
    #[arg(long, default_value_t = 81)]
    seed: u64,
    #[command(flatten)]
    parts: Parts,
    #[command(flatten)]
    outputs: Outputs,
    /// Write the table to this file.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Runs the command. A term of which no fault is seen at all is a failure.
pub(super) fn run(args: &Args) -> Result<u8, Error> {
    args.outputs.prepare()?;
    if let Some(path) = &args.out {
        folder_of(path)?;
    }
    let (executor, absent) = executor(args.executor)?;
    let description = executor.describe();
    announce(&description);
    for kernel in &args.kernel {
        crate::suites::find(kernel)?;
    }
    let faults: Vec<_> = mutants::faults()
        .filter(|f| args.kernel.is_empty() || args.kernel.iter().any(|kernel| kernel == f.kernel))
        .collect();
    if faults.is_empty() {
        return Err(Error::NoCases { filter: format!("the faults of kernels {:?}", args.kernel) });
    }
    let faults: Vec<_> = faults.into_iter().filter(|fault| args.parts.has(&fault.name())).collect();
    let bar = progress(faults.len(), "terms");
    let forks = (0..workers::threads(faults.len())).map(|_| executor.fork()).collect::<Result<Vec<_>, _>>()?;
    let (limits, _) = workers::share(&faults, forks, |own, _, fault| {
        let limit = detect::limit(own.as_ref(), fault, args.seed)?;
        bar.set_message(fault.name());
        bar.inc(1);
        Ok(limit)
    })?;
    bar.finish_and_clear();
    let table = table(&limits).to_string();
    let text = table.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    say!("{text}");
    tell_not_run(&not_run(absent.as_deref()));
    let blind = limits.iter().filter(|limit| limit.limits[0].is_none()).count();
    say!("{} terms, {blind} of them not seen", limits.len());
    let selection = super::words(&args.kernel, "every term");
    let header = Header::new("detect", selection, &description, args.seed, not_run(absent.as_deref()));
    args.outputs.write(&Report { limits, ..Report::empty(args.parts.of(header)) }, None)?;
    if let Some(path) = &args.out {
        write_whole(path, &format!("{text}\n"))?;
    }
    Ok(if blind == 0 { PASS } else { NONCONFORMANT })
}

/// The table: a line a term, a column a rule.
fn table(limits: &[Limit]) -> Table {
    let mut table = Table::new();
    let rules = RULES.iter().map(|(name, _)| *name);
    table.load_style(STYLE).set_header(["kernel", "term"].into_iter().chain(rules));
    for limit in limits {
        let numbers = limit.limits.iter().map(|limit| limit.map_or_else(|| "never".to_owned(), |e| format!("{e:.1e}")));
        table.add_row([limit.kernel.clone(), limit.term.clone()].into_iter().chain(numbers));
    }
    for column in 2..2 + RULES.len() {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}
