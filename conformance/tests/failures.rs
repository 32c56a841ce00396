//! Known-wrong kernels, end to end: what a user sees of each failure, and that its capsule gives the same verdict wherever it is
//! replayed.
//!
//! `broken/*.ptx` are the shipped kernels with one edit each; the first line of a file says which.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};

/// A broken kernel for each pattern, and a case that shows it.
const BROKEN: &[(&str, &str)] = &[
    ("unscaled", "gdn_step(d=48,hk=2,hv=6,tokens=2,regime=warm,scale=2^0,seed=0x51)"),
    ("beta_twice", "gdn_step(d=32,hk=2,hv=4,tokens=1,regime=warm,scale=2^0,seed=0x51)"),
    ("one_head", "gdn_step(d=33,hk=2,hv=6,tokens=1,regime=fast,scale=2^0,seed=0x51)"),
    ("interleaved", "gdn_step(d=16,hk=2,hv=6,tokens=1,regime=warm,scale=2^0,seed=0x51)"),
    ("swapped_heads", "gdn_step(d=32,hk=2,hv=4,tokens=1,regime=warm,scale=2^0,seed=0x51)"),
    ("one_row", "gdn_step(d=16,hk=2,hv=4,tokens=1,regime=warm,scale=2^0,seed=0x51)"),
    ("one_lane", "gdn_step(d=80,hk=1,hv=2,tokens=1,regime=fast,scale=2^0,seed=0x51)"),
    ("one_lane_decay", "gdn_step(d=80,hk=1,hv=2,tokens=1,regime=fast,scale=2^0,seed=0x51)"),
    ("bf16_state", "gdn_step(d=32,hk=2,hv=4,tokens=3,regime=warm,scale=2^0,seed=0x51)"),
    ("copied_input", "gdn_step(d=32,hk=2,hv=4,tokens=1,regime=warm,scale=2^0,seed=0x51)"),
    ("tail", "gk_l2norm_heads(d=80,h=3,regime=gaussian,scale=2^0,seed=0x51)"),
    ("zero_head", "gk_l2norm_heads(d=80,h=3,regime=gaussian,scale=2^0,seed=0x51)"),
    ("first_block", "gk_gate_mul(n=600,regime=gaussian,scale=2^0,seed=0x51)"),
    ("past_the_end", "gk_gate_mul(n=257,regime=gaussian,scale=2^0,seed=0x51)"),
    ("fast_exp", "gk_gate_mul(n=600,regime=gaussian,scale=2^4,seed=0x51)"),
    ("growing", "gk_gate_mul(n=600,regime=gaussian,scale=2^0,seed=0x51)"),
    ("eps_outside", "gdn_gate_norm(d=64,hv=9,regime=ladder,scale=2^0,seed=0x51)"),
    ("offset", "gdn_gate_norm(d=64,hv=3,regime=gaussian,scale=2^0,seed=0x51)"),
    ("sign", "gdn_gate_norm(d=64,hv=3,regime=gaussian,scale=2^0,seed=0x51)"),
    ("truncated_codes", "gdn_gate_norm_q(d=64,hv=3,regime=gaussian,scale=2^0,seed=0x51)"),
    ("overflow", "gk_gdn_gates(hv=129,regime=edges,scale=2^0,seed=0x51)"),
    ("shifted", "gk_gdn_gates(hv=33,regime=gaussian,scale=2^0,seed=0x51)"),
    ("float_angle", "gk_qk_norm_rope_part(h=2,hd=64,rot=64,pos=131071,stride=128,regime=gaussian,scale=2^0,seed=0x51)"),
    ("unshifted_ring", "gk_conv_silu(c=33,t=4,tokens=9,regime=edges,scale=2^0,seed=0x51)"),
];

/// Of this one the machine says what it did, and there is nothing to compare.
const FAULT: &str = "past_the_end";

fn broken(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken").join(format!("{name}.ptx"));
    path.to_string_lossy().into_owned()
}

