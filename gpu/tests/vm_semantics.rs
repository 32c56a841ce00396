//! One instruction at a time against values worked out by hand, and the control flow around them.

use gdn_gpu::executor::{Argument, Code, Error, Executor, Geometry, Launch, Program};
use gdn_gpu::vm::{Approximation, Machine, Options, VmExecutor};

/// Runs `text` in one thread with `%a`, `%b`, `%c` set to the given bits and gives `%d`; the four are of the type named.
fn evaluate(kind: &str, text: &str, inputs: [u64; 3], options: Options) -> u64 {
    let (register, store) = match kind {
        "b16" => ("b16", "u16"),
        "b32" => ("b32", "u32"),
        _ => ("b64", "u64"),
    };
    let [a, b, c] = inputs;
    let source = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 in)\n{{
        .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>, %f<9>; .reg .b64 %rd<9>, %fd<9>, %in, %out;
        .reg .{register} %a, %b, %c, %d;
        ld.param.u64 %out, [out]; ld.param.u64 %in, [in];
        ld.global.{store} %a, [%in]; ld.global.{store} %b, [%in+8]; ld.global.{store} %c, [%in+16];
        {text}
        st.global.{store} [%out], %d;
        ret; }}"
    );
    let mut machine = Machine::new(options);
    let module = machine.load("one", &source).unwrap_or_else(|e| panic!("{text}: {e}"));
    let (out, input) = (machine.alloc("out", 8).unwrap(), machine.alloc("in", 24).unwrap());
    let bytes: Vec<u8> = [a, b, c].iter().flat_map(|v| v.to_le_bytes()).collect();
    assert!(machine.upload(input, 0, &bytes));
    let parameters: Vec<Vec<u8>> = [out, input].iter().map(|&x| machine.address(x).to_le_bytes().to_vec()).collect();
    machine
        .launch(module, "k", Geometry { grid: [1; 3], block: [1; 3] }, 0, &parameters)
        .unwrap_or_else(|e| panic!("{text}: {e}"));
    let mut result = [0; 8];
    assert!(machine.download(out, 0, &mut result));
    u64::from_le_bytes(result)
}

fn check(kind: &str, cases: &[(&str, [u64; 3], u64)]) {
    for (text, inputs, expected) in cases {
        let found = evaluate(kind, text, *inputs, Options::default());
        assert_eq!(found, *expected, "{text} of {inputs:x?}: {found:#x} instead of {expected:#x}");
    }
}

const M1: u64 = 0xFFFF_FFFF;
const MIN: u64 = 0x8000_0000;
const MAX: u64 = 0x7FFF_FFFF;

