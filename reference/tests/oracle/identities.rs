//! Identities that hold exactly, and how sharp the bounds are.

use crate::common::{Draw, lift};
use gdn_reference::ops::{causal_conv, delta_rule, gates, l2_norm};
use gdn_reference::scalar::{Angle, U};
use gdn_reference::{Bounded, Budget, HeadMap, Reduction, Scalar};
use ndarray::{Array1, Array2, Array3, Axis};

struct Case {
    q: Array2<f32>,
    k: Array2<f32>,
    v: Array2<f32>,
    beta: Array1<f32>,
    decay: Array1<f32>,
    state: Array3<f32>,
}

impl Case {
    fn gaussian(seed: u64, hk: usize, hv: usize, d: usize) -> Self {
        let mut draw = Draw::new(seed);
        let mut unit = |heads| {
            let mut x = draw.array((heads, d), 1.0);
            l2_norm::normalize(x.view_mut(), 1e-6_f32, &Budget::CUDA).unwrap();
            x
        };
        let (q, k) = (unit(hk), unit(hk));
        Self {
            q,
            k,
            v: draw.array((hv, d), 1.0),
            beta: draw.array(hv, 0.1).mapv(|x| (0.5 + x).clamp(0.0, 1.0)),
            decay: draw.array(hv, 0.02).mapv(|x| (0.95 + x).clamp(0.0, 1.0)),
            state: draw.array((hv, d, d), 1.0),
        }
    }

    /// Small integers, so that everything but the scale is exact.
    fn integers(seed: u64, hk: usize, hv: usize, d: usize) -> Self {
        let mut draw = Draw::new(seed);
        let mut whole = |shape| draw.array::<[usize; 2]>(shape, 2.0).mapv(f32::round);
        let (q, k, v, flat) = (whole([hk, d]), whole([hk, d]), whole([hv, d]), whole([hv, d * d]));
        let state = flat.into_shape_with_order((hv, d, d)).unwrap();
        Self { q, k, v, beta: Array1::from_elem(hv, 0.5), decay: Array1::from_elem(hv, 0.25), state }
    }

    fn run<T: Scalar>(&self, reduction: Reduction) -> (Array2<T>, Array3<T>) {
        let (q, k, v) = (lift(&self.q), lift(&self.k), lift(&self.v));
        let (beta, decay) = (lift(&self.beta), lift(&self.decay));
        let (mut state, mut o) = (lift(&self.state), lift(&self.v));
        let inputs =
            delta_rule::Inputs { q: q.view(), k: k.view(), v: v.view(), beta: beta.view(), decay: decay.view() };
        let budget = Budget::CUDA.with_reduction(reduction);
        delta_rule::step(&inputs, state.view_mut(), o.view_mut(), HeadMap::Tile, &budget).unwrap();
        (o, state)
    }
}

fn rms(values: impl Iterator<Item = f64> + Clone) -> f64 {
    (values.clone().map(|x| x * x).sum::<f64>() / values.count() as f64).sqrt()
}

#[test]
fn bound_of_a_gaussian_step_is_tens_of_roundings() {
    let (o, state) = Case::gaussian(7, 4, 8, 128).run::<Bounded>(Reduction::Warp);
    let worst = o.iter().fold(0.0_f64, |worst, o| worst.max(o.bound));
    let relative = worst / (U * rms(o.iter().map(|o| o.value)));
    assert!((20.0..300.0).contains(&relative), "output bound {relative}u of its RMS");
    let worst = state.iter().fold(0.0_f64, |worst, s| worst.max(s.bound));
    let relative = worst / (U * rms(state.iter().map(|s| s.value)));
    assert!((1.0..60.0).contains(&relative), "state bound {relative}u of its RMS");
}

#[test]
fn beta_zero_and_decay_one_leave_the_state_alone() {
    let mut case = Case::gaussian(1, 2, 4, 33);
    case.beta.fill(0.0);
    case.decay.fill(1.0);
    let (_, state) = case.run::<Bounded>(Reduction::Warp);
    assert!(state.iter().all(|s| s.bound == 0.0));
    assert_eq!(state.mapv(|s| s.value as f32), case.state);
}

#[test]
fn decay_zero_leaves_only_the_new_term() {
    let mut case = Case::gaussian(2, 1, 1, 8);
    case.decay.fill(0.0);
    let (_, state) = case.run::<f64>(Reduction::Warp);
    for ((_, i, j), s) in state.indexed_iter() {
        let expected = f64::from(case.beta[0]) * f64::from(case.v[[0, i]]) * f64::from(case.k[[0, j]]);
        approx::assert_relative_eq!(*s, expected, max_relative = 1e-15);
    }
}

