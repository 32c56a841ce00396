//! Broken kernels, one fault each: the machine finds it and names it by the right check; and their repaired twins raise nothing.

use gdn_gpu::executor::Geometry;
use gdn_gpu::vm::{Finding, FindingKind, LaunchError, Machine, Options};

/// A kernel over `in` (written), `out` (unwritten) and `frozen` (written, read-only), all of 64 words:
/// `%r1` thread, `%r2` block, `%rd1` in, `%rd2` out, `%rd3` frozen, `%rd4` 4·thread, `%rd5`/`%rd6` in/out + 4·thread,
/// `%r3` 4·thread.
fn kernel(outside: &str, body: &str) -> String {
    format!(
        "
.version 8.0
.target sm_75
.address_size 64
.file 1 \"broken.cu\"
{outside}
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c)
{{
    .shared .align 4 .b8 tile[256];
    .shared .align 4 .b8 other[128];
    .reg .pred %p<8>;
    .reg .b32 %r<32>;
    .reg .f32 %f<16>;
    .reg .b64 %rd<32>;
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [b];
    ld.param.u64 %rd3, [c];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    shl.b32 %r3, %r1, 2;
    mul.wide.u32 %rd4, %r1, 4;
    add.s64 %rd5, %rd1, %rd4;
    add.s64 %rd6, %rd2, %rd4;
    .loc 1 42 7
{body}
    ret;
}}
"
    )
}

