//! The probes themselves: on the virtual machine over a sample, on a device over every argument against the accepted table of its
//! architecture, and with limits that the functions do not keep.

use std::path::Path;

use gdn_conformance::cli::{self, Selection};
use gdn_conformance::probe::{Function, table};
use gdn_gpu::probe::{self, Limit, Measured, PROBES, Probe, Sweep, Verdict};
use gdn_gpu::vm::{Options, VmExecutor};
use gdn_gpu::{cuda, ptx};
use libtest_mimic::{Arguments, Failed, Trial};

const SAMPLE: Sweep = Sweep::Sample(4096);

/// Measures a sample on the virtual machine.
fn sampled(probe: &'static Probe) -> Result<Measured, Failed> {
    let mut machine = VmExecutor::new(Options::default()).with_compiler(ptx::of);
    Ok(probe::measure(&mut machine, probe, SAMPLE, |_| {})?)
}

fn named(name: &str) -> Result<&'static Probe, Failed> {
    probe::find(name).ok_or_else(|| format!("there is no probe {name}").into())
}

fn a_sample_of_every_function_is_as_it_must_be() -> Result<(), Failed> {
    for probe in PROBES {
        let measured = sampled(probe)?;
        if !measured.verdict().passed() {
            return Err(format!("{}: {measured:?}", probe.name).into());
        }
        if measured.arguments < 4000 || measured.agreement.compared < 16 {
            return Err(format!("{}: hardly anything was measured: {measured:?}", probe.name).into());
        }
    }
    Ok(())
}

/// A limit below what a correct function needs, and a wrong function that is not announced as one.
fn what_leaves_its_limit_is_seen() -> Result<(), Failed> {
    let mut tight = *named("expf")?;
    tight.limit = Limit::Ulp(0.6);
    let mut fast = *named("__expf")?;
    fast.control = false;
    let mut sigmoid = *named("1/(1+__expf(-x))")?;
    sigmoid.control = false;
    // A sound function announced as wrong is no proof that the probe sees anything.
    let mut sound = *named("expf")?;
    sound.control = true;
    let expected =
        [(tight, Verdict::Exceeds), (fast, Verdict::Exceeds), (sigmoid, Verdict::Exceeds), (sound, Verdict::Missed)];
    for (probe, verdict) in expected {
        let measured = sampled(Box::leak(Box::new(probe)))?;
        if measured.verdict() != verdict {
            return Err(format!("{verdict:?} was expected of {}: {measured:?}", probe.name).into());
        }
    }
    // `__expf` goes wrong with its argument's magnitude.
    let fast = sampled(named("__expf")?)?;
    let at = f32::from_bits(fast.ulp.bits);
    if fast.ulp.error > 20.0 && at.abs() > 20.0 { Ok(()) } else { Err(format!("{fast:?}").into()) }
}

/// The accepted table of an architecture.
fn accepted_table(arch: &str) -> Option<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/probe");
    std::fs::read_to_string(folder.join(format!("{arch}.txt"))).ok()
}

fn the_accepted_tables_name_every_function_and_all_is_as_it_must_be() -> Result<(), Failed> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/probe");
    for entry in std::fs::read_dir(&folder).into_iter().flatten() {
        let path = entry?.path();
        let text = std::fs::read_to_string(&path)?;
        for probe in PROBES {
            let start = format!(" {}  ", probe.name);
            let Some(row) = text.lines().find(|line| line.starts_with(&start)) else {
                return Err(format!("{} has no row of {}", path.display(), probe.name).into());
            };
            let verdict = if probe.control { Verdict::Caught } else { Verdict::Within };
            if !row.ends_with(&format!("  {}", verdict.name())) {
                return Err(format!("{}: {row}", path.display()).into());
            }
        }
        if text.lines().count() != PROBES.len() + 2 {
            return Err(format!("{} has rows that no function has", path.display()).into());
        }
    }
    Ok(())
}

fn the_table_of_every_argument_is_the_accepted_one(accepted: &str) -> Result<(), Failed> {
    let mut device = cuda::open()?;
    let measure = |probe| probe::measure(&mut device, probe, Sweep::All, |_| {});
    let found = PROBES.iter().map(measure).collect::<Result<Vec<_>, _>>()?;
    let found = table(&found.iter().map(Function::new).collect::<Vec<_>>(), false);
    if found == accepted { Ok(()) } else { Err(format!("accept with `probe --out` if it is meant:\n{found}").into()) }
}

fn main() {
    let device = match cli::open(Selection::Cuda) {
        Ok((runner, _)) => Ok(runner.describe().arch),
        Err(error) => Err(error.to_string()),
    };
    let accepted = device.and_then(|arch| accepted_table(&arch).ok_or(format!("no accepted table for {arch}")));
    let name = "cuda::the_table_of_every_argument_is_the_accepted_one";
    let cuda = match accepted {
        Ok(accepted) => Trial::test(name, move || the_table_of_every_argument_is_the_accepted_one(&accepted)),
        Err(reason) => {
            let message = reason.clone();
            Trial::test(name, move || Err(message.into())).with_ignored_flag(true).with_kind(reason)
        }
    };
    let trials = vec![
        Trial::test("vm::a_sample_of_every_function_is_as_it_must_be", a_sample_of_every_function_is_as_it_must_be),
        Trial::test("vm::what_leaves_its_limit_is_seen", what_leaves_its_limit_is_seen),
        Trial::test(
            "the_accepted_tables_name_every_function_and_all_is_as_it_must_be",
            the_accepted_tables_name_every_function_and_all_is_as_it_must_be,
        ),
        cuda,
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
