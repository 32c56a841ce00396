//! Bounds are sound: f32 evaluations in random orders, fused or not, with every function at an end of its budget, in every accepted
//! form, stay within them.

use crate::common::{Draw, accepted_by, lift};
use gdn_reference::ops::{causal_conv, delta_rule, gated_rms_norm, gates, l2_norm, output_gate, qk_norm_rope};
use gdn_reference::{Bounded, Budget, HeadMap, Perturbed, Reduction, Scalar};
use ndarray::{Array1, Array2, Array3};

const SIZES: [usize; 7] = [1, 3, 8, 16, 33, 64, 128];
const SCALES: [f64; 5] = [1e-6, 1e-3, 1.0, 30.0, 1e3];
const REDUCTIONS: [Reduction; 3] = [Reduction::AnyOrder, Reduction::Warp, Reduction::Block];

/// Runs `body` for every size, scale and reduction with a seed of its own.
fn everywhere(rounds: u64, mut body: impl FnMut(u64, usize, f64, &Budget)) {
    let mut seed = 0;
    for size in SIZES {
        for scale in SCALES {
            for reduction in REDUCTIONS {
                for _ in 0..rounds {
                    seed += 1;
                    body(seed, size, scale, &Budget::CUDA.with_reduction(reduction));
                }
            }
        }
    }
}

#[test]
fn convolution_stays_within_its_bound() {
    fn run<T: Scalar>(seed: u64, c: usize, scale: f64, budget: &Budget) -> Vec<T> {
        let mut draw = Draw::new(seed);
        let taps = 1 + (seed % 5) as usize;
        let x: Array1<T> = lift(&draw.array(c, scale));
        let weights: Array2<T> = lift(&draw.array((taps, c), 1.0));
        let mut ring: Array2<T> = lift(&draw.array((taps, c), scale));
        let mut y = x.clone();
        causal_conv::step(x.view(), weights.view(), ring.view_mut(), y.view_mut(), budget).unwrap();
        y.iter().chain(&ring).copied().collect()
    }
    everywhere(3, |seed, c, scale, budget| {
        accepted_by(&run::<Bounded>(seed, c, scale, budget), seed, || run::<Perturbed>(seed, c, scale, budget));
    });
}

#[test]
fn l2_norm_stays_within_its_bound() {
    fn run<T: Scalar>(seed: u64, d: usize, scale: f64, budget: &Budget) -> Vec<T> {
        let mut x: Array2<T> = lift(&Draw::new(seed).array((3, d), scale));
        l2_norm::normalize(x.view_mut(), T::exact(f64::from(1e-6_f32)), budget).unwrap();
        x.iter().copied().collect()
    }
    everywhere(5, |seed, d, scale, budget| {
        accepted_by(&run::<Bounded>(seed, d, scale, budget), seed, || run::<Perturbed>(seed, d, scale, budget));
    });
}

#[test]
fn gates_stay_within_their_bounds() {
    fn run<T: Scalar>(seed: u64, n: usize, scale: f64, budget: &Budget) -> Vec<T> {
        let mut draw = Draw::new(seed);
        let br: Array1<T> = lift(&draw.array(n, scale));
        let ar: Array1<T> = lift(&draw.array(n, scale));
        let dt: Array1<T> = lift(&draw.array(n, 1.0));
        let rate: Array1<T> = lift(&draw.array(n, 2.0).mapv(|x| -x.abs()));
        let (mut beta, mut decay) = (br.clone(), br.clone());
        gates::gates(br.view(), ar.view(), dt.view(), rate.view(), beta.view_mut(), decay.view_mut(), budget).unwrap();
        beta.iter().chain(&decay).copied().collect()
    }
    everywhere(5, |seed, n, scale, budget| {
        accepted_by(&run::<Bounded>(seed, n, scale, budget), seed, || run::<Perturbed>(seed, n, scale, budget));
    });
}