fn run(text: &str, blocks: u32, threads: u32, options: Options) -> Vec<Finding> {
    let mut machine = Machine::new(options);
    let module = machine.load("broken", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let (a, b, c) =
        (machine.alloc("in", 256).unwrap(), machine.alloc("out", 256).unwrap(), machine.alloc("frozen", 256).unwrap());
    assert!(machine.upload(a, 0, &[1; 256]) && machine.upload(c, 0, &[2; 256]));
    machine.protect(c, 0, 256);
    let parameters: Vec<Vec<u8>> = [a, b, c].iter().map(|&x| machine.address(x).to_le_bytes().to_vec()).collect();
    let geometry = Geometry { grid: [blocks, 1, 1], block: [threads, 1, 1] };
    match machine.launch(module, "k", geometry, 0, &parameters) {
        Ok(_) => Vec::new(),
        Err(LaunchError::Findings(findings)) => findings,
        Err(other) => panic!("{other}"),
    }
}

/// Runs a broken kernel under several schedules and demands a finding of this kind on source line 42, and none of another kind.
fn finds(kind: FindingKind, blocks: u32, threads: u32, outside: &str, body: &str, mentions: &str) {
    let text = kernel(outside, body);
    for seed in 0..4 {
        let findings = run(&text, blocks, threads, Options { seed, step_budget: 100_000, ..Options::default() });
        let shown = findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        let right = findings
            .iter()
            .find(|f| f.kind == kind)
            .unwrap_or_else(|| panic!("seed {seed}: no {kind} among:\n{shown}"));
        assert!(right.to_string().contains(mentions), "`{mentions}` is not in: {right}");
        assert_eq!(right.kernel, "k");
        if outside.is_empty() {
            assert_eq!(right.source, Some(("broken.cu".to_owned(), 42)), "{right}");
        }
        assert!(findings.iter().all(|f| f.kind == kind), "seed {seed}: other findings too:\n{shown}");
    }
}

fn clean(blocks: u32, threads: u32, body: &str) {
    let text = kernel("", body);
    for seed in 0..8 {
        let findings = run(&text, blocks, threads, Options { seed, step_budget: 100_000, ..Options::default() });
        assert!(
            findings.is_empty(),
            "seed {seed}: {}",
            findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        );
    }
}

const TILE: &str = "mov.u32 %r10, tile; add.s32 %r11, %r10, %r3;";

#[test]
fn uninitialized_memory() {
    use FindingKind::Uninitialized as U;
    finds(U, 1, 32, "", "ld.global.u32 %r4, [%rd6];", "`out` byte 0");
    finds(U, 1, 32, "", &format!("{TILE} ld.shared.u32 %r4, [%r11];"), "shared `tile` byte 0");
    finds(
        U,
        1,
        1,
        "",
        &format!("{TILE} mov.u32 %r4, 1; st.shared.u8 [%r10], %r4; ld.shared.u32 %r4, [%r10];"),
        "shared `tile`",
    );
    finds(U, 1, 32, "", "atom.global.add.u32 %r4, [%rd2], 1;", "`out` byte 0");
    finds(
        U,
        1,
        1,
        "",
        ".local .align 4 .b8 depot[16]; .reg .b64 %l; mov.u64 %l, depot; ld.local.u32 %r4, [%l+4];",
        "local memory",
    );
    // A byte that one thread left out of a row.
    finds(
        U,
        1,
        32,
        "",
        &format!(
            "{TILE} setp.ne.u32 %p1, %r1, 7; @%p1 st.shared.u32 [%r11], %r1; bar.sync 0; ld.shared.u32 %r4, [%r11];"
        ),
        "byte 28",
    );
}

#[test]
fn uninitialized_registers() {
    use FindingKind::Uninitialized as U;
    finds(U, 1, 32, "", "add.s32 %r4, %r5, 1;", "%r5");
    finds(U, 1, 32, "", "setp.eq.u32 %p1, %r1, 3; @%p1 mov.u32 %r5, 1; add.s32 %r4, %r5, 1;", "%r5");
    finds(U, 1, 32, "", "st.global.f32 [%rd6], %f3;", "%f3");
    finds(U, 1, 32, "", "@%p5 mov.u32 %r4, 1;", "%p5");
    // Passing an undefined value on is no fault, using it is.
    clean(1, 32, "mov.u32 %r5, %r6; mov.u32 %r5, 1; add.s32 %r4, %r5, 1;");
    finds(U, 1, 32, "", "mov.u32 %r5, %r6; add.s32 %r4, %r5, 1;", "%r5");
    finds(
        U,
        1,
        32,
        "",
        "setp.lt.u32 %p1, %r1, 16; @%p1 mov.u32 %r5, 1; shfl.sync.bfly.b32 %r6, %r5, 1, 31, -1;",
        "holds nothing",
    );
}

#[test]
fn out_of_bounds() {
    use FindingKind::OutOfBounds as O;
    finds(O, 1, 65, "", "ld.global.u32 %r4, [%rd5];", "`in` byte 256");
    finds(O, 1, 1, "", "ld.global.u32 %r4, [%rd1+-4];", "`in` byte -4");
    finds(O, 1, 1, "", "st.global.u32 [%rd2+1048576], %r1;", "`out` byte 1048576");
    finds(O, 1, 1, "", "mov.u64 %rd7, 16; ld.global.u32 %r4, [%rd7];", "no buffer");
    finds(
        O,
        1,
        64,
        "",
        "shl.b32 %r4, %r1, 3; mov.u32 %r10, tile; add.s32 %r10, %r10, %r4; st.shared.u32 [%r10], %r1;",
        "shared `tile` byte 256",
    );
    // Past one array and not yet in the next: a wrong-sized array.
    finds(
        O,
        1,
        64,
        "",
        "mov.u32 %r10, other; add.s32 %r10, %r10, %r3; st.shared.u32 [%r10], %r1;",
        "shared `other` byte 128",
    );
    finds(
        O,
        1,
        1,
        "",
        ".local .align 4 .b8 depot[16]; .reg .b64 %l; mov.u64 %l, depot; st.local.u32 [%l+16], %r1;",
        "local memory byte 16",
    );
    finds(O, 1, 1, "", "ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd1+256];", "`in` byte 256");
    clean(1, 64, "ld.global.u32 %r4, [%rd5]; mov.u32 %r10, tile; add.s32 %r10, %r10, %r3; st.shared.u32 [%r10], %r4;");
}

#[test]
fn misaligned() {
    use FindingKind::Misaligned as M;
    finds(M, 1, 1, "", "ld.global.u32 %r4, [%rd1+2];", "not aligned to 4");
    finds(M, 1, 1, "", "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+4];", "not aligned to 16");
    finds(M, 1, 1, "", "ld.global.v2.u32 {%r4, %r5}, [%rd1+12];", "not aligned to 8");
    finds(M, 1, 1, "", "mov.u32 %r10, tile; st.shared.u32 [%r10+1], %r1;", "shared `tile`");
}

#[test]
fn read_only() {
    finds(FindingKind::ReadOnly, 1, 32, "", "add.s64 %rd7, %rd3, %rd4; st.global.u32 [%rd7], %r1;", "`frozen` byte 0");
    finds(FindingKind::ReadOnly, 1, 1, "", "red.global.add.u32 [%rd3+8], 1;", "`frozen` byte 8");
    finds(
        FindingKind::ReadOnly,
        1,
        1,
        ".const .align 4 .b8 table[16];",
        "mov.u64 %rd7, table; st.global.u32 [%rd7], %r1;",
        "`variable table`",
    );
}

/// Reverses 64 words through shared memory; `{}` is the barrier.
fn reversal(barrier: &str) -> String {
    format!(
        "{TILE} st.shared.u32 [%r11], %r1; {barrier}
         mov.u32 %r12, 63; sub.s32 %r12, %r12, %r1; shl.b32 %r12, %r12, 2; add.s32 %r12, %r12, %r10;
         ld.shared.u32 %r13, [%r12]; st.global.u32 [%rd6], %r13;"
    )
}

#[test]
fn races_in_a_block() {
    use FindingKind::Race as R;
    clean(1, 64, &reversal("bar.sync 0;"));
    let text = kernel("", &reversal(""));
    for seed in 0..4 {
        let findings = run(&text, 1, 64, Options { seed, ..Options::default() });
        assert!(
            findings.iter().any(|f| f.kind == FindingKind::Race || f.kind == FindingKind::Uninitialized),
            "{findings:?}"
        );
        assert!(findings.iter().any(|f| f.kind == FindingKind::Race), "{findings:?}");
    }
    // Two threads write one word.
    finds(R, 1, 64, "", "mov.u32 %r10, tile; st.shared.u32 [%r10], %r1;", "shared `tile` byte 0");
    finds(R, 1, 64, "", "st.global.u32 [%rd2], %r1;", "`out` byte 0");
    // Read, then write of the next round without a barrier between.
    let broken = format!(
        "{TILE} st.shared.u32 [%r11], %r1; bar.sync 0; ld.shared.u32 %r13, [%r10+4]; st.shared.u32 [%r11], %r13;"
    );
    finds(R, 1, 64, "", &broken, "shared `tile` byte 4");
    let repaired = format!(
        "{TILE} st.shared.u32 [%r11], %r1; bar.sync 0; ld.shared.u32 %r13, [%r10+4]; bar.sync 0; st.shared.u32 [%r11], %r13;"
    );
    clean(1, 64, &repaired);
    // Lanes of one warp need a warp barrier.
    let lanes = |between: &str| {
        format!(
            "{TILE} st.shared.u32 [%r11], %r1; {between} xor.b32 %r12, %r3, 4; add.s32 %r12, %r12, %r10; ld.shared.u32 %r13, [%r12];"
        )
    };
    finds(R, 1, 32, "", &lanes(""), "shared `tile`");
    clean(1, 32, &lanes("bar.warp.sync -1;"));
    // A warp barrier is not enough between warps.
    let text = kernel("", &reversal("bar.warp.sync -1;"));
    assert!(run(&text, 1, 64, Options::default()).iter().any(|f| f.kind == R));
    // Plain accesses to what atomics change.
    finds(R, 1, 64, "", "red.global.add.u32 [%rd1], 1; ld.global.u32 %r4, [%rd1];", "`in` byte 0");
    clean(1, 64, "red.global.add.u32 [%rd1], 1; bar.sync 0; ld.global.u32 %r4, [%rd1];");
    // Bytes of one word by different threads do not conflict.
    clean(1, 64, "cvt.u64.u32 %rd7, %r1; add.s64 %rd7, %rd2, %rd7; st.global.u8 [%rd7], %r1;");
}

#[test]
fn races_between_blocks() {
    use FindingKind::Race as R;
    finds(R, 2, 32, "", "st.global.u32 [%rd6], %r2;", "another block");
    finds(R, 2, 1, "", "ld.global.u32 %r4, [%rd1]; st.global.u32 [%rd1], %r4;", "another block");
    finds(
        R,
        8,
        32,
        "",
        "setp.eq.u32 %p1, %r2, 3; @%p1 st.global.u32 [%rd5], %r1; @!%p1 ld.global.u32 %r4, [%rd5];",
        "another block",
    );
    clean(
        2,
        32,
        "shl.b32 %r4, %r2, 5; add.s32 %r4, %r4, %r1; mul.wide.u32 %rd7, %r4, 4; add.s64 %rd7, %rd2, %rd7; st.global.u32 [%rd7], %r4;",
    );
    clean(8, 32, "red.global.add.u32 [%rd1], 1; ld.global.u32 %r4, [%rd5+128];");
}

#[test]
fn lanes_that_are_not_there() {
    use FindingKind::Lane as L;
    let shuffle = "shfl.sync.bfly.b32 %r4, %r1, 8, 31, -1;";
    finds(L, 1, 16, "", shuffle, "do not exist");
    clean(1, 32, shuffle);
    finds(L, 1, 48, "", "shfl.sync.down.b32 %r4, %r1, 16, 31, -1;", "0xffff0000");
    finds(L, 1, 16, "", "setp.eq.u32 %p1, %r1, 0; vote.sync.ballot.b32 %r4, %p1, -1;", "do not exist");
    // Lanes that ended before.
    finds(L, 1, 32, "", "setp.gt.u32 %p1, %r1, 15; @%p1 exit; shfl.sync.bfly.b32 %r4, %r1, 1, 31, -1;", "have ended");
    // A source lane outside of the member mask.
    finds(
        L,
        1,
        32,
        "",
        "setp.gt.u32 %p1, %r1, 15; @%p1 bra D; shfl.sync.idx.b32 %r4, %r1, 20, 31, 0xffff; D:",
        "takes no part",
    );
    finds(L, 1, 32, "", "shfl.sync.bfly.b32 %r4, %r1, 1, 31, 0xffff;", "lacks lanes");
    // Lanes that go another way and never come.
    finds(
        L,
        1,
        32,
        "",
        "setp.gt.u32 %p1, %r1, 15; @%p1 bra D; shfl.sync.bfly.b32 %r4, %r1, 1, 31, -1; bra E; D: bar.warp.sync -1; E:",
        "never arrive",
    );
    // Both sides of a branch meet at one shuffle: lanes wait for each other.
    clean(
        1,
        32,
        "setp.gt.u32 %p1, %r1, 15; @%p1 bra D; mov.u32 %r5, 1; bra E; D: mov.u32 %r5, 2; E: shfl.sync.bfly.b32 %r4, %r5, 16, 31, -1;",
    );
    finds(L, 1, 8, "", "redux.sync.add.s32 %r4, %r1, -1;", "do not exist");
    finds(L, 1, 8, "", "bar.warp.sync 0xfff;", "do not exist");
}

#[test]
fn barriers() {
    use FindingKind::Barrier as B;
    finds(B, 1, 32, "", "setp.lt.u32 %p1, %r1, 8; @%p1 bar.sync 0;", "divergent");
    finds(B, 1, 32, "", "setp.lt.u32 %p1, %r1, 8; @%p1 bra D; bar.sync 0; bra E; D: bar.sync 0; E:", "divergent");
    // One warp at one barrier, the other at another.
    finds(
        B,
        1,
        64,
        "",
        "setp.lt.u32 %p1, %r1, 32; @%p1 bra D; bar.sync 1; bra E; D: bar.sync 2; E:",
        "never completes",
    );
    finds(
        B,
        1,
        64,
        "",
        "setp.lt.u32 %p1, %r1, 32; @%p1 bra D; bar.sync 0; bra E; D: bar.sync 0; E:",
        "other threads wait",
    );
    finds(B, 1, 64, "", "bar.sync 1, 96;", "64 of 96");
    finds(B, 1, 32, "", "mov.u32 %r4, 31; bar.sync 1, %r4;", "no multiple of 32");
    clean(1, 64, "setp.lt.u32 %p1, %r1, 32; @%p1 bra D; bar.sync 1, 64; bra E; D: bar.arrive 1, 64; E:");
    clean(1, 48, "setp.gt.u32 %p1, %r1, 40; @%p1 exit; bar.sync 0;");
    clean(1, 64, "mov.u32 %r4, 0; L: bar.sync 0; add.s32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 10; @%p1 bra L;");
}

#[test]
fn kernels_that_do_not_end() {
    finds(FindingKind::Endless, 1, 32, "", "L: add.s32 %r1, %r1, 1; bra L;", "does not end");
    finds(
        FindingKind::Endless,
        1,
        64,
        "",
        "L: ld.volatile.global.u32 %r4, [%rd1]; setp.ne.u32 %p1, %r4, 0; @%p1 bra L;",
        "does not end",
    );
    // Lanes that wait for other lanes of their warp: these get their turn.
    let lock = "
        mov.u32 %r10, tile; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [%r10], 0; bar.sync 0;
        L: atom.shared.cas.b32 %r4, [%r10], 0, 1; setp.ne.u32 %p1, %r4, 0; @%p1 bra L;
        red.global.add.u32 [%rd1], 1; atom.shared.exch.b32 %r4, [%r10], 0;";
    clean(1, 64, lock);
}

#[test]
fn stacks_and_traps() {
    let recursion = "
        .func f(.param .b32 n) { .reg .b32 %r<4>; ld.param.u32 %r1, [n]; add.s32 %r1, %r1, 1;
        { .param .b32 p; st.param.b32 [p], %r1; call.uni f, (p); } ret; }";
    finds(FindingKind::Stack, 1, 32, recursion, "{ .param .b32 p; st.param.b32 [p], %r1; call.uni f, (p); }", "deep");
    finds(FindingKind::Trap, 1, 32, "", "setp.eq.u32 %p1, %r1, 9; @%p1 trap;", "trap");
}

#[test]
fn faults_without_checks() {
    let text = kernel("", "ld.global.u32 %r4, [%rd1+4096];");
    let findings = run(&text, 1, 32, Options { checks: false, ..Options::default() });
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].kind, FindingKind::OutOfBounds);
}

#[test]
fn findings_are_one_line() {
    let text = kernel("", "ld.global.u32 %r4, [%rd6];");
    let findings = run(&text, 1, 32, Options::default());
    assert_eq!(
        findings[0].to_string(),
        "k: uninitialized read at broken.cu:42 (PTX line 25), block (0, 0, 0) thread (0, 0, 0): reads 4 bytes at `out` byte 0 (element 0 of 4 bytes), which hold nothing yet [32 times]"
    );
}
