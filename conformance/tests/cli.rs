//! The command end to end: what it prints, what it exits with, what it leaves behind.

use std::path::Path;

use assert_cmd::Command;
use safetensors::tensor::{Dtype, TensorView};

fn command() -> Command {
    let mut command = Command::cargo_bin("gdn-conformance").expect("the binary is built with its tests");
    command.env("COLUMNS", "100");
    // No device, whatever the machine has: these tests are about the words.
    command.env("CUDA_VISIBLE_DEVICES", "");
    command
}

fn vector(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/vectors").join(name).to_string_lossy().into_owned()
}

/// Exit status, standard output and standard error in one text, without what differs from machine to machine.
fn transcript(args: &[&str]) -> (Option<i32>, String) {
    let output = command().args(args).output().expect("the binary runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(!err.contains("panicked"), "{err}");
    (output.status.code(), format!("status {}\n{out}\n{err}", output.status.code().unwrap_or(-1)))
}

macro_rules! assert_golden {
    ($name:literal, $text:expr) => {
        insta::with_settings!({
            snapshot_path => "../../golden/snapshots",
            prepend_module_to_snapshot => false,
            filters => vec![
                (r"/\S*/golden/vectors/", "golden/vectors/"),
                (r"/\S*/tmp\S*/|/tmp/\S*/", "[temporary]/"),
                (r" +\d+\.\d{3}(?: +\d+\.\d{3})", " [numbers]"),
                (r"─+", "───"),
                (r"NVRTC was not found \(.*?\)", "NVRTC was not found ([where])"),
                (r"the CUDA driver found no device \(.*?\)|no CUDA driver was found \(.*?\)", "[no driver or device]"),
                (r"(?s)\[no driver or device\]; [^\n]*", "[no driver or device]; [remedy]"),
            ],
        }, { insta::assert_snapshot!($name, $text) })
    };
}

#[test]
fn help_has_examples_and_exit_statuses() {
    let help = ["--help", "check --help", "replay --help", "probe --help"]
        .map(|line| transcript(&line.split(' ').collect::<Vec<_>>()).1);
    assert_golden!("help", help.join("\n\n"));
}

#[test]
fn list_shows_kernels_contracts_and_regimes() {
    assert_golden!("list", transcript(&["list"]).1);
}

#[test]
fn every_bad_input_has_one_message_and_status_two() {
    let lines: &[&[&str]] = &[
        &["check", "--case", "gdn_step(d=0,hk=1,hv=1,regime=warm,scale=2^0,seed=0x1)"],
        &["check", "--case", "gdn_step(d=257,hk=1,hv=1,regime=warm,scale=2^0,seed=0x1)"],
        &["check", "--case", "gdn_gate_norm_q(d=48,hv=2,regime=ties,scale=2^0,seed=0x1)"],
        &["check", "--case", "gdn_gate_norm_hl(d=48,hv=2,regime=ties,scale=2^0,seed=0x1)"],
        &["check", "--case", "gdn_step(d=8,hk=2,hv=3,regime=warm,scale=2^0,seed=0x1)"],
        &[
            "check",
            "--case",
            "gk_qk_norm_rope_part(h=1,hd=64,rot=3,pos=1,stride=64,regime=gaussian,scale=2^0,seed=0x1)",
        ],
        &[
            "check",
            "--case",
            "gk_qk_norm_rope_part(h=1,hd=64,rot=66,pos=1,stride=64,regime=gaussian,scale=2^0,seed=0x1)",
        ],
        &["check", "--case", "gk_conv_silu_l2(d=16,c=64,t=4,nl2=5,regime=gaussian,scale=2^0,seed=0x1)"],
        &[
            "check",
            "--case",
            "gk_qk_norm_rope_part(h=1,hd=64,rot=64,pos=-1,stride=64,regime=gaussian,scale=2^0,seed=0x1)",
        ],
        &[
            "check",
            "--case",
            "gk_qk_norm_rope_part(h=2,hd=64,rot=64,pos=1,stride=127,regime=gaussian,scale=2^0,seed=0x1)",
        ],
        &["check", "--case", "gk_l2norm_heads(d=16,h=2,eps=0,regime=gaussian,scale=2^0,seed=0x1)"],
        &["check", "--case", "gdn_step(d=99999999999999999999,hk=1,hv=1,regime=warm,scale=2^0,seed=0x1)"],
        &["check", "--case", "gdn_step(d=128,hk=1)"],
        &["check", "--case", "gdn_step(d=128,hk=1,hv=1,rgime=warm)"],
        &["check", "--case", "gdn_step(d=128,hk=1,hv=1,regime=wram)"],
        &["check", "--case", "gdn_step d=128"],
        &["check", "--case", "gdn_step(d=128,d=64,hk=1,hv=1)"],
        &["check", "--case", "gdn_step(d=128,hk=1,hv=1,scale=7)"],
        &["check", "--case", "gdn_stp(d=128,hk=1,hv=1)"],
        &["check", "--kernel", "gdn_setp"],
        &["check", "--regime", "gausian"],
        &["check", "--kernel", "gdn_step", "--regime", "ties"],
        &["check", "--executor", "cuda"],
        &["check", "--kernel", "gk_gate_mul", "--json", "/no/such/folder/report.json"],
        &["replay", "/no/such/file.safetensors"],
        &["probe", "--function", "expff"],
        &["probe", "--executor", "cuda"],
        &["probe", "--executor", "vm", "--out", "probe.txt"],
        &["probe", "--arguments", "0"],
    ];
    let mut text = String::new();
    for args in lines {
        let (status, transcript) = transcript(args);
        assert_eq!(status, Some(2), "{args:?}\n{transcript}");
        let message = transcript.lines().filter(|line| line.starts_with("error: ")).collect::<Vec<_>>();
        assert_eq!(message.len(), 1, "{args:?}\n{transcript}");
        text.extend(["$ ", &args.join(" "), "\n", message[0], "\n"]);
    }
    assert_golden!("errors", text);
}

/// A small attention recording, to spoil.
fn recording(dtype: Dtype, without: &str) -> Vec<u8> {
    let zeros = [0u8; 64];
    let bytes = |elements: usize, width: usize| &zeros[..elements * width];
    let wide = if dtype == Dtype::F32 { 4 } else { 2 };
    let tensors = [
        ("in.x", dtype, vec![1, 1, 4], bytes(4, wide)),
        ("in.norm_weight", Dtype::F32, vec![4], bytes(4, 4)),
        ("in.positions", Dtype::I32, vec![1], bytes(1, 4)),
        ("in.ctx", Dtype::F32, vec![1, 4], bytes(4, 4)),
        ("in.gate", Dtype::F32, vec![1, 4], bytes(4, 4)),
    ];
    let views = tensors
        .into_iter()
        .filter(|(name, ..)| *name != without)
        .map(|(name, dtype, shape, data)| (name, TensorView::new(dtype, shape, data).expect("sizes fit")));
    let metadata = [
        ("kind", "gated_attention"),
        ("heads", "1"),
        ("head_dim", "4"),
        ("rot", "2"),
        ("rope_base", "1e4"),
        ("eps", "1e-6"),
    ];
    let metadata = metadata.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    safetensors::serialize(views, Some(metadata)).expect("it serializes")
}

#[test]
fn broken_recordings_are_named_with_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let whole = recording(Dtype::F32, "");
    let files = [
        ("truncated", whole[..whole.len() - 9].to_vec()),
        ("no_header", whole[..4].to_vec()),
        ("missing_tensor", recording(Dtype::F32, "in.norm_weight")),
        ("wrong_dtype", recording(Dtype::F16, "")),
        ("not_safetensors", b"hello, this is no tensor file at all".to_vec()),
    ];
    let mut text = String::new();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let (status, transcript) = transcript(&["replay", &path.to_string_lossy()]);
        assert_eq!(status, Some(2), "{transcript}");
        text.extend([transcript.lines().last().unwrap_or_default(), "\n"]);
    }
    let (status, sound) = {
        let path = folder.path().join("whole");
        std::fs::write(&path, whole).unwrap();
        transcript(&["replay", &path.to_string_lossy()])
    };
    assert_eq!(status, Some(0), "{sound}");
    assert_golden!("broken_recordings", text);
}