#[test]
fn integers_of_32_bits() {
    check(
        "b32",
        &[
            ("add.s32 %d, %a, %b;", [M1, 2, 0], 1),
            ("add.sat.s32 %d, %a, %b;", [MAX, 1, 0], MAX),
            ("sub.sat.s32 %d, %a, %b;", [MIN, 1, 0], MIN),
            ("sub.u32 %d, %a, %b;", [0, 1, 0], M1),
            ("mul.lo.s32 %d, %a, %b;", [M1, 7, 0], 0xFFFF_FFF9),
            ("mul.hi.s32 %d, %a, %b;", [M1, 7, 0], M1),
            ("mul.hi.u32 %d, %a, %b;", [M1, 7, 0], 6),
            ("mul24.lo.s32 %d, %a, %b;", [0xFF_FFFF, 5, 0], 0xFFFF_FFFB),
            ("mul24.hi.u32 %d, %a, %b;", [0xFF_FFFF, 0xFF_FFFF, 0], 0xFFFF_FE00),
            ("mad.lo.s32 %d, %a, %b, %c;", [3, 5, M1], 14),
            ("mad.hi.u32 %d, %a, %b, %c;", [M1, M1, 4], 2),
            ("mad.hi.sat.s32 %d, %a, %b, %c;", [MAX, MAX, MAX], MAX),
            ("mad24.lo.u32 %d, %a, %b, %c;", [0xFF00_0003, 5, 1], 16),
            ("div.s32 %d, %a, %b;", [0xFFFF_FFF9, 2, 0], 0xFFFF_FFFD),
            ("div.s32 %d, %a, %b;", [MIN, M1, 0], MIN),
            ("div.u32 %d, %a, %b;", [M1, 0, 0], M1),
            ("rem.s32 %d, %a, %b;", [0xFFFF_FFF9, 4, 0], 0xFFFF_FFFD),
            ("rem.u32 %d, %a, %b;", [17, 5, 0], 2),
            ("rem.u32 %d, %a, %b;", [17, 0, 0], 0xFFFF_FFFF),
            ("rem.s32 %d, %a, %b;", [17, 0, 0], 0xFFFF_FFFF),
            ("sad.s32 %d, %a, %b, %c;", [M1, 4, 10], 15),
            ("sad.u32 %d, %a, %b, %c;", [3, 10, 1], 8),
            ("min.s32 %d, %a, %b;", [M1, 1, 0], M1),
            ("min.u32 %d, %a, %b;", [M1, 1, 0], 1),
            ("max.s32 %d, %a, %b;", [M1, 1, 0], 1),
            ("abs.s32 %d, %a;", [0xFFFF_FFFB, 0, 0], 5),
            ("abs.s32 %d, %a;", [MIN, 0, 0], MIN),
            ("neg.s32 %d, %a;", [5, 0, 0], 0xFFFF_FFFB),
            ("not.b32 %d, %a;", [0xF0F0_F0F0, 0, 0], 0x0F0F_0F0F),
            ("cnot.b32 %d, %a;", [0, 0, 0], 1),
            ("and.b32 %d, %a, %b;", [12, 10, 0], 8),
            ("or.b32 %d, %a, %b;", [12, 10, 0], 14),
            ("xor.b32 %d, %a, %b;", [12, 10, 0], 6),
            ("shl.b32 %d, %a, %b;", [1, 31, 0], MIN),
            ("shl.b32 %d, %a, %b;", [1, 32, 0], 0),
            ("shr.u32 %d, %a, %b;", [MIN, 31, 0], 1),
            ("shr.u32 %d, %a, %b;", [MIN, M1, 0], 0),
            ("shr.s32 %d, %a, %b;", [MIN, 40, 0], M1),
            ("lop3.b32 %d, %a, %b, %c, 0x96;", [0xFF00, 0x0FF0, 0x3333], 0xFF00 ^ 0x0FF0 ^ 0x3333),
            ("lop3.b32 %d, %a, %b, %c, 0xE8;", [0b1100, 0b1010, 0b0110], 0b1110),
            ("shf.l.wrap.b32 %d, %a, %b, %c;", [0x8000_0001, 0x1, 33], 3),
            ("shf.l.clamp.b32 %d, %a, %b, %c;", [0x1234_5678, 0x9, 40], 0x1234_5678),
            ("shf.r.wrap.b32 %d, %a, %b, %c;", [0x10, 0x3, 4], 0x3000_0001),
            ("shf.r.clamp.b32 %d, %a, %b, %c;", [0x10, 0x3, 99], 3),
            ("prmt.b32 %d, %a, %b, 0x7531;", [0x3322_1100, 0x7766_5544, 0], 0x7755_3311),
            ("prmt.b32 %d, %a, %b, 0x80C4;", [0x8877_6655, 0x11, 0], 0x0055_0011),
            ("prmt.b32.rc8 %d, %a, %b, %c;", [0x4433_2211, 0, 2], 0x3333_3333),
            ("prmt.b32.f4e %d, %a, %b, %c;", [0x3322_1100, 0x7766_5544, 1], 0x4433_2211),
            ("bfe.u32 %d, %a, %b, %c;", [0xABCD_1234, 8, 8], 0x12),
            ("bfe.s32 %d, %a, %b, %c;", [0x0000_8000, 8, 8], 0xFFFF_FF80),
            ("bfe.s32 %d, %a, %b, %c;", [0x8000_0000, 28, 9], 0xFFFF_FFF8),
            ("bfe.u32 %d, %a, %b, 0;", [M1, 8, 0], 0),
            ("bfi.b32 %d, %a, %b, 8, 4;", [0xF5, 0xFFFF_FFFF, 0], 0xFFFF_F5FF),
            ("bfi.b32 %d, %a, %b, 30, 8;", [0xFF, 0, 0], 0xC000_0000),
            ("bfind.u32 %d, %a;", [0x0001_0000, 0, 0], 16),
            ("bfind.s32 %d, %a;", [0xFFFF_0000, 0, 0], 15),
            ("bfind.u32 %d, %a;", [0, 0, 0], M1),
            ("bfind.shiftamt.u32 %d, %a;", [1, 0, 0], 31),
            ("clz.b32 %d, %a;", [0, 0, 0], 32),
            ("popc.b32 %d, %a;", [0xF0F0, 0, 0], 8),
            ("brev.b32 %d, %a;", [1, 0, 0], MIN),
            ("bmsk.clamp.b32 %d, %a, %b;", [4, 8, 0], 0xFF0),
            ("szext.clamp.s32 %d, %a, %b;", [0x80, 8, 0], 0xFFFF_FF80),
            ("fns.b32 %d, %a, 0, 3;", [0b1011_0100, 0, 0], 5),
            ("dp4a.s32.s32 %d, %a, %b, %c;", [0xFF02_03FF, 0x0101_0102, 10], (10_i64 - 2 + 3 + 2 - 1) as u64),
            ("add.cc.u32 %r1, %a, %b; addc.u32 %d, %c, 0;", [M1, 1, 5], 6),
            ("sub.cc.u32 %r1, %a, %b; subc.u32 %d, %c, 0;", [0, 1, 5], 4),
            ("mad.lo.cc.u32 %r1, %a, %b, %c; madc.hi.u32 %d, %a, %b, 0;", [M1, M1, M1], M1),
            ("setp.lt.s32 %p1, %a, %b; selp.b32 %d, 7, 9, %p1;", [M1, 0, 0], 7),
            ("setp.lt.u32 %p1, %a, %b; selp.b32 %d, 7, 9, %p1;", [M1, 0, 0], 9),
            ("setp.hi.u32 %p1|%p2, %a, %b; selp.b32 %d, 7, 9, %p2;", [M1, 0, 0], 9),
            ("setp.eq.s32 %p2, %a, %a; setp.lt.and.s32 %p1, %a, %b, !%p2; selp.b32 %d, 7, 9, %p1;", [0, 1, 0], 9),
            ("set.gt.u32.s32 %d, %a, %b;", [3, 2, 0], M1),
            ("set.gt.f32.s32 %d, %a, %b;", [3, 2, 0], 0x3F80_0000),
            ("slct.b32.s32 %d, %a, %b, %c;", [1, 2, M1], 2),
            ("mov.b32 {%h1, %h2}, %a; mov.b32 %d, {%h2, %h1};", [0x1234_5678, 0, 0], 0x5678_1234),
            ("cvt.s32.s8 %d, %a;", [0x1FF, 0, 0], M1),
            ("cvt.u32.u8 %d, %a;", [0x1FF, 0, 0], 0xFF),
            ("cvt.sat.s8.s32 %d, %a;", [1000, 0, 0], 127),
            ("cvt.sat.u8.s32 %d, %a;", [M1, 0, 0], 0),
        ],
    );
}

