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
    // Values of 16 bits, all different, so that nothing is exact for long.
    let number = |i: usize| T::exact(((i * 40_503) % 65_536) as f64 / 65_536.0 - 0.5);
    let matrix = |rows: usize| Array2::from_shape_fn((rows, d), |(i, j)| number(i * d + j));
    let (q, k, v) = (matrix(hk), matrix(hk), matrix(hv));
    let (beta, decay) = (Array1::from_elem(hv, T::exact(0.5)), Array1::from_elem(hv, T::exact(0.875)));
    let state = Array3::from_shape_fn((hv, d, d), |(h, i, j)| number((h * d + i) * d + j));
    let budget = Budget::CUDA.with_reduction(Reduction::Warp);
    let x = delta_rule::Inputs { q: q.view(), k: k.view(), v: v.view(), beta: beta.view(), decay: decay.view() };
    let mut o = Array2::from_elem((hv, d), T::exact(0.0));
    bencher
        .with_inputs(|| state.clone())
        .bench_local_refs(|state| delta_rule::step(&x, state.view_mut(), o.view_mut(), HeadMap::Tile, &budget));
}
