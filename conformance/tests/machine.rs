//! The shipped kernels on the virtual machine under many schedules and approximations: no order of warps and blocks changes a
//! bit or breaks a rule, and no approximation that the ISA permits leaves the bounds.

use gdn_conformance::case::Case;
use gdn_conformance::check::run_case;
use gdn_conformance::draw::Draws;
use gdn_conformance::runner::Runner;
use gdn_conformance::{cases, suites};
use gdn_gpu::contract::Dim;
use gdn_gpu::ptx;
use gdn_gpu::vm::{Approximation, Options, VmExecutor};
use rayon::prelude::*;

fn runner(options: Options) -> Runner {
    Runner::kernels(Box::new(VmExecutor::new(options).with_compiler(ptx::of))).expect("the shipped kernels load")
}

/// Work of a case, in elements of its largest side.
fn size(case: &Case) -> i64 {
    let of = |dim: Dim| case.shape.size(dim).unwrap_or(1).max(1);
    let elements = of(Dim::D) * of(Dim::Hv) * of(Dim::H) * of(Dim::Hd) * of(Dim::Threads);
    elements.max(of(Dim::C)).max(of(Dim::N)) * i64::from(case.tokens)
}

/// The profile's small cases, kernel by kernel.
fn small_cases() -> Vec<Vec<Case>> {
    let small = |suite| cases::profile(suite, 81).into_iter().filter(|case| size(case) <= 2048).collect();
    suites::all().map(small).collect()
}

#[test]
fn a_hundred_schedules_give_the_same_bits() {
    // Several warps a block and several blocks, so that there is an order to change.
    let lines = [
        "gdn_step(d=48,hk=2,hv=6,tokens=1,regime=fast,scale=2^0,seed=0x51)",
        "gdn_gate_norm(d=192,hv=3,regime=gaussian,scale=2^0,seed=0x51)",
        "gdn_gate_norm_q(d=160,hv=3,regime=gaussian,scale=2^0,seed=0x51)",
        "gdn_gate_norm_hl(d=160,hv=3,regime=gaussian,scale=2^0,seed=0x51)",
        "gdn_block_sum3_test(blocks=2,threads=256,regime=ladder,scale=2^0,seed=0x51)",
        "gdn_warp_sum_test(blocks=2,threads=128,regime=ladder,scale=2^0,seed=0x51)",
        "lgx_q8hl_test(n=600,regime=ties,scale=2^0,seed=0x51)",
        "gk_conv_silu(c=600,t=4,tokens=1,regime=ramp,scale=2^0,seed=0x51)",
        "gk_conv_silu_l2(d=80,c=320,t=4,nl2=2,tokens=1,regime=ramp,scale=2^0,seed=0x51)",
        "gk_l2norm_heads(d=127,h=4,regime=ladder,scale=2^0,seed=0x51)",
        "gk_gdn_gates(hv=300,regime=edges,scale=2^0,seed=0x51)",
        "gk_qk_norm_rope_part(h=3,hd=128,rot=64,pos=40000,stride=400,regime=gaussian,scale=2^0,seed=0x51)",
        "gk_gate_mul(n=600,regime=edges,scale=2^0,seed=0x51)",
    ];
    let cases: Vec<Case> = lines.iter().map(|line| line.parse().expect("the line is written here")).collect();
    assert_eq!(cases.len(), suites::all().count(), "a kernel has no line");
    let outputs = |seed: u64| {
        let mut runner = runner(Options { seed, ..Options::default() });
        cases
            .iter()
            .map(|case| {
                let suite = suites::find(case.contract.kernel).expect("it is registered");
                let inputs = suite.draw(case, &Draws::new(case, 0));
                let outcome =
                    runner.run(suite, &case.shape, &inputs, 0).unwrap_or_else(|e| panic!("seed {seed}: {case}: {e}"));
                assert!(outcome.findings.is_empty(), "seed {seed}: {case}: {:?}", outcome.findings);
                outcome.outputs.into_iter().map(|(name, tensor)| (name, tensor.bytes())).collect::<Vec<_>>()
            })
            .collect::<Vec<_>>()
    };
    let natural = outputs(0);
    (1..=100_u64).into_par_iter().for_each(|seed| {
        for ((found, expected), case) in outputs(seed).iter().zip(&natural).zip(&cases) {
            assert!(found == expected, "seed {seed} changed the bits of {case}");
        }
    });
}

#[test]
fn a_thousand_adversarial_approximations_stay_within_the_bounds() {
    let small = small_cases();
    let changed: usize = (1..=1000_u64)
        .into_par_iter()
        .map(|seed| {
            let mut adversarial =
                runner(Options { approximation: Approximation::Adversarial(seed), ..Options::default() });
            // The first few seeds are compared with correctly rounded approximations, to see that something was drawn.
            let mut exact = (seed <= 20).then(|| runner(Options::default()));
            let mut changed = 0;
            // One case of each kernel, another for each seed.
            for cases in &small {
                let case = &cases[seed as usize % cases.len()];
                let result = run_case(&mut adversarial, case).expect("the case is inside its contract");
                assert!(result.passed(), "seed {seed}: {case}: {:?}", result.verdicts);
                if let Some(exact) = &mut exact {
                    let plain = run_case(exact, case).expect("the case is inside its contract");
                    changed += usize::from(plain.verdicts != result.verdicts);
                }
            }
            changed
        })
        .sum();
    // Were the approximations not drawn, nothing would have been tested.
    assert!(changed > 20, "only {changed} verdicts differ from those of correctly rounded approximations");
}

#[test]
fn approximations_at_either_end_stay_within_the_bounds() {
    let cases = small_cases().concat();
    let ends = [Approximation::Least, Approximation::Greatest];
    ends.into_par_iter().for_each(|approximation| {
        let mut runner = runner(Options { approximation, checks: false, ..Options::default() });
        for case in &cases {
            let result = run_case(&mut runner, case).expect("the case is inside its contract");
            assert!(result.passed(), "{approximation:?}: {case}: {:?}", result.verdicts);
        }
    });
}
