//! `mutants`: the kill matrix, the suite's proof that it would have said no.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use comfy_table::{CellAlignment, Table};
use gdn_gpu::Executor;
use gdn_gpu::vm::Options;
use serde::{Deserialize, Serialize};

use super::{NONCONFORMANT, Outputs, PASS, Parts, Selection, announce, executor_with, not_run, progress, tell_not_run};
use crate::cases::{self, Profile};
use crate::error::Error;
use crate::files::{folder_of, write_whole};
use crate::kill::{self, DECISIVE, Evidence, Fate, Kill, Outcome};
use crate::mutants::{Mutant, Sort};
use crate::report::{Header, Report, STYLE};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Who runs the mutants.
    #[arg(long, value_enum, default_value = "auto")]
    executor: Selection,
    /// Only this mutant; may be given several times.
    #[arg(long, value_name = "NAME")]
    mutant: Vec<String>,
    /// Which cases each mutant meets: those of its kernel in this profile.
    #[arg(long, value_enum, default_value = "full")]
    profile: Profile,
    /// Seed of what is drawn.
    #[arg(long, default_value_t = 81)]
    seed: u64,
    #[command(flatten)]
    parts: Parts,
    #[command(flatten)]
    outputs: Outputs,
    /// Write the smallest set of cases found that kills every mutant to this file.
    #[arg(long, value_name = "FILE")]
    smoke: Option<PathBuf>,
    /// Write the fates as lines of JSON, in this process: what a run on a device starts for mutants that may end it.
    #[arg(long, hide = true)]
    worker: bool,
}

/// A line of a worker.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// The case that is about to run.
    Case(String),
    /// What came of the mutant.
    Fate(Fate),
}

/// How long a worker may go without a word: far beyond any case, short beside an endless loop.
const SILENCE: Duration = Duration::from_secs(20);

/// Instructions of a warp after which the virtual machine calls a block endless: far beyond what a shipped kernel takes on
/// the cases of the matrix.
const STEPS: u64 = 1 << 18;

/// Runs the command.
pub(super) fn run(args: &Args) -> Result<u8, Error> {
    let mut selected = kill::select(&args.mutant)?;
    selected.retain(|mutant| args.parts.has(mutant.name));
    args.outputs.prepare()?;
    if let Some(path) = &args.smoke {
        folder_of(path)?;
    }
    let options = Options { step_budget: STEPS, ..Options::default() };
    let (executor, absent) = executor_with(args.executor, options)?;
    let description = executor.describe();
    if args.worker {
        return worker(executor.as_ref(), &selected, args);
    }
    announce(&description);
    let bar = progress(selected.len(), "mutants");
    let start = Instant::now();
    let done = |fate: &Fate| {
        bar.set_message(fate.mutant.clone());
        bar.inc(1);
    };
    let cases = |mutant: &Mutant| cases::of(args.profile, mutant.kernel, args.seed);
    let fates = if description.executor == "cuda" {
        on_a_device(executor.as_ref(), &selected, args, &done)?
    } else {
        kill::matrix(executor.as_ref(), &selected, cases, done)?
    };
    let elapsed = start.elapsed();
    bar.finish_and_clear();

    detail!("{}", table(&selected, &fates));
    let (mut killed, mut equivalent, mut let_through, mut wrong) = (0, 0, 0, 0);
    for (mutant, fate) in selected.iter().zip(&fates) {
        match fate.outcome(description.executor == "cuda") {
            Outcome::Killed => killed += 1,
            Outcome::Equivalent => {
                equivalent += 1;
                detail!("equivalent: {}: {}", mutant.name, mutant.equivalent.unwrap_or_default());
            }
            Outcome::LetThrough => {
                let_through += 1;
                say!(
                    "LET THROUGH by the device: {}; the virtual machine: {}",
                    mutant.name,
                    on_the_machine(mutant, args)?
                );
            }
            Outcome::Survives => {
                wrong += 1;
                say!(
                    "SURVIVES: {} ({}, {}): no case of {} shows {DECISIVE} bounds; the nearest is {:.3}",
                    mutant.name,
                    mutant.sort,
                    mutant.term,
                    fate.cases,
                    fate.nearest_miss
                );
            }
            Outcome::KilledThoughEquivalent => {
                wrong += 1;
                say!("KILLED though equivalent: {}", mutant.name);
            }
        }
    }
    tell_not_run(&not_run(absent.as_deref()));
    say!(
        "{} mutants, {killed} killed, {equivalent} equivalent, {let_through} let through by the device, {wrong} not as they \
         should be, {:.1} s",
        selected.len(),
        elapsed.as_secs_f64()
    );
    let selection = super::words(&args.mutant, &format!("{} profile", args.profile.name()));
    let header = Header::new("mutants", selection, &description, args.seed, not_run(absent.as_deref()));
    let report = Report { mutants: fates, ..Report::empty(args.parts.of(header)) };
    args.outputs.write(&report, None)?;
    if let Some(path) = &args.smoke {
        let set = kill::killing_set(&report.mutants);
        say!("{} cases kill what any kills", set.len());
        let mut lines: Vec<String> = set.iter().map(ToString::to_string).collect();
        lines.push(String::new());
        write_whole(path, &lines.join("\n"))?;
    }
    Ok(if wrong == 0 { PASS } else { NONCONFORMANT })
}

