//! The command line: `check`, `replay`, `list`.
//!
//! Exit status 0: everything that was asked for ran and passed. 1: something is nonconformant. 2: it could not run.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand, ValueEnum};
use comfy_table::{ContentArrangement, Table};
use gdn_gpu::Executor;
use gdn_gpu::contract::{Kind, Role, Source};
use gdn_gpu::executor::{Code, Program};
use gdn_gpu::vm::{Options, VmExecutor};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::case::Case;
use crate::check::{self, CaseResult};
use crate::error::Error;
use crate::family::Suite;
use crate::regime::Regime;
use crate::report::{Header, Report, STYLE, folder_of, write_whole};
use crate::runner::Runner;
use crate::{cases, replay, suites};

/// Prints a line. A reader that has closed its end of the pipe has seen enough: that is no error.
macro_rules! say {
    ($($text:tt)*) => {
        let _ = writeln!(std::io::stdout(), $($text)*);
    };
}

/// Exit status of a pass.
pub const PASS: u8 = 0;
/// Exit status where something is nonconformant.
pub const NONCONFORMANT: u8 = 1;
/// Exit status where something could not run.
pub const COULD_NOT_RUN: u8 = 2;

/// Numerical conformance of gated-delta-rule GPU kernels.
#[derive(Debug, Parser)]
#[command(name = "gdn-conformance", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  gdn-conformance check                              every kernel, regime and shape
  gdn-conformance check --kernel gdn_step --cases 500
  gdn-conformance check --case 'gdn_step(d=128,hk=16,hv=48,tokens=4,regime=warm,scale=2^-7,seed=0x51)'
  gdn-conformance replay golden/vectors/*.safetensors
  gdn-conformance list

Exit status: 0 pass, 1 nonconformant, 2 could not run.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run cases and judge every output against the oracle's bounds.
    Check(CheckArgs),
    /// Drive the kernels through recorded tokens and compare with the oracle, and the oracle with the file's answers.
    Replay(ReplayArgs),
    /// Print kernels, contracts and regimes.
    List,
    /// Compile the kernels' sources with NVRTC into golden/ptx/, which the virtual machine runs.
    Compile {
        /// The folder to write to.
        #[arg(long, default_value = "golden/ptx")]
        folder: PathBuf,
    },
}

/// Who runs the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Selection {
    /// A CUDA device where one answers, else the virtual machine.
    Auto,
    /// A CUDA device, or an error.
    Cuda,
    /// The PTX virtual machine, with all its checks.
    Vm,
}

#[derive(Debug, clap::Args)]
struct CheckArgs {
    /// Who runs the kernels.
    #[arg(long, value_enum, default_value = "auto")]
    executor: Selection,
    /// Run the kernels of this CUDA or PTX file, by their entry points' names, in place of the shipped ones.
    #[arg(long, value_name = "FILE.cu|FILE.ptx")]
    kernels: Option<PathBuf>,
    /// Only this kernel; may be given several times.
    #[arg(long, value_name = "NAME")]
    kernel: Vec<String>,
    /// Only this regime; may be given several times.
    #[arg(long, value_name = "NAME")]
    regime: Vec<String>,
    /// Only this case, as a case line; may be given several times.
    #[arg(long, value_name = "LINE", conflicts_with_all = ["kernel", "regime", "cases"])]
    case: Vec<String>,
    /// Seed of what is drawn.
    #[arg(long, default_value_t = 81)]
    seed: u64,
    /// Random cases of each kernel beyond the default profile.
    #[arg(long, default_value_t = 0)]
    cases: usize,
    /// Write every verdict to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the worst utilization of each kernel, output and regime to this file.
    #[arg(long, value_name = "FILE")]
    utilization: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct ReplayArgs {
    /// Who runs the kernels.
    #[arg(long, value_enum, default_value = "auto")]
    executor: Selection,
    /// Safetensors files, under the names of golden/vectors/README.md.
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

/// Runs the command and returns its exit status.
pub fn run(cli: Cli) -> u8 {
    let result = match cli.command {
        Command::Check(args) => check(&args),
        Command::Replay(args) => replay(&args),
        Command::Compile { folder } => compile(&folder),
        Command::List => {
            say!("{}", list());
            Ok(PASS)
        }
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        COULD_NOT_RUN
    })
}

/// Opens what was selected; where `auto` has no device, says why.
///
/// # Errors
/// In `cuda`, whatever keeps the device from answering; otherwise what goes wrong on what does answer.
pub fn open(selection: Selection) -> Result<(Runner, Option<String>), Error> {
    let (executor, absent) = executor(selection)?;
    Ok((Runner::kernels(executor)?, absent))
}

fn executor(selection: Selection) -> Result<(Box<dyn Executor>, Option<String>), Error> {
    let machine = || Box::new(VmExecutor::new(Options::default()).with_compiler(gdn_gpu::ptx::of));
    if selection == Selection::Vm {
        return Ok((machine(), None));
    }
    match (gdn_gpu::cuda::open(), selection) {
        (Ok(executor), _) => Ok((Box::new(executor), None)),
        (Err(gdn_gpu::Error::NoDriver { .. } | gdn_gpu::Error::NoDevice { .. }), Selection::Auto) => {
            Ok((machine(), Some("no CUDA driver or device answers".to_owned())))
        }
        (Err(error), _) => Err(error.into()),
    }
}

/// The program of a file, CUDA or PTX by its ending.
fn program(path: &Path) -> Result<Program, Error> {
    let text = std::fs::read_to_string(path).map_err(|error| Error::file(path, format!("cannot be read: {error}")))?;
    let code = match path.extension().and_then(|extension| extension.to_str()) {
        Some("cu") => Code::Cuda(text),
        Some("ptx") => Code::Ptx(text),
        _ => return Err(Error::file(path, "ends neither in .cu nor in .ptx")),
    };
    Ok(Program { name: path.display().to_string(), code })
}

fn select(args: &CheckArgs) -> Result<Vec<Case>, Error> {
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
    for suite in kernels {
        selected.extend(cases::profile(suite, args.seed).into_iter().filter(|case| regimes.contains(&case.regime)));
        selected.extend(cases::random(suite, &regimes, args.cases, args.seed));
    }
    if selected.is_empty() {
        let filter = format!("kernels {:?} with regimes {:?}", args.kernel, args.regime);
        return Err(Error::NoCases { filter });
    }
    Ok(selected)
}

fn check(args: &CheckArgs) -> Result<u8, Error> {
    let mut cases = select(args)?;
    for path in args.json.iter().chain(&args.utilization) {
        folder_of(path)?;
    }
    let (executor, absent) = executor(args.executor)?;
    let mut not_run = not_run(absent.as_deref());
    let runner = match &args.kernels {
        None => Runner::kernels(executor)?,
        Some(path) => {
            let mut runner = Runner::programs(executor, vec![program(path)?])?;
            not_run.extend(keep_what_runs(&mut runner, &mut cases, path)?);
            runner
        }
    };
    let description = runner.describe();
    say!("executor: {} — {} ({})", description.executor, description.device, description.versions);

    let bar = ProgressBar::with_draw_target(Some(cases.len() as u64), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} cases, {elapsed}, {msg}") {
        bar.set_style(style);
    }
    let results = check::run_all(&runner, &cases, |result: &CaseResult| {
        bar.set_message(result.case.contract.kernel);
        bar.inc(1);
    });
    bar.finish_and_clear();

    let report = Report::new(Header::new(&description, args.seed, not_run.clone()), &results?);
    say!("{}", report.table());
    for failure in report.failures() {
        say!("{}: {} {}: {}", failure.disposition, failure.case, failure.output, failure.detail);
    }
    for line in &not_run {
        say!("not run: {line}");
    }
    let failed = report.failures().count();
    say!("{} cases, {} verdicts, {failed} not passed", report.cases(), report.records.len());
    if let Some(path) = &args.json {
        report.write_json(path)?;
    }
    if let Some(path) = &args.utilization {
        write_whole(path, &report.utilization_table())?;
    }
    Ok(if report.passed() { PASS } else { NONCONFORMANT })
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

/// What a run without a device leaves out.
fn not_run(absent: Option<&str>) -> Vec<String> {
    let line = |reason| format!("the kernels on a GPU, because {reason}; the virtual machine ran them instead");
    absent.map(line).into_iter().collect()
}

fn replay(args: &ReplayArgs) -> Result<u8, Error> {
    let files = args.files.iter().map(|path| replay::load(path)).collect::<Result<Vec<_>, _>>()?;
    let (mut runner, absent) = open(args.executor)?;
    let description = runner.describe();
    say!("executor: {} — {} ({})", description.executor, description.device, description.versions);
    let mut passed = true;
    for file in &files {
        let outcome = replay::replay(&mut runner, file)?;
        say!("{outcome}");
        passed &= outcome.passed();
    }
    for line in not_run(absent.as_deref()) {
        say!("not run: {line}");
    }
    Ok(if passed { PASS } else { NONCONFORMANT })
}

fn compile(folder: &Path) -> Result<u8, Error> {
    for source in Source::ALL {
        let path = folder.join(format!("{}.ptx", source.name()));
        write_whole(&path, &gdn_gpu::ptx::compile(source.name(), source.text())?)?;
        say!("{}", path.display());
    }
    Ok(PASS)
}

/// Kernels with their contracts, and regimes.
pub fn list() -> String {
    let mut kernels = Table::new();
    kernels.load_style(STYLE).set_content_arrangement(ContentArrangement::Disabled).set_header([
        "kernel",
        "arguments",
        "sizes",
        "computes",
    ]);
    for suite in suites::all() {
        let contract = suite.contract();
        let args: Vec<String> = contract
            .args
            .iter()
            .map(|arg| match arg.kind {
                Kind::Buffer(spec) => {
                    let mark = match spec.role {
                        Role::Input => "",
                        Role::Output => "→",
                        Role::InPlace | Role::Carried => "↔",
                    };
                    format!("{mark}{} {}", arg.name, spec.dtype)
                }
                Kind::Size(_) => format!("{} int", arg.name),
                Kind::Scalar(_) => format!("{} float", arg.name),
            })
            .collect();
        let sizes: Vec<&str> = contract.dims().iter().map(|dim| dim.name()).collect();
        kernels.add_row([contract.kernel, &args.join(", "), &sizes.join(", "), contract.computes]);
    }
    let mut regimes = Table::new();
    regimes.load_style(STYLE).set_header(["regime", "draws"]);
    for regime in Regime::ALL {
        regimes.add_row([regime.name(), regime.about()]);
    }
    let line = |text: String| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    format!("{}\n\n{}", line(kernels.to_string()), line(regimes.to_string()))
}
