//! Worst utilization of the shipped kernels, per kernel, output and regime, against the accepted table of each executor: a
//! kernel that comes nearer to its bound, or further from it, is news even where it passes. And all of it runs every reachable block.

use std::path::Path;

use gdn_conformance::check::{Detail, run_all};
use gdn_conformance::cli::{Selection, open};
use gdn_conformance::coverage::{self, Coverage};
use gdn_conformance::report::{Header, Report};
use gdn_conformance::{cases, suites};
use gdn_gpu::contracts;
use libtest_mimic::{Arguments, Failed, Trial};

/// The profile's seed, which `check` takes by default.
const SEED: u64 = 81;

/// The accepted table of the virtual machine, or of an architecture.
fn table(name: &str) -> Option<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/utilization");
    std::fs::read_to_string(folder.join(format!("{name}.txt"))).ok()
}

fn utilization_is_the_accepted_one(selection: Selection, name: &str) -> Result<(), Failed> {
    let accepted = table(name).ok_or_else(|| format!("there is no golden/utilization/{name}.txt"))?;
    let (runner, _) = open(selection).map_err(|error| error.to_string())?;
    let cases: Vec<_> = suites::all().flat_map(|suite| cases::profile(suite, SEED)).collect();
    let run = run_all(&runner, &cases, Detail::Explained, |_| {}).map_err(|error| error.to_string())?;
    let report = Report::of_run(Header::new("check", "full profile".into(), &runner.describe(), SEED, vec![]), &run);
    if selection == Selection::Vm {
        every_reachable_block_ran(&report.coverage)?;
    }
    let found = report.utilization_table();
    if found == accepted {
        return Ok(());
    }
    let changed: Vec<String> = accepted
        .lines()
        .zip(found.lines())
        .filter(|(before, after)| before != after)
        .map(|(before, after)| format!("- {before}\n+ {after}"))
        .collect();
    let how = format!("accept with `check --utilization golden/utilization/{name}.txt` if it is meant");
    Err(format!("{} rows changed; {how}\n{}", changed.len(), changed.join("\n")).into())
}

/// The default profile reaches every basic block that some input reaches.
fn every_reachable_block_ran(coverage: &[Coverage]) -> Result<(), Failed> {
    if coverage.len() != contracts::all().count() {
        return Err(format!("coverage of {} kernels, of {} there are", coverage.len(), contracts::all().count()).into());
    }
    let missed: Vec<String> =
        coverage::missed(coverage).into_iter().filter(|line| line.contains("NOT REACHED")).collect();
    if missed.is_empty() && coverage.iter().all(Coverage::is_whole) { Ok(()) } else { Err(missed.join("\n").into()) }
}

fn main() {
    let device = match open(Selection::Cuda) {
        Ok((runner, _)) => Ok(runner.describe().arch),
        Err(error) => Err(error.to_string()),
    };
    let arch =
        device.and_then(|arch| table(&arch).map(|_| arch.clone()).ok_or(format!("no accepted table for {arch}")));
    let vm =
        Trial::test("vm::utilization_is_the_accepted_one", || utilization_is_the_accepted_one(Selection::Vm, "vm"));
    let name = "cuda::utilization_is_the_accepted_one";
    let cuda = match arch {
        Ok(arch) => Trial::test(name, move || utilization_is_the_accepted_one(Selection::Cuda, &arch)),
        Err(reason) => {
            let message = reason.clone();
            Trial::test(name, move || Err(message.into())).with_ignored_flag(true).with_kind(reason)
        }
    };
    libtest_mimic::run(&Arguments::from_args(), vec![vm, cuda]).exit();
}