/// Exit status, and standard output and error in one text.
fn run(args: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::cargo_bin("gdn-conformance").expect("the binary is built with its tests");
    let output = command.args(args).output().expect("the binary runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(!err.contains("panicked"), "{err}");
    (output.status.code(), format!("{out}\n{err}"))
}

/// Checks a broken kernel and returns what was said, and its one capsule.
fn check(name: &str, case: &str, executor: &str, folder: &Path) -> (String, PathBuf) {
    let capsules = folder.to_string_lossy();
    let (status, said) =
        run(&["check", "--executor", executor, "--kernels", &broken(name), "--case", case, "--capsules", &capsules]);
    assert_eq!(status, Some(1), "{name}: {said}");
    let files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{name}: {files:?}");
    (said, files[0].clone())
}

macro_rules! assert_golden {
    ($folder:literal, $name:expr, $text:expr) => {
        insta::with_settings!({
            snapshot_path => concat!("../../golden/snapshots", $folder),
            prepend_module_to_snapshot => false,
            filters => vec![
                (r"/\S*/tests/broken/", "tests/broken/"),
                (r"/\S*/tmp\S*/|/tmp/\.tmp\w+", "[temporary]/"),
                (r"\[temporary\]//?", "[temporary]/"),
                // The oracle's own last digits are the machine's libm.
                (r"(oracle -?\d\.\d{5})\d+e", "${1}…e"),
                (r"\b(\d{6})\d+\.\d{3}\b", "${1}…"),
                (r"─+", "───"),
            ],
        }, { insta::assert_snapshot!($name, $text) })
    };
}

#[test]
fn each_pattern_of_failure_is_named_and_its_capsule_gives_the_same_verdict() {
    for (name, case) in BROKEN {
        let folder = tempfile::tempdir().unwrap();
        let (said, capsule) = check(name, case, "vm", folder.path());
        assert_golden!("/failures", *name, said);
        let capsule = capsule.to_string_lossy();
        let (status, again) = run(&["replay", &capsule, "--executor", "vm"]);
        assert_eq!(status, Some(1), "{name}: {again}");
        assert!(again.contains("the same verdict as recorded"), "{name}: {again}");
        assert!(*name == FAULT || again.contains("the outputs are bit for bit as recorded"), "{name}: {again}");
        let (status, unrun) = run(&["replay", &capsule, "--executor", "none"]);
        assert_eq!(status, Some(1), "{name}: {unrun}");
        assert!(unrun.contains("the same verdict as recorded; nothing was run"), "{name}: {unrun}");
        // What is said of the failure is the same, run or not.
        let judged = |text: &str| {
            let lines = text.lines().filter(|line| line.starts_with("    ") || line.starts_with("  FAILED"));
            lines.map(ToOwned::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(judged(&again), judged(&unrun), "{name}");
    }
}

#[test]
fn a_capsule_of_either_executor_gives_the_same_verdict_on_the_other() {
    if gdn_gpu::cuda::open().is_err() {
        return;
    }
    for (name, case) in BROKEN {
        for (writer, player) in [("cuda", "vm"), ("vm", "cuda"), ("cuda", "none"), ("cuda", "cuda")] {
            let folder = tempfile::tempdir().unwrap();
            let (_, capsule) = check(name, case, writer, folder.path());
            let (status, said) = run(&["replay", &capsule.to_string_lossy(), "--executor", player]);
            assert_eq!(status, Some(1), "{name}, {writer} to {player}: {said}");
            assert!(said.contains("the same verdict as recorded"), "{name}, {writer} to {player}: {said}");
        }
    }
}

/// Capsules that an H200 wrote.
#[test]
fn capsules_of_a_device_give_the_same_verdict_without_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/capsules");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "safetensors"));
    assert!(!files.is_empty());
    for file in files {
        for player in ["vm", "none"] {
            let (status, said) = run(&["replay", &file.to_string_lossy(), "--executor", player]);
            assert_eq!(status, Some(1), "{}: {said}", file.display());
            assert!(said.contains("recorded: cuda — NVIDIA"), "{}: {said}", file.display());
            assert!(said.contains("the same verdict as recorded"), "{}: {said}", file.display());
        }
    }
}

/// The machine stops at an access out of bounds that a device finds beside the buffer afterwards: the same verdict by other words.
#[test]
fn what_one_executor_stops_at_and_another_finds_afterwards_is_one_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let (name, case) = BROKEN[13];
    assert_eq!(name, FAULT);
    let (_, capsule) = check(name, case, "vm", folder.path());
    let whole = std::fs::read(&capsule).unwrap();
    let found = r#"[{"output":"ctx:memory","disposition":"failed","utilization":null,"index":0,"elements":0,"detail":"beside it"}]"#;
    std::fs::write(&capsule, spoilt(&whole, &[("verdicts", found)], |_, view| Some(view.data().to_vec()))).unwrap();
    let (status, said) = run(&["replay", &capsule.to_string_lossy(), "--executor", "vm"]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("the same verdict as recorded, found by launch, recorded by ctx:memory"), "{said}");
}

#[test]
fn replay_says_what_is_as_recorded_and_what_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let (name, case) = BROKEN[0];
    let (_, capsule) = check(name, case, "vm", folder.path());
    let capsule = capsule.to_string_lossy();
    let (_, same) = run(&["replay", &capsule, "--executor", "vm"]);
    let (_, unrun) = run(&["replay", &capsule, "--executor", "none"]);
    // The same inputs with another broken kernel, and with the shipped one.
    let (status, other) = run(&["replay", &capsule, "--executor", "vm", "--kernels", &broken("beta_twice")]);
    assert_eq!(status, Some(1), "{other}");
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/ptx/gdn.ptx");
    let (status, mended) = run(&["replay", &capsule, "--executor", "vm", "--kernels", &shipped.to_string_lossy()]);
    assert_eq!(status, Some(0), "{mended}");
    assert!(mended.contains("NOT the verdict that was recorded: o: passed, recorded FAILED"), "{mended}");
    assert_golden!("", "replayed_capsule", [same, unrun, other, mended].join("\n\n"));
}

