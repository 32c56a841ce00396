//! Exact stand-ins for the approximate instructions of a PTX text: what still differs between two executors then is no
//! approximation's doing.
//!
//! Approximations are the only instructions of these kernels whose result the ISA leaves open; each becomes a few whose results it
//! defines to the bit. Not the values are what matters (they come within some 1e-5 of the function's), but that every executor
//! must compute the same.

use std::fmt::Write as _;

/// Coefficients of the series of 2^r about 0: ln(2)^k / k!, as PTX writes floats, the highest first.
const SERIES: [&str; 7] =
    ["0f39218489", "0f3AAEC3FF", "0f3C1D955B", "0f3D635847", "0f3E75FDF0", "0f3F317218", "0f3F800000"];

/// The text with every approximate instruction replaced; nothing where it has one without a stand-in.
pub fn replaced(ptx: &str) -> Option<String> {
    let mut text = String::with_capacity(ptx.len());
    for line in ptx.lines() {
        let code = line.split("//").next().unwrap_or(line).trim();
        if !code.contains(".approx") && !code.contains(".full.") {
            let _ = writeln!(text, "{line}");
            continue;
        }
        let (instruction, operands) = code.strip_suffix(';')?.split_once(char::is_whitespace)?;
        let (to, from) = operands.split_once(',').map(|(to, from)| (to.trim(), from.trim()))?;
        match instruction {
            "ex2.approx.ftz.f32" => exponential(&mut text, to, from),
            // Both correctly rounded by the ISA.
            "rsqrt.approx.f32" => {
                let _ = writeln!(text, "sqrt.rn.f32 {to}, {from};\nrcp.rn.f32 {to}, {to};");
            }
            "rcp.approx.ftz.f64" => {
                let _ = writeln!(text, "rcp.rn.f64 {to}, {from};");
            }
            _ => return None,
        }
    }
    Some(text)
}

/// The text with every product, sum and difference of floats rounded by itself: without `.rn` a compiler may fuse a product into a sum.
pub fn uncontracted(ptx: &str) -> String {
    let mut text = String::with_capacity(ptx.len());
    for line in ptx.lines() {
        let code = line.trim_start();
        let fusible = ["mul", "add", "sub"].into_iter().any(|name| {
            let of = |kind: &str| code.strip_prefix(name).is_some_and(|rest| rest.starts_with(kind));
            of(".f32") || of(".f64") || of(".ftz.f32")
        });
        let line = if fusible { line.replacen('.', ".rn.", 1) } else { line.to_owned() };
        let _ = writeln!(text, "{line}");
    }
    text
}

/// 2^x as 2^n · series(x − n), n = ⌊x⌋ held where 2^n is a normal number.
fn exponential(text: &mut String, to: &str, from: &str) {
    let [highest, rest @ ..] = SERIES;
    let _ = writeln!(text, "{{\n.reg .f32 %whole, %part, %sum;\n.reg .b32 %bits, %shift;");
    let _ =
        writeln!(text, "cvt.rmi.f32.f32 %whole, {from};\nsub.rn.f32 %part, {from}, %whole;\nmov.f32 %sum, {highest};");
    for coefficient in rest {
        let _ = writeln!(text, "fma.rn.f32 %sum, %sum, %part, {coefficient};");
    }
    let _ =
        writeln!(text, "cvt.rzi.s32.f32 %shift, %whole;\nmax.s32 %shift, %shift, -126;\nmin.s32 %shift, %shift, 127;");
    let _ = writeln!(text, "shl.b32 %shift, %shift, 23;\nmov.b32 %bits, %sum;\nadd.s32 %bits, %bits, %shift;");
    let _ = writeln!(text, "mov.b32 {to}, %bits;\n}}");
}

#[cfg(test)]
mod tests {
    use gdn_gpu::ptx::Accepted;
    use gdn_gpu::run::Tensor;
    use gdn_gpu::vm::{Options, VmExecutor};

    use crate::case::Case;
    use crate::draw::Draws;
    use crate::runner::Runner;
    use crate::suites;

    #[test]
    fn the_shipped_kernels_have_no_other_approximate_instructions() {
        for accepted in &Accepted::ALL[..2] {
            let text = super::replaced(accepted.ptx).expect("every approximate instruction has a stand-in");
            assert!(accepted.ptx.contains(".approx") && !text.contains(".approx"), "{}", accepted.name);
        }
        assert_eq!(super::replaced("  tanh.approx.f32 %f1, %f2;"), None);
    }

    #[test]
    fn nothing_is_left_to_contract() {
        let text =
            super::uncontracted("\tmul.f32 \t%f1, %f2, %f3;\n\tadd.ftz.f32 %f1, %f2, %f3;\n\tadd.s32 %r1, %r2, 1;\n");
        assert_eq!(text, "\tmul.rn.f32 \t%f1, %f2, %f3;\n\tadd.rn.ftz.f32 %f1, %f2, %f3;\n\tadd.s32 %r1, %r2, 1;\n");
    }

    #[test]
    fn stand_ins_come_near_to_what_they_stand_for() {
        for line in [
            "gk_gate_mul(n=600,regime=gaussian,scale=2^0,seed=0x51)",
            "gk_gdn_gates(hv=33,regime=gaussian,scale=2^0,seed=0x51)",
            "gk_l2norm_heads(d=80,h=3,regime=gaussian,scale=2^0,seed=0x51)",
            "gk_qk_norm_rope_part(h=2,hd=64,rot=64,pos=131071,stride=128,regime=gaussian,scale=2^0,seed=0x51)",
        ] {
            let case: Case = line.parse().unwrap();
            let suite = suites::find(case.contract.kernel).unwrap();
            let inputs = suite.draw(&case, &Draws::new(&case, 0));
            let machine = VmExecutor::new(Options::default()).with_compiler(gdn_gpu::ptx::of);
            let mut shipped = Runner::kernels(Box::new(machine)).unwrap();
            let mut exact = shipped.edited(|ptx| super::replaced(ptx).expect("stand-ins")).unwrap();
            let [a, b] = [&mut shipped, &mut exact]
                .map(|runner| runner.run(suite, &case.shape, &inputs, case.seed).unwrap().outputs);
            let mut other = 0;
            for (name, tensor) in &a {
                let (Tensor::F32(a), Tensor::F32(b)) = (tensor, &b[name]) else { panic!("{name} holds floats") };
                other += a.iter().zip(b).filter(|(a, b)| a != b).count();
                for (a, b) in a.iter().zip(b) {
                    assert!((a - b).abs() <= 1e-4 * a.abs().max(1e-3), "{line} {name}: {a} and {b}");
                }
            }
            assert!(other > 0, "{line}: the stand-ins changed nothing");
        }
    }
}
