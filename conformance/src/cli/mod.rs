//! The command line, a file a command.
//!
//! Exit status 0: everything that was asked for ran and passed. 1: something is nonconformant or regressed. 2: it could not run.

use std::path::{Path, PathBuf};

use clap::{CommandFactory as _, Parser, Subcommand, ValueEnum};
use gdn_gpu::Executor;
use gdn_gpu::executor::{Code, Description, Program};
use gdn_gpu::vm::{Options, VmExecutor};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::error::Error;
use crate::family::Suite;
use crate::runner::Runner;
use crate::suites;

/// Prints a line as it is, for programs. A reader that has closed its end of the pipe has seen enough: that is no error.
macro_rules! plain {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(anstream::stdout(), "{}", format_args!($($text)*));
    }};
}

/// Prints a line, with what is wrong and what is right in colour.
macro_rules! say {
    ($($text:tt)*) => {
        plain!("{}", crate::cli::speak::painted(&format!($($text)*)))
    };
}

/// Prints a line that `--quiet` leaves out.
macro_rules! detail {
    ($($text:tt)*) => {{
        if !crate::cli::speak::is_quiet() {
            say!($($text)*);
        }
    }};
}

mod chain;
mod check;
mod compile;
mod detect;
mod failures;
mod flags;
mod gate;
mod list;
mod mutants;
mod outputs;
mod parts;
mod probe;
mod replay;
mod report;
mod sanitize;
mod speak;
mod which;

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
    /// When to colour what is wrong and what is right.
    #[arg(long, value_enum, default_value = "auto", global = true, value_name = "WHEN")]
    color: speak::Color,
    /// Say only what is wrong, and the outcome.
    #[arg(long, short, global = true)]
    quiet: bool,
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
  gdn-conformance mutants                            does the suite notice every known fault?
  gdn-conformance probe --executor cuda --out golden/probe/sm_90.txt
  gdn-conformance replay target/capsules/gdn_step-0a1b2c3d4e.safetensors --executor none
  gdn-conformance gate                               what changed against the accepted baseline?
  gdn-conformance check --partition 1/2 --json 1.json  half of the cases, for one of two machines
  gdn-conformance report 1.json 2.json --junit report.xml --html report.html
  gdn-conformance flags --set fast-math              may fast math be turned on?
  gdn-conformance sanitize                           compute-sanitizer's tools, or the machine's checks
  gdn-conformance list

Exit status: 0 pass, 1 nonconformant or regressed, 2 could not run.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run cases and judge every output against the oracle's bounds.
    Check(check::Args),
    /// Compare the kernels with the accepted baseline in golden/baseline/: what changed, and did anything regress?
    Gate(gate::Args),
    /// Run a failure's capsule again; or drive the kernels through recorded tokens and compare with the oracle, and the oracle
    /// with the file's answers.
    Replay(replay::Args),
    /// Run the delta rule over thousands of tokens: each step by itself, and all of them against a free-running oracle.
    Chain(chain::Args),
    /// Run known-wrong kernels and say which case kills which; survivors fail.
    Mutants(mutants::Args),
    /// Say how small a fault in each term is still seen, by this suite and by the rules in use elsewhere.
    Detect(detect::Args),
    /// Measure the functions that the error budgets name, on every argument, and the shipped gates against their bounds.
    Probe(probe::Args),
    /// Say which conventions a kernel follows: head map, order of decay, place of eps, rotary pairing and others.
    Which(which::Args),
    /// Compile the kernels under sets of compile options, and say how much of their bounds each set uses up: which may be turned on?
    Flags(flags::Args),
    /// Run compute-sanitizer's four tools over a run on a device; elsewhere the virtual machine's checks stand in for them.
    Sanitize(sanitize::Args),
    /// Put the files of several runs together: parts of one run become whole, machines lie side by side.
    Report(report::Args),
    /// Print kernels, contracts and regimes.
    List,
    /// Print a script that completes this command in a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Compile the kernels' sources with NVRTC into golden/ptx/, which the virtual machine runs.
    Compile(compile::Args),
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

