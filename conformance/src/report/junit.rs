//! Reports as `JUnit` XML: a suite a command and kernel, a test case a verdict.

use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use super::{Report, Reports, Severity};
use crate::verdict::Disposition;

/// Something that a report judged: its group, its name, and what is wrong with it, if anything is.
struct Judged {
    group: String,
    name: String,
    wrong: Option<(String, String)>,
}

/// The reports as XML.
///
/// # Errors
/// Where a text cannot be written as XML.
pub fn xml(reports: &Reports) -> Result<String, quick_junit::SerializeError> {
    let mut whole = quick_junit::Report::new("gdn-conformance");
    for report in &reports.reports {
        let machine = format!("{} on {} ({})", report.header.command, report.header.executor, report.header.device);
        let mut suites: Vec<TestSuite> = Vec::new();
        for Judged { group, name, wrong } in judged(report) {
            let status = match wrong {
                None => TestCaseStatus::success(),
                Some((message, text)) => {
                    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                    status.set_message(message).set_description(text);
                    status
                }
            };
            let mut case = TestCase::new(name, status);
            case.set_classname(group.clone());
            let suite = format!("{machine}: {group}");
            let at = suites.iter().position(|known| known.name.as_str() == suite).unwrap_or_else(|| {
                suites.push(TestSuite::new(suite));
                suites.len() - 1
            });
            suites[at].add_test_case(case);
        }
        whole.add_test_suites(suites);
    }
    whole.to_string()
}

fn judged(report: &Report) -> Vec<Judged> {
    let mut all = Vec::new();
    for record in &report.records {
        let wrong = (record.disposition != Disposition::Passed).then(|| (record.detail.clone(), record.explanation()));
        all.push(Judged { group: record.kernel.clone(), name: format!("{} {}", record.case, record.output), wrong });
    }
    for curve in &report.chains {
        let verdict = curve.verdict();
        let wrong = (verdict.disposition != Disposition::Passed).then(|| (verdict.detail.clone(), String::new()));
        all.push(Judged { group: "chains".into(), name: verdict.output, wrong });
    }
    for fate in &report.mutants {
        let outcome = fate.outcome(report.header.executor == "cuda");
        let wrong = (!outcome.is_right()).then(|| (outcome.to_string(), String::new()));
        all.push(Judged { group: format!("mutants of {}", fate.kernel), name: fate.mutant.clone(), wrong });
    }
    for limit in &report.limits {
        let unseen = limit.limits.first().is_none_or(Option::is_none);
        let wrong = unseen.then(|| ("no fault of this term is seen".to_owned(), String::new()));
        all.push(Judged { group: format!("terms of {}", limit.kernel), name: limit.term.clone(), wrong });
    }
    for function in &report.functions {
        let wrong = (!function.passed).then(|| (function.verdict.clone(), String::new()));
        all.push(Judged { group: "functions".into(), name: function.function.clone(), wrong });
    }
    for change in &report.changes {
        let wrong = (change.severity == Severity::Regressed).then(|| (change.line(), String::new()));
        let name = format!("{} {}", change.aspect, change.place);
        all.push(Judged { group: format!("changes of {}", change.kernel), name, wrong });
    }
    for tool in &report.sanitized {
        let wrong = (!tool.findings.is_empty())
            .then(|| (format!("{} findings", tool.findings.len()), tool.findings.join("\n\n")));
        all.push(Judged { group: "sanitizers".into(), name: tool.tool.clone(), wrong });
    }
    if report.is_empty() && report.header.partition.is_none() {
        let wrong = Some(("nothing was found out".to_owned(), String::new()));
        all.push(Judged { group: report.header.command.clone(), name: "something ran".into(), wrong });
    }
    all
}
