//! Long chains of the delta rule on the model and on the virtual machine, in both views, and what they see of a wrong gate.
//!
//! The longest take minutes and have a command: `gdn-conformance chain --tokens 65536`.

use gdn_conformance::chains::{ChainCurve, ChainPlan, ChainPoint, ChainRegime, Reading, run, run_given};
use gdn_conformance::runner::Runner;
use gdn_conformance::verdict::Disposition;
use gdn_gpu::ptx;
use gdn_gpu::run::{Tensor, Tensors};
use gdn_gpu::vm::{Options, VmExecutor};
use rayon::prelude::*;

/// Tokens of the chains that every test run makes.
const SHORT: u32 = 2048;

/// The shipped kernels; the checks of the machine are tested elsewhere, and a chain repeats one launch.
fn vm() -> Runner {
    let options = Options { checks: false, ..Options::default() };
    Runner::kernels(Box::new(VmExecutor::new(options).with_compiler(ptx::of))).expect("the shipped kernels load")
}

fn chain(mut runner: Runner, plan: &ChainPlan) -> ChainCurve {
    run(&mut runner, plan).expect("the plan is inside the contract")
}

fn utilization(reading: Reading) -> f64 {
    reading.utilization.unwrap_or(f64::INFINITY)
}

fn worse(a: Reading, b: Reading) -> Reading {
    if utilization(b) > utilization(a) { b } else { a }
}

fn worst(curve: &ChainCurve) -> ChainPoint {
    curve.worst().expect("a chain has points")
}

fn assert_passed(curve: &ChainCurve) {
    let verdict = curve.verdict();
    assert_eq!(verdict.disposition, Disposition::Passed, "{}: {}", verdict.output, verdict.detail);
}

#[test]
fn a_correct_model_stays_within_both_views_in_every_regime() {
    ChainRegime::ALL.into_par_iter().for_each(|regime| {
        assert_passed(&chain(Runner::Model, &ChainPlan::new(regime, SHORT, 1)));
    });
}

#[test]
fn the_shipped_kernel_stays_within_both_views_in_every_regime() {
    ChainRegime::ALL.into_par_iter().for_each(|regime| {
        let curve = chain(vm(), &ChainPlan { d: 8, ..ChainPlan::new(regime, SHORT, 1) });
        assert_passed(&curve);
        assert!(worst(&curve).relative.is_some_and(|relative| relative < 1e-4), "{regime}: {:?}", worst(&curve));
    });
}

#[test]
fn several_heads_share_keys_by_the_tiled_map() {
    let plan = ChainPlan { d: 5, hk: 2, hv: 4, ..ChainPlan::new(ChainRegime::Slow, 200, 3) };
    assert_passed(&chain(vm(), &plan));
}

#[test]
fn a_curve_is_thinned_and_keeps_its_worst() {
    let plan = ChainPlan { points: 60, ..ChainPlan::new(ChainRegime::Slow, SHORT, 2) };
    let (all, thin) =
        (chain(Runner::Model, &ChainPlan { points: 1_000_000, ..plan.clone() }), chain(Runner::Model, &plan));
    assert_eq!(all.points.len(), SHORT as usize);
    assert!((30..=80).contains(&thin.points.len()), "{} points", thin.points.len());
    assert!(thin.points.is_sorted_by_key(|point| point.token));
    assert_eq!(worst(&all), worst(&thin));
    let text = serde_json::to_string(&thin).expect("a curve is data");
    let back = serde_json::from_str::<ChainCurve>(&text).expect("and is read back");
    // Text keeps all but the last place of a number.
    assert_eq!((back.plan, back.points.len()), (thin.plan, thin.points.len()));
}

#[test]
fn a_chain_that_does_not_reach_its_end_has_not_passed() {
    let mut curve = chain(Runner::Model, &ChainPlan::new(ChainRegime::Fast, 64, 1));
    assert_passed(&curve);
    curve.points.pop();
    assert_eq!(curve.verdict().disposition, Disposition::Failed);
    let nothing = ChainPlan::new(ChainRegime::Fast, 0, 1);
    assert_eq!(chain(Runner::Model, &nothing).verdict().disposition, Disposition::Failed);
}

#[test]
fn a_state_that_is_not_finite_ends_the_chain_and_fails_it() {
    let poison = |token: u32, inputs: &mut Tensors| {
        if token == 5 {
            inputs.insert("v", Tensor::F32(vec![f32::NAN; 16]));
        }
    };
    let plan = ChainPlan::new(ChainRegime::Fast, 64, 1);
    let curve = run_given(&mut Runner::Model, &plan, poison).expect("the plan is inside the contract");
    assert_eq!(curve.points.last().map(|point| point.token), Some(5));
    assert_eq!(curve.verdict().disposition, Disposition::Failed);
}

/// A chain on the model in which each decay is changed on its way to the kernel, as a wrong gate kernel would.
fn with_decay(plan: &ChainPlan, change: impl Fn(f32) -> f32) -> ChainPoint {
    let hand_on = |_: u32, inputs: &mut Tensors| {
        if let Some(Tensor::F32(decay)) = inputs.get_mut("decay") {
            for x in decay {
                *x = change(*x);
            }
        }
    };
    worst(&run_given(&mut Runner::Model, plan, hand_on).expect("the plan is inside the contract"))
}

/// The smallest factor by which a decay may be off before the norm-wise bound shows it, less 1: by bisection to a tenth.
fn detection_limit(plan: &ChainPlan) -> f64 {
    let seen = |fault: f64| {
        let change = |x: f32| (f64::from(x) * (1.0 + fault)) as f32;
        let point = with_decay(plan, change);
        // The kernel is right for the decay that it was given, whatever that is.
        assert!(utilization(point.step) <= 1.0, "{:?}", point.step);
        utilization(worse(point.state, point.output)) > 1.0
    };
    let (mut low, mut high) = (1e-9_f64, 1e-3_f64);
    assert!(seen(high) && !seen(low), "the limit is not between the ends");
    while high / low > 1.1 {
        let middle = (low * high).sqrt();
        if seen(middle) { high = middle } else { low = middle }
    }
    high
}

#[test]
fn a_gate_fault_upstream_is_seen_by_the_free_running_view_alone() {
    for regime in [ChainRegime::Slow, ChainRegime::Held] {
        let limit = detection_limit(&ChainPlan::new(regime, SHORT / 4, 1));
        println!("{regime}: a decay off by a factor of 1 + {limit:.1e} is beyond the norm-wise bound");
        assert!(limit < 1e-6, "{regime}: only a fault of {limit:e} is seen");
    }
}

/// A decay one place too low is a rounding at each token, so that no bound of a step shows it, nor a sum of those bounds. It is
/// always the same rounding, though.
#[test]
fn a_decay_one_place_off_is_within_every_bound_and_far_out_of_the_scatter_of_roundings() {
    let plan = ChainPlan::new(ChainRegime::Held, 4 * SHORT, 1);
    let (right, wrong) = (with_decay(&plan, |x| x), with_decay(&plan, f32::next_down));
    for (name, point) in [("right", right), ("wrong", wrong)] {
        println!(
            "{name}: step {:.3}, state {:.3}, scatter {:.2}, relative error {:.1e}",
            utilization(point.step),
            utilization(point.state),
            utilization(point.scatter),
            point.relative.unwrap_or(f64::NAN)
        );
    }
    assert!(utilization(worse(wrong.step, wrong.state)) <= 1.0, "{wrong:?}");
    assert!(utilization(wrong.scatter) > 10.0 * utilization(right.scatter), "{right:?} {wrong:?}");
}
