//! `sanitize`: compute-sanitizer's four tools over a run on a device, or the virtual machine's checks where there is none.

use std::path::Path;
use std::process::{Command, Stdio};

use comfy_table::Table;
use gdn_gpu::vm::Options;

use super::{NONCONFORMANT, Outputs, PASS, Subject, announce, not_run, progress, tell_not_run};
use crate::case::Case;
use crate::cases::{self, Profile};
use crate::check::{self, CaseResult};
use crate::error::Error;
use crate::report::{Header, Record, Report, Reports, STYLE, Sanitized};
use crate::runner::Runner;
use crate::sanitize::{self, Tool};
use crate::suites;

/// Launches of a token: every launch is made with two poisons.
const POISONS: usize = 2;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    subject: Subject,
    /// Only this kernel; may be given several times.
    #[arg(long, value_name = "NAME")]
    kernel: Vec<String>,
    /// Which cases: the few that together kill every mutant, or every regime and shape, which takes the tools many minutes.
    #[arg(long, value_enum, default_value = "smoke")]
    profile: Profile,
    /// Seed of what is drawn.
    #[arg(long, default_value_t = 81)]
    seed: u64,
    #[command(flatten)]
    outputs: Outputs,
}

/// Runs the command.
pub(super) fn run(args: &Args) -> Result<u8, Error> {
    args.outputs.prepare()?;
    for kernel in &args.kernel {
        suites::find(kernel)?;
    }
    let (mut runner, absent) = args.subject.runner(Options::default())?;
    let description = runner.describe();
    announce(&description);
    let mut left_out = not_run(absent.as_deref());
    let sanitized = match sanitize::find() {
        Some(program) if description.executor == "cuda" => tools(args, &program)?,
        None if description.executor == "cuda" => {
            let remedy = "install a CUDA toolkit, or put it into PATH; `--executor vm` has checks of its own";
            return Err(Error::file("compute-sanitizer".as_ref(), format!("was not found: {remedy}")));
        }
        _ => {
            left_out
                .push("compute-sanitizer, which needs a device; the virtual machine's checks stand in for it".into());
            checks(args, &mut runner)?
        }
    };

    detail!("{}", table(&sanitized));
    for tool in &sanitized {
        for finding in &tool.findings {
            say!("FAILED: {}: {finding}", tool.tool);
        }
    }
    tell_not_run(&left_out);
    let count: usize = sanitized.iter().map(|tool| tool.findings.len()).sum();
    say!("{} tools, {count} findings", sanitized.len());
    let mut selection = format!("{} profile", args.profile.name());
    for word in &args.kernel {
        selection = format!("{selection}, {word}");
    }
    if let Some(path) = &args.subject.kernels {
        selection = format!("{selection}, kernels of {}", path.display());
    }
    let header = Header::new("sanitize", selection, &description, args.seed, left_out);
    args.outputs.write(&Report { sanitized, ..Report::empty(header) }, args.subject.kernels.as_deref())?;
    Ok(if count == 0 { PASS } else { NONCONFORMANT })
}

/// Runs `check` under each tool.
fn tools(args: &Args, program: &Path) -> Result<Vec<Sanitized>, Error> {
    let failed = |tool: Tool, problem: String| Error::Process { part: tool.name().into(), problem };
    let by = version(program);
    let bar = progress(Tool::ALL.len(), "tools");
    let mut sanitized = Vec::new();
    for tool in Tool::ALL {
        bar.set_message(tool.name());
        let folder = tempfile::tempdir().map_err(|error| failed(tool, error.to_string()))?;
        let report = folder.path().join("report.json");
        let own = std::env::current_exe().map_err(|error| failed(tool, error.to_string()))?;
        let mut command = Command::new(program);
        command.args(["--tool", tool.name(), "--print-limit", "1000"]).arg(own);
        command.args(["check", "--executor", "cuda", "--processes", "1", "--profile", args.profile.name()]);
        command.args(["--seed", &args.seed.to_string(), "--json"]).arg(&report);
        command.arg("--capsules").arg(folder.path());
        for kernel in &args.kernel {
            command.args(["--kernel", kernel]);
        }
        if let Some(path) = &args.subject.kernels {
            command.arg("--kernels").arg(path);
        }
        let output = command.stdin(Stdio::null()).output().map_err(|error| failed(tool, error.to_string()))?;
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        let findings = sanitize::findings(&text).map_err(|problem| failed(tool, format!("{problem}:\n{text}")))?;
        // A kernel that the tool stops may take the run with it: what was found is then the answer.
        let launches = match Reports::read(&report) {
            Ok(reports) => reports.reports.iter().map(|report| launches(&report.records)).sum(),
            Err(_) if !findings.is_empty() => 0,
            Err(error) => return Err(failed(tool, format!("{error}:\n{text}"))),
        };
        sanitized.push(Sanitized { tool: tool.name().into(), by: by.clone(), launches, findings });
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(sanitized)
}

/// compute-sanitizer and its version.
fn version(program: &Path) -> String {
    let said = Command::new(program).arg("--version").output().map(|output| output.stdout).unwrap_or_default();
    let said = String::from_utf8_lossy(&said).into_owned();
    let version = said.lines().find_map(|line| line.strip_prefix("Version ")).unwrap_or("of unknown version").trim();
    format!("compute-sanitizer {version}")
}

/// Runs the cases on the virtual machine with its checks.
fn checks(args: &Args, runner: &mut Runner) -> Result<Vec<Sanitized>, Error> {
    let mut cases: Vec<Case> = match args.profile {
        Profile::Smoke => cases::smoke()?,
        Profile::Full => suites::all().flat_map(|suite| cases::profile(suite, args.seed)).collect(),
    };
    cases.retain(|case| args.kernel.is_empty() || args.kernel.iter().any(|name| name == case.contract.kernel));
    let mut present = Vec::new();
    for suite in suites::all() {
        if runner.has(suite.contract().kernel)? {
            present.push(suite.contract().kernel);
        }
    }
    cases.retain(|case| present.contains(&case.contract.kernel));
    if cases.is_empty() {
        return Err(Error::NoCases { filter: format!("kernels {:?} of what is to be looked at", args.kernel) });
    }
    let bar = progress(cases.len(), "cases");
    let run = check::run_all(runner, &cases, check::Detail::Plain, |_: &CaseResult| bar.inc(1))?;
    bar.finish_and_clear();
    let records = Report::records_of(&run);
    Ok(sanitize::stand_in(&records, launches(&records), "PTX virtual machine"))
}

/// The launches that records are of.
fn launches(records: &[Record]) -> usize {
    let mut lines: Vec<&str> = records.iter().map(|record| record.case.as_str()).collect();
    lines.dedup();
    lines.iter().filter_map(|line| line.parse::<Case>().ok()).map(|case| case.tokens as usize * POISONS).sum()
}

/// A line a tool.
fn table(sanitized: &[Sanitized]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(["tool", "by", "launches", "findings"]);
    for tool in sanitized {
        let cells = [&tool.tool, &tool.by, &tool.launches.to_string(), &tool.findings.len().to_string()];
        table.add_row(cells);
    }
    table
}
