//! Reports: what a command found, as data. Text, JSON, pages and a pipeline's files are all made of it.
//!
//! A [`Report`] is what one command found on one executor; each command fills the sections that it knows of. A file holds any
//! number of them ([`Reports`]).

use std::path::Path;

use gdn_gpu::executor::Description;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::chains::ChainCurve;
use crate::check::Run;
use crate::coverage::Coverage;
use crate::detect::Limit;
use crate::error::Error;
use crate::files::write_whole;
use crate::kill::Fate;
use crate::probe::Function;
use crate::verdict::Disposition;

pub mod annotations;
pub mod junit;
pub mod page;
mod partition;
mod sections;
mod text;

pub use partition::{Partition, merge};
pub use sections::{Aspect, Change, FlagRow, Resources, Sanitized, Severity, Speed};
pub use text::STYLE;

/// Version of the JSON schema; a reader refuses another.
pub const SCHEMA: u32 = 2;

/// A file of reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reports {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The reports, in the order in which they were made or merged.
    pub reports: Vec<Report>,
}

/// What made a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// The command: `check`, `chain`, `mutants`, …
    pub command: String,
    /// What was selected, in words: a profile, regimes, a file of kernels.
    pub selection: String,
    /// Version of this suite.
    pub version: String,
    /// `cuda`, `vm` or `model`.
    pub executor: String,
    /// The device, in words.
    pub device: String,
    /// Architecture compiled for.
    pub arch: String,
    /// Versions of driver and compiler.
    pub versions: String,
    /// Seed of the run.
    pub seed: u64,
    /// The part of the run's cases that this is; nothing where it is the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<Partition>,
    /// What did not run, and why.
    pub not_run: Vec<String>,
}

impl Header {
    /// The header of a run of a command.
    pub fn new(command: &str, selection: String, runner: &Description, seed: u64, not_run: Vec<String>) -> Self {
        Self {
            command: command.into(),
            selection,
            version: env!("CARGO_PKG_VERSION").into(),
            executor: runner.executor.into(),
            device: runner.device.clone(),
            arch: runner.arch.clone(),
            versions: runner.versions.clone(),
            seed,
            partition: None,
            not_run,
        }
    }
}

/// One output of one case. JSON has no infinity: a utilization or a distance beyond all bounds is `null`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// The case's place among those of the whole run, from 0.
    pub place: usize,
    /// The case line.
    pub case: String,
    /// The kernel.
    pub kernel: String,
    /// The output.
    pub output: String,
    /// The regime.
    pub regime: String,
    /// What it came to.
    pub disposition: Disposition,
    /// Worst error ÷ bound.
    pub utilization: Option<f64>,
    /// Worst distance in units of the last place.
    pub ulp: Option<f64>,
    /// Flat index of the worst element.
    pub index: usize,
    /// The worst element in words.
    pub detail: String,
    /// Where the failing elements lie, and what became of their values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// What feeds the worst element.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<String>,
    /// The known-wrong kernel that it looks like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
    /// The file that `replay` runs again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capsule: Option<String>,
}

impl Record {
    /// What is known of a failure beyond its worst element, a line each.
    pub fn explanation(&self) -> String {
        let explained = [
            ("pattern", &self.pattern),
            ("inputs", &self.inputs),
            ("nearest", &self.nearest),
            ("capsule", &self.capsule),
        ];
        let known = explained.iter().filter_map(|(name, text)| Some((name, text.as_ref()?)));
        let lines = known.filter(|(_, text)| !text.is_empty()).map(|(name, text)| format!("{name}: {text}"));
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// What one command found on one executor. Sections that it knows nothing of are empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// What made it.
    pub header: Header,
    /// `check`, `gate`: a record a case and output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<Record>,
    /// `check`, `gate`: coverage of each kernel that ran; none from an executor that cannot see it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coverage: Vec<Coverage>,
    /// `chain`: error and bound against the token.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chains: Vec<ChainCurve>,
    /// `mutants`: the kill matrix.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mutants: Vec<Fate>,
    /// `detect`: detection limits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Limit>,
    /// `probe`: errors of functions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<Function>,
    /// `gate`: what each kernel takes of a device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<Resources>,
    /// `gate`: how long each kernel takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub speed: Vec<Speed>,
    /// `gate`: what changed against the accepted baseline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// `flags`: utilization under compile options.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<FlagRow>,
    /// `sanitize`: what the tools found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sanitized: Vec<Sanitized>,
}

impl Report {
    /// A report whose sections are empty yet.
    pub const fn empty(header: Header) -> Self {
        Self {
            header,
            records: Vec::new(),
            coverage: Vec::new(),
            chains: Vec::new(),
            mutants: Vec::new(),
            limits: Vec::new(),
            functions: Vec::new(),
            resources: Vec::new(),
            speed: Vec::new(),
            changes: Vec::new(),
            flags: Vec::new(),
            sanitized: Vec::new(),
        }
    }

