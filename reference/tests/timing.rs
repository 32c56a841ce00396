//! How long a delta-rule step of a real layer takes: run with `--release -- --ignored --nocapture`.

mod common;

use std::time::{Duration, Instant};

use common::{Draw, lift};
use gdn_reference::ops::delta_rule;
use gdn_reference::{Bounded, Budget, HeadMap, Reduction, Scalar};
use ndarray::{Array1, Array2, Array3};

fn fastest_step<T: Scalar>() -> Duration {
    let mut draw = Draw::new(1);
    let (hk, hv, d) = (16, 48, 128);
    let q: Array2<T> = lift(&draw.array((hk, d), 0.1));
    let k: Array2<T> = lift(&draw.array((hk, d), 0.1));
    let v: Array2<T> = lift(&draw.array((hv, d), 1.0));
    let beta: Array1<T> = Array1::from_elem(hv, T::exact(0.5));
    let decay: Array1<T> = Array1::from_elem(hv, T::exact(f64::from(0.9_f32)));
    let state: Array3<T> = lift(&draw.array((hv, d, d), 1.0));
    let mut o = v.clone();
    let inputs = delta_rule::Inputs { q: q.view(), k: k.view(), v: v.view(), beta: beta.view(), decay: decay.view() };
    let budget = Budget::CUDA.with_reduction(Reduction::Warp);
    (0..10)
        .map(|_| {
            let mut state = state.clone();
            let start = Instant::now();
            delta_rule::step(&inputs, state.view_mut(), o.view_mut(), HeadMap::Tile, &budget).unwrap();
            start.elapsed()
        })
        .min()
        .unwrap()
}

#[test]
#[ignore = "a measurement, for release builds"]
fn a_real_layer_takes_milliseconds() {
    println!("f64 {:?}, bounded {:?}", fastest_step::<f64>(), fastest_step::<Bounded>());
}
