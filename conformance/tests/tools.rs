//! The tools beside the suite: compile options that may be turned on, and sanitizers.

use std::path::Path;
use std::sync::OnceLock;

use assert_cmd::Command;
use gdn_conformance::report::Reports;
use gdn_gpu::nvrtc::Nvrtc;
use libtest_mimic::{Arguments, Failed, Trial};

fn gdn(args: &[&str]) -> Result<(Option<i32>, String), Failed> {
    let output = Command::cargo_bin("gdn-conformance")?.args(args).output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(!err.contains("panicked"), "{err}");
    Ok((output.status.code(), out + &err))
}

fn golden(name: &str) -> Result<String, Failed> {
    Ok(std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden").join(name))?)
}

/// The lines of a table about one output: its utilization under each set.
fn utilizations<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    let line = text.lines().find(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ") == start);
    line.map_or_else(Vec::new, |line| line.split_whitespace().skip(2).collect())
}

fn the_accepted_table_of_options_holds() -> Result<(), Failed> {
    let (status, said) = gdn(&["flags", "--executor", "vm", "--kernel", "gk_gate_mul", "--kernel", "gk_gdn_gates"])?;
    if status != Some(0) {
        return Err(said.into());
    }
    let accepted = golden("flags/vm.txt")?;
    for output in ["gk_gate_mul ctx", "gk_gdn_gates beta", "gk_gdn_gates decay"] {
        let (before, after) = (utilizations(&accepted, output), utilizations(&said, output));
        if before.is_empty() || before != after {
            return Err(format!("{output}: {before:?} in golden/flags/vm.txt, now {after:?}").into());
        }
    }
    Ok(())
}

fn a_set_that_leaves_the_bounds_fails_whoever_asks_for_it() -> Result<(), Failed> {
    let args = ["flags", "--executor", "vm", "--kernel", "gk_gate_mul", "--arch", "compute_75"];
    let (status, said) = gdn(&[&args[..], &["--set", "fast-math"]].concat())?;
    if status != Some(1) || !said.contains("--use_fast_math") || !said.contains("is outside of the bounds in") {
        return Err(format!("{status:?} {said}").into());
    }
    let (status, said) = gdn(&[&args[..], &["--set", "no-fmad"]].concat())?;
    if status != Some(0) || said.contains("NO") {
        return Err(format!("{status:?} {said}").into());
    }
    Ok(())
}

fn options_of_what_is_compiled_already_are_refused() -> Result<(), Failed> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/ptx/gdn.ptx");
    let (status, said) = gdn(&["flags", "--executor", "vm", "--kernels", &file.to_string_lossy()])?;
    if status != Some(2) || !said.contains("no compile option changes") {
        return Err(format!("{status:?} {said}").into());
    }
    let (status, said) = gdn(&["flags", "--executor", "vm", "--set", "fast_math"])?;
    if status != Some(2) || !said.contains("did you mean `fast-math`?") {
        return Err(format!("{status:?} {said}").into());
    }
    Ok(())
}

fn findings_are_told_by_the_tool_that_looks_for_them() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let json = folder.path().join("report.json");
    for (tool, file, from, to) in [
        // Without its barriers a block reads shared memory while its other warps write it.
        ("racecheck", "ptx/gdn.ptx", "bar.sync \t0;", ""),
        // With guards one too wide a thread goes on behind the end.
        ("memcheck", "ptx/qwen38.ptx", "setp.ge.s32", "setp.gt.s32"),
    ] {
        let shipped = golden(file)?;
        let broken = folder.path().join("broken.ptx");
        std::fs::write(&broken, shipped.replace(from, to))?;
        let broken = broken.to_string_lossy().into_owned();
        let args = ["sanitize", "--executor", "vm", "--kernels", &broken, "--json", &json.to_string_lossy()];
        let (status, said) = gdn(&args)?;
        let reports = Reports::read(&json)?;
        let own = reports.reports[0].sanitized.iter().find(|sanitized| sanitized.tool == tool);
        let found = own.map_or(0, |sanitized| sanitized.findings.len());
        if status != Some(1) || found == 0 || !said.contains(&format!("FAILED: {tool}: ")) {
            return Err(format!("{tool}: {status:?} {said}").into());
        }
    }
    Ok(())
}

fn the_shipped_kernels_are_clean() -> Result<(), Failed> {
    let (status, said) = gdn(&["sanitize", "--executor", "vm"])?;
    if status != Some(0) || !said.contains("4 tools, 0 findings") {
        return Err(format!("{status:?} {said}").into());
    }
    Ok(())
}

fn main() {
    static COMPILER: OnceLock<Option<String>> = OnceLock::new();
    let absent = COMPILER.get_or_init(|| Nvrtc::find().err().map(|error| error.to_string()));
    let compiled = |name: &str, test: fn() -> Result<(), Failed>| match absent {
        None => Trial::test(name, test),
        Some(reason) => Trial::test(name, || Ok(())).with_ignored_flag(true).with_kind(reason.clone()),
    };
    let trials = vec![
        compiled("the_accepted_table_of_options_holds", the_accepted_table_of_options_holds),
        compiled(
            "a_set_that_leaves_the_bounds_fails_whoever_asks_for_it",
            a_set_that_leaves_the_bounds_fails_whoever_asks_for_it,
        ),
        Trial::test("options_of_what_is_compiled_already_are_refused", options_of_what_is_compiled_already_are_refused),
        Trial::test(
            "findings_are_told_by_the_tool_that_looks_for_them",
            findings_are_told_by_the_tool_that_looks_for_them,
        ),
        Trial::test("the_shipped_kernels_are_clean", the_shipped_kernels_are_clean),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
