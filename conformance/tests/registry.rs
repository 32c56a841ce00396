//! The registry is whole: every kernel family has its file in every crate, every contract a suite, every suite cases.

use std::collections::BTreeSet;
use std::path::Path;

use gdn_conformance::case::Case;
use gdn_conformance::{cases, suites};
use gdn_gpu::contracts;

#[test]
fn every_family_has_its_file_in_every_crate() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut missing = Vec::new();
    for (family, _) in suites::FAMILIES {
        for place in [
            format!("gpu/kernels/{family}.cu"),
            format!("gpu/src/contracts/{family}.rs"),
            format!("conformance/suites/src/{family}.rs"),
        ] {
            if !root.join(&place).is_file() {
                missing.push(place);
            }
        }
        // The shared device code has an operation of its own only where it is more than a sum.
        let operation = format!("reference/src/ops/{family}.rs");
        if *family != "reduce" && !root.join(&operation).is_file() {
            missing.push(operation);
        }
    }
    assert!(missing.is_empty(), "missing files: {}", missing.join(", "));
}

#[test]
fn every_contract_has_a_suite_in_the_family_that_it_names() {
    let registered: BTreeSet<(&str, &str)> = suites::FAMILIES
        .iter()
        .flat_map(|(family, list)| list.iter().map(move |suite| (*family, suite.contract().kernel)))
        .collect();
    let contracts: BTreeSet<(&str, &str)> =
        contracts::all().map(|contract| (contract.family, contract.kernel)).collect();
    let without_suite: Vec<_> = contracts.difference(&registered).collect();
    let without_contract: Vec<_> = registered.difference(&contracts).collect();
    assert!(without_suite.is_empty(), "contracts without a suite: {without_suite:?}");
    assert!(without_contract.is_empty(), "suites without a contract: {without_contract:?}");
}

#[test]
fn every_case_of_the_profile_is_inside_its_contract_and_reads_back_from_its_line() {
    for suite in suites::all() {
        let cases = cases::profile(suite, 81);
        assert!(!cases.is_empty(), "{} has no cases", suite.contract().kernel);
        for case in cases {
            let read: Case = case.to_string().parse().unwrap_or_else(|error| panic!("{case}: {error}"));
            assert_eq!(read, case);
        }
    }
}

#[test]
fn the_profile_has_at_least_two_thousand_cases() {
    let count: usize = suites::all().map(|suite| cases::profile(suite, 81).len()).sum();
    assert!(count >= 2000, "{count}");
}