#[test]
fn delta_rule_stays_within_its_bound() {
    fn run<T: Scalar>(seed: u64, d: usize, scale: f64, budget: &Budget) -> Vec<T> {
        let mut draw = Draw::new(seed);
        let (hk, hv) = (1 + (seed % 2) as usize, 2);
        let q: Array2<T> = lift(&draw.array((hk, d), 1.0));
        let k: Array2<T> = lift(&draw.array((hk, d), 1.0 / (d as f64).sqrt()));
        let v: Array2<T> = lift(&draw.array((hv, d), scale));
        let beta: Array1<T> = lift(&draw.array(hv, 0.3).mapv(f32::abs));
        let decay: Array1<T> = lift(&draw.array(hv, 0.3).mapv(|x| 1.0 - x.abs().min(1.0)));
        let mut state: Array3<T> = lift(&draw.array((hv, d, d), scale));
        let mut o = v.clone();
        let inputs =
            delta_rule::Inputs { q: q.view(), k: k.view(), v: v.view(), beta: beta.view(), decay: decay.view() };
        delta_rule::step(&inputs, state.view_mut(), o.view_mut(), HeadMap::Tile, budget).unwrap();
        o.iter().chain(&state).copied().collect()
    }
    everywhere(2, |seed, d, scale, budget| {
        accepted_by(&run::<Bounded>(seed, d, scale, budget), seed, || run::<Perturbed>(seed, d, scale, budget));
    });
}

#[test]
fn gated_norm_stays_within_its_bound() {
    fn run<T: Scalar>(seed: u64, d: usize, scale: f64, budget: &Budget) -> Vec<T> {
        let mut draw = Draw::new(seed);
        let z: Array2<T> = lift(&draw.array((2, d), if seed.is_multiple_of(3) { 60.0 } else { 2.0 }));
        let o: Array2<T> = lift(&draw.array((2, d), scale));
        let weight: Array1<T> = lift(&draw.array(d, 1.0));
        let mut out = o.clone();
        let eps = T::exact(f64::from(1e-6_f32));
        gated_rms_norm::norm(z.view(), weight.view(), o.view(), eps, out.view_mut(), budget).unwrap();
        out.iter().copied().collect()
    }
    everywhere(5, |seed, d, scale, budget| {
        accepted_by(&run::<Bounded>(seed, d, scale, budget), seed, || run::<Perturbed>(seed, d, scale, budget));
    });
}

#[test]
fn rotated_heads_stay_within_their_bound() {
    fn run<T: Scalar>(seed: u64, d: usize, scale: f64, budget: &Budget) -> Vec<T> {
        let mut draw = Draw::new(seed);
        let mut rows: Array2<T> = lift(&draw.array((2, d), scale));
        let weight: Array1<T> = lift(&draw.array(d, 1.0));
        let positions = [0, 1, 2, 63, 2047, 40_000, 131_071, 1_048_575];
        let position = positions[(seed % 8) as usize];
        let rot = if seed.is_multiple_of(2) { d & !1 } else { (d / 2) & !1 };
        let base = if seed.is_multiple_of(3) { 1e4 } else { 1e7 };
        let eps = T::exact(f64::from(1e-6_f32));
        qk_norm_rope::norm_rope(rows.view_mut(), weight.view(), position, rot, base, eps, budget).unwrap();
        rows.iter().copied().collect()
    }
    everywhere(5, |seed, d, scale, budget| {
        accepted_by(&run::<Bounded>(seed, d, scale, budget), seed, || run::<Perturbed>(seed, d, scale, budget));
    });
}

#[test]
fn output_gate_stays_within_its_bound() {
    fn run<T: Scalar>(seed: u64, n: usize, scale: f64, budget: &Budget) -> Vec<T> {
        let mut draw = Draw::new(seed);
        let mut ctx: Array1<T> = lift(&draw.array(n, scale));
        let g: Array1<T> = lift(&draw.array(n, if seed.is_multiple_of(2) { 3.0 } else { 90.0 }));
        output_gate::gate(ctx.view_mut(), g.view(), budget).unwrap();
        ctx.iter().copied().collect()
    }
    everywhere(5, |seed, n, scale, budget| {
        accepted_by(&run::<Bounded>(seed, n, scale, budget), seed, || run::<Perturbed>(seed, n, scale, budget));
    });
}