#[test]
fn integers_of_64_and_16_bits() {
    check(
        "b64",
        &[
            ("add.s64 %d, %a, %b;", [u64::MAX, 2, 0], 1),
            ("mul.lo.s64 %d, %a, %b;", [u64::MAX, 7, 0], (-7_i64) as u64),
            ("mul.hi.u64 %d, %a, %b;", [u64::MAX, 7, 0], 6),
            ("mul.hi.s64 %d, %a, %b;", [u64::MAX, 7, 0], u64::MAX),
            ("cvt.u32.u64 %r1, %a; mul.wide.s32 %d, %r1, -3;", [5, 0, 0], (-15_i64) as u64),
            ("cvt.u32.u64 %r1, %a; mul.wide.u32 %d, %r1, %r1;", [M1, 0, 0], 0xFFFF_FFFE_0000_0001),
            ("cvt.u32.u64 %r1, %a; mad.wide.s32 %d, %r1, 2, %b;", [M1, 10, 0], 8),
            ("shl.b64 %d, %a, 63;", [1, 0, 0], 1 << 63),
            ("shr.s64 %d, %a, 70;", [1 << 63, 0, 0], u64::MAX),
            ("div.s64 %d, %a, %b;", [(-7_i64) as u64, 2, 0], (-3_i64) as u64),
            ("rem.u64 %d, %a, %b;", [17, 5, 0], 2),
            ("popc.b64 %r1, %a; cvt.u64.u32 %d, %r1;", [u64::MAX, 0, 0], 64),
            ("clz.b64 %r1, %a; cvt.u64.u32 %d, %r1;", [1, 0, 0], 63),
            ("bfe.u64 %d, %a, 32, 16;", [0x1234_5678_9ABC_DEF0, 0, 0], 0x5678),
            ("bfi.b64 %d, %a, %b, 60, 8;", [0xFF, 1, 0], 0xF000_0000_0000_0001),
            ("mov.b64 {%r1, %r2}, %a; mov.b64 %d, {%r2, %r1};", [0x1_0000_0002, 0, 0], 0x2_0000_0001),
            ("cvt.s64.s32 %d, -5;", [0, 0, 0], (-5_i64) as u64),
            ("add.cc.u64 %rd1, %a, %b; addc.u64 %d, 0, 0;", [u64::MAX, 1, 0], 1),
            ("brev.b64 %d, %a;", [1, 0, 0], 1 << 63),
            ("selp.b64 %d, %a, %b, 1;", [4, 5, 0], 4),
        ],
    );
    check(
        "b16",
        &[
            ("add.s16 %d, %a, %b;", [0xFFFF, 2, 0], 1),
            ("mul.lo.u16 %d, %a, %b;", [0x100, 0x100, 0], 0),
            ("mul.hi.u16 %d, %a, %b;", [0x100, 0x100, 0], 1),
            ("shr.s16 %d, %a, 3;", [0x8000, 0, 0], 0xF000),
            ("min.s16 %d, %a, %b;", [0x8000, 1, 0], 0x8000),
            ("neg.s16 %d, %a;", [1, 0, 0], 0xFFFF),
            ("not.b16 %d, %a;", [1, 0, 0], 0xFFFE),
            ("mul.wide.s16 %r1, %a, %b; cvt.u16.u32 %d, %r1;", [0xFFFF, 3, 0], 0xFFFD),
            ("add.f16 %d, %a, %b;", [0x3C00, 0x4000, 0], 0x4200),
            ("fma.rn.f16 %d, %a, %b, %c;", [0x4000, 0x4200, 0x3C00], 0x4700),
            ("add.bf16 %d, %a, %b;", [0x3F80, 0x4000, 0], 0x4040),
            ("max.f16 %d, %a, %b;", [0x8000, 0, 0], 0),
            ("neg.f16 %d, %a;", [0x0001, 0, 0], 0x8001),
            ("neg.ftz.f16 %d, %a;", [0x0001, 0, 0], 0x8000),
            ("abs.ftz.f16 %d, %a;", [0x83FF, 0, 0], 0),
            ("setp.gt.f16 %p1, %a, %b; selp.b16 %d, 1, 0, %p1;", [0x0001, 0x8001, 0], 1),
            ("setp.gt.ftz.f16 %p1, %a, %b; selp.b16 %d, 1, 0, %p1;", [0x0001, 0x8001, 0], 0),
            ("cvt.rn.f16.f32 %d, 0f3F800000;", [0, 0, 0], 0x3C00),
            ("cvt.rn.f16.f32 %d, 0f477FF000;", [0, 0, 0], 0x7C00),
            ("cvt.rn.f16.f32 %d, 0f33800000;", [0, 0, 0], 0x0001),
            ("cvt.rn.bf16.f32 %d, 0f3F808000;", [0, 0, 0], 0x3F80),
            ("cvt.rz.bf16.f32 %d, 0f3F80FFFF;", [0, 0, 0], 0x3F80),
        ],
    );
}

