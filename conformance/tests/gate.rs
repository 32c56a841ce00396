//! The gate end to end: what it says of an edited kernel of each sort, of a baseline that is no baseline, and that a baseline is never
//! half there.
//!
//! `edited/*.ptx` are `gk_gate_mul` with one edit each; the first line of a file says which.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use gdn_conformance::gate::baseline::{self, Baseline};
use gdn_gpu::{contracts, ptx};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};

const KERNEL: &str = "gk_gate_mul";

fn file(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name).to_string_lossy().into_owned()
}

fn command(folder: &Path, args: &[&str]) -> std::process::Command {
    let mut command = std::process::Command::new(cargo_bin("gdn-conformance"));
    command.env("COLUMNS", "200").current_dir(folder);
    command.args(["gate", "--executor", "vm", "--baseline", "baseline", "--kernel", KERNEL]).args(args);
    command
}

/// Exit status, and standard output and error in one text.
fn gate(folder: &Path, args: &[&str]) -> (Option<i32>, String) {
    let output = Command::from_std(command(folder, args)).output().expect("the binary runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(!err.contains("panicked"), "{err}");
    (output.status.code(), format!("status {}\n{out}\n{err}", output.status.code().unwrap_or(-1)))
}

/// A folder with the baseline of the shipped kernel.
fn accepted() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let (status, said) = gate(folder.path(), &["--accept"]);
    assert_eq!(status, Some(0), "{said}");
    folder
}

fn baseline_of(folder: &Path) -> PathBuf {
    folder.join("baseline/vm.toml")
}

macro_rules! assert_golden {
    ($name:expr, $text:expr) => {
        insta::with_settings!({
            snapshot_path => "../../golden/snapshots/gate",
            prepend_module_to_snapshot => false,
            filters => vec![(r"─+", "───"), (r"(?m) +$", ""), (r"/\S*/tests/", "tests/")],
        }, { insta::assert_snapshot!($name, $text) })
    };
}

#[test]
fn what_is_said_of_an_edited_kernel_of_each_sort() {
    let folder = accepted();
    let sorts = [
        ("same_bits", "edited/same_bits.ptx", 0),
        ("other_bits", "edited/other_bits.ptx", 0),
        ("slower", "edited/slower.ptx", 1),
        ("local_memory", "edited/local_memory.ptx", 1),
        ("nonconformant", "broken/fast_exp.ptx", 1),
    ];
    for (sort, path, expected) in sorts {
        let (status, said) = gate(folder.path(), &["--kernels", &file(path)]);
        assert_eq!(status, Some(expected), "{sort}: {said}");
        assert_golden!(sort, said);
    }
}

#[test]
fn the_accepted_kernel_has_not_changed() {
    let folder = accepted();
    let (status, said) = gate(folder.path(), &["--json", "gate.json"]);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("1 kernels: nothing changed against baseline/vm.toml"), "{said}");
    let report = std::fs::read_to_string(folder.path().join("gate.json")).unwrap();
    for section in ["\"records\"", "\"coverage\"", "\"resources\"", "\"limits\""] {
        assert!(report.contains(section), "{section}");
    }
}

#[test]
fn what_is_not_conformant_is_not_accepted() {
    let folder = accepted();
    let before = std::fs::read(baseline_of(folder.path())).unwrap();
    let (status, said) = gate(folder.path(), &["--accept", "--kernels", &file("broken/fast_exp.ptx")]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("not accepted: only what is conformant can be"), "{said}");
    assert_eq!(std::fs::read(baseline_of(folder.path())).unwrap(), before);
}

#[test]
fn an_accepted_change_is_the_baseline_and_old_programs_go() {
    let folder = accepted();
    let edited = file("edited/other_bits.ptx");
    let (status, said) = gate(folder.path(), &["--accept", "--kernels", &edited]);
    assert_eq!(status, Some(0), "{said}");
    let (status, said) = gate(folder.path(), &["--kernels", &edited]);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("nothing changed"), "{said}");
    let programs = std::fs::read_dir(folder.path().join("baseline/ptx")).unwrap().count();
    assert_eq!(programs, 1);
}