/// Values at the ends of the range, where products overflow and underflow.
#[test]
fn extreme_magnitudes_stay_within_the_bound_of_the_delta_rule() {
    fn run<T: Scalar>(seed: u64, scale: f64) -> Vec<T> {
        let mut draw = Draw::new(seed);
        let d = [1, 4, 9, 16][(seed % 4) as usize];
        let key_scale = [1.0, 1e-3, 4.0][(seed % 3) as usize];
        let q: Array2<T> = lift(&draw.array((1, d), key_scale));
        let k: Array2<T> = lift(&draw.array((1, d), key_scale));
        let v: Array2<T> = lift(&draw.array((1, d), scale));
        let beta = Array1::from_elem(1, T::exact(0.5));
        let decay: Array1<T> = lift(&draw.array(1, 0.3).mapv(|x| x.abs().min(1.0)));
        let mut state: Array3<T> = lift(&draw.array((1, d, d), scale));
        let mut o = v.clone();
        let inputs =
            delta_rule::Inputs { q: q.view(), k: k.view(), v: v.view(), beta: beta.view(), decay: decay.view() };
        delta_rule::step(&inputs, state.view_mut(), o.view_mut(), HeadMap::Tile, &Budget::CUDA).unwrap();
        o.iter().chain(&state).copied().collect()
    }
    for seed in 0..400 {
        let scale = [1e-38, 1e-42, 1e-20, 1e19, 1e30, 1e37, 2e38][(seed % 7) as usize];
        accepted_by(&run::<Bounded>(seed, scale), seed, || run::<Perturbed>(seed, scale));
    }
}

/// One row of a head: its output's bound.
fn output_of_one_row(q: &[f32], k: &[f32], v: f32, beta: f32, decay: f32, state: &[f32]) -> Bounded {
    let d = q.len();
    let row = |x: &[f32]| lift::<Bounded, _>(&Array2::from_shape_vec((1, d), x.to_vec()).unwrap());
    let (q, k, mut o) = (row(q), row(k), row(&vec![0.0; d]));
    let v = lift(&Array2::from_elem((1, d), v));
    let (beta, decay) = (lift(&Array1::from_elem(1, beta)), lift(&Array1::from_elem(1, decay)));
    let mut state: Array3<Bounded> = lift(&Array3::from_shape_fn((1, d, d), |(_, _, j)| state[j]));
    let inputs = delta_rule::Inputs { q: q.view(), k: k.view(), v: v.view(), beta: beta.view(), decay: decay.view() };
    delta_rule::step(&inputs, state.view_mut(), o.view_mut(), HeadMap::Tile, &Budget::CUDA).unwrap();
    o[[0, 0]]
}

/// Found by the search: the decay of a sum that is subnormal already rounds it a second time by as much.
#[test]
fn decaying_a_subnormal_sum_stays_within_the_bound() {
    let (q, decay, state) = (7.892_317_4e-4_f32, 0.986_174_1_f32, 1.910_257_7e-37_f32);
    let bound = output_of_one_row(&[q], &[0.493_811_55], -0.436_778_4, 0.0, decay, &[state]);
    let exact = f64::from(q) * f64::from(decay) * f64::from(state);
    assert!(bound.accepts(decay * (state * q)), "{bound:?}, exactly {exact:e}");
}

/// Found by the search: k·q beyond f32 makes the output infinite in the form that multiplies it by δ, however small δ is.
#[test]
fn a_product_of_key_and_query_that_overflows_leaves_the_output_open() {
    let mut q = [0.0_f32; 9];
    let mut k = q;
    (q[0], k[0]) = (2.7e35, 2051.0);
    assert!(q[0] * k[0] == f32::INFINITY && q[0] / 3.0 * k[0] < f32::MAX);
    let bound = output_of_one_row(&q, &k, 1.0, 1e-42, 0.5, &[0.1; 9]);
    assert!(bound.accepts(f32::INFINITY), "{bound:?}");
}

/// Found by the search: where decay·S is exact and S·q is not, decaying the sum is a rounding more than decaying the state.
#[test]
fn decaying_a_sum_of_inexact_products_of_an_exactly_decayed_state_stays_within_the_bound() {
    let mut beyond_one_rounding = 0;
    for bits in 0x3faa_ab00..0x3faa_af00_u32 {
        let (q, state) = (f32::from_bits(bits), -127.999_94);
        let bound = output_of_one_row(&[q], &[-32.8], 1.4e-24, 0.0, 0.75, &[state]);
        let got = 0.75 * (state * q);
        assert!(bound.accepts(got), "q = {q}: {got:e} against {bound:?}");
        beyond_one_rounding += u32::from(bound.error(got) > f64::from(got.abs()) / 16_777_216.0);
    }
    assert!(beyond_one_rounding > 0, "no such product is off by more than one rounding");
}
