//! Where reports go besides the reader: files for machines, pipelines and people.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use crate::error::Error;
use crate::files::{folder_of, write_whole};
use crate::report::{Report, Reports, annotations, junit, page};

/// Who reads annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Annotated {
    /// GitHub's workflow commands.
    Github,
}

#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Reports")]
pub(super) struct Outputs {
    /// Write the report to this file, for machines and for `report`.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the report to this file as `JUnit` XML.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write the report to this file as a page that is read without a network.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print a line for each problem that a pipeline shows beside the change.
    #[arg(long, value_enum, value_name = "FOR")]
    annotations: Option<Annotated>,
}

impl Outputs {
    /// Asks before long work whether the files can be written.
    pub(super) fn prepare(&self) -> Result<(), Error> {
        self.json.iter().chain(&self.junit).chain(&self.html).try_for_each(|path| folder_of(path).map(|_| ()))
    }

    /// Writes one report, of the kernels of a file where they are not the shipped ones.
    pub(super) fn write(&self, report: &Report, kernels: Option<&Path>) -> Result<(), Error> {
        self.write_all(&Reports::new(vec![report.clone()]), kernels)
    }

    /// Writes reports.
    pub(super) fn write_all(&self, reports: &Reports, kernels: Option<&Path>) -> Result<(), Error> {
        if let Some(path) = &self.json {
            reports.write(path)?;
        }
        if let Some(path) = &self.junit {
            let xml = junit::xml(reports).map_err(|error| Error::file(path, error.to_string()))?;
            write_whole(path, &xml)?;
        }
        if let Some(path) = &self.html {
            let page =
                page::page(reports).map_err(|error| Error::file(path, format!("a chart cannot be drawn: {error}")))?;
            write_whole(path, &page)?;
        }
        if self.annotations == Some(Annotated::Github) {
            for line in annotations::github(reports, kernels) {
                plain!("{line}");
            }
        }
        Ok(())
    }
}
