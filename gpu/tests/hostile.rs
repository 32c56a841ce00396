//! Long texts made to cost more than they are long: each loads, or is an error with a line, in little time and memory.

use gdn_gpu::executor::Geometry;
use gdn_gpu::vm::{LaunchError, Machine, Options, TextError};
use std::time::{Duration, Instant};

const HEAD: &str = ".version 8.0\n.target sm_75\n.address_size 64\n";
const COUNT: usize = 20_000;

fn repeat(count: usize, of: impl Fn(usize) -> String) -> String {
    (0..count).map(of).collect()
}

fn body(text: &str) -> String {
    format!("{HEAD}.visible .entry k() {{ .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<9>;\n{text}\nret; }}\n")
}

/// Loads within a time that anything worse than proportional would exceed many times over; unoptimized builds and busy machines
/// need room.
fn load(what: &str, text: &str) -> Result<(), TextError> {
    let start = Instant::now();
    let result = Machine::new(Options::default()).load("text", text).map(|_| ());
    assert!(start.elapsed() < Duration::from_secs(20), "{what}: {:?}", start.elapsed());
    if let Err(error) = &result {
        assert!(error.line >= 1, "{what}: {error}");
    }
    result
}

fn refused(what: &str, text: &str, words: &str) {
    let error = load(what, text).expect_err(what).to_string();
    assert!(error.contains(words), "{what}: `{words}` is not in: {error}");
}

#[test]
fn many_names() {
    let all = |what: &str, text: &str| load(what, text).unwrap_or_else(|e| panic!("{what}: {e}"));
    all("functions", &format!("{HEAD}{}", repeat(COUNT, |i| format!(".func f{i}() {{ ret; }}\n"))));
    all("variables", &format!("{HEAD}{}", repeat(COUNT, |i| format!(".global .b32 g{i};\n"))));
    let ranges = repeat(COUNT, |i| format!(".reg .b32 %a{i}x<2>;\n"));
    all("ranges", &body(&format!("{ranges}{}", repeat(COUNT, |i| format!("mov.u32 %r1, %a{i}x1;\n")))));
    let call = "call f19999;\n".repeat(COUNT);
    let functions = repeat(COUNT, |i| format!(".func f{i}() {{ ret; }}\n"));
    all("calls", &format!("{HEAD}{functions}.entry k() {{ {call} ret; }}"));
    let params = repeat(COUNT, |i| format!(".param .b32 p{i};\n"));
    let stores = repeat(COUNT, |i| format!("st.param.b32 [p{i}], 1;\n"));
    all("parameters", &body(&format!("{params}{stores}")));
}

#[test]
fn scopes_in_scopes() {
    let deep =
        |open: &str, inside: &str, count: usize| body(&format!("{}{inside}{}", open.repeat(count), "}".repeat(count)));
    load("scopes", &deep("{", &"mov.u32 %r1, 1; bra L; L:\n".replace('L', "M"), 50_000)).unwrap();
    load("names in scopes", &deep("{", &"mov.u32 %r1, %r2;\n".repeat(COUNT), 50_000)).unwrap();
    load("labels from scopes", &deep("{", &"@%p1 bra END;\n".repeat(COUNT), 50_000).replace("ret;", "END: ret;"))
        .unwrap();
    refused("too many scopes", &deep("{", "", 1_000_000), "nested too deep");
    refused("registers in scopes", &deep("{ .reg .b32 %x;", "mov.u32 %x, 1;", COUNT), "nested too deep");
    refused("labels in scopes", &deep("{ L:", "bra L;", COUNT), "nested too deep");
}

#[test]
fn products_of_lists() {
    let labels = repeat(COUNT, |i| format!("L{i}:\n"));
    let list = repeat(COUNT, |i| format!("{}L{i}", if i == 0 { "" } else { ", " }));
    let table = format!("T: .branchtargets {list};\n");
    load("a branch table", &body(&format!("{table}brx.idx %r1, T;\n{labels}"))).unwrap();
    refused("branch tables", &body(&format!("{table}{}{labels}", "brx.idx %r1, T;\n".repeat(COUNT))), "branch tables");
}

#[test]
fn sizes_that_add_up() {
    let large = repeat(64, |i| format!(".global .b8 g{i}[200000000];\n"));
    refused("variables", &format!("{HEAD}{large}"), "bytes");
    load("a large variable", &format!("{HEAD}.global .b8 g[200000000];")).unwrap();
    let registers = repeat(300_000, |i| format!("mov.u32 %big{i}, 0;\n"));
    refused("registers", &body(&format!(".reg .b32 %big<1000000>;\n{registers}")), "registers");
    refused("parameters", &body(&repeat(64, |i| format!(".param .b8 p{i}[100000];\n"))), "too large");
    refused("local memory", &body(".local .b8 a[1000000];"), "too large");
}

/// A function that calls itself, with frames that are large in every way.
#[test]
fn recursion_with_large_frames_ends() {
    let registers = repeat(10_000, |i| format!("mov.u64 %big{i}, {i};\n"));
    let text = format!(
        "{HEAD}.func f() {{ .reg .b64 %big<10000>; .param .b8 p[100000];\n{registers} call f; ret; }}\n.entry k() {{ call f; ret; }}"
    );
    let mut machine = Machine::new(Options { checks: false, ..Options::default() });
    let module = machine.load("text", &text).unwrap();
    match machine.launch(module, "k", Geometry { grid: [1; 3], block: [1; 3] }, 0, &[]) {
        Err(LaunchError::Findings(findings)) => {
            assert!(findings[0].to_string().contains("calls are"), "{}", findings[0]);
        }
        other => panic!("{other:?}"),
    }
}
