//! Parts of a run put together are the run, and a part that is missing is an error; pipelines and signals are served.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use gdn_conformance::report;
use libtest_mimic::{Arguments, Failed, Trial};

fn gdn(folder: &Path, args: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::cargo_bin("gdn-conformance").expect("the binary is built with its tests");
    let output = command.current_dir(folder).args(args).output().expect("the binary runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(!err.contains("panicked"), "{err}");
    (output.status.code(), format!("{out}\n{err}"))
}

fn read(path: &Path) -> Result<String, Failed> {
    Ok(std::fs::read_to_string(path)?)
}

/// Runs what each command makes in parts, whole and in `count` parts, and compares the files.
fn parts_are_the_whole(args: &[&str], count: u32) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let at = folder.path();
    let (status, said) = gdn(at, &[args, &["--executor", "vm", "--json", "whole.json"]].concat());
    if status != Some(0) {
        return Err(said.into());
    }
    let mut files: Vec<String> = Vec::new();
    for index in 1..=count {
        let (part, file) = (format!("{index}/{count}"), format!("{index}.json"));
        let (status, said) = gdn(at, &[args, &["--executor", "vm", "--partition", &part, "--json", &file]].concat());
        if status != Some(0) {
            return Err(said.into());
        }
        files.push(file);
    }
    let sizes = files.iter().map(|file| Ok(read(&at.join(file))?.len())).collect::<Result<Vec<_>, Failed>>()?;
    if sizes.iter().filter(|&&size| size > 1000).count() < 2 {
        return Err(format!("the run is too small to be parted: {sizes:?}").into());
    }
    // In any order.
    files.reverse();
    let words: Vec<&str> = files.iter().map(String::as_str).collect();
    let (status, said) = gdn(at, &[&["report"], &*words, &["--json", "merged.json"]].concat());
    if status != Some(0) || !said.contains("1 reports, 0 problems: passed") {
        return Err(said.into());
    }
    if read(&at.join("merged.json"))? != read(&at.join("whole.json"))? {
        return Err("the parts together are not the whole".into());
    }
    // One of them missing, or of another run.
    let (status, said) = gdn(at, &[&["report"], &words[1..], &["--json", "less.json"]].concat());
    if status != Some(2) || !said.contains(&format!("part {count}/{count} is missing")) || at.join("less.json").exists()
    {
        return Err(format!("{status:?} {said}").into());
    }
    Ok(())
}

fn parts_of_different_runs_make_no_whole() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let at = folder.path();
    for (part, seed, file) in [("1/2", "1", "a.json"), ("2/2", "2", "b.json"), ("1/3", "1", "c.json")] {
        let args = ["check", "--executor", "vm", "--kernel", "gk_gate_mul", "--partition", part, "--seed", seed];
        gdn(at, &[&args[..], &["--json", file]].concat());
    }
    for (files, expected) in [(["a.json", "b.json"], "is missing"), (["a.json", "c.json"], "of different runs")] {
        let (status, said) = gdn(at, &[&["report"], &files[..]].concat());
        if status != Some(2) || !said.contains(expected) {
            return Err(format!("{files:?}: {status:?} {said}").into());
        }
    }
    Ok(())
}

fn a_process_for_each_part_gives_the_whole() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let at = folder.path();
    let args = ["check", "--executor", "vm", "--kernel", "gk_gate_mul", "--kernel", "gk_gdn_gates"];
    gdn(at, &[&args[..], &["--json", "whole.json"]].concat());
    let (status, said) = gdn(at, &[&args[..], &["--processes", "2", "--json", "parts.json"]].concat());
    if status != Some(0) || read(&at.join("whole.json"))? != read(&at.join("parts.json"))? {
        return Err(said.into());
    }
    Ok(())
}

fn a_failing_report_is_told_to_pipelines() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let at = folder.path();
    let broken = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken/fast_exp.ptx");
    let broken = broken.to_string_lossy();
    let args = ["check", "--executor", "vm", "--kernels", &broken, "--regime", "edges", "--quiet"];
    let outputs = ["--json", "r.json", "--junit", "r.xml", "--annotations", "github"];
    let (status, said) = gdn(at, &[&args[..], &outputs].concat());
    let annotation = said.lines().find(|line| line.starts_with("::error file=")).ok_or("no annotation")?;
    if status != Some(1)
        || said.contains("─")
        || !annotation.contains("fast_exp.ptx,line=")
        || annotation.contains('\n')
    {
        return Err(said.into());
    }
    let xml = read(&at.join("r.xml"))?;
    for word in ["<testsuites", "gk_gate_mul", "<failure", "pattern: "] {
        if !xml.contains(word) {
            return Err(format!("{word} is not in {xml}").into());
        }
    }
    let (status, said) = gdn(at, &["report", "r.json"]);
    if status != Some(1) || !said.contains("FAILED") {
        return Err(format!("{status:?} {said}").into());
    }
    Ok(())
}