#[test]
fn many_failures_are_explained_three_times_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let capsules = folder.path().join("deep/capsules");
    let args = ["check", "--executor", "vm", "--kernels", &broken("growing"), "--kernel", "gk_gate_mul"];
    let (status, said) = run(&[&args[..], &["--capsules", &capsules.to_string_lossy()]].concat());
    assert_eq!(status, Some(1), "{said}");
    assert_eq!(said.lines().filter(|line| line.starts_with("FAILED: ")).count(), 3, "{said}");
    assert!(said.contains("more cases of gk_gate_mul ctx; --json has them all"), "{said}");
    assert_eq!(std::fs::read_dir(&capsules).unwrap().count(), 8, "{said}");
    assert!(said.contains("8 capsules in "), "{said}");
    assert_golden!("", "many_failures", said);
}

#[test]
fn a_folder_that_cannot_be_written_does_not_take_the_verdict_away() {
    let (name, case) = BROKEN[11];
    let (status, said) =
        run(&["check", "--executor", "vm", "--kernels", &broken(name), "--case", case, "--capsules", "/proc/no/such"]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("no capsules: /proc/no/such: the folder cannot be made"), "{said}");
}

/// A capsule written again with other metadata, or without a tensor.
fn spoilt(
    bytes: &[u8],
    metadata: &[(&str, &str)],
    tensor: impl Fn(&str, TensorView<'_>) -> Option<Vec<u8>>,
) -> Vec<u8> {
    let (_, header) = SafeTensors::read_metadata(bytes).unwrap();
    let mut all: HashMap<String, String> = header.metadata().clone().unwrap();
    for (key, value) in metadata {
        all.insert((*key).to_owned(), (*value).to_owned());
    }
    all.retain(|_, value| !value.is_empty());
    let whole = SafeTensors::deserialize(bytes).unwrap();
    let kept: Vec<(String, Dtype, Vec<usize>, Vec<u8>)> = whole
        .iter()
        .filter_map(|(name, view)| {
            let shape = view.shape().to_vec();
            let dtype = view.dtype();
            let data = tensor(name, view)?;
            let shape = if shape.len() == 1 { vec![data.len() * 8 / dtype.bitsize()] } else { shape };
            Some((name.to_owned(), dtype, shape, data))
        })
        .collect();
    let views = kept.iter().map(|(name, dtype, shape, data)| {
        (name, TensorView::new(*dtype, shape.clone(), data).expect("the sizes are as they were"))
    });
    safetensors::serialize(views, Some(all)).unwrap()
}

#[test]
fn capsules_that_are_not_whole_are_refused_with_one_message() {
    let folder = tempfile::tempdir().unwrap();
    let (name, case) = BROKEN[20];
    let (_, capsule) = check(name, case, "vm", folder.path());
    let whole = std::fs::read(&capsule).unwrap();
    let all = |_: &str, view: TensorView<'_>| Some(view.data().to_vec());
    let without =
        |missing: &'static str| move |name: &str, view: TensorView<'_>| (name != missing).then(|| view.data().to_vec());
    let short = |which: &'static str| {
        move |name: &str, view: TensorView<'_>| {
            Some(view.data()[..view.data().len() - if name == which { 8 } else { 0 }].to_vec())
        }
    };
    let edited = |name: &str, view: TensorView<'_>| {
        let mut data = view.data().to_vec();
        if name == "program" {
            data[0] = b'#';
        }
        Some(data)
    };
    let positive = |name: &str, view: TensorView<'_>| {
        let mut data = view.data().to_vec();
        if name == "in.rate" {
            data[..4].copy_from_slice(&1f32.to_le_bytes());
        }
        Some(data)
    };
    let files: &[(&str, Vec<u8>)] = &[
        ("truncated", whole[..whole.len() - 5].to_vec()),
        ("schema", spoilt(&whole, &[("schema", "7"), ("suite_version", "9.1.0")], all)),
        ("no_case", spoilt(&whole, &[("case", "")], all)),
        ("kernel", spoilt(&whole, &[("case", "gdn_stepp(d=8,hk=1,hv=1,regime=warm,scale=2^0,seed=0x1)")], all)),
        ("another_case", spoilt(&whole, &[("case", "gk_gdn_gates(hv=130,regime=edges,scale=2^0,seed=0x51)")], all)),
        ("outside", spoilt(&whole, &[("case", "gk_gdn_gates(hv=0,regime=edges,scale=2^0,seed=0x51)")], all)),
        ("huge", spoilt(&whole, &[("case", "gk_gdn_gates(hv=2147483647,regime=edges,scale=2^0,seed=0x51)")], all)),
        ("token", spoilt(&whole, &[("token", "3")], all)),
        ("no_token", spoilt(&whole, &[("token", "first")], all)),
        ("verdicts", spoilt(&whole, &[("verdicts", "failed")], all)),
        ("no_verdicts", spoilt(&whole, &[("verdicts", "[]")], all)),
        ("no_input", spoilt(&whole, &[], without("in.rate"))),
        ("no_output", spoilt(&whole, &[], without("out.decay"))),
        ("short_input", spoilt(&whole, &[], short("in.rate"))),
        ("values", spoilt(&whole, &[], positive)),
        ("program", spoilt(&whole, &[], edited)),
        ("program_kind", spoilt(&whole, &[("program_kind", "sass")], all)),
    ];
    let mut text = String::new();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        for player in ["vm", "none"] {
            let (status, said) = run(&["replay", &path.to_string_lossy(), "--executor", player]);
            assert_eq!(status, Some(2), "{name}: {said}");
            let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("error: ")).collect();
            assert_eq!(errors.len(), 1, "{name}: {said}");
            if player == "none" {
                text.extend([errors[0], "\n"]);
            }
        }
    }
    // Without its program there is nothing to run, but the outputs can still be judged.
    let bare = spoilt(&whole, &[("source_sha256", ""), ("ptx_sha256", ""), ("program_kind", "")], without("program"));
    let path = folder.path().join("bare");
    std::fs::write(&path, bare).unwrap();
    let (status, said) = run(&["replay", &path.to_string_lossy(), "--executor", "vm"]);
    assert_eq!(status, Some(2), "{said}");
    text.extend([said.lines().last().unwrap_or_default(), "\n"]);
    let (status, said) = run(&["replay", &path.to_string_lossy(), "--executor", "none"]);
    assert_eq!(status, Some(1), "{said}");
    assert_golden!("", "broken_capsules", text);
}
