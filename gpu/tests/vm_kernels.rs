//! Compiled kernels as NVRTC emits them (`ptx/sample.ptx`): right answers, no findings under many schedules, and coverage.

use gdn_gpu::executor::{Argument, Buffer, Code, Executor, Geometry, Launch, Program};
use gdn_gpu::vm::{Approximation, Options, VmExecutor};

const SAMPLE: &str = include_str!("ptx/sample.ptx");

fn noise(seed: &mut u32, count: usize) -> Vec<f32> {
    (0..count)
        .map(|_| {
            *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (*seed >> 8) as f32 / 16_777_216.0 - 0.5
        })
        .collect()
}

fn put(vm: &mut VmExecutor, values: &[f32], writable: bool) -> Buffer {
    let buffer = vm.alloc(values.len() * 4).unwrap();
    vm.expose(buffer, 0, values.len() * 4, writable);
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    vm.upload(buffer, 0, &bytes).unwrap();
    buffer
}

fn take(vm: &mut VmExecutor, buffer: Buffer, count: usize) -> Vec<f32> {
    let mut bytes = vec![0; count * 4];
    vm.download(buffer, 0, &mut bytes).unwrap();
    bytes.chunks_exact(4).map(|c| f32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}

/// One step of the delta rule and the norm after it; both outputs.
fn layer(options: Options, hv: usize, hk: usize, d: usize) -> (Vec<f32>, Vec<f32>) {
    let mut vm = VmExecutor::new(options);
    let module = vm.load(&Program { name: "sample".into(), code: Code::Ptx(SAMPLE.into()) }).unwrap();
    let mut seed = 7;
    let [q, k] = [0; 2].map(|_| noise(&mut seed, hk * d));
    let v = noise(&mut seed, hv * d);
    let [beta, decay] = [0; 2].map(|_| noise(&mut seed, hv));
    let state = noise(&mut seed, hv * d * d);
    let inputs: Vec<Buffer> = [&q, &k, &v, &beta, &decay].iter().map(|x| put(&mut vm, x, false)).collect();
    let s = put(&mut vm, &state, true);
    let o = vm.alloc(hv * d * 4).unwrap();
    let pointer = |buffer| Argument::Pointer { buffer, offset: 0 };
    let mut arguments: Vec<Argument> = inputs.iter().copied().chain([s, o]).map(pointer).collect();
    arguments.extend([Argument::I32(d as i32), Argument::I32(hk as i32)]);
    let geometry = Geometry { grid: [hv as u32, d.div_ceil(4) as u32, 1], block: [128, 1, 1] };
    vm.launch(&Launch { module, entry: "gdn_step".into(), geometry, arguments }).unwrap();
    let out = take(&mut vm, o, hv * d);
    for h in 0..hv {
        for row in 0..d {
            let at = |x: &[f32], j: usize| f64::from(x[h % hk * d + j]);
            let old = |j: usize| f64::from(decay[h]) * f64::from(state[(h * d + row) * d + j]);
            let predicted: f64 = (0..d).map(|j| old(j) * at(&k, j)).sum();
            let delta = f64::from(beta[h]) * (f64::from(v[h * d + row]) - predicted);
            let sum: f64 = (0..d).map(|j| (old(j) + delta * at(&k, j)) * at(&q, j)).sum();
            let error = (sum / (d as f64).sqrt() - f64::from(out[h * d + row])).abs();
            assert!(error < 1e-6, "D {d} head {h} row {row}: off by {error:e}");
        }
    }
    let (z, gain) = (put(&mut vm, &v, false), put(&mut vm, &state[..d], false));
    let normed = vm.alloc(hv * d * 4).unwrap();
    let mut arguments = [z, gain, o, normed].map(pointer).to_vec();
    arguments.extend([Argument::I32(d as i32), Argument::F32(1e-6)]);
    let geometry = Geometry { grid: [hv as u32, 1, 1], block: [d.next_multiple_of(32) as u32, 1, 1] };
    vm.launch(&Launch { module, entry: "gate_norm".into(), geometry, arguments }).unwrap();
    (out, take(&mut vm, normed, hv * d))
}

#[test]
fn sizes_of_all_kinds() {
    for d in [1, 3, 16, 31, 32, 33, 64, 127, 128, 255, 256] {
        layer(Options::default(), 3, 1, d);
    }
}

#[test]
fn schedules_change_nothing() {
    let first = layer(Options::default(), 6, 2, 48);
    for seed in 1..=100 {
        assert_eq!(layer(Options { seed, ..Options::default() }, 6, 2, 48), first, "seed {seed}");
    }
    assert_eq!(layer(Options { checks: false, ..Options::default() }, 6, 2, 48), first);
}

#[test]
fn adversarial_approximations_change_little() {
    let first = layer(Options::default(), 2, 1, 64).1;
    let mut changed = 0;
    for seed in 1..=20 {
        let options = Options { approximation: Approximation::Adversarial(seed), ..Options::default() };
        let other = layer(options, 2, 1, 64).1;
        for (a, b) in first.iter().zip(&other) {
            assert!((a - b).abs() <= 2e-6 * a.abs(), "{a} {b}");
            changed += usize::from(a != b);
        }
    }
    assert!(changed > 100);
}
