//! `report`: the files of several runs, machines and parts as one.

use std::path::PathBuf;

use comfy_table::{CellAlignment, Table};

use super::{NONCONFORMANT, Outputs, PASS, tell_not_run};
use crate::error::Error;
use crate::report::{Report, Reports, STYLE, merge, schema};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Files that other commands wrote with --json: whole runs, or all parts of one.
    #[arg(value_name = "FILE", required_unless_present = "schema")]
    files: Vec<PathBuf>,
    /// Print the JSON Schema of the files, and nothing else.
    #[arg(long)]
    schema: bool,
    #[command(flatten)]
    outputs: Outputs,
}

/// Runs the command.
pub(super) fn run(args: &Args) -> Result<u8, Error> {
    if args.schema {
        say!("{}", schema());
        return Ok(PASS);
    }
    args.outputs.prepare()?;
    let mut reports = Vec::new();
    for path in &args.files {
        reports.extend(Reports::read(path)?.reports);
    }
    let merged = Reports::new(merge(reports)?);
    detail!("{}", table(&merged.reports));
    let mut problems = 0;
    for report in &merged.reports {
        for problem in report.problems() {
            problems += 1;
            say!("{} on {}: {problem}", report.header.command, report.header.executor);
        }
        tell_not_run(&report.header.not_run);
    }
    let verdict = if problems == 0 && !merged.reports.is_empty() { "passed" } else { "FAILED" };
    say!("{} reports, {problems} problems: {verdict}", merged.reports.len());
    args.outputs.write_all(&merged, None)?;
    Ok(if verdict == "passed" { PASS } else { NONCONFORMANT })
}

fn table(reports: &[Report]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(["command", "of", "executor", "device", "cases", "problems"]);
    for report in reports {
        table.add_row([
            report.header.command.clone(),
            report.header.selection.clone(),
            format!("{} {}", report.header.executor, report.header.arch),
            report.header.device.clone(),
            report.cases().to_string(),
            report.problems().len().to_string(),
        ]);
    }
    for column in [4, 5] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}