/// What the virtual machine finds in a mutant that a device lets through: memory that is not the kernel's may be readable there,
/// and a race need not fire.
fn on_the_machine(mutant: &Mutant, args: &Args) -> Result<String, Error> {
    let options = Options { step_budget: STEPS, ..Options::default() };
    let (machine, _) = executor_with(Selection::Vm, options)?;
    let fate = kill::fate(machine, mutant, &cases::of(args.profile, mutant.kernel, args.seed)?, |_| ())?;
    Ok(fate.smallest().map_or_else(
        || "finds nothing either".to_owned(),
        |kill| match &kill.evidence {
            Evidence::Bound(factor) => format!("{} {}: {factor:.0} bounds", kill.case, kill.output),
            Evidence::Exact(found) | Evidence::Fault(found) => {
                let finding = found.lines().find(|line| !line.starts_with('`')).unwrap_or(found);
                format!("{} {finding}", kill.case)
            }
        },
    ))
}

/// The matrix for a person: a line a mutant.
fn table(mutants: &[&'static Mutant], fates: &[Fate]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_header([
        "mutant",
        "kernel",
        "term",
        "sort",
        "killed by",
        "factor",
        "smallest case, and what shows it",
    ]);
    for (mutant, fate) in mutants.iter().zip(fates) {
        let factor = match fate.factor() {
            0.0 => format!("{:.3}", fate.nearest_miss),
            factor if factor.is_infinite() => "∞".into(),
            factor => format!("{factor:.0}"),
        };
        let shown = fate.smallest().map_or_else(
            || if mutant.equivalent.is_some() { "equivalent".into() } else { "SURVIVES".into() },
            |kill| format!("{} {}{}", kill.case, kill.output, words(kill)),
        );
        table.add_row([
            mutant.name.to_owned(),
            mutant.kernel.to_owned(),
            mutant.term.to_owned(),
            mutant.sort.to_string(),
            format!("{}/{}", fate.kills.len(), fate.cases),
            factor,
            shown,
        ]);
    }
    for column in [4, 5] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// What a kill was seen by, in a few words.
fn words(kill: &Kill) -> String {
    match &kill.evidence {
        Evidence::Bound(factor) => format!(": {factor:.0} bounds"),
        Evidence::Exact(_) => ": not exact".into(),
        Evidence::Fault(found) => {
            let found = found.lines().find(|line| !line.starts_with('`')).unwrap_or(found);
            format!(": {}", found.split(" at ").next().unwrap_or(found).trim())
        }
    }
}

/// Runs mutants in this process, and says so line by line.
fn worker(executor: &dyn Executor, selected: &[&'static Mutant], args: &Args) -> Result<u8, Error> {
    for mutant in selected {
        let cases = cases::of(args.profile, mutant.kernel, args.seed)?;
        let write = |line: &Line| {
            if let Ok(text) = serde_json::to_string(line) {
                say!("{text}");
            }
        };
        let fate = kill::fate(executor.fork()?, mutant, &cases, |case| write(&Line::Case(case.to_string())))?;
        write(&Line::Fate(fate));
    }
    Ok(PASS)
}

/// On a device a fault ends the context and a hang never ends: mutants other than numerical ones get a process each.
fn on_a_device(
    executor: &dyn Executor,
    selected: &[&'static Mutant],
    args: &Args,
    done: &dyn Fn(&Fate),
) -> Result<Vec<Fate>, Error> {
    let mut fates = Vec::new();
    for mutant in selected {
        let fate = if mutant.sort == Sort::Numerical {
            kill::fate(executor.fork()?, mutant, &cases::of(args.profile, mutant.kernel, args.seed)?, |_| ())?
        } else {
            in_a_process(mutant, args)?
        };
        done(&fate);
        fates.push(fate);
    }
    Ok(fates)
}

/// Runs one mutant in a process of its own. A process that falls silent is ended: the case that it was at kills the mutant.
fn in_a_process(mutant: &Mutant, args: &Args) -> Result<Fate, Error> {
    let failed = |problem: String| Error::Worker { mutant: mutant.name.into(), problem };
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let profile = args.profile.name();
    let mut child = Command::new(program)
        .args(["mutants", "--worker", "--executor", "cuda", "--mutant", mutant.name, "--profile", profile])
        .args(["--seed", &args.seed.to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let (send, lines) = mpsc::channel();
    let reader = child.stdout.take().map(|stdout| {
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        })
    });
    let mut case = String::new();
    let mut cases = 0;
    let fate = loop {
        match lines.recv_timeout(SILENCE) {
            Ok(line) => match serde_json::from_str(&line) {
                Ok(Line::Case(line)) => {
                    case = line;
                    cases += 1;
                }
                Ok(Line::Fate(fate)) => break Some(fate),
                Err(_) => {}
            },
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let found = format!("the launch did not end within {} s", SILENCE.as_secs());
                let kill = Kill { case: case.clone(), output: "launch".into(), evidence: Evidence::Fault(found) };
                break Some(Fate { cases, kills: vec![kill], ..Fate::of(mutant) });
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => break None,
        }
    };
    // Ending a process that has ended is no error worth a word.
    let _ = child.kill();
    let _ = child.wait();
    if let Some(reader) = reader {
        let _ = reader.join();
    }
    fate.ok_or_else(|| failed(format!("its process ended at {case}")))
}
