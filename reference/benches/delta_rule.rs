//! The delta-rule step of a real layer (HK 16, HV 48, D 128): the oracle alone, and with its bounds. `cargo bench -p gdn-reference`.

use divan::Bencher;
use gdn_reference::ops::delta_rule;
use gdn_reference::{Bounded, Budget, HeadMap, Reduction, Scalar};
use ndarray::{Array1, Array2, Array3};

fn main() {
    divan::main();
}

#[divan::bench(types = [f64, Bounded])]
fn step<T: Scalar>(bencher: Bencher<'_, '_>) {
    let (hk, hv, d) = (16, 48, 128);
    // Values of 23 bits, all different, so that nothing is exact.
    let number = |i: usize| T::exact(((i * 2_654_435_761) % 16_777_216) as f64 / 16_777_216.0 - 0.5);
    let matrix = |rows: usize| Array2::from_shape_fn((rows, d), |(i, j)| number(i * d + j));
    let (q, k, v) = (matrix(hk), matrix(hk), matrix(hv));
    let (beta, decay) = (
        Array1::from_elem(hv, T::exact(f64::from(0.4321_f32))),
        Array1::from_elem(hv, T::exact(f64::from(0.9037_f32))),
    );
    let state = Array3::from_shape_fn((hv, d, d), |(h, i, j)| number((h * d + i) * d + j));
    let budget = Budget::CUDA.with_reduction(Reduction::Warp);
    let x = delta_rule::Inputs { q: q.view(), k: k.view(), v: v.view(), beta: beta.view(), decay: decay.view() };
    let mut o = Array2::from_elem((hv, d), T::exact(0.0));
    bencher
        .with_inputs(|| state.clone())
        .bench_local_refs(|state| delta_rule::step(&x, state.view_mut(), o.view_mut(), HeadMap::Tile, &budget));
}