#[test]
fn a_baseline_that_is_none_is_an_error_and_never_a_pass() {
    let folder = accepted();
    let path = baseline_of(folder.path());
    let whole = std::fs::read_to_string(&path).unwrap();
    let (body, _) = whole.rsplit_once("# sha256 ").unwrap();
    let sealed = |body: &str| format!("{body}# sha256 {}\n", ptx::hash(body));
    let files = [
        ("missing", None),
        ("half of it", Some(whole[..whole.len() / 2].to_owned())),
        ("edited", Some(whole.replace("\"0\"", "\"1\""))),
        ("of another schema", Some(sealed(&body.replace("schema = 1", "schema = 7")))),
        ("no baseline", Some(sealed("schema = 1\n"))),
        ("without the kernel", Some(sealed(&format!("{}[kernels]\n", body.split("[kernels").next().unwrap())))),
    ];
    let mut said = Vec::new();
    for (what, text) in files {
        match text {
            Some(text) => std::fs::write(&path, text).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
        let (status, words) = gate(folder.path(), &["--no-limits"]);
        assert_eq!(status, Some(2), "{what}: {words}");
        said.push(format!("{what}: {words}"));
    }
    std::fs::write(&path, &whole).unwrap();
    let program = std::fs::read_dir(folder.path().join("baseline/ptx")).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(&program).unwrap();
    std::fs::write(&program, text.replace("ex2.approx.ftz", "ex2.approx")).unwrap();
    let (status, words) = gate(folder.path(), &["--no-limits", "--kernels", &file("edited/other_bits.ptx")]);
    assert_eq!(status, Some(2), "{words}");
    said.push(format!("another program: {words}"));
    assert_golden!("no_baseline", said.join("\n"));
}

/// Kills `gate --accept` again and again, at moments that are dense where the files are written.
#[test]
fn a_killed_accept_leaves_the_old_baseline_or_the_new_one() {
    let folder = accepted();
    let path = baseline_of(folder.path());
    let kernels = [file("edited/other_bits.ptx"), file("edited/same_bits.ptx")];
    let args = |turn: usize| ["--accept", "--kernels", &*kernels[turn % 2]].map(ToOwned::to_owned);
    // What each of the two leaves when it is let be, and how long it takes.
    let mut whole = Vec::new();
    let mut slowest = Duration::ZERO;
    for turn in 0..2 {
        let start = Instant::now();
        let (status, said) = gate(folder.path(), &args(turn).each_ref().map(String::as_str));
        assert_eq!(status, Some(0), "{said}");
        slowest = slowest.max(start.elapsed());
        whole.push(Baseline::read(&path).unwrap());
    }
    assert_ne!(whole[0], whole[1]);
    let mut draws = ChaCha8Rng::seed_from_u64(81);
    let (mut killed, mut changed) = (0, 0);
    let mut before = Baseline::read(&path).unwrap();
    for turn in 0..60 {
        let mut child = command(folder.path(), &args(turn).each_ref().map(String::as_str))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The files are written at the end: most kills fall there.
        let part = if turn % 4 == 0 { draws.random_range(0.0..1.2) } else { draws.random_range(0.8..1.2) };
        std::thread::sleep(slowest.mul_f64(part));
        let ended = child.try_wait().unwrap().is_some();
        child.kill().ok();
        child.wait().unwrap();
        killed += usize::from(!ended);
        let after = Baseline::read(&path).unwrap_or_else(|error| panic!("turn {turn}: {error}"));
        assert!(whole.contains(&after), "turn {turn}: neither the old baseline nor the new one");
        after.program(&path, KERNEL).unwrap_or_else(|error| panic!("turn {turn}: {error}"));
        changed += usize::from(after != before);
        before = after;
    }
    assert!(
        killed > 0 && changed > 0,
        "{killed} of 60 killed in time, {changed} came through: the moments are no good"
    );
}

#[test]
fn the_accepted_baseline_is_of_the_shipped_kernels_and_whole() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/baseline/vm.toml");
    let baseline = Baseline::read(&path).unwrap();
    for contract in contracts::all() {
        let accepted =
            baseline.kernels.get(contract.kernel).unwrap_or_else(|| panic!("{} is missing", contract.kernel));
        let shipped = ptx::accepted(contract.source);
        assert_eq!(
            accepted.program,
            baseline::stem(contract.source.name(), shipped),
            "{}: accept the kernels with `gate --accept`",
            contract.kernel
        );
        assert!(baseline.program(&path, contract.kernel).unwrap().is_some());
    }
}
