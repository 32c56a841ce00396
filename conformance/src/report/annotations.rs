//! Reports as annotations of a change, in the words of GitHub's workflow commands.

use std::path::Path;

use gdn_gpu::contracts;

use super::{Report, Reports, Severity};

/// Failures of one kernel that are annotated: a pipeline shows ten of a step.
const MOST: usize = 3;

/// A line a problem, at the entry point of the kernel in `kernels`, or in the shipped sources of a checkout.
pub fn github(reports: &Reports, kernels: Option<&Path>) -> Vec<String> {
    let mut lines = Vec::new();
    for report in &reports.reports {
        for (kernel, title, text) in problems(report) {
            let place = kernel.and_then(|kernel| place(&kernel, kernels));
            let place = place.map_or_else(String::new, |(file, line)| format!("file={},line={line},", property(&file)));
            lines.push(format!("::error {place}title={}::{}", property(&title), message(&text)));
        }
    }
    lines
}

/// Problems with the kernel that they are of, a title and a text.
fn problems(report: &Report) -> Vec<(Option<String>, String, String)> {
    let mut problems = Vec::new();
    let mut told: Vec<&str> = Vec::new();
    for record in report.failures() {
        told.push(&record.kernel);
        if told.iter().filter(|kernel| **kernel == record.kernel).count() <= MOST {
            let text = format!("{}\n{}", record.detail, record.explanation());
            problems.push((Some(record.kernel.clone()), format!("{} {}", record.case, record.output), text));
        }
    }
    for change in report.changes.iter().filter(|change| change.severity == Severity::Regressed) {
        problems.push((Some(change.kernel.clone()), format!("{} regressed", change.aspect), change.line()));
    }
    // What is told above comes as a count there.
    let counted = usize::from(report.failures().next().is_some());
    let lines = report.problems().into_iter().skip(counted).filter(|line| !line.starts_with("REGRESSED"));
    problems.extend(lines.map(|line| (None, report.header.command.clone(), line)));
    problems
}

/// The file and line of a kernel's entry point.
fn place(kernel: &str, kernels: Option<&Path>) -> Option<(String, usize)> {
    let file = match kernels {
        Some(path) => path.to_owned(),
        None => Path::new("gpu/kernels").join(contracts::find(kernel)?.family).with_extension("cu"),
    };
    let text = std::fs::read_to_string(&file).ok()?;
    let line = text.lines().position(|line| line.contains(&format!("{kernel}(")))?;
    Some((file.display().to_string(), line + 1))
}

/// A message as the workflow commands escape it.
fn message(text: &str) -> String {
    text.trim_end().replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property, in which separators are escaped too.
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}
