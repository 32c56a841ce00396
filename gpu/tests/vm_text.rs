//! Texts that are not PTX, or not PTX of the supported kind: always an error with a line, never a panic or a hang.

use gdn_gpu::executor::Geometry;
use gdn_gpu::vm::{Approximation, Machine, Options, SUPPORTED, TextError};
use proptest::prelude::*;

fn load(text: &str) -> Result<(), TextError> {
    Machine::new(Options::default()).load("text", text).map(|_| ())
}

const HEAD: &str = ".version 8.0\n.target sm_75\n.address_size 64\n";

fn body(text: &str) -> Result<(), TextError> {
    load(&format!(
        "{HEAD}.visible .entry k(.param .u64 a)\n{{\n.reg .pred %p<4>;\n.reg .b16 %h<4>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .f32 %f<9>;\n.reg .f64 %fd<9>;\n{text}\nret;\n}}\n"
    ))
}

#[test]
fn errors_name_line_instruction_and_kernel() {
    let says = |text: &str, words: &[&str]| {
        let error = body(text).expect_err(text).to_string();
        assert!(error.starts_with("line 12: "), "{error}");
        for word in words {
            assert!(error.contains(word), "`{word}` is not in: {error}");
        }
    };
    says("wgmma.fence.sync.aligned;", &["wgmma.fence", "kernel `k`"]);
    says(
        "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%f1,%f1,%f1,%f1}, {%r1,%r1}, {%r1}, {%f1,%f1,%f1,%f1};",
        &["mma.sync", "`k`"],
    );
    says("add.s32 %r1, %r2;", &["operands"]);
    says("add.s32 %r1, %r2, %rd1;", &["%rd1"]);
    says("add.s33 %r1, %r2, %r3;", &["add.s33"]);
    says("add.f32.wild %f1, %f2, %f3;", &["wild"]);
    says("add.s32 %r1, %r2, %r99;", &["%r99"]);
    says("bra NOWHERE;", &["NOWHERE"]);
    says("ld.global.u32 %r1, %rd1;", &["brackets"]);
    says("ld.param.u64 %rd1, [a+8];", &["parameter `a`"]);
    says("ld.param.u64 %rd1, [z];", &["`z`"]);
    says("call.uni missing, ();", &["missing"]);
    says("tex.1d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [a, {%r1}];", &["not supported"]);
    says("shfl.idx.b32 %r1, %r2, %r3, %r4;", &["member mask"]);
    says("cp.async.bulk.commit_group;", &["cp.async"]);
    says("mov.b64 {%r1, %r2, %r3}, %rd1;", &["parts"]);
    says("@%r1 bra L;\nL:", &["guard"]);
    says("cvt.f32 %f1, %r1;", &["types"]);
}

#[test]
fn malformed_structure_is_an_error() {
    for text in [
        "garbage",
        "{",
        "}",
        ".visible",
        ".visible .entry",
        ".entry k",
        ".entry k(",
        ".entry k() {",
        ".entry k() { .reg .b32 %r<; }",
        ".entry k() { .reg .b32 %r<5>; add.s32 %r1, %r2",
        ".entry k() { L: L: ret; }",
        ".entry k() { ret; } .entry k() { ret; }",
        ".global .b8 x[99999999999999999999];",
        ".global .b8 x[999999999999];",
        ".global .b8 x[4] = {1, 2, 3, 4, 5};",
        ".global .b64 x = y;",
        ".global .b8 x[;",
        ".global .align 3 .b32 x;",
        ".extern .global .b32 x;",
        ".shared .b8 a[200000000]; .shared .b8 b[200000000];",
        "/* open",
        "\"open",
        ".section x {",
        ".loc 1",
        ".file x",
        ".func f(.reg .b32 %a);",
        ".entry k(.param .b8 p[40000]) { ret; }",
        "0x",
        "\u{e4}",
        ".address_size 32",
        ".entry k() { @ bra L; }",
        ".entry k() { .local .b8 a[100000000]; ret; }",
    ] {
        let error = load(&format!("{HEAD}{text}")).expect_err(text);
        assert!(error.line >= 1, "{text}");
    }
}