fn f(value: f32) -> u64 {
    u64::from(value.to_bits())
}

#[test]
fn floats() {
    const NAN: u64 = 0x7FFF_FFFF;
    let eps = f32::EPSILON;
    let tiny = 1_u64;
    check(
        "b32",
        &[
            ("add.f32 %d, %a, %b;", [f(1.0), f(2.0), 0], f(3.0)),
            ("add.rz.f32 %d, %a, %b;", [f(1.0), f(eps * 0.75), 0], f(1.0)),
            ("add.rp.f32 %d, %a, %b;", [f(1.0), f(1e-30), 0], f(1.0 + eps)),
            ("add.rm.f32 %d, %a, %b;", [f(1.0), f(-1e-30), 0], f(1.0 - eps / 2.0)),
            ("sub.f32 %d, %a, %a;", [f(f32::INFINITY), 0, 0], NAN),
            ("add.ftz.f32 %d, %a, %a;", [tiny, 0, 0], 0),
            // What rounds up to the least normal value only for want of places is flushed.
            ("mul.f32 %d, %a, %b;", [0x0080_0000, 0x3F7F_FFFF, 0], 0x0080_0000),
            ("mul.ftz.f32 %d, %a, %b;", [0x0080_0000, 0x3F7F_FFFF, 0], 0),
            ("fma.rn.ftz.f32 %d, %a, %b, %c;", [0x0080_0000, 0xBF7F_FFFF, 0], 0x8000_0000),
            ("fma.rn.ftz.f32 %d, %a, %b, %c;", [0x0080_0000, 0x3F80_0000, 0], 0x0080_0000),
            ("add.f32 %d, %a, %a;", [tiny, 0, 0], 2),
            ("mul.sat.f32 %d, %a, %b;", [f(3.0), f(2.0), 0], f(1.0)),
            ("mul.rm.f32 %d, %a, %b;", [f(0.1), f(0.1), 0], 0x3C23_D70A),
            ("fma.rn.f32 %d, %a, %b, %c;", [f(1.0 + eps), f(1.0 + eps), f(-1.0)], f(2.0 * eps + eps * eps)),
            ("fma.rn.f32 %d, %a, %b, %c;", [f(f32::INFINITY), f(0.0), f(1.0)], NAN),
            ("fma.rz.f32 %d, %a, %b, %c;", [f(1.0), f(1.0), f(-1e-30)], f(1.0 - eps / 2.0)),
            ("div.rn.f32 %d, %a, %b;", [f(1.0), f(3.0), 0], f(1.0 / 3.0)),
            ("div.rz.f32 %d, %a, %b;", [f(2.0), f(3.0), 0], f(f32::from_bits((2.0_f32 / 3.0).to_bits() - 1))),
            ("div.rn.f32 %d, %a, %b;", [f(1.0), f(0.0), 0], f(f32::INFINITY)),
            ("sqrt.rn.f32 %d, %a;", [f(2.0), 0, 0], f(2_f32.sqrt())),
            ("sqrt.rn.f32 %d, %a;", [f(-1.0), 0, 0], NAN),
            ("rcp.rn.f32 %d, %a;", [f(3.0), 0, 0], f(1.0 / 3.0)),
            ("rsqrt.approx.f32 %d, %a;", [f(4.0), 0, 0], f(0.5)),
            ("ex2.approx.f32 %d, %a;", [f(-3.0), 0, 0], f(0.125)),
            ("ex2.approx.ftz.f32 %d, %a;", [f(-140.0), 0, 0], 0),
            ("lg2.approx.f32 %d, %a;", [f(8.0), 0, 0], f(3.0)),
            ("sin.approx.f32 %d, %a;", [f(0.0), 0, 0], f(0.0)),
            ("cos.approx.f32 %d, %a;", [f(0.0), 0, 0], f(1.0)),
            ("tanh.approx.f32 %d, %a;", [f(40.0), 0, 0], f(1.0)),
            ("min.f32 %d, %a, %b;", [NAN, f(1.0), 0], f(1.0)),
            ("max.f32 %d, %a, %b;", [f(-0.0), f(0.0), 0], f(0.0)),
            ("min.f32 %d, %a, %b;", [f(0.0), f(-0.0), 0], f(-0.0)),
            ("min.f32 %d, %a, %b, %c;", [f(3.0), f(1.0), f(2.0)], f(1.0)),
            ("max.NaN.f32 %d, %a, %b;", [NAN, f(1.0), 0], NAN),
            ("neg.f32 %d, %a;", [f(1.0), 0, 0], f(-1.0)),
            ("abs.f32 %d, %a;", [f(-1.0), 0, 0], f(1.0)),
            ("copysign.f32 %d, %a, %b;", [f(-2.0), f(3.0), 0], f(-3.0)),
            ("setp.ltu.f32 %p1, %a, %b; selp.b32 %d, 1, 0, %p1;", [NAN, f(1.0), 0], 1),
            ("setp.lt.f32 %p1, %a, %b; selp.b32 %d, 1, 0, %p1;", [NAN, f(1.0), 0], 0),
            ("setp.ne.f32 %p1, %a, %a; selp.b32 %d, 1, 0, %p1;", [NAN, 0, 0], 0),
            ("setp.neu.f32 %p1, %a, %a; selp.b32 %d, 1, 0, %p1;", [NAN, 0, 0], 1),
            ("setp.nan.f32 %p1, %a, %a; selp.b32 %d, 1, 0, %p1;", [NAN, 0, 0], 1),
            ("testp.subnormal.f32 %p1, %a; selp.b32 %d, 1, 0, %p1;", [tiny, 0, 0], 1),
            ("cvt.rzi.s32.f32 %d, %a;", [f(-2.9), 0, 0], (-2_i32) as u32 as u64),
            ("cvt.rni.s32.f32 %d, %a;", [f(2.5), 0, 0], 2),
            ("cvt.rpi.s32.f32 %d, %a;", [f(2.1), 0, 0], 3),
            ("cvt.rmi.s32.f32 %d, %a;", [f(-2.1), 0, 0], (-3_i32) as u32 as u64),
            ("cvt.rzi.s32.f32 %d, %a;", [f(1e10), 0, 0], MAX),
            ("cvt.rzi.u32.f32 %d, %a;", [f(-5.0), 0, 0], 0),
            ("cvt.rzi.s32.f32 %d, %a;", [NAN, 0, 0], 0),
            ("cvt.rni.f32.f32 %d, %a;", [f(3.5), 0, 0], f(4.0)),
            ("cvt.sat.f32.f32 %d, %a;", [f(3.5), 0, 0], f(1.0)),
            ("cvt.rn.f32.s32 %d, %a;", [16_777_217, 0, 0], f(16_777_216.0)),
            ("cvt.rp.f32.s32 %d, %a;", [16_777_217, 0, 0], f(16_777_218.0)),
            ("cvt.rn.f32.u32 %d, %a;", [M1, 0, 0], f(4_294_967_296.0)),
            ("cvt.rn.f16x2.f32 %d, %a, %b;", [f(1.0), f(2.0), 0], 0x3C00_4000),
            ("cvt.rn.bf16x2.f32 %d, %a, %b;", [f(1.0), f(2.0), 0], 0x3F80_4000),
            ("mov.b32 {%h1, %h2}, %a; cvt.f32.f16 %d, %h2;", [0x3C00_0000, 0, 0], f(1.0)),
            ("slct.b32.f32 %d, %a, %b, %c;", [1, 2, 0x8000_0001], 2),
            // Sums in global memory flush subnormals, those in shared memory keep them.
            ("st.global.b32 [%out], %a; red.global.add.f32 [%out], %b; ld.global.b32 %d, [%out];", [tiny, tiny, 0], 0),
            (
                ".shared .b32 s; st.shared.b32 [s], %a; red.shared.add.f32 [s], %b; ld.shared.b32 %d, [s];",
                [tiny, tiny, 0],
                2,
            ),
            ("slct.ftz.b32.f32 %d, %a, %b, %c;", [1, 2, 0x8000_0001], 1),
            ("slct.ftz.b32.f32 %d, %a, %b, %c;", [1, 2, NAN], 2),
            ("neg.ftz.f16x2 %d, %a;", [0x0001_4000, 0, 0], 0x8000_C000),
            ("fma.rn.f16x2 %d, %a, %b, %c;", [0x3C00_4000, 0x4000_4000, 0x3C00_3C00], 0x4200_4500),
            ("mul.bf16x2 %d, %a, %b;", [0x3F80_4000, 0x4000_4000, 0], 0x4000_4080),
        ],
    );
    let g = f64::to_bits;
    check(
        "b64",
        &[
            ("add.f64 %d, %a, %b;", [g(1.5), g(2.25), 0], g(3.75)),
            ("add.rp.f64 %d, %a, %b;", [g(1.0), g(1e-300), 0], g(1.0 + f64::EPSILON)),
            ("mul.rz.f64 %d, %a, %b;", [g(0.1), g(-0.1), 0], g(-0.01)),
            ("fma.rn.f64 %d, %a, %b, %c;", [g(3.0), g(4.0), g(5.0)], g(17.0)),
            ("div.rn.f64 %d, %a, %b;", [g(1.0), g(3.0), 0], g(1.0 / 3.0)),
            ("sqrt.rn.f64 %d, %a;", [g(2.0), 0, 0], g(2_f64.sqrt())),
            ("min.f64 %d, %a, %b;", [g(f64::NAN), g(1.0), 0], g(1.0)),
            ("rcp.approx.ftz.f64 %d, %a;", [g(4.0), 0, 0], g(0.25)),
            ("rsqrt.approx.f64 %d, %a;", [g(2.0), 0, 0], 0x3FE6_A09E_667F_3BCD),
            ("rsqrt.approx.ftz.f64 %d, %a;", [g(2.0), 0, 0], 0x3FE6_A09E_0000_0000),
            ("cvt.rn.f32.f64 %f1, %a; cvt.f64.f32 %d, %f1;", [g(0.1), 0, 0], g(f64::from(0.1_f32))),
            ("cvt.rn.f64.s64 %d, %a;", [(-3_i64) as u64, 0, 0], g(-3.0)),
            ("cvt.rzi.s64.f64 %d, %a;", [g(-3.7), 0, 0], (-3_i64) as u64),
            ("cvt.rn.f64.u64 %d, %a;", [u64::MAX, 0, 0], g(18_446_744_073_709_551_616.0)),
            ("cvt.rmi.f64.f64 %d, %a;", [g(-1.5), 0, 0], g(-2.0)),
        ],
    );
}