#[test]
fn a_report_that_cannot_be_written_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let (status, _) = transcript(&["check", "--kernel", "gk_gate_mul", "--json", &path.to_string_lossy()]);
    assert_eq!(status, Some(0));
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(report["schema"], 2);
    let report = &report["reports"][0];
    for key in ["case", "kernel", "output", "disposition", "utilization", "ulp", "index", "regime"] {
        assert!(report["records"][0].get(key).is_some(), "{key}");
    }
    for key in ["command", "selection", "version", "executor", "device", "versions", "not_run"] {
        assert!(report["header"].get(key).is_some(), "{key}");
    }
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "a temporary file was left: {left:?}");
}

#[test]
fn without_a_device_check_says_that_nothing_ran_on_a_gpu() {
    let (status, text) = transcript(&["check", "--kernel", "gk_gate_mul", "--regime", "gaussian"]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("executor: vm") && text.contains("not run: the kernels on a GPU"), "{text}");
    assert!(!text.contains("executor: cuda"), "{text}");
    assert_golden!("check_without_a_device", text);
}

/// A gate that is never applied: the entry point returns at once.
const IDLE_GATE: &str = ".version 8.0\n.target sm_75\n.address_size 64\n\
    .visible .entry gk_gate_mul(.param .u64 ctx, .param .u64 g, .param .u32 n)\n{\n ret;\n}\n\
    .visible .entry something_else()\n{\n ret;\n}\n";

