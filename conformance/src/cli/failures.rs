//! The failures of a run as lines: the first few of each kernel and output explained, the rest counted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gdn_gpu::vm::Options;

use super::{Selection, executor_with};
use crate::capsule;
use crate::check::CaseResult;
use crate::error::Error;
use crate::report::{Record, Report};
use crate::runner::Runner;
use crate::verdict::Disposition;
use crate::which;

/// Failures of one kernel and output that are printed in full.
const PRINTED: usize = 3;

/// Where capsules go where nobody says: beside what the build makes, or beside the caller.
pub(super) fn default_folder() -> PathBuf {
    if Path::new("target").is_dir() { PathBuf::from("target/capsules") } else { PathBuf::from("capsules") }
}

/// Writes the capsules of a run. The verdicts are known by now: a folder that cannot be written does not take them away.
///
/// The report's records are told their files; a line for the reader comes back where something failed.
pub(super) fn keep(
    runner: &mut Runner,
    results: &[CaseResult],
    folder: Option<&Path>,
    report: &mut Report,
) -> Option<String> {
    let folder = folder.map_or_else(default_folder, Path::to_owned);
    let failing = results.iter().filter(|result| !result.passed()).count();
    if failing == 0 {
        return None;
    }
    match capsule::write_all(runner, results, &folder) {
        Ok(written) => {
            let count = written.files.len();
            let capsules = if count == 1 { "capsule" } else { "capsules" };
            let rest = match written.without {
                0 => String::new(),
                1 => "; 1 more failing case has none".to_owned(),
                more => {
                    format!("; {more} more failing cases have none: at most {} a kernel and output", capsule::MOST)
                }
            };
            for record in report.records.iter_mut().filter(|record| record.disposition != Disposition::Passed) {
                record.capsule = written.files.get(&record.case).map(|path| path.display().to_string());
            }
            Some(format!("{count} {capsules} in {}, for `gdn-conformance replay`{rest}", folder.display()))
        }
        Err(error) => Some(format!("no capsules: {error}")),
    }
}

/// Names the mutant that each kernel's first failures look like.
pub(super) fn name_nearest(results: &mut [CaseResult]) -> Result<(), Error> {
    let mut looked: BTreeMap<&str, usize> = BTreeMap::new();
    for result in results.iter_mut().filter(|result| !result.passed()) {
        let looked = looked.entry(result.case.contract.kernel).or_default();
        let Some(failing) = result.failing.as_ref().filter(|failing| *looked < PRINTED && !failing.outputs.is_empty())
        else {
            continue;
        };
        *looked += 1;
        let (machine, _) = executor_with(Selection::Vm, Options { checks: false, ..Options::default() })?;
        let found = which::nearest(machine.as_ref(), &result.case, &failing.inputs, &failing.outputs)?;
        for explanation in result.verdicts.iter_mut().filter_map(|verdict| verdict.explanation.as_mut()) {
            explanation.nearest =
                found.map(|mutant| format!("within the bound of `{}`: {}", mutant.name, mutant.story));
        }
    }
    Ok(())
}

/// The lines of the failures, grouped by kernel and output.
pub(super) fn lines(report: &Report) -> Vec<String> {
    let mut groups: Vec<Vec<&Record>> = Vec::new();
    for record in report.failures() {
        let same = |group: &&mut Vec<&Record>| {
            group.first().is_some_and(|first| first.kernel == record.kernel && first.output == record.output)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(record),
            None => groups.push(vec![record]),
        }
    }
    let mut lines = Vec::new();
    for group in groups {
        for failure in group.iter().take(PRINTED) {
            lines.push(format!(
                "{}: {} {}: {}",
                failure.disposition,
                failure.case,
                failure.output,
                failure.detail.replace('\n', "\n  ")
            ));
            lines.extend(failure.explanation().lines().map(|line| format!("  {line}")));
        }
        if let (Some(first), more @ 1..) = (group.first(), group.len().saturating_sub(PRINTED)) {
            let cases = if more == 1 { "case" } else { "cases" };
            lines.push(format!("… and {more} more {cases} of {} {}; --json has them all", first.kernel, first.output));
        }
    }
    lines
}
