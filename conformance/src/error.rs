//! What stops a command before it has a verdict: each message names the thing and the remedy, and the exit status is 2.

use std::path::{Path, PathBuf};

use gdn_gpu::contract::DomainError;
use gdn_gpu::run::RunError;
use gdn_reference::ShapeError;

/// Why a command could not run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name that nothing has, or a line that is no case.
    #[error(transparent)]
    Suite(#[from] gdn_suites::Error),
    /// A shape or value outside of a contract.
    #[error(transparent)]
    Domain(#[from] DomainError),
    /// A guarded launch could not be made.
    #[error(transparent)]
    Run(#[from] RunError),
    /// An executor could not be opened.
    #[error(transparent)]
    Executor(#[from] gdn_gpu::Error),
    /// Arrays that do not fit together.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A file could not be read or written.
    #[error("{}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and the remedy.
        problem: String,
    },
    /// A mutant's edit that does not fit its source.
    #[error("mutant {mutant}: its text stands {found} times in the source, not once: {text}")]
    Patch {
        /// The mutant.
        mutant: String,
        /// The text to replace.
        text: String,
        /// How often it stands there.
        found: usize,
    },
    /// A worker process that ended without an answer.
    #[error("the process of mutant {mutant} gave no answer: {problem}")]
    Worker {
        /// The mutant.
        mutant: String,
        /// What went wrong.
        problem: String,
    },
    /// A capsule of a run without a program.
    #[error("{case}: its capsule holds no program; give one with --kernels FILE, or judge it with --executor none")]
    NoProgram {
        /// The case.
        case: String,
    },
    /// Parts of a run that are not the whole of it.
    #[error("the parts of {run} make no whole: {problem}")]
    Parts {
        /// The run: its command and what was selected.
        run: String,
        /// What is wrong, and the remedy.
        problem: String,
    },
    /// A process that was started for a part of a run and gave no report.
    #[error("the process of part {part} gave no report: {problem}")]
    Process {
        /// The part.
        part: String,
        /// What went wrong.
        problem: String,
    },
    /// Nothing was left to run.
    #[error("no case matches {filter}; `gdn-conformance list` shows kernels and regimes")]
    NoCases {
        /// The filter in words.
        filter: String,
    },
}

impl Error {
    /// A problem with a file.
    pub fn file(path: &Path, problem: impl Into<String>) -> Self {
        Self::File { path: path.to_owned(), problem: problem.into() }
    }

    /// An unknown name, with the nearest of the valid ones.
    pub fn unknown<'a>(what: &'static str, given: &str, valid: impl IntoIterator<Item = &'a str>) -> Self {
        gdn_suites::Error::unknown(what, given, valid).into()
    }
}
