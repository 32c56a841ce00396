//! Long chains in 192 bits: a free-running f64 oracle stays below a part in 2²⁰ of the norm-wise bound.

use gdn_reference::layer::{LayerShape, LinearAttention, Token};
use gdn_reference::ops::delta_rule::{self, Inputs};
use gdn_reference::{Bounded, Budget, ChainBound, HeadMap, Reduction, Scalar, ShapeError};
use ndarray::{Array1, Array2, Array3, ArrayView2};

use super::PART;
use super::precise::Precise;
use crate::common::{Draw, lift};

const BUDGET: Budget = Budget::CUDA.with_reduction(Reduction::Warp);

/// The tensors of one token of the delta rule, as a kernel is given them.
struct Step {
    q: Array2<f32>,
    k: Array2<f32>,
    v: Array2<f32>,
    beta: Array1<f32>,
    decay: Array1<f32>,
}

impl Step {
    fn run<T: Scalar>(&self, state: &mut Array3<T>) -> Array2<T> {
        self.with(|x| {
            let mut o = Array2::from_elem(x.v.dim(), T::exact(0.0));
            delta_rule::step(x, state.view_mut(), o.view_mut(), HeadMap::Tile, &BUDGET).unwrap();
            o
        })
    }

    fn with<T: Scalar, R>(&self, body: impl FnOnce(&Inputs<'_, T>) -> R) -> R {
        let (q, k, v) = (lift(&self.q), lift(&self.k), lift(&self.v));
        let (beta, decay) = (lift(&self.beta), lift(&self.decay));
        body(&Inputs { q: q.view(), k: k.view(), v: v.view(), beta: beta.view(), decay: decay.view() })
    }

    /// Carries the norm-wise bound over this token, from a kernel's state before it.
    fn bound(&self, bound: &mut ChainBound, before: &Array3<f32>) -> Result<(), ShapeError> {
        let mut state: Array3<Bounded> = lift(before);
        let o = self.run(&mut state);
        self.with::<f32, _>(|x| bound.step(x, state.view(), o.view(), HeadMap::Tile))
    }
}

/// The largest part of a row's bound that the f64 state is off by.
fn worst_part(state: &Array3<f64>, precise: &Array3<Precise>, bound: &ChainBound) -> f64 {
    let (heads, rows, d) = state.dim();
    let mut worst = 0.0_f64;
    for h in 0..heads {
        for row in 0..rows {
            let square = |j: usize| precise[[h, row, j]].distance(state[[h, row, j]]).powi(2);
            let error = (0..d).map(square).sum::<f64>().sqrt();
            let limit = bound.state(h, row);
            assert!(limit > 0.0 || error == 0.0, "row {row} of head {h}: exact by its bound, off by {error:e}");
            worst = worst.max(if error == 0.0 { 0.0 } else { error / limit });
        }
    }
    worst
}

/// Rows of unit norm, rounded to f32.
fn unit(mut rows: Array2<f32>) -> Array2<f32> {
    for mut row in rows.rows_mut() {
        let norm = row.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        row.mapv_inplace(|x| (f64::from(x) / norm) as f32);
    }
    rows
}

/// 1,024 tokens with decays from `decay` on; keys that never change where they `repeat`. The worst part of the bound at the end.
fn delta_rule_chain(seed: u64, decay: f64, repeat: bool) -> f64 {
    let (hv, d) = (1, 8);
    let mut draw = Draw::new(seed);
    let first = unit(draw.array((1, d), 1.0));
    let mut kernel: Array3<f32> = draw.array((hv, d, d), 1.0);
    let (mut plain, mut precise) = (lift::<f64, _>(&kernel), lift::<Precise, _>(&kernel));
    let mut bound = ChainBound::new(hv, d);
    for _ in 0..1024 {
        let uniform = |draw: &mut Draw, from: f64| {
            Array1::from_shape_simple_fn(hv, || {
                (from + (1.0 - from) * ((draw.bits() >> 11) as f64 / (1_u64 << 53) as f64)) as f32
            })
        };
        let step = Step {
            q: unit(draw.array((1, d), 1.0)),
            k: if repeat { first.clone() } else { unit(draw.array((1, d), 1.0)) },
            v: draw.array((hv, d), 1.0),
            beta: uniform(&mut draw, if repeat { 0.98 } else { 0.0 }),
            decay: uniform(&mut draw, decay),
        };
        step.bound(&mut bound, &kernel).unwrap();
        step.run(&mut kernel);
        step.run(&mut plain);
        step.run(&mut precise);
        Precise::keep_only(precise.iter_mut());
    }
    worst_part(&plain, &precise, &bound)
}

#[test]
fn a_free_running_oracle_drifts_far_below_the_bound_of_a_kernel() {
    for (decay, repeat) in [(1.0, true), (1.0, false), (0.995, false), (0.98, true), (0.1, false), (0.0, false)] {
        let part = delta_rule_chain(7, decay, repeat);
        println!("decay from {decay}, keys repeated: {repeat}: 2^{:.1} of the bound after 1024 tokens", part.log2());
        assert!(part <= PART, "decay from {decay}: {part:e} of the bound");
    }
}

/// A layer in some scalar, its weights drawn.
fn layer<T: Scalar>(shape: LayerShape) -> LinearAttention<T> {
    let mut draw = Draw::new(11);
    let (hv, d, channels) = (shape.hv, shape.d, shape.channels());
    LinearAttention {
        shape,
        head_map: HeadMap::Tile,
        conv_weight: lift(&draw.array((shape.taps, channels), 0.7)),
        dt: lift(&draw.array(hv, 1.0)),
        rate: lift(&draw.array(hv, 0.01).mapv(|x| -x.abs())),
        norm_weight: lift(&draw.array(d, 1.0)),
        l2_eps: T::exact(f64::from(1e-6_f32)),
        norm_eps: T::exact(f64::from(1e-6_f32)),
        ring: Array2::from_elem((shape.taps, channels), T::exact(0.0)),
        state: Array3::from_elem((hv, d, d), T::exact(0.0)),
    }
}

#[test]
fn a_layer_of_the_oracle_drifts_far_below_the_bound_of_its_delta_rule() {
    let shape = LayerShape { hk: 1, hv: 2, d: 16, taps: 4 };
    let (mut plain, mut precise) = (layer::<f64>(shape), layer::<Precise>(shape));
    let mut bound = ChainBound::new(shape.hv, shape.d);
    let mut draw = Draw::new(12);
    let narrow = |rows: ArrayView2<'_, f64>| rows.mapv(|x| x as f32);
    for _ in 0..256 {
        let x: Array1<f32> = draw.array(shape.channels(), 1.0);
        let z: Array2<f32> = draw.array((shape.hv, shape.d), 1.0);
        let (br, ar): (Array1<f32>, Array1<f32>) = (draw.array(shape.hv, 2.0), draw.array(shape.hv, 2.0));
        let before = plain.state.mapv(|x| x as f32);
        let outputs = step(&mut plain, &x, &z, &br, &ar);
        step(&mut precise, &x, &z, &br, &ar);
        // What a kernel's delta rule alone may add, the inputs that it is given taken as exact: less than a layer may.
        let values = outputs.conv.slice(ndarray::s![2 * shape.d..]).into_shape_with_order((shape.hv, shape.d)).unwrap();
        let token = Step {
            q: narrow(outputs.q.view()),
            k: narrow(outputs.k.view()),
            v: narrow(values),
            beta: outputs.beta.mapv(|x| x as f32),
            decay: outputs.decay.mapv(|x| x as f32),
        };
        token.bound(&mut bound, &before).unwrap();
        let LinearAttention { conv_weight, dt, rate, norm_weight, l2_eps, norm_eps, ring, state, .. } = &mut precise;
        let kept = conv_weight.iter_mut().chain(dt).chain(rate).chain(norm_weight).chain([l2_eps, norm_eps]);
        Precise::keep_only(kept.chain(ring).chain(state));
    }
    let part = worst_part(&plain.state, &precise.state, &bound);
    println!("a layer: 2^{:.1} of the bound after 256 tokens", part.log2());
    assert!(part <= PART, "{part:e} of the bound");
}

fn step<T: Scalar>(
    layer: &mut LinearAttention<T>,
    x: &Array1<f32>,
    z: &Array2<f32>,
    br: &Array1<f32>,
    ar: &Array1<f32>,
) -> gdn_reference::layer::Outputs<T> {
    let (x, z, br, ar) = (lift(x), lift(z), lift(br), lift(ar));
    layer.step(&Token { x: x.view(), z: z.view(), br: br.view(), ar: ar.view() }, &BUDGET).unwrap()
}
