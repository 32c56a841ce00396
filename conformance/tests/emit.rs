//! The emitted program: compiled with nvcc, run on a device, and compared with the oracle's bounds. Ignored, with the reason,
//! where nvcc or a device is missing.

use std::process::Command;

use gdn_conformance::case::Case;
use gdn_conformance::draw::Draws;
use gdn_conformance::suites;
use gdn_conformance::verdict::{Disposition, judge};
use gdn_gpu::emit_gated_delta_forward;
use gdn_gpu::run::{Tensor, Tensors};
use libtest_mimic::{Arguments, Failed, Trial};

/// (HV, HK, D): the shapes around tiling, warps and their tails.
const SHAPES: [(usize, usize, usize); 5] = [(6, 2, 128), (4, 2, 16), (2, 1, 8), (3, 1, 33), (1, 1, 256)];

fn draw(line: &str) -> (Case, Tensors) {
    let case: Case = line.parse().expect("the line is written here");
    let suite = suites::find(case.contract.kernel).expect("the kernel is registered");
    let inputs = suite.draw(&case, &Draws::new(&case, 0));
    (case, inputs)
}

/// The worst of an operation's outputs against its oracle, as an error where one fails.
fn compare(case: &Case, inputs: &Tensors, outputs: &Tensors) -> Result<(), Failed> {
    let suite = suites::find(case.contract.kernel).map_err(|error| error.to_string())?;
    for check in suite.expect(&case.shape, inputs, outputs)? {
        // The program prints the norm's output and the state; what lies between is not seen.
        let Some(got) = outputs.get(check.output) else { continue };
        let verdict = judge(&check, Some(got));
        if verdict.disposition != Disposition::Passed {
            return Err(format!("{case} {}: {}", check.output, verdict.detail).into());
        }
    }
    Ok(())
}

fn runs_and_agrees(hv: usize, hk: usize, d: usize) -> Result<(), Failed> {
    let (step, inputs) = draw(&format!("gdn_step(d={d},hk={hk},hv={hv},tokens=1,regime=fast,scale=2^0,seed=0x51)"));
    let (norm, norm_inputs) =
        draw(&format!("gdn_gate_norm(d={d},hv={hv},eps=1e-6,regime=gaussian,scale=2^0,seed=0x51)"));
    let wide = |tensors: &Tensors, name: &str| -> Vec<f64> {
        tensors[name].f32().unwrap_or_default().iter().map(|&x| f64::from(x)).collect()
    };
    let [q, k, v, beta, decay, s0] = ["q", "k", "v", "beta", "decay", "S"].map(|name| wide(&inputs, name));
    let (z, gn) = (wide(&norm_inputs, "z"), wide(&norm_inputs, "gn"));
    let program = emit_gated_delta_forward(&q, &k, &v, &z, &beta, &decay, &s0, &gn, hv, hk, d)?;

    let folder = tempfile::tempdir()?;
    let (source, binary) = (folder.path().join("forward.cu"), folder.path().join("forward"));
    std::fs::write(&source, program)?;
    let built = Command::new("nvcc").arg("-O2").arg("-arch=native").arg("-o").arg(&binary).arg(&source).output()?;
    if !built.status.success() {
        return Err(String::from_utf8_lossy(&built.stderr).into_owned().into());
    }
    let ran = Command::new(&binary).output()?;
    if !ran.status.success() {
        return Err(String::from_utf8_lossy(&ran.stderr).into_owned().into());
    }
    let text = String::from_utf8(ran.stdout)?;
    let numbers = text.lines().map(str::parse).collect::<Result<Vec<f32>, _>>()?;
    if numbers.len() != hv * d + hv * d * d {
        return Err(format!("{} numbers, {} expected", numbers.len(), hv * d + hv * d * d).into());
    }
    let (out, state) = numbers.split_at(hv * d);
    compare(&step, &inputs, &Tensors::from([("S", Tensor::F32(state.to_vec()))]))?;

    // The norm's input is not printed: the output must agree with the norm of some o within the delta rule's bound, so the
    // two bounds are composed, operation after operation, from the program's inputs.
    composed(&step, &inputs, &norm, &norm_inputs, out)
}

/// The chain of both operations over bounded scalars.
fn composed(step: &Case, inputs: &Tensors, norm: &Case, norm_inputs: &Tensors, out: &[f32]) -> Result<(), Failed> {
    use gdn_gpu::contract::Dim;
    use gdn_reference::HeadMap;
    use gdn_reference::ops::{delta_rule, gated_rms_norm};
    use gdn_reference::scalar::{Bounded, Scalar};
    use ndarray::{Array1, Array2, Array3};

    let (hv, hk, d) = (step.get(Dim::Hv), step.get(Dim::Hk), step.get(Dim::D));
    let exact = |tensors: &Tensors, name: &str| -> Vec<Bounded> {
        tensors[name].f32().unwrap_or_default().iter().map(|&x| Bounded::exact(f64::from(x))).collect()
    };
    let matrix = |tensors: &Tensors, name: &str, rows: usize| Array2::from_shape_vec((rows, d), exact(tensors, name));
    let (q, k, v) = (matrix(inputs, "q", hk)?, matrix(inputs, "k", hk)?, matrix(inputs, "v", hv)?);
    let (beta, decay) = (Array1::from(exact(inputs, "beta")), Array1::from(exact(inputs, "decay")));
    let mut state = Array3::from_shape_vec((hv, d, d), exact(inputs, "S"))?;
    let mut o = Array2::from_elem((hv, d), Bounded::exact(0.0));
    let x = delta_rule::Inputs { q: q.view(), k: k.view(), v: v.view(), beta: beta.view(), decay: decay.view() };
    delta_rule::step(&x, state.view_mut(), o.view_mut(), HeadMap::Tile, &step.contract.budget)?;
    let (z, gn) = (matrix(norm_inputs, "z", hv)?, Array1::from(exact(norm_inputs, "gn")));
    let mut expected = Array2::from_elem((hv, d), Bounded::exact(0.0));
    let eps = Bounded::exact(f64::from(1e-6f32));
    gated_rms_norm::norm(z.view(), gn.view(), o.view(), eps, expected.view_mut(), &norm.contract.budget)?;
    for (i, (want, &got)) in expected.iter().zip(out).enumerate() {
        if !want.accepts(got) {
            return Err(format!("out[{i}] = {got:e}, oracle {:e} ± {:e}", want.value, want.bound).into());
        }
    }
    Ok(())
}

/// Why the program cannot be built and run here.
fn absent() -> Option<String> {
    if Command::new("nvcc").arg("--version").output().is_err() {
        return Some("nvcc is not on the PATH".into());
    }
    gdn_gpu::cuda::open().err().map(|error| error.to_string())
}

fn main() {
    let absent = absent();
    let trials = SHAPES.map(|(hv, hk, d)| {
        let name = format!("emitted_program_agrees_with_the_oracle::hv{hv}_hk{hk}_d{d}");
        let trial = Trial::test(name, move || runs_and_agrees(hv, hk, d));
        match &absent {
            Some(reason) => trial.with_ignored_flag(true).with_kind(reason.clone()),
            None => trial,
        }
    });
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit();
}