#[test]
fn predicting_the_value_leaves_the_state_to_rounding() {
    let mut case = Case::gaussian(3, 1, 1, 16);
    case.decay.fill(1.0);
    let state = case.state.index_axis(Axis(0), 0).mapv(f64::from);
    let predicted = state.dot(&case.k.row(0).mapv(f64::from));
    case.v.row_mut(0).assign(&predicted.mapv(|x| x as f32));
    let (_, state) = case.run::<f64>(Reduction::Warp);
    for (after, before) in state.iter().zip(&case.state) {
        approx::assert_abs_diff_eq!(*after, f64::from(*before), epsilon = 1e-6);
    }
}

#[test]
fn a_head_alone_equals_that_head_in_a_group() {
    let group = Case::gaussian(4, 2, 6, 24);
    let (o, state) = group.run::<Bounded>(Reduction::Warp);
    for h in 0..6 {
        let rows = |x: &Array2<f32>, h: usize| x.select(Axis(0), &[h]);
        let alone = Case {
            q: rows(&group.q, h % 2),
            k: rows(&group.k, h % 2),
            v: rows(&group.v, h),
            beta: group.beta.select(Axis(0), &[h]),
            decay: group.decay.select(Axis(0), &[h]),
            state: group.state.select(Axis(0), &[h]),
        };
        let (o_alone, state_alone) = alone.run::<Bounded>(Reduction::Warp);
        assert_eq!(o_alone.row(0), o.row(h));
        assert_eq!(state_alone.index_axis(Axis(0), 0), state.index_axis(Axis(0), h));
    }
}

#[test]
fn one_hot_queries_read_the_columns_of_the_state_exactly() {
    // D = 16, so that the scale is a quarter, exactly.
    for column in 0..16 {
        let mut case = Case::gaussian(5, 1, 1, 16);
        case.beta.fill(0.0);
        case.decay.fill(1.0);
        case.q.fill(0.0);
        case.q[[0, column]] = 1.0;
        let (o, _) = case.run::<Bounded>(Reduction::Warp);
        for (i, o) in o.iter().enumerate() {
            assert_eq!(*o, Bounded::exact(f64::from(case.state[[0, i, column]]) / 4.0));
        }
    }
}

#[test]
fn small_integers_are_exact_in_every_order() {
    for (seed, reduction) in [(1, Reduction::AnyOrder), (2, Reduction::Warp), (3, Reduction::Block)] {
        let case = Case::integers(seed, 2, 4, 16);
        let (o, state) = case.run::<Bounded>(reduction);
        let (o_f32, state_f32) = case.run::<f32>(reduction);
        assert!(o.iter().chain(&state).all(|x| x.bound == 0.0));
        assert!(o.iter().zip(&o_f32).all(|(bounded, got)| bounded.value == f64::from(*got)));
        assert!(state.iter().zip(&state_f32).all(|(bounded, got)| bounded.value == f64::from(*got)));
    }
}

#[test]
fn a_key_head_moves_exactly_its_value_heads() {
    let mut case = Case::gaussian(6, 2, 6, 8);
    case.k.row_mut(0).fill(0.0);
    case.decay.fill(1.0);
    let (_, state) = case.run::<Bounded>(Reduction::Warp);
    for (h, (after, before)) in state.outer_iter().zip(case.state.outer_iter()).enumerate() {
        let moved = after.iter().zip(before).any(|(after, before)| after.value != f64::from(*before));
        assert_eq!(moved, h % 2 == 1, "head {h}");
    }
}

#[test]
fn key_heads_that_do_not_divide_the_value_heads_are_refused() {
    let case = Case::gaussian(8, 2, 3, 4);
    let (q, v, mut state, mut o) = (case.q, case.v.clone(), case.state, case.v);
    let inputs =
        delta_rule::Inputs { q: q.view(), k: q.view(), v: v.view(), beta: case.beta.view(), decay: case.decay.view() };
    assert!(delta_rule::step(&inputs, state.view_mut(), o.view_mut(), HeadMap::Tile, &Budget::CUDA).is_err());
}