fn files_that_are_no_reports_are_refused() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let at = folder.path();
    for (text, expected) in [
        ("", "is no JSON"),
        ("{}", "has no `schema`"),
        ("{\"schema\": 1, \"reports\": []}", "is of schema 1"),
        ("{\"schema\": 2, \"reports\": [{}]}", "is no file of reports"),
        ("{\"schema\": 2, \"reports\": []}", "FAILED"),
    ] {
        std::fs::write(at.join("r.json"), text)?;
        let (status, said) = gdn(at, &["report", "r.json"]);
        if status == Some(0) || !said.contains(expected) {
            return Err(format!("{text}: {status:?} {said}").into());
        }
    }
    Ok(())
}

/// Interrupts a run at many moments: what it writes is whole or not there, and nothing temporary is left.
fn an_interrupt_leaves_files_whole() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let at = folder.path();
    let mut interrupted = 0;
    for turn in 0..24_u32 {
        let mut child = std::process::Command::new(cargo_bin("gdn-conformance"))
            .current_dir(at)
            .args(["check", "--executor", "vm", "--kernel", "gk_gate_mul", "--json", "r.json"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        std::thread::sleep(Duration::from_millis(u64::from(30 + 15 * turn)));
        // By way of the shell, which has it built in: a small machine has no program of that name.
        std::process::Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status()?;
        let status = child.wait()?;
        match status.code() {
            Some(0) => {}
            Some(130) => interrupted += 1,
            other => return Err(format!("turn {turn}: it ended with {other:?}").into()),
        }
        for entry in std::fs::read_dir(at)? {
            let path = entry?.path();
            if path.file_name().is_none_or(|name| name != "r.json") {
                return Err(format!("turn {turn}: {} was left", path.display()).into());
            }
            report::Reports::read(&path).map_err(|error| format!("turn {turn}: {error}"))?;
            std::fs::remove_file(path)?;
        }
    }
    if interrupted == 0 { Err("no run was interrupted in time".into()) } else { Ok(()) }
}

fn colours_are_for_terminals_and_for_those_who_ask() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let args = ["check", "--executor", "vm", "--kernel", "gk_gate_mul", "--regime", "zeros"];
    for (more, coloured) in [(&[][..], false), (&["--color", "always"], true), (&["--color", "never"], false)] {
        let (_, said) = gdn(folder.path(), &[&args[..], more].concat());
        if said.contains('\u{1b}') != coloured {
            return Err(format!("{more:?}: {said}").into());
        }
    }
    let (_, said) = gdn(folder.path(), &[&args[..], &["--quiet"]].concat());
    if said.trim().lines().count() != 1 {
        return Err(said.into());
    }
    let (status, said) = gdn(folder.path(), &["completions", "bash"]);
    if status != Some(0) || !said.contains("complete -F") {
        return Err(said.into());
    }
    Ok(())
}

fn main() {
    let trials = vec![
        Trial::test("two_parts_of_a_profile_are_the_whole", || {
            parts_are_the_whole(&["check", "--kernel", "gk_gdn_gates", "--kernel", "gk_qk_norm_rope_part"], 2)
        }),
        Trial::test("three_parts_of_the_smoke_profile_are_the_whole", || {
            parts_are_the_whole(&["check", "--profile", "smoke"], 3)
        }),
        Trial::test("parts_of_chains_are_the_whole", || parts_are_the_whole(&["chain", "--tokens", "32"], 2)),
        Trial::test("parts_of_detection_limits_are_the_whole", || {
            parts_are_the_whole(&["detect", "--kernel", "gk_gate_mul", "--kernel", "gk_gdn_gates"], 2)
        }),
        Trial::test("parts_of_different_runs_make_no_whole", parts_of_different_runs_make_no_whole),
        Trial::test("a_process_for_each_part_gives_the_whole", a_process_for_each_part_gives_the_whole),
        Trial::test("a_failing_report_is_told_to_pipelines", a_failing_report_is_told_to_pipelines),
        Trial::test("files_that_are_no_reports_are_refused", files_that_are_no_reports_are_refused),
        Trial::test("an_interrupt_leaves_files_whole", an_interrupt_leaves_files_whole),
        Trial::test("colours_are_for_terminals_and_for_those_who_ask", colours_are_for_terminals_and_for_those_who_ask),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
