//! The catalogue of mutants is whole, the smoke profile kills all of it, and the detection limits are what golden/ says.

use std::collections::BTreeSet;
use std::path::Path;

use gdn_conformance::cases::{self, Profile};
use gdn_conformance::detect::{self, Limit};
use gdn_conformance::kill;
use gdn_conformance::mutants::{self, FAMILIES, Sort};
use gdn_conformance::report::Reports;
use gdn_conformance::runner::Runner;
use gdn_conformance::which;
use gdn_conformance::{check, suites};
use gdn_gpu::contract::{Dtype, Role};
use gdn_gpu::vm::{Options, VmExecutor};
use gdn_gpu::{contracts, ptx};

fn machine() -> VmExecutor {
    VmExecutor::new(Options { step_budget: 1 << 18, ..Options::default() }).with_compiler(ptx::of)
}

/// A machine that runs on where its checks would stop it.
fn lenient() -> VmExecutor {
    VmExecutor::new(Options { checks: false, step_budget: 1 << 18, ..Options::default() }).with_compiler(ptx::of)
}

#[test]
fn every_family_has_mutants_of_its_own_name() {
    let families: Vec<&str> = suites::FAMILIES.iter().map(|(family, _)| *family).collect();
    let catalogues: Vec<&str> = FAMILIES.iter().map(|catalogue| catalogue.family).collect();
    assert_eq!(catalogues, families);
    for catalogue in FAMILIES {
        assert!(!catalogue.mutants.is_empty(), "{} has no mutants", catalogue.family);
    }
}

#[test]
fn there_are_eighty_mutants_or_more_of_all_sorts_each_with_a_name_and_a_kernel_of_its_own() {
    let mut names = BTreeSet::new();
    for mutant in mutants::all() {
        assert!(names.insert(mutant.name), "{} stands twice", mutant.name);
        assert!(contracts::find(mutant.kernel).is_some(), "{}: unknown kernel {}", mutant.name, mutant.kernel);
        assert!(!mutant.story.is_empty() && !mutant.term.is_empty(), "{} tells nothing", mutant.name);
    }
    assert!(names.len() >= 80, "{}", names.len());
    for sort in [Sort::Numerical, Sort::Memory, Sort::Concurrency] {
        assert!(mutants::all().any(|mutant| mutant.sort == sort), "no {sort} mutants");
    }
}

#[test]
fn every_mutant_and_every_fault_has_ptx_made_of_its_source() {
    let mutants = mutants::all().map(|mutant| (mutant.name.to_owned(), mutant.source()));
    let faults = mutants::faults().map(|fault| (fault.name(), detect::source(fault)));
    let sources = mutants.chain(faults).map(|(name, source)| (name, source.unwrap_or_else(|error| panic!("{error}"))));
    let stale: Vec<String> =
        sources.filter(|(name, source)| mutants::accepted(name, source).is_none()).map(|(name, _)| name).collect();
    assert!(stale.is_empty(), "stale PTX, run `gdn-conformance compile`: {}", stale.join(", "));
}

#[test]
fn the_smoke_profile_kills_every_mutant_and_no_equivalent_one() {
    let selected: Vec<_> = mutants::all().collect();
    let of = |mutant: &mutants::Mutant| cases::of(Profile::Smoke, mutant.kernel, 0);
    let fates = kill::matrix(&machine(), &selected, of, |_| ()).expect("the virtual machine runs every mutant");
    let wrong: Vec<_> = selected
        .iter()
        .zip(&fates)
        .filter(|(_, fate)| !fate.outcome(false).is_right())
        .map(|(mutant, _)| mutant.name)
        .collect();
    assert_eq!(fates.len(), selected.len());
    assert!(wrong.is_empty(), "not as they should be: {}", wrong.join(", "));
}

#[test]
fn the_shipped_kernels_pass_the_smoke_profile() {
    let runner = Runner::kernels(Box::new(machine())).expect("the shipped kernels load");
    let cases = cases::smoke().expect("every line of golden/smoke.txt is a case");
    let run = check::run_all(&runner, &cases, check::Detail::Plain, |_| ()).expect("the virtual machine runs");
    assert!(!run.results.is_empty() && run.results.iter().all(check::CaseResult::passed));
}

/// The accepted detection limits.
fn accepted_limits() -> Vec<Limit> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/detection.json");
    let reports = Reports::read(&path).expect("golden/detection.json reads");
    reports.reports.into_iter().flat_map(|report| report.limits).collect()
}

#[test]
fn every_fault_is_seen_at_its_detection_limit() {
    let limits = accepted_limits();
    assert_eq!(limits.len(), mutants::faults().count(), "run `gdn-conformance detect --json golden/detection.json`");
    let machine = machine();
    for (fault, limit) in mutants::faults().zip(&limits) {
        assert_eq!((fault.kernel, fault.term), (&*limit.kernel, &*limit.term));
        let epsilon = limit.limits[0].unwrap_or_else(|| panic!("{} is never seen", fault.name()));
        let case = limit.case.as_deref().and_then(|line| line.parse().ok()).expect("a case shows the limit");
        assert!(
            detect::is_seen(&machine, fault, &case, epsilon).expect("the virtual machine runs"),
            "{} is not seen at {epsilon:e}",
            fault.name()
        );
        assert!(!detect::is_seen(&machine, fault, &case, 0.0).expect("the virtual machine runs"), "{}", fault.name());
    }
}

#[test]
fn a_scale_error_of_5e_6_on_any_f32_output_is_seen() {
    let limits = accepted_limits();
    for contract in contracts::all() {
        let floats = contract.buffers().filter(|(_, spec)| spec.role != Role::Input && spec.dtype == Dtype::F32);
        for (name, _) in floats {
            let term = format!("output {name}");
            let limit = limits.iter().find(|limit| limit.kernel == contract.kernel && limit.term == term);
            let seen = limit.and_then(|limit| limit.limits[0]);
            assert!(seen.is_some_and(|limit| limit <= 5e-6), "{} {term}: {seen:?}", contract.kernel);
        }
    }
}

#[test]
fn the_shipped_kernels_follow_the_contract_in_every_convention() {
    let machine = lenient();
    let mut runner = Runner::kernels(Box::new(lenient())).expect("the shipped kernels load");
    let findings = which::which(&mut runner, &machine).expect("the virtual machine runs");
    assert_eq!(findings.len(), mutants::conventions().count());
    for finding in findings {
        assert!(finding.contract, "{} {}", finding.kernel, finding.convention);
    }
}

#[test]
fn every_mutant_of_a_convention_is_named_by_it() {
    let machine = lenient();
    for convention in mutants::conventions() {
        for (name, label) in convention.others {
            let program = mutants::find(name).and_then(mutants::Mutant::program).expect("the mutant is there");
            let mut runner = Runner::programs(Box::new(lenient()), vec![program]).expect("it loads");
            let findings = which::which(&mut runner, &machine).expect("the virtual machine runs");
            let found = findings.iter().find(|f| f.case == convention.case).and_then(|f| f.follows);
            assert_eq!(found, Some(*label), "{name}");
        }
    }
}
