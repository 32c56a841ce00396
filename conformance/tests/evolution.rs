//! The delta rule over many tokens, as a state machine: each step within its sharp bound, and the free-running state within
//! the norm-wise bound that grows with the steps' local errors.

use gdn_conformance::case::Case;
use gdn_conformance::cli::{Selection, open};
use gdn_conformance::draw::Draws;
use gdn_conformance::family::Suite;
use gdn_conformance::regime::Regime;
use gdn_conformance::runner::Runner;
use gdn_conformance::suites;
use gdn_conformance::verdict::{Disposition, Want, judge};
use gdn_gpu::contract::{Dim, Shape};
use gdn_gpu::run::{Tensor, Tensors};
use gdn_reference::ops::delta_rule;
use gdn_reference::{Bounded, Budget, ChainBound, HeadMap};
use ndarray::{Array2, Array3, ArrayView1, ArrayView2};
use proptest::prelude::*;
use proptest::test_runner::Config;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

const HK: usize = 2;
const HV: usize = 4;

/// One token to come.
#[derive(Clone, Debug)]
struct Token {
    seed: u64,
    regime: Regime,
}

/// The free-running f64 oracle.
#[derive(Clone, Debug)]
struct Oracle {
    d: usize,
    state: Array3<f64>,
}

impl ReferenceStateMachine for Oracle {
    type State = Self;
    type Transition = Token;

    fn init_state() -> BoxedStrategy<Self> {
        proptest::sample::select(vec![1usize, 3, 8, 16, 33])
            .prop_map(|d| Self { d, state: Array3::zeros((HV, d, d)) })
            .boxed()
    }

    fn transitions(_: &Self) -> BoxedStrategy<Token> {
        let regimes = [Regime::Warm, Regime::Fast, Regime::Decays, Regime::Correlated, Regime::Identity];
        (any::<u64>(), proptest::sample::select(regimes.to_vec()))
            .prop_map(|(seed, regime)| Token { seed, regime })
            .boxed()
    }

    fn apply(mut oracle: Self, token: &Token) -> Self {
        let inputs = draw(oracle.d, token);
        let mut o = Array2::zeros((HV, oracle.d));
        let x = Wide::new(&inputs);
        delta_rule::step(&x.inputs(oracle.d), oracle.state.view_mut(), o.view_mut(), HeadMap::Tile, &Budget::CUDA)
            .unwrap();
        oracle
    }
}

/// A token's tensors as the oracle takes them.
struct Wide([Vec<f64>; 5]);

impl Wide {
    fn new(inputs: &Tensors) -> Self {
        Self(["q", "k", "v", "beta", "decay"].map(|name| floats(inputs, name).iter().map(|&x| f64::from(x)).collect()))
    }

    fn inputs(&self, d: usize) -> delta_rule::Inputs<'_, f64> {
        let [q, k, v, beta, decay] = &self.0;
        delta_rule::Inputs {
            q: ArrayView2::from_shape((HK, d), q).unwrap(),
            k: ArrayView2::from_shape((HK, d), k).unwrap(),
            v: ArrayView2::from_shape((HV, d), v).unwrap(),
            beta: ArrayView1::from(beta),
            decay: ArrayView1::from(decay),
        }
    }
}

/// A kernel's own state, and the norm-wise bound of each of its rows.
struct Kernel {
    runner: Runner,
    state: Vec<f32>,
    bound: ChainBound,
    token: u64,
}

impl StateMachineTest for Kernel {
    type SystemUnderTest = Self;
    type Reference = Oracle;

    fn init_test(oracle: &Oracle) -> Self {
        let (runner, _) = open(Selection::Auto).unwrap();
        let d = oracle.d;
        Self { runner, state: vec![0.0; HV * d * d], bound: ChainBound::new(HV, d), token: 0 }
    }

    fn apply(mut kernel: Self, oracle: &Oracle, token: Token) -> Self {
        let d = oracle.d;
        let suite = suites::find("gdn_step").unwrap();
        let shape = shape(d);
        let mut inputs = draw(d, &token);
        inputs.insert("S", Tensor::F32(kernel.state.clone()));
        let outcome = kernel.runner.run(suite, &shape, &inputs, token.seed ^ kernel.token).unwrap();
        let checks = suite.expect(&shape, &inputs, &outcome.outputs).unwrap();
        for check in &checks {
            let verdict = judge(check, outcome.outputs.get(check.output));
            assert_eq!(verdict.disposition, Disposition::Passed, "{}: {}", check.output, verdict.detail);
        }
        let bounds = |output: &str| -> Vec<Bounded> {
            let check = checks.iter().find(|check| check.output == output).unwrap();
            let near = check.wants.iter().map(|want| match want {
                Want::Near(bounded) => *bounded,
                other => panic!("{output} is computed, not {other}"),
            });
            near.collect()
        };
        let state = Array3::from_shape_vec((HV, d, d), bounds("S")).unwrap();
        let o = Array2::from_shape_vec((HV, d), bounds("o")).unwrap();
        let x = Wide::new(&inputs);
        kernel.bound.step(&x.inputs(d), state.view(), o.view(), HeadMap::Tile).unwrap();
        kernel.state = floats(&outcome.outputs, "S").to_vec();
        kernel.token += 1;
        kernel
    }

    fn check_invariants(kernel: &Self, oracle: &Oracle) {
        let d = oracle.d;
        let rows = kernel.state.chunks(d).zip(oracle.state.as_slice().unwrap().chunks(d));
        for (row, (own, free)) in rows.enumerate() {
            let error = own.iter().zip(free).map(|(&a, b)| (f64::from(a) - b).powi(2)).sum::<f64>().sqrt();
            let bound = kernel.bound.state(row / d, row % d);
            assert!(error <= bound, "row {row} drifted {error:e} after {} tokens, bound {bound:e}", kernel.token);
        }
    }
}

fn shape(d: usize) -> Shape {
    Shape::new(&[(Dim::D, d as i64), (Dim::Hk, HK as i64), (Dim::Hv, HV as i64)])
}

fn draw(d: usize, token: &Token) -> Tensors {
    let suite: &dyn Suite = suites::find("gdn_step").unwrap();
    let case = Case {
        contract: suite.contract(),
        shape: shape(d),
        tokens: 1,
        regime: token.regime,
        scale: 0,
        seed: token.seed,
    };
    suite.draw(&case, &Draws::new(&case, 0))
}

fn floats<'a>(tensors: &'a Tensors, name: &str) -> &'a [f32] {
    tensors.get(name).and_then(Tensor::f32).unwrap()
}

prop_state_machine! {
    #![proptest_config(Config { cases: 16, failure_persistence: None, ..Config::default() })]

    #[test]
    fn state_stays_within_its_norm_wise_bound(sequential 1..60 => Kernel);
}