#[test]
fn adversarial_approximations_stay_within_their_error() {
    let mut seen = std::collections::HashSet::new();
    for seed in 1..60 {
        let options = Options { approximation: Approximation::Adversarial(seed), ..Options::default() };
        let found = f32::from_bits(evaluate("b32", "ex2.approx.f32 %d, %a;", [f(0.3), 0, 0], options) as u32);
        let error = (f64::from(found) / f64::from(0.3_f32).exp2() - 1.0).abs();
        assert!(error <= 2f64.powi(-22), "seed {seed}: {error:e}");
        seen.insert(found.to_bits());
    }
    assert!(seen.len() >= 3, "one value would be no adversary: {seen:?}");
}

/// Runs a kernel of one pointer (`[p]`, 64 words that hold 0…63) and gives the words.
fn words(text: &str, threads: u32) -> Vec<u32> {
    let mut machine = Machine::new(Options::default());
    let module = machine
        .load("flow", &format!(".version 8.0\n.target sm_75\n.address_size 64\n{text}"))
        .unwrap_or_else(|e| panic!("{e}"));
    let buffer = machine.alloc("p", 256).unwrap();
    let bytes: Vec<u8> = (0..64_u32).flat_map(u32::to_le_bytes).collect();
    assert!(machine.upload(buffer, 0, &bytes));
    let parameters = vec![machine.address(buffer).to_le_bytes().to_vec()];
    machine
        .launch(module, "k", Geometry { grid: [1; 3], block: [threads, 1, 1] }, 0, &parameters)
        .unwrap_or_else(|e| panic!("{e}"));
    let mut result = [0; 256];
    assert!(machine.download(buffer, 0, &mut result));
    for function in machine.coverage(module) {
        let (ran, all) = function.ran();
        assert_eq!(ran, all, "blocks of {} never ran: {:?}", function.name, function.blocks);
    }
    result.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}

