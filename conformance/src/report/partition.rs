//! Parts of a run: which of its cases each machine takes, and how the parts' reports become one again.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Header, Report};
use crate::chains::ChainRegime;
use crate::error::Error;
use crate::{mutants, suites};

/// Number `index` of `count` parts, from 1: `2/3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Partition {
    /// The part, from 1.
    pub index: u32,
    /// How many parts there are.
    pub count: u32,
}

impl Partition {
    /// Whether something falls into this part: by the hash of its name, so that it does not depend on what else there is.
    pub fn has(self, name: &str) -> bool {
        let hash = Sha256::digest(name.as_bytes()).first_chunk().copied().map_or(0, u64::from_be_bytes);
        hash % u64::from(self.count) == u64::from(self.index - 1)
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Partition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        match numbers {
            Some((index, count)) if 1 <= index && index <= count => Ok(Self { index, count }),
            _ => Err("it must be K/N with K from 1 to N, such as 1/2".into()),
        }
    }
}

/// What the reports of one run have in common, part by part.
fn run_of(report: &Report) -> Header {
    Header { partition: None, not_run: Vec::new(), ..report.header.clone() }
}

/// Puts the parts of each run together, in the order in which the runs first come; whole runs stay as they are, and the same report
/// given twice counts once.
///
/// # Errors
/// [`Error::Parts`] where a part of a run is missing, or is there twice and not the same.
pub fn merge(reports: Vec<Report>) -> Result<Vec<Report>, Error> {
    let mut runs: Vec<(Header, Vec<Report>)> = Vec::new();
    for report in reports {
        let run = run_of(&report);
        match runs.iter_mut().find(|(known, _)| *known == run) {
            Some((_, parts)) if parts.contains(&report) => {}
            Some((_, parts)) => parts.push(report),
            None => runs.push((run, vec![report])),
        }
    }
    let mut merged = Vec::new();
    for (run, reports) in runs {
        let (parts, whole): (Vec<Report>, Vec<Report>) =
            reports.into_iter().partition(|report| report.header.partition.is_some());
        merged.extend(whole);
        if !parts.is_empty() {
            merged.push(join(run, parts)?);
        }
    }
    Ok(merged)
}

/// One run of all its parts.
fn join(run: Header, mut parts: Vec<Report>) -> Result<Report, Error> {
    let problem = |problem: String| Error::Parts { run: format!("{} ({})", run.command, run.selection), problem };
    let of = |report: &Report| report.header.partition.map_or((0, 0), |part| (part.count, part.index));
    parts.sort_by_key(of);
    let count = of(&parts[0]).0;
    if let Some(other) = parts.iter().map(|part| of(part).0).find(|&other| other != count) {
        return Err(problem(format!("some parts are of {count} and some of {other}: they are of different runs")));
    }
    for index in 1..=count {
        match parts.iter().filter(|part| of(part).1 == index).count() {
            1 => {}
            0 => {
                return Err(problem(format!(
                    "part {index}/{count} is missing; make it with `--partition {index}/{count}`"
                )));
            }
            _ => return Err(problem(format!("part {index}/{count} is there more than once, and not the same"))),
        }
    }
    let mut whole = Report::empty(run);
    for part in parts {
        // No command makes the other sections in parts.
        let Report { header, records, coverage, chains, mutants, limits, .. } = part;
        for line in header.not_run {
            if !whole.header.not_run.contains(&line) {
                whole.header.not_run.push(line);
            }
        }
        whole.records.extend(records);
        whole.chains.extend(chains);
        whole.mutants.extend(mutants);
        whole.limits.extend(limits);
        for kernel in coverage {
            match whole.coverage.iter_mut().find(|known| known.kernel == kernel.kernel) {
                Some(known) => known.add(&kernel),
                None => whole.coverage.push(kernel),
            }
        }
    }
    // The orders of whole runs.
    let kernels: Vec<&str> = suites::all().map(|suite| suite.contract().kernel).collect();
    let place = |names: &[&str], name: &str| names.iter().position(|known| *known == name);
    whole.records.sort_by_key(|record| record.place);
    whole.coverage.sort_by_key(|coverage| place(&kernels, &coverage.kernel));
    let mutants: Vec<&str> = mutants::all().map(|mutant| mutant.name).collect();
    whole.mutants.sort_by_key(|fate| place(&mutants, &fate.mutant));
    let faults: Vec<(&str, &str)> = mutants::faults().map(|fault| (fault.kernel, fault.term)).collect();
    whole.limits.sort_by_key(|limit| faults.iter().position(|fault| *fault == (&limit.kernel, &limit.term)));
    whole.chains.sort_by_key(|curve| ChainRegime::ALL.iter().position(|regime| *regime == curve.plan.regime));
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::Partition;

    #[test]
    fn every_name_falls_into_one_part() {
        for count in 1..6 {
            let mut sizes = vec![0; count as usize];
            for name in (0..500).map(|i| format!("case {i}")) {
                let parts: Vec<u32> = (1..=count).filter(|&index| Partition { index, count }.has(&name)).collect();
                assert_eq!(parts.len(), 1, "{name} of {count}");
                sizes[parts[0] as usize - 1] += 1;
            }
            assert!(sizes.iter().all(|&size| size > 50), "{sizes:?}");
        }
    }

    #[test]
    fn parts_are_counted_from_one() {
        assert_eq!("2/3".parse(), Ok(Partition { index: 2, count: 3 }));
        for text in ["0/2", "3/2", "1", "1/0", "a/b", ""] {
            assert!(text.parse::<Partition>().is_err(), "{text}");
        }
    }
}