#[test]
fn ring_keeps_the_newest_input_last() {
    let x = Array1::from_vec(vec![9.0, 8.0]);
    let mut ring = Array2::from_shape_vec((3, 2), vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    let weights = Array2::from_elem((3, 2), 1.0);
    let mut y = x.clone();
    causal_conv::step::<f64>(x.view(), weights.view(), ring.view_mut(), y.view_mut(), &Budget::CUDA).unwrap();
    assert_eq!(ring.into_raw_vec_and_offset().0, [3.0, 4.0, 5.0, 6.0, 9.0, 8.0]);
    approx::assert_relative_eq!(y[0], 17.0 / (1.0 + (-17.0_f64).exp()), max_relative = 1e-15);
}

#[test]
fn zero_head_normalizes_to_zeros() {
    let mut x = Array2::from_elem((1, 5), Bounded::exact(0.0));
    l2_norm::normalize(x.view_mut(), Bounded::exact(f64::from(1e-6_f32)), &Budget::CUDA).unwrap();
    assert!(x.iter().all(|x| *x == Bounded::exact(0.0)));
}

#[test]
fn head_whose_squares_overflow_normalizes_to_zeros() {
    let mut x = Array2::from_elem((1, 5), Bounded::exact(f64::from(1e30_f32)));
    l2_norm::normalize(x.view_mut(), Bounded::exact(f64::from(1e-6_f32)), &Budget::CUDA).unwrap();
    assert!(x.iter().all(|x| *x == Bounded::exact(0.0)));
}

#[test]
fn gates_are_right_across_every_overflow_edge() {
    let arguments = [
        -100.0, -30.0, -18.0, -17.0, -16.0, -10.0, -1.0, 0.0, 1.0, 10.0, 11.1, 12.0, 19.9, 20.0, 20.1, 30.0, 88.0,
        88.8, 89.0, 100.0, 104.0, 1000.0, -88.0, -88.7, -88.8, -89.0, -104.0, -1000.0,
    ];
    for u in arguments.map(|u: f32| Array1::from_elem(1, u)) {
        for rate in [0.0, -1e-3, -0.04, -1.0, -16.0].map(|rate: f32| Array1::from_elem(1, rate)) {
            let zero = Array1::from_elem(1, 0.0_f32);
            let (mut beta, mut decay) = (lift::<Bounded, _>(&zero), lift::<Bounded, _>(&zero));
            let inputs = [&u, &u, &zero, &rate].map(lift::<Bounded, _>);
            let [br, ar, dt, rates] = inputs.each_ref().map(|x| x.view());
            gates::gates(br, ar, dt, rates, beta.view_mut(), decay.view_mut(), &Budget::CUDA).unwrap();

            let (x, r) = (f64::from(u[0]), f64::from(rate[0]));
            let softplus = x.max(0.0) + (-x.abs()).exp().ln_1p();
            approx::assert_relative_eq!(decay[0].value, (r * softplus).exp(), max_relative = 1e-13);
            // An argument of the exponential of magnitude a is off by a few a·u.
            let allowed = 9.0 * U * (1.0 + (r * softplus).abs()) * decay[0].value + 2f64.powi(-147);
            assert!(decay[0].bound <= allowed, "u {x} rate {r}: {:?} above {allowed:e}", decay[0]);

            let sigmoid = 1.0 / (1.0 + (-x).exp());
            approx::assert_relative_eq!(beta[0].value, sigmoid, max_relative = 1e-13);
            assert!(beta[0].bound <= 9.0 * U * sigmoid + 4e-39, "sigmoid({x}): {:?}", beta[0]);
            assert!(!beta[0].accepts(f32::NAN) && !decay[0].accepts(f32::NAN));
            if x < -88.75 {
                assert!(beta[0].accepts(0.0) && beta[0].accepts(sigmoid as f32));
            }
        }
    }
}

#[test]
fn rotary_angles_carry_eighty_bits() {
    // position, pair, rot, base; the angle reduced to [−π, π] as two f64, from mpmath 1.3.0 with 60 digits.
    let angles = [
        (1, 1, 64, 1e7, 0.6042963902381329, -4.4323235757003585e-17),
        (40_000, 3, 32, 1e4, 0.551872428399313, -3.0788852407392827e-17),
        (131_071, 1, 64, 1e7, -0.10181740356040421, -6.702538867673851e-18),
        (262_143, 5, 64, 1e7, 0.51985989804306, 4.0837430680714955e-17),
        (1_048_575, 0, 64, 1e4, -0.6631739724687882, 2.1997728276913175e-17),
        (1_048_575, 7, 32, 1e7, -3.0333291737595123, -3.4321573432771835e-17),
        (2_097_152, 1, 96, 1e7, 3.0259312459701455, 6.952359191375309e-17),
    ];
    for (position, pair, rot, base, high, low) in angles {
        let radians = Angle::rotary(position, pair, rot, base).radians();
        let error = (radians.high - high) + (radians.low - low);
        assert!(error.abs() < 1e-20, "position {position} pair {pair}: off by {error:e}");
    }
}

#[test]
fn drift_of_a_row_never_grows_but_by_local_errors() {
    assert_eq!(delta_rule::propagate(1.0, 0.5, 0.7, 1.0, 0.25), 0.75);
    assert_eq!(delta_rule::propagate(1.0, 1.0, 1.0, 4.0, 0.0), 3.0);
}

#[test]
fn nan_is_accepted_only_where_it_is_expected() {
    assert!(!Bounded::within(1.0, 1e30).accepts(f32::NAN));
    assert!(Bounded::exact(f64::NAN).accepts(f32::NAN));
    assert!(!Bounded::exact(f64::NAN).accepts(1.0));
    assert!(Bounded::exact(f64::INFINITY).accepts(f32::INFINITY));
    assert!(!Bounded::exact(f64::INFINITY).accepts(f32::NEG_INFINITY));
    assert!(!Bounded::exact(f64::INFINITY).accepts(f32::MAX));
    assert_eq!(Bounded::exact(1.0).utilization(1.5), f64::INFINITY);
    assert_eq!(Bounded::within(1.0, 1.0).utilization(1.5), 0.5);
}