const HEAD: &str = ".reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;";

#[test]
fn loops_of_different_lengths_meet_again() {
    // Collatz steps, then a barrier and a full shuffle: every lane must have come back.
    let text = format!(
        ".visible .entry k(.param .u64 p) {{ {HEAD}
        add.s32 %r2, %r1, 1; mov.u32 %r3, 0;
        LOOP: setp.eq.u32 %p1, %r2, 1; @%p1 bra DONE;
        and.b32 %r4, %r2, 1; setp.eq.u32 %p2, %r4, 0; @%p2 bra EVEN;
        mad.lo.u32 %r2, %r2, 3, 1; bra NEXT;
        EVEN: shr.u32 %r2, %r2, 1;
        NEXT: add.s32 %r3, %r3, 1; bra LOOP;
        DONE: bar.sync 0;
        shfl.sync.idx.b32 %r5, %r3, 26, 31, -1;
        add.s32 %r5, %r5, %r3;
        st.global.u32 [%rd3], %r5; ret; }}"
    );
    let steps = |mut n: u32| {
        let mut count = 0;
        while n != 1 {
            n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
            count += 1;
        }
        count
    };
    let found = words(&text, 64);
    for i in 0..64_u32 {
        assert_eq!(found[i as usize], steps(i + 1) + steps(i / 32 * 32 + 27), "thread {i}");
    }
}

#[test]
fn calls_and_tables() {
    let text = format!(
        ".func (.param .b32 r) pick(.param .b32 a, .param .b64 b) {{ .reg .b32 %r<4>; .reg .b64 %rd<2>; .reg .pred %p<2>;
            ld.param.u32 %r1, [a]; ld.param.u64 %rd1, [b]; cvt.u32.u64 %r2, %rd1; setp.gt.u32 %p1, %r1, 9;
            @%p1 bra BIG; add.s32 %r3, %r1, %r2; st.param.b32 [r], %r3; ret;
            BIG: sub.s32 %r3, %r1, %r2; st.param.b32 [r], %r3; ret; }}
        .visible .entry k(.param .u64 p) {{ {HEAD}
        and.b32 %r2, %r1, 3;
        T: .branchtargets A, B, C, C;
        brx.idx %r2, T;
        A: mov.u32 %r3, 100; bra E;
        B: mov.u32 %r3, 200; bra E;
        C: mov.u32 %r3, 300;
        E: cvt.u64.u32 %rd4, %r3;
        {{ .param .b32 x; .param .b64 y; .param .b32 z;
           st.param.b32 [x], %r1; st.param.b64 [y], %rd4;
           call.uni (z), pick, (x, y);
           ld.param.b32 %r4, [z]; }}
        st.global.u32 [%rd3], %r4; ret; }}"
    );
    let found = words(&text, 48);
    for i in 0..48_u32 {
        let chosen = [100, 200, 300, 300][i as usize % 4];
        assert_eq!(found[i as usize], if i > 9 { i.wrapping_sub(chosen) } else { i + chosen }, "thread {i}");
    }
}