    /// The records of a run of cases, in their order.
    pub fn records_of(run: &Run) -> Vec<Record> {
        let finite = |x: f64| x.is_finite().then_some(x);
        let all = run.results.iter().enumerate().flat_map(|(place, result)| {
            result.verdicts.iter().map(move |verdict| Record {
                place,
                case: result.case.to_string(),
                kernel: result.case.contract.kernel.into(),
                output: verdict.output.clone(),
                regime: result.case.regime.name().into(),
                disposition: verdict.disposition,
                utilization: finite(verdict.utilization),
                ulp: finite(verdict.ulp),
                index: verdict.index,
                detail: verdict.detail.clone(),
                pattern: verdict.explanation.as_ref().map(|why| why.pattern.clone()),
                inputs: verdict.explanation.as_ref().map(|why| why.inputs.clone()),
                nearest: verdict.explanation.as_ref().and_then(|why| why.nearest.clone()),
                capsule: None,
            })
        });
        all.collect()
    }

    /// The report of a run of cases.
    pub fn of_run(header: Header, run: &Run) -> Self {
        Self { records: Self::records_of(run), coverage: Coverage::of(&run.coverage), ..Self::empty(header) }
    }

    /// What is not as it should be, a line each; one line where nothing was found out at all, which is no pass.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let failed = self.failures().count();
        if failed > 0 {
            problems.push(format!("{failed} of {} verdicts not passed", self.records.len()));
        }
        for curve in &self.chains {
            let verdict = curve.verdict();
            if verdict.disposition != Disposition::Passed {
                problems.push(format!("{}: {}", verdict.output, verdict.detail));
            }
        }
        let on_device = self.header.executor == "cuda";
        let wrong = self.mutants.iter().filter(|fate| !fate.outcome(on_device).is_right());
        problems.extend(wrong.map(|fate| format!("mutant {}: {}", fate.mutant, fate.outcome(on_device))));
        let unseen = self.limits.iter().filter(|limit| limit.limits.first().is_none_or(Option::is_none));
        problems.extend(unseen.map(|limit| format!("no fault of {} {} is seen", limit.kernel, limit.term)));
        let functions = self.functions.iter().filter(|function| !function.passed);
        problems.extend(functions.map(|function| format!("{}: {}", function.function, function.verdict)));
        let default = self.flags.iter().filter(|row| row.options.is_empty() && row.failed > 0);
        problems.extend(default.map(|row| {
            let FlagRow { kernel, output, arch, failed, cases, .. } = row;
            format!("{kernel} {output} without any option, {arch}: {failed} of {cases} cases not passed")
        }));
        problems.extend(self.changes.iter().filter(|change| change.severity == Severity::Regressed).map(Change::line));
        problems.extend(
            self.sanitized
                .iter()
                .filter(|tool| !tool.findings.is_empty())
                .map(|tool| format!("{}: {} findings in {} launches", tool.tool, tool.findings.len(), tool.launches)),
        );
        // A part may be empty: the run that it is a part of may not.
        if self.is_empty() && self.header.partition.is_none() {
            problems.push(format!("{} found out nothing", self.header.command));
        }
        problems
    }

    /// Whether no section has anything.
    fn is_empty(&self) -> bool {
        let Self { header: _, records, coverage: _, chains, mutants, limits, functions, .. } = self;
        let Self { resources, speed, changes: _, flags, sanitized, .. } = self;
        records.is_empty()
            && chains.is_empty()
            && mutants.is_empty()
            && limits.is_empty()
            && functions.is_empty()
            && resources.is_empty()
            && speed.is_empty()
            && flags.is_empty()
            && sanitized.is_empty()
    }

    /// Whether something was found out and all of it is as it should be.
    pub fn passed(&self) -> bool {
        self.problems().is_empty()
    }

    /// How many different cases there are records of.
    pub fn cases(&self) -> usize {
        let mut cases: Vec<&str> = self.records.iter().map(|record| record.case.as_str()).collect();
        cases.sort_unstable();
        cases.dedup();
        cases.len()
    }

    /// The records that did not pass.
    pub fn failures(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(|record| record.disposition != Disposition::Passed)
    }
}

/// The JSON Schema of [`Reports`], as `golden/report.schema.json` has it.
pub fn schema() -> String {
    serde_json::to_string_pretty(&schemars::schema_for!(Reports)).unwrap_or_default()
}

impl Reports {
    /// These reports as a file of this version.
    pub const fn new(reports: Vec<Report>) -> Self {
        Self { schema: SCHEMA, reports }
    }

    /// Reads a file of reports.
    ///
    /// # Errors
    /// Where it cannot be read, is no file of reports, or is of another schema.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text =
            std::fs::read_to_string(path).map_err(|error| Error::file(path, format!("cannot be read: {error}")))?;
        let value: serde_json::Value =
            serde_json::from_str(&text).map_err(|error| Error::file(path, format!("is no JSON: {error}")))?;
        let schema = value.get("schema").and_then(serde_json::Value::as_u64);
        match schema {
            Some(schema) if schema == u64::from(SCHEMA) => {}
            Some(other) => {
                let problem = format!("is of schema {other}, and this version reads schema {SCHEMA}: make it again");
                return Err(Error::file(path, problem));
            }
            None => return Err(Error::file(path, "is no file of reports: it has no `schema`")),
        }
        serde_json::from_value(value).map_err(|error| Error::file(path, format!("is no file of reports: {error}")))
    }

    /// Writes the reports as JSON: the whole file or none of it.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(self).map_err(|error| Error::file(path, error.to_string()))?;
        write_whole(path, &format!("{text}\n"))
    }
}