#[test]
fn halves_have_no_directed_rounding() {
    body("fma.rn.bf16 %h0, %h1, %h2, %h3;").unwrap();
    for rounding in ["rz", "rm", "rp"] {
        let error = body(&format!("fma.{rounding}.bf16 %h0, %h1, %h2, %h3;")).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(&format!("fma.{rounding}.bf16")) && text.contains("`.rn` alone"), "{text}");
    }
}

#[test]
fn big_register_ranges_cost_nothing() {
    body(".reg .b32 %big<4000000000>;\nadd.s32 %big3999999999, %r1, 1;").unwrap();
}

#[test]
fn deep_nesting_is_no_recursion() {
    body(&format!("{}{}", "{".repeat(50_000), "}".repeat(50_000))).unwrap();
    body(&"@%p1 bra L;\nadd.s32 %r1, %r1, 1;\n".repeat(20_000).replace('L', "M")).unwrap_err();
    // Loops in loops in loops.
    let labels = (0..3000).map(|i| format!("L{i}:\n")).collect::<Vec<_>>().concat();
    let back = (0..3000).rev().map(|i| format!("@%p1 bra L{i};\n")).collect::<Vec<_>>().concat();
    body(&format!("{labels}{back}")).unwrap();
    let pairs = (0..3000).map(|i| format!("M{i}: add.s32 %r1, %r1, 1;\n")).collect::<Vec<_>>().concat();
    body(&format!("{pairs}{}", back.replace('L', "M"))).unwrap();
}

/// The table in the documentation is what the decoder dispatches on.
#[test]
fn the_table_of_instructions_is_complete() {
    for (name, _) in SUPPORTED {
        if let Err(error) = body(&format!("{name}.nonsense 0;")) {
            assert!(!error.message.contains("does not know this instruction"), "{name}: {error}");
        }
    }
    for name in ["tex", "wmma", "mma", "suld", "bogus", "multimem", "mapa", "ldmatrix"] {
        assert!(
            body(&format!("{name}.b32 0;")).unwrap_err().message.contains("does not know this instruction"),
            "{name}"
        );
    }
    assert!(SUPPORTED.is_sorted_by(|a, b| a.0 < b.0), "the table is not sorted");
}

const SAMPLE: &str = include_str!("ptx/sample.ptx");

#[test]
fn the_sample_loads() {
    load(SAMPLE).unwrap();
}

/// Launches every entry point of a text, if it loads, on buffers of a few words.
fn launch_all(text: &str, seed: u64) {
    let mut machine = Machine::new(Options {
        step_budget: 20_000,
        seed,
        approximation: Approximation::Adversarial(seed),
        ..Options::default()
    });
    let Ok(module) = machine.load("text", text) else { return };
    let buffer = machine.alloc("buffer", 4096).unwrap();
    assert!(machine.upload(buffer, 0, &[0x3F; 4096]));
    for entry in machine.entries(module) {
        let sizes = machine.parameters(module, &entry).unwrap();
        let parameters: Vec<Vec<u8>> = sizes
            .iter()
            .map(|&n| {
                [machine.address(buffer).to_le_bytes(), [3; 8]].concat()[if n == 8 { 0..8 } else { 8..8 }]
                    .iter()
                    .copied()
                    .chain([9, 0, 0, 0].into_iter().cycle())
                    .take(n)
                    .collect()
            })
            .collect();
        let geometry = Geometry { grid: [2, 2, 1], block: [64, 1, 1] };
        let _ = machine.launch(module, &entry, geometry, 0, &parameters);
    }
}

#[test]
fn the_sample_runs() {
    launch_all(SAMPLE, 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// The sample with a piece cut out, repeated or replaced.
    #[test]
    fn mutated_texts_never_panic(from in 0..SAMPLE.len(), len in 0_usize..200, to in 0..SAMPLE.len(), mode in 0_u8..4, junk in "[ -~]{0,12}") {
        let bytes = SAMPLE.as_bytes();
        let end = (from + len).min(bytes.len());
        let mut text = bytes[..from].to_vec();
        match mode {
            0 => {}
            1 => text.extend_from_slice(&bytes[to..(to + len).min(bytes.len())]),
            2 => text.extend_from_slice(junk.as_bytes()),
            _ => text.truncate(from / 2),
        }
        text.extend_from_slice(&bytes[end..]);
        launch_all(&String::from_utf8_lossy(&text), from as u64);
    }

    #[test]
    fn random_texts_never_panic(text in "\\PC{0,200}") {
        let _ = load(&text);
    }
}