#[test]
fn lanes_together() {
    let text = format!(
        ".visible .entry k(.param .u64 p) {{ {HEAD}
        shfl.sync.up.b32 %r2, %r1, 1, 0, -1;
        shfl.sync.down.b32 %r3, %r1, 2, 31, -1;
        shfl.sync.idx.b32 %r4|%p1, %r1, 9, 0x181f, -1;
        setp.lt.u32 %p2, %r1, 5; vote.sync.ballot.b32 %r5, %p2, -1;
        vote.sync.any.pred %p3, %p2, -1; selp.b32 %r6, 1000, 0, %p3;
        and.b32 %r7, %r1, 3; match.any.sync.b32 %r8, %r7, -1; popc.b32 %r8, %r8;
        redux.sync.max.u32 %r9, %r1, -1; activemask.b32 %r10; popc.b32 %r10, %r10;
        add.s32 %r11, %r2, %r3; add.s32 %r11, %r11, %r4; add.s32 %r11, %r11, %r5; add.s32 %r11, %r11, %r6;
        add.s32 %r11, %r11, %r8; add.s32 %r11, %r11, %r9; add.s32 %r11, %r11, %r10;
        st.global.u32 [%rd3], %r11; ret; }}"
    );
    let found = words(&text, 32);
    for i in 0..32_u32 {
        let (up, down, idx) = (i.saturating_sub(1), if i < 30 { i + 2 } else { i }, i / 8 * 8 + 1);
        assert_eq!(found[i as usize], up + down + idx + 31 + 1000 + 8 + 31 + 32, "lane {i}");
    }
}

#[test]
fn memory_forms() {
    let text = format!(
        ".global .align 4 .u32 table[4] = {{10, 20, 30, 40}}; .global .u64 link = generic(table)+8;
        .visible .entry k(.param .u64 p) {{ {HEAD} .reg .b64 %SP; .local .align 8 .b8 depot[16]; .shared .align 8 .b8 s[512];
        ld.global.L1::no_allocate.v4.u32 {{%r2, %r3, %r4, %r5}}, [%rd1+16];
        ld.global.nc.s8 %r6, [%rd1+4];
        mov.u64 %rd4, link; ld.global.u64 %rd4, [%rd4]; ld.u32 %r7, [%rd4];
        mov.u64 %SP, depot; cvta.local.u64 %SP, %SP; st.u32 [%SP+8], %r1; ld.u32 %r8, [%SP+8];
        mov.u64 %rd5, s; cvta.shared.u64 %rd5, %rd5; add.s64 %rd5, %rd5, %rd2; st.u32 [%rd5], %r1; ld.u32 %r9, [%rd5];
        add.s32 %r10, %r2, %r5; add.s32 %r10, %r10, %r6; add.s32 %r10, %r10, %r7; add.s32 %r10, %r10, %r8; add.s32 %r10, %r10, %r9;
        bar.sync 0; mov.u64 %rd6, s; add.s64 %rd6, %rd6, 496;
        setp.eq.u32 %p1, %r1, 0; @%p1 cp.async.cg.shared.global [%rd6], [%rd1], 16; cp.async.commit_group; cp.async.wait_group 0; bar.sync 0;
        ld.shared.u32 %r2, [%rd6+12]; add.s32 %r10, %r10, %r2;
        bar.sync 0; st.global.u32 [%rd3], %r10; ret; }}"
    );
    let found = words(&text, 64);
    for i in 0..64_u32 {
        assert_eq!(found[i as usize], 4 + 7 + 1 + 30 + 3 + 2 * i, "thread {i}");
    }
}

