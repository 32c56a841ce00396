//! `replay`: recorded tokens (independent vectors, or an engine's dump) driven through the oracle and the kernels.

use std::fmt;
use std::path::Path;

use crate::error::Error;
use crate::localize::Explanation;
use crate::runner::Runner;
use crate::verdict::{Disposition, Verdict};

mod kernels;
mod oracle;
mod recording;

pub use recording::{Recording, load};
pub(crate) use recording::{read, whole};

/// The oracle against one of the file's answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// Tensor of the file.
    pub name: String,
    /// Largest error, relative to the largest element.
    pub error: f64,
    /// Largest error allowed.
    pub limit: f64,
}

impl Agreement {
    /// Whether it agrees; a NaN does not.
    pub fn holds(&self) -> bool {
        self.error <= self.limit
    }
}

/// What came of one file.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The file's name.
    pub file: String,
    /// Tokens driven.
    pub tokens: usize,
    /// The oracle against the file's `out.*`.
    pub oracle: Vec<Agreement>,
    /// The kernels (or the f32 model) against the oracle: the worst verdict of each output over the tokens.
    pub kernels: Vec<(&'static str, Verdict)>,
    /// Who ran them; nobody where only the oracle was asked.
    pub executor: Option<&'static str>,
}

impl Replayed {
    /// Whether the oracle agrees with the file and every launch passed.
    pub fn passed(&self) -> bool {
        // Where nobody ran, the oracle is all there is; where there is nothing at all, nothing has passed.
        !(if self.executor.is_some() { self.kernels.is_empty() } else { self.oracle.is_empty() })
            && self.oracle.iter().all(Agreement::holds)
            && self.kernels.iter().all(|(_, verdict)| verdict.disposition == Disposition::Passed)
    }
}

impl fmt::Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.passed() { "passed" } else { "FAILED" };
        writeln!(f, "{}: {} tokens, {verdict}", self.file, self.tokens)?;
        for row in &self.oracle {
            let mark = if row.holds() { "" } else { "  FAILED" };
            writeln!(
                f,
                "  oracle  {:<22} off by {:.1e} of the largest element, limit {:.1e}{mark}",
                row.name, row.error, row.limit
            )?;
        }
        if self.oracle.is_empty() {
            writeln!(f, "  oracle  the file has no out.* to compare with")?;
        }
        for (kernel, verdict) in &self.kernels {
            writeln!(
                f,
                "  {:<7} {kernel:<22} {:<16} utilization {:.3}  {}{}",
                self.executor.unwrap_or_default(),
                verdict.output,
                verdict.utilization,
                verdict.disposition,
                if verdict.disposition == Disposition::Passed {
                    String::new()
                } else {
                    format!(": {}", verdict.detail)
                },
            )?;
            for line in verdict.explanation.iter().flat_map(Explanation::lines) {
                writeln!(f, "    {line}")?;
            }
        }
        Ok(())
    }
}

/// Drives one recording through the oracle, and token by token through the kernels.
///
/// # Errors
/// Values outside of a contract; what the executor ran into.
pub fn replay(runner: &mut Runner, recording: &Recording) -> Result<Replayed, Error> {
    let kernels = kernels::verdicts(runner, recording)?;
    Ok(Replayed { kernels, executor: Some(runner.describe().executor), ..agree(recording)? })
}

/// Compares the oracle with a recording's answers, without running a kernel.
///
/// # Errors
/// Arrays that do not fit together.
pub fn agree(recording: &Recording) -> Result<Replayed, Error> {
    Ok(Replayed {
        file: file_name(&recording.path),
        tokens: recording.tokens,
        oracle: oracle::agreements(recording)?,
        kernels: Vec::new(),
        executor: None,
    })
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
