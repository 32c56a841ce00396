//! Compile options: the shipped kernels, or anybody's, compiled under sets of them, and how much of its bounds each set uses up.
//!
//! The bounds are those of a kernel that is compiled without any option. A set whose kernels stay inside of them may be turned on; one
//! whose kernels leave them gives other numbers than the contracts allow, and the table says which.

use gdn_gpu::executor::{Code, Program};
use gdn_gpu::nvrtc::Nvrtc;

use crate::case::Case;
use crate::check::{self, CaseResult};
use crate::error::Error;
use crate::report::{FlagRow, Record, Report};
use crate::runner::Runner;
use crate::verdict::Disposition;

/// A set of options, by the name that the command line and reports have for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Set {
    /// Its name.
    pub name: &'static str,
    /// The options as NVRTC takes them.
    pub options: &'static [&'static str],
}

/// The sets. The first is what the bounds are derived for and what times are compared with.
pub const SETS: [Set; 6] = [
    Set { name: "default", options: &[] },
    Set { name: "no-fmad", options: &["--fmad=false"] },
    Set { name: "no-prec-div", options: &["--prec-div=false"] },
    Set { name: "no-prec-sqrt", options: &["--prec-sqrt=false"] },
    Set { name: "ftz", options: &["--ftz=true"] },
    Set { name: "fast-math", options: &["--use_fast_math"] },
];

/// Finds a set by its name.
///
/// # Errors
/// [`Error::Suite`] with the nearest name that there is.
pub fn find(name: &str) -> Result<&'static Set, Error> {
    let found = SETS.iter().find(|set| set.name == name);
    found.ok_or_else(|| Error::unknown("set of compile options", name, SETS.iter().map(|set| set.name)))
}

/// Programs compiled under a set for a virtual architecture.
///
/// # Errors
/// Where there is no NVRTC, a source does not compile, or a program is PTX, which is compiled already.
pub fn compiled(programs: &[Program], set: &Set, arch: &str) -> Result<Vec<Program>, Error> {
    let compile = |Program { name, code }: &Program| match code {
        Code::Cuda(source) => {
            let text = Nvrtc::find()?.compile(name, source, arch, set.options)?;
            Ok(Program { name: name.clone(), code: Code::Ptx(text.trim_end_matches('\0').to_owned()) })
        }
        Code::Ptx(_) => Err(Error::file(name.as_ref(), "is PTX, which no compile option changes: give its source")),
    };
    programs.iter().map(compile).collect()
}

/// Runs cases under a set: a row an output of each kernel, in the cases' order, without times.
///
/// # Errors
/// What the executor ran into.
pub fn run(
    runner: &Runner,
    set: &Set,
    arch: &str,
    cases: &[Case],
    done: impl Fn(&CaseResult) + Sync,
) -> Result<Vec<FlagRow>, Error> {
    let run = check::run_all(runner, cases, check::Detail::Plain, done)?;
    let records = Report::records_of(&run);
    let mut rows: Vec<FlagRow> = Vec::new();
    for record in &records {
        let known = rows.iter().position(|row| row.kernel == record.kernel && row.output == record.output);
        let at = known.unwrap_or_else(|| {
            rows.push(row(set, arch, record));
            rows.len() - 1
        });
        add(&mut rows[at], record);
    }
    Ok(rows)
}

/// The row that a record is the first of.
fn row(set: &Set, arch: &str, record: &Record) -> FlagRow {
    FlagRow {
        set: set.name.into(),
        options: set.options.iter().map(ToString::to_string).collect(),
        arch: arch.into(),
        kernel: record.kernel.clone(),
        output: record.output.clone(),
        cases: 0,
        failed: 0,
        failing: Vec::new(),
        utilization: Some(0.0),
        worst: record.case.clone(),
        time: None,
    }
}

/// Counts a record in.
fn add(row: &mut FlagRow, record: &Record) {
    row.cases += 1;
    if record.disposition != Disposition::Passed {
        row.failed += 1;
        if !row.failing.contains(&record.regime) {
            row.failing.push(record.regime.clone());
        }
    }
    let beyond = |x: Option<f64>| x.unwrap_or(f64::INFINITY);
    if beyond(record.utilization) > beyond(row.utilization) {
        row.utilization = record.utilization;
        row.worst.clone_from(&record.case);
    }
}

#[cfg(test)]
mod tests {
    use super::{SETS, find};

    #[test]
    fn sets_are_found_by_names_of_their_own() {
        for set in &SETS {
            assert_eq!(find(set.name).expect("the set is there"), set);
        }
        let error = find("fast_math").expect_err("there is no such set");
        assert!(error.to_string().contains("fast-math"), "{error}");
    }
}