impl Selection {
    /// Its name on the command line.
    const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Cuda => "cuda",
            Self::Vm => "vm",
        }
    }
}

/// Which kernels, and who runs them.
#[derive(Clone, Debug, clap::Args)]
struct Subject {
    /// Who runs the kernels.
    #[arg(long, value_enum, default_value = "auto")]
    executor: Selection,
    /// Run the kernels of this CUDA or PTX file, by their entry points' names, in place of the shipped ones.
    #[arg(long, value_name = "FILE.cu|FILE.ptx")]
    kernels: Option<PathBuf>,
}

impl Subject {
    /// The kernels on what was selected, the virtual machine with these options; and why there is no device, where `auto` found none.
    fn runner(&self, options: Options) -> Result<(Runner, Option<String>), Error> {
        let (executor, absent) = executor_with(self.executor, options)?;
        let runner = match &self.kernels {
            None => Runner::kernels(executor)?,
            Some(path) => Runner::programs(executor, vec![program(path)?])?,
        };
        Ok((runner, absent))
    }
}

use outputs::Outputs;
use parts::Parts;

/// A selection by names, in words.
fn words(names: &[String], all: &str) -> String {
    if names.is_empty() { all.to_owned() } else { names.join(", ") }
}

/// Runs the command and returns its exit status.
pub fn run(cli: Cli) -> u8 {
    speak::set(cli.color, cli.quiet);
    crate::files::finish_before_interrupts();
    let result = match cli.command {
        Command::Check(args) => check::run(&args),
        Command::Gate(args) => gate::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Mutants(args) => mutants::run(&args),
        Command::Detect(args) => detect::run(&args),
        Command::Probe(args) => probe::run(&args),
        Command::Which(args) => which::run(&args),
        Command::Chain(args) => chain::run(&args),
        Command::Compile(args) => compile::run(&args),
        Command::Flags(args) => flags::run(&args),
        Command::Sanitize(args) => sanitize::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "gdn-conformance", &mut script);
            plain!("{}", String::from_utf8_lossy(&script).trim_end());
            Ok(PASS)
        }
        Command::List => {
            say!("{}", list::text());
            Ok(PASS)
        }
    };
    result.unwrap_or_else(|error| {
        anstream::eprintln!("{}", speak::painted(&format!("error: {error}")));
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
    executor_with(selection, Options::default())
}

/// What was selected, the virtual machine with these options.
fn executor_with(selection: Selection, options: Options) -> Result<(Box<dyn Executor>, Option<String>), Error> {
    let machine = || Box::new(VmExecutor::new(options).with_compiler(gdn_gpu::ptx::of));
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

/// The suites of the kernels that are asked for, all where none is, as far as the programs have them.
fn present(names: &[String], runner: &mut Runner) -> Result<Vec<&'static dyn Suite>, Error> {
    for name in names {
        suites::find(name)?;
    }
    let mut present = Vec::new();
    for suite in suites::all() {
        let kernel = suite.contract().kernel;
        if (names.is_empty() || names.iter().any(|name| name == kernel)) && runner.has(kernel)? {
            present.push(suite);
        }
    }
    if present.is_empty() {
        return Err(Error::NoCases { filter: format!("{} of what is to be run", words(names, "any kernel")) });
    }
    Ok(present)
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

/// A bar on standard error for long work; nothing where that is no terminal.
fn progress(length: usize, of: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(length as u64), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template(&format!("{{bar:30}} {{pos}}/{{len}} {of}, {{elapsed}}, {{msg}}")) {
        bar.set_style(style);
    }
    bar
}

/// Says who runs the kernels.
fn announce(description: &Description) {
    detail!("executor: {} — {} ({})", description.executor, description.device, description.versions);
}

/// Says what a run left out, and why.
fn tell_not_run(lines: &[String]) {
    for line in lines {
        detail!("not run: {line}");
    }
}

/// What a run without a device leaves out.
fn not_run(absent: Option<&str>) -> Vec<String> {
    let line = |reason| format!("the kernels on a GPU, because {reason}; the virtual machine ran them instead");
    absent.map(line).into_iter().collect()
}