#[test]
fn the_executor_runs_ptx_and_says_what_is_wrong() {
    let text = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry scale(.param .u64 p, .param .f32 s, .param .u32 n) {
        .reg .pred %p<2>; .reg .b32 %r<4>; .reg .f32 %f<4>; .reg .b64 %rd<4>;
        ld.param.u64 %rd1, [p]; ld.param.f32 %f1, [s]; ld.param.u32 %r2, [n]; mov.u32 %r1, %tid.x;
        setp.ge.u32 %p1, %r1, %r2; @%p1 ret;
        mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2; ld.global.f32 %f2, [%rd1]; mul.f32 %f2, %f2, %f1; st.global.f32 [%rd1], %f2; ret; }";
    let mut vm = VmExecutor::new(Options::default());
    let program = Program { name: "p".into(), code: Code::Ptx(text.into()) };
    let module = vm.load(&program).unwrap();
    assert_eq!(vm.load(&program).unwrap(), module);
    assert_eq!(vm.entries(module), ["scale"]);
    let buffer = vm.alloc(16).unwrap();
    vm.upload(buffer, 0, &[1.0_f32, 2.0, 3.0, 4.0].map(f32::to_le_bytes).concat()).unwrap();
    // The pointer stands a gigabyte before the buffer's window of a larger table.
    let far = |n| Launch {
        module,
        entry: "scale".into(),
        geometry: Geometry { grid: [1; 3], block: [32, 1, 1] },
        arguments: vec![Argument::Pointer { buffer, offset: 4 }, Argument::F32(2.0), Argument::I32(n)],
    };
    vm.launch(&far(3)).unwrap();
    let mut bytes = [0; 16];
    vm.download(buffer, 0, &mut bytes).unwrap();
    assert_eq!(bytes.as_slice(), [1.0_f32, 4.0, 6.0, 8.0].map(f32::to_le_bytes).concat());
    match vm.launch(&far(4)) {
        Err(Error::Fault { findings, .. }) => {
            assert!(findings[0].contains("`argument 0 (buffer 0)` byte 16"), "{findings:?}");
        }
        other => panic!("{other:?}"),
    }
    let wrong = Launch { entry: "nothing".into(), ..far(1) };
    assert!(matches!(vm.launch(&wrong), Err(Error::NoEntry { .. })));
    let wrong = Launch { arguments: Vec::new(), ..far(1) };
    assert!(matches!(vm.launch(&wrong), Err(Error::Launch { .. })));
    assert!(matches!(
        vm.load(&Program { name: "c".into(), code: Code::Cuda(String::new()) }),
        Err(Error::NoCompiler { .. })
    ));
    assert!(vm.upload(buffer, 15, &[0; 2]).is_err());
    let broken = Program { name: "broken".into(), code: Code::Ptx("\n\nnonsense".into()) };
    assert!(vm.load(&broken).unwrap_err().to_string().contains("line 3"));
}

/// Where computing in f64 and looking at what was left out goes wrong: overflow, subnormals, and the sign of an exact zero.
#[test]
fn directed_rounding_is_exact_at_overflow_in_subnormals_and_at_zero() {
    let (one, two, max, least) = (1f64.to_bits(), 2f64.to_bits(), f64::MAX.to_bits(), 1);
    let (minus, infinity) = (1 << 63, f64::INFINITY.to_bits());
    check(
        "b64",
        &[
            ("mul.rz.f64 %d, %a, %b;", [max, two, 0], max),
            ("mul.rm.f64 %d, %a, %b;", [max, two, 0], max),
            ("mul.rp.f64 %d, %a, %b;", [max, two, 0], infinity),
            ("mul.rm.f64 %d, %a, %b;", [max | minus, two, 0], infinity | minus),
            ("mul.rp.f64 %d, %a, %b;", [least, least, 0], least),
            ("mul.rm.f64 %d, %a, %b;", [least, least, 0], 0),
            ("mul.rm.f64 %d, %a, %b;", [least | minus, least, 0], least | minus),
            ("fma.rp.f64 %d, %a, %b, %c;", [least, least, one], one + 1),
            ("fma.rm.f64 %d, %a, %b, %c;", [one, one, one | minus], minus),
            ("div.rp.f64 %d, %a, %b;", [least, two, 0], least),
            ("div.rz.f64 %d, %a, %b;", [least, two, 0], 0),
            ("add.rm.f64 %d, %a, %b;", [one, one | minus, 0], minus),
        ],
    );
    let f = |x: f32| u64::from(x.to_bits());
    check("b32", &[("add.rm.f32 %d, %a, %b;", [f(1.0), f(-1.0), 0], 0x8000_0000)]);
}

/// PTX ISA, notes on integers of `cvt`: zero only for a source narrower than f64 and a destination narrower than 64 bits.
#[test]
fn nan_becomes_the_integer_that_the_isa_names() {
    let nan = f64::NAN.to_bits();
    check(
        "b64",
        &[
            ("cvt.rzi.s64.f64 %d, %a;", [nan, 0, 0], 1 << 63),
            ("cvt.rzi.u64.f32 %d, 0f7FC00000;", [0, 0, 0], 1 << 63),
            ("cvt.rzi.s32.f64 %r1, %a; cvt.u64.u32 %d, %r1;", [nan, 0, 0], MIN),
            ("cvt.rzi.s32.f32 %r1, 0f7FC00000; cvt.u64.u32 %d, %r1;", [0, 0, 0], 0),
        ],
    );
}

#[test]
fn approximate_division_loses_divisors_beyond_two_to_the_126() {
    let f = |x: f32| u64::from(x.to_bits());
    let huge = f(2f32.powi(127));
    check(
        "b32",
        &[
            ("div.approx.f32 %d, %a, %b;", [f(-1.0), huge, 0], 0x8000_0000),
            ("div.approx.f32 %d, %a, %b;", [f(f32::INFINITY), huge, 0], 0x7FFF_FFFF),
            ("div.full.f32 %d, %a, %b;", [f(2f32.powi(100)), huge, 0], f(2f32.powi(-27))),
        ],
    );
}
