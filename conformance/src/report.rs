//! Reports of a run: the table a person reads, the JSON a machine reads, and the utilization table that is reviewed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use gdn_gpu::executor::Description;
use serde::{Deserialize, Serialize};

use crate::check::Run;
use crate::coverage::Coverage;
use crate::error::Error;
use crate::verdict::Disposition;

/// Version of the JSON schema; a reader refuses another.
pub const SCHEMA: u32 = 1;

/// Tables have one line under the header and nothing else, so that they diff and grep well.
pub const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// What made a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`SCHEMA`].
    pub schema: u32,
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
    /// What did not run, and why.
    pub not_run: Vec<String>,
}

impl Header {
    /// The header of a run.
    pub fn new(runner: &Description, seed: u64, not_run: Vec<String>) -> Self {
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").into(),
            executor: runner.executor.into(),
            device: runner.device.clone(),
            arch: runner.arch.clone(),
            versions: runner.versions.clone(),
            seed,
            not_run,
        }
    }
}

/// One output of one case. JSON has no infinity: a utilization or a distance beyond all bounds is `null`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
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
}

/// A whole report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// What made it.
    pub header: Header,
    /// A record a case and output.
    pub records: Vec<Record>,
    /// Coverage of each kernel that ran; none from an executor that cannot see it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coverage: Vec<Coverage>,
}

impl Report {
    /// The report of a run.
    pub fn new(header: Header, run: &Run) -> Self {
        let finite = |x: f64| x.is_finite().then_some(x);
        let records = run
            .results
            .iter()
            .flat_map(|result| {
                result.verdicts.iter().map(|verdict| Record {
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
                })
            })
            .collect();
        Self { header, records, coverage: Coverage::of(&run.coverage) }
    }

    /// Whether something ran and all of it passed.
    pub fn passed(&self) -> bool {
        !self.records.is_empty() && self.records.iter().all(|record| record.disposition == Disposition::Passed)
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

    /// The table of kernels and outputs: worst utilization and distance, and where, also where all passed.
    pub fn table(&self) -> Table {
        let mut rows: BTreeMap<(usize, &str, &str), Vec<&Record>> = BTreeMap::new();
        let order: Vec<&str> = crate::suites::all().map(|suite| suite.contract().kernel).collect();
        for record in &self.records {
            let place = order.iter().position(|kernel| *kernel == record.kernel).unwrap_or(order.len());
            rows.entry((place, &record.kernel, &record.output)).or_default().push(record);
        }
        let mut table = Table::new();
        table.load_style(STYLE).set_header([
            "kernel",
            "output",
            "cases",
            "utilization",
            "ulp",
            "worst in",
            "at",
            "verdict",
        ]);
        for ((_, kernel, output), records) in rows {
            let Some(worst) = records.iter().max_by(|a, b| worse(a).total_cmp(&worse(b))) else { continue };
            let ulp = records.iter().map(|record| record.ulp.unwrap_or(f64::INFINITY)).fold(0.0, f64::max);
            let failed = records.iter().filter(|record| record.disposition != Disposition::Passed).count();
            let verdict = if failed == 0 { "passed".to_owned() } else { format!("{failed} FAILED") };
            table.add_row([
                kernel.to_owned(),
                output.to_owned(),
                records.len().to_string(),
                number(worst.utilization),
                number(Some(ulp).filter(|ulp| ulp.is_finite())),
                worst.regime.clone(),
                worst.index.to_string(),
                verdict,
            ]);
        }
        for column in [2, 3, 4, 6] {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table
    }

    /// Worst utilization of each kernel's outputs in each regime, to two digits: what is kept in `golden/` and reviewed.
    pub fn utilization_table(&self) -> String {
        let mut worst: BTreeMap<(&str, &str, &str), f64> = BTreeMap::new();
        for record in &self.records {
            let kept = worst.entry((&record.kernel, &record.output, &record.regime)).or_default();
            *kept = kept.max(worse(record));
        }
        let mut text = String::new();
        for ((kernel, output, regime), utilization) in worst {
            let _ = writeln!(text, "{kernel:<22} {output:<16} {regime:<12} {utilization:.2}");
        }
        text
    }

    /// Writes the report as JSON: the whole file or none of it.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn write_json(&self, path: &Path) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(self).map_err(|error| Error::file(path, error.to_string()))?;
        write_whole(path, &text)
    }
}

fn worse(record: &Record) -> f64 {
    record.utilization.unwrap_or(f64::INFINITY)
}

fn number(x: Option<f64>) -> String {
    x.map_or_else(|| "∞".into(), |x| format!("{x:.3}"))
}

/// The folder that a file is to be written in; asked before long work, so that its result is not lost at the end.
///
/// # Errors
/// Where there is no such folder.
pub fn folder_of(path: &Path) -> Result<&Path, Error> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if folder.is_dir() {
        return Ok(folder);
    }
    Err(Error::file(path, format!("cannot be written: there is no folder {}; make it first", folder.display())))
}

/// Writes a file through a temporary one beside it, so that no reader ever sees half of it.
///
/// # Errors
/// Where the folder does not exist or cannot be written.
pub fn write_whole(path: &Path, text: &str) -> Result<(), Error> {
    write_bytes(path, text.as_bytes())
}

/// [`write_whole`] of anything.
///
/// # Errors
/// Where the folder does not exist or cannot be written.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let folder = folder_of(path)?;
    let cannot = |error: &dyn std::fmt::Display| Error::file(path, format!("cannot be written: {error}"));
    let mut temporary = tempfile::Builder::new();
    // Temporary files are for their owner alone unless they are told: this one becomes a file like any other.
    #[cfg(unix)]
    temporary.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = temporary.tempfile_in(folder).map_err(|error| cannot(&error.kind()))?;
    file.write_all(bytes).map_err(|error| cannot(&error))?;
    file.persist(path).map_err(|error| cannot(&error.error))?;
    Ok(())
}