#[test]
fn a_kernel_that_does_nothing_fails_and_the_rest_of_the_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("idle.ptx");
    std::fs::write(&path, IDLE_GATE).unwrap();
    let capsules = folder.path().join("capsules");
    let args = ["check", "--kernels", &path.to_string_lossy(), "--regime", "gaussian", "--capsules"];
    let (status, text) = transcript(&[&args[..], &[&capsules.to_string_lossy()]].concat());
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("FAILED: gk_gate_mul(n=1,regime=gaussian,scale=2^0,seed=0x51) ctx: [0] ="), "{text}");
    assert!(
        text.contains("something_else of ") && text.contains("gdn_step") && text.contains("does not have"),
        "{text}"
    );
}

#[test]
fn kernel_files_that_cannot_be_run_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("broken.ptx", "this is no PTX"),
        ("empty.ptx", ".version 8.0\n.target sm_75\n.address_size 64\n"),
        ("kernel.txt", ""),
    ];
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let (status, said) = transcript(&["check", "--kernels", &path.to_string_lossy()]);
        assert_eq!(status, Some(2), "{name}: {said}");
        assert!(said.contains(name), "{said}");
    }
}

#[test]
fn a_probe_of_a_sample_says_that_it_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("probe.json");
    let args = ["probe", "--function", "expf", "--function", "__expf", "--arguments", "300", "--json"];
    let (status, text) = transcript(&[&args[..], &[&path.to_string_lossy()]].concat());
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("not run: every argument: this is a sample"), "{text}");
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    // 512 spread evenly, and 256 around each of 24 edges.
    let functions = &report["reports"][0]["functions"];
    assert_eq!(functions[0]["arguments"], 512 + 24 * 256);
    assert_eq!(functions[1]["verdict"], "exceeds, as it must");
}

#[test]
fn replay_prints_the_agreement_of_every_answer() {
    let file = vector("attn_hd64_rot64_full.safetensors");
    let (status, text) = transcript(&["replay", &file]);
    assert_eq!(status, Some(0), "{text}");
    // The oracle's own last digits are the machine's libm; what is kept is which answers were compared.
    let shape: Vec<String> =
        text.lines().map(|line| line.split(" off by").next().unwrap_or_default().to_owned()).collect();
    assert!(shape.iter().any(|line| line.contains("out.rotated")), "{text}");
}
