//! Reports as one self-contained page: light and dark, to be read without a network and without scripts.

use std::collections::BTreeMap;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use self::charts::{Axis, Look, Strip};
use super::{FlagRow, Record, Report, Reports, Severity};
use crate::chains::{ChainCurve, ChainPoint, Reading};
use crate::detect::RULES;
use crate::kill::{Evidence, Fate};
use crate::verdict::Disposition;

mod charts;
mod kills;

/// Failures that are shown whole; the JSON has all of them.
const SHOWN: usize = 50;

/// The page of these reports.
///
/// # Errors
/// Where a chart cannot be drawn, in words.
pub fn page(reports: &Reports) -> Result<String, String> {
    let problems: usize = reports.reports.iter().map(|report| report.problems().len()).sum();
    let passed = problems == 0 && !reports.reports.is_empty();
    let runs = reports.reports.iter().enumerate().map(|(i, report)| run(i, report)).collect::<Result<Vec<_>, _>>()?;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "gdn-conformance: " (if passed { "passed" } else { "FAILED" }) }
                link rel="icon" href="data:,";
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body { main {
                h1 { "Numerical conformance" }
                p { (verdict(passed)) " " (reports.reports.len()) " runs, " (problems) " problems" }
                @if reports.reports.len() > 1 {
                    nav { @for (i, report) in reports.reports.iter().enumerate() {
                        a href={ "#run-" (i) } { @if !report.passed() { "✗ " } (report.header.command) " on " (report.header.executor) }
                    } }
                }
                p.soft {
                    "Utilization is the error of an output divided by the largest error that a correct f32 kernel may make there: \
                     above 1 no correct kernel comes."
                }
                @for run in &runs { (run) }
            } }
        }
    };
    Ok(page.into_string())
}

fn verdict(passed: bool) -> Markup {
    html! { @if passed { span.verdict.right { "✓ passed" } } @else { span.verdict.wrong { "✗ FAILED" } } }
}

/// A chart and what it shows; the caption is also what is read out in its place.
fn figure(caption: &str, small: bool, svg: &str) -> Markup {
    html! { figure.chart.small[small] { figcaption { (caption) } div.scroll { div { (PreEscaped(svg)) } } } }
}

/// A table; columns whose heads begin with `#` are of numbers.
fn table(heads: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Markup {
    let numeric: Vec<bool> = heads.iter().map(|head| head.starts_with('#')).collect();
    html! {
        div.scroll { table {
            thead { tr { @for (head, number) in heads.iter().zip(&numeric) {
                th.number[*number] { (head.trim_start_matches('#')) }
            } } }
            tbody { @for row in rows { tr { @for (i, cell) in row.iter().enumerate() {
                @let wrong = cell.contains("FAILED") || cell.starts_with("REGRESSED") || cell.starts_with("SURVIVES") || cell == "NO";
                td.number[numeric.get(i) == Some(&true)].wrong[wrong] { (cell) }
            } } } }
        } }
    }
}

fn utilization(x: Option<f64>) -> String {
    match x {
        None => "∞".into(),
        Some(x) if x < 1e4 => format!("{x:.3}"),
        Some(x) => format!("{x:.1e}"),
    }
}

/// Everything that one run found out.
fn run(i: usize, report: &Report) -> Result<Markup, String> {
    let header = &report.header;
    let problems = report.problems();
    Ok(html! {
        section id={ "run-" (i) } {
            h2 { (header.command) ": " (header.selection) }
            p { (verdict(problems.is_empty())) }
            p.soft {
                (header.executor) " " (header.arch) " · " (header.device) " · " (header.versions) " · seed " (header.seed)
                " · gdn-conformance " (header.version)
                @if let Some(part) = header.partition { " · part " (part) }
            }
            @for line in &header.not_run { p.soft { "Not run: " (line) } }
            @if !problems.is_empty() {
                ul { @for problem in problems.iter().take(SHOWN) { li.wrong { (problem) } } }
                @if problems.len() > SHOWN { p { "and " (problems.len() - SHOWN) " more" } }
            }
            (failures(report))
            (changes(report))
            (verdicts(report)?)
            (chains(&report.chains)?)
            @if !report.mutants.is_empty() { (mutants(report)?) }
            (limits(report)?)
            (functions(report))
            (flags(&report.flags)?)
            (sanitized(report))
            (speed(report)?)
            (resources(report))
            (coverage(report)?)
        }
    })
}

fn failures(report: &Report) -> Markup {
    let failed: Vec<&Record> = report.failures().collect();
    if failed.is_empty() {
        return html! {};
    }
    let one = |record: &Record| {
        let known = [
            ("worst element", Some(&record.detail)),
            ("pattern", record.pattern.as_ref()),
            ("inputs", record.inputs.as_ref()),
            ("nearest", record.nearest.as_ref()),
            ("capsule", record.capsule.as_ref()),
        ];
        html! {
            div.failure {
                strong { (record.kernel) " " (record.output) } " in " (record.regime) ", utilization " (utilization(record.utilization))
                dl {
                    dt { "case" } dd { code { (record.case) } }
                    @for (name, text) in known { @if let Some(text) = text {
                        dt { (name) } dd { @for line in text.lines() { (line) br; } }
                    } }
                }
            }
        }
    };
    html! {
        h3 { "Failures" }
        @for record in failed.iter().take(5) { (one(record)) }
        @if failed.len() > 5 {
            details {
                summary { (failed.len() - 5) " more failures" }
                @for record in failed.iter().skip(5).take(SHOWN) { (one(record)) }
                @if failed.len() > 5 + SHOWN { p { (failed.len() - 5 - SHOWN) " are in the JSON only" } }
            }
        }
    }
}

fn changes(report: &Report) -> Markup {
    if report.header.command != "gate" {
        return html! {};
    }
    let mut changes: Vec<_> = report.changes.iter().collect();
    changes.sort_by_key(|change| change.severity);
    let rows = changes.iter().map(|change| {
        let severity = change.severity.to_string();
        let place = [change.kernel.clone(), change.aspect.to_string(), change.place.clone()];
        [vec![severity], place.to_vec(), vec![change.before.clone(), change.after.clone()]].concat()
    });
    let count = |severity| changes.iter().filter(|change| change.severity == severity).count();
    let [worse, other, better] = [Severity::Regressed, Severity::Changed, Severity::Improved].map(count);
    html! {
        h3 { "Changes against the accepted baseline" }
        p { (worse) " regressed, " (other) " changed, " (better) " improved" }
        @if !changes.is_empty() { (table(&["", "kernel", "aspect", "where", "accepted", "now"], rows)) }
    }
}

/// Records by kernel and output, in their order.
fn by_output(records: &[Record]) -> Vec<(&str, &str, Vec<&Record>)> {
    let mut groups: Vec<(&str, &str, Vec<&Record>)> = Vec::new();
    for record in records {
        let known = groups.iter().position(|(kernel, output, _)| *kernel == record.kernel && *output == record.output);
        match known {
            Some(i) => groups[i].2.push(record),
            None => groups.push((&record.kernel, &record.output, vec![record])),
        }
    }
    groups
}

fn verdicts(report: &Report) -> Result<Markup, String> {
    if report.records.is_empty() {
        return Ok(html! {});
    }
    let beyond = |x: Option<f64>| x.unwrap_or(f64::INFINITY);
    let groups = by_output(&report.records);
    let rows = groups.iter().map(|(kernel, output, records)| {
        let worst = records.iter().max_by(|a, b| beyond(a.utilization).total_cmp(&beyond(b.utilization)));
        let ulp = records.iter().map(|record| beyond(record.ulp)).fold(0.0, f64::max);
        let failed = records.iter().filter(|record| record.disposition != Disposition::Passed).count();
        vec![
            (*kernel).to_owned(),
            (*output).to_owned(),
            records.len().to_string(),
            utilization(worst.and_then(|worst| worst.utilization)),
            utilization(Some(ulp).filter(|ulp| ulp.is_finite())),
            worst.map_or_else(String::new, |worst| worst.regime.clone()),
            if failed == 0 { "✓ passed".into() } else { format!("✗ {failed} FAILED") },
        ]
    });
    let strip = |(kernel, output, records): &(&str, &str, Vec<&Record>)| {
        let mut regimes: BTreeMap<&str, (f64, bool)> = BTreeMap::new();
        for record in records {
            let worst = regimes.entry(&record.regime).or_default();
            worst.0 = worst.0.max(beyond(record.utilization));
            worst.1 |= record.disposition != Disposition::Passed;
        }
        // What is far beyond the bound stands at the right end.
        let mark = |&(x, wrong): &(f64, bool)| (x.min(1.5), if wrong { Look::Wrong } else { Look::Plain });
        Strip { label: format!("{kernel} {output}"), marks: regimes.values().map(mark).collect(), interval: None }
    };
    let strips: Vec<Strip> = groups.iter().map(strip).collect();
    let axis = Axis { title: "utilization", log: false, zero: true, line: Some(1.0) };
    let caption = "Worst utilization of each output, a mark a regime. The line is the bound; crosses are failures, and those beyond 1.5 \
                   times the bound stand at 1.5.";
    let chart = figure(caption, false, &charts::strips("Worst utilization of each output and regime", &strips, axis)?);
    Ok(html! {
        h3 { "Verdicts" }
        p { (report.cases()) " cases, " (report.records.len()) " verdicts, " (report.failures().count()) " not passed" }
        (table(&["kernel", "output", "#cases", "#utilization", "#ulp", "worst in", "verdict"], rows))
        (chart)
    })
}

fn chains(curves: &[ChainCurve]) -> Result<Markup, String> {
    if curves.is_empty() {
        return Ok(html! {});
    }
    let rows = curves.iter().filter_map(|curve| {
        let (worst, verdict) = (curve.worst()?, curve.verdict());
        let passed = verdict.disposition == Disposition::Passed;
        Some(vec![
            curve.plan.regime.to_string(),
            curve.plan.tokens.to_string(),
            utilization(worst.step.utilization),
            utilization(worst.state.utilization),
            utilization(worst.output.utilization),
            worst.relative.map_or_else(|| "∞".into(), |x| format!("{x:.1e}")),
            if passed { "✓ passed".into() } else { "✗ FAILED".into() },
        ])
    });
    let mut figures = Vec::new();
    for curve in curves {
        let regime = curve.plan.regime.to_string();
        for (view, of) in [
            ("step by step", (|point| &point.step) as fn(&ChainPoint) -> &Reading),
            ("free running, state", |point| &point.state),
        ] {
            let series = |bound: bool| charts::Line {
                points: curve
                    .points
                    .iter()
                    .filter_map(|point| {
                        let reading = of(point);
                        Some((f64::from(point.token), if bound { reading.bound? } else { reading.error? }))
                    })
                    .collect(),
                bound,
            };
            let caption = format!("{regime}, {view}: error (blue) and bound (orange) against the token");
            figures.push(figure(&caption, true, &charts::lines(&caption, &[series(true), series(false)], "token")?));
        }
    }
    let heads = ["regime", "#tokens", "#step by step", "#state", "#output", "#relative error", "verdict"];
    Ok(html! {
        h3 { "Long chains" }
        p.soft {
            "Step by step, each token starts from the kernel's own state; free running, the oracle keeps a state of its own from the \
             first token on. The columns between are utilization."
        }
        (table(&heads, rows))
        div.charts { @for figure in &figures { (figure) } }
    })
}

fn mutants(report: &Report) -> Result<Markup, String> {
    let on_device = report.header.executor == "cuda";
    let count =
        |word: &str| report.mutants.iter().filter(|fate| fate.outcome(on_device).to_string().starts_with(word)).count();
    let row = |fate: &Fate| {
        let (case, by) = fate.smallest().map_or_else(Default::default, |kill| {
            let by = match &kill.evidence {
                Evidence::Bound(factor) => format!("{} {factor:.1e} bounds", kill.output),
                Evidence::Exact(what) | Evidence::Fault(what) => format!("{} {what}", kill.output),
            };
            (kill.case.clone(), by.lines().next().unwrap_or_default().chars().take(90).collect())
        });
        let reason = fate.equivalent.clone().unwrap_or(case);
        vec![fate.mutant.clone(), fate.term.clone(), fate.outcome(on_device).to_string(), by, reason]
    };
    let maps = kills::maps(&report.mutants)?;
    Ok(html! {
        h3 { "Kill matrix" }
        p {
            (report.mutants.len()) " known-wrong kernels: " (count("killed")) " killed, " (count("equivalent")) " equivalent, "
            (count("let through")) " let through, " (count("SURVIVES")) " survive"
        }
        p.soft {
            "A cell is what the regime's cases make of a known-wrong kernel: the power of ten by which its error exceeds the bound at \
             most, = where an element that must be exact is not, ! where a fault is named."
        }
        @for (kernel, svg) in &maps { (figure(&format!("{kernel}: known-wrong kernels against regimes"), false, svg)) }
        details {
            summary { "Smallest killing case of each" }
            (table(&["mutant", "term", "outcome", "shown by", "smallest case, or proof"], report.mutants.iter().map(row)))
        }
    })
}

fn limits(report: &Report) -> Result<Markup, String> {
    if report.limits.is_empty() {
        return Ok(html! {});
    }
    let number = |limit: &Option<f64>| limit.map_or_else(|| "never".into(), |x| format!("{x:.1e}"));
    let rows = report.limits.iter().map(|limit| {
        let numbers = limit.limits.iter().map(number);
        [limit.kernel.clone(), limit.term.clone()].into_iter().chain(numbers).collect()
    });
    let strips: Vec<Strip> = report
        .limits
        .iter()
        .map(|limit| {
            let look = |i: usize| if i == 0 { Look::Plain } else { Look::Beside };
            let marks = limit.limits.iter().enumerate().filter_map(|(i, x)| Some(((*x)?, look(i)))).collect();
            Strip { label: format!("{} {}", limit.kernel, limit.term), marks, interval: None }
        })
        .collect();
    let heads: Vec<String> = RULES.iter().map(|(name, _)| format!("#{name}")).collect();
    let heads: Vec<&str> = ["kernel", "term"].into_iter().chain(heads.iter().map(String::as_str)).collect();
    let axis = Axis { title: "relative error of the term", log: true, zero: false, line: None };
    let caption = "The least relative error of a term that is seen: by this suite (circles), and by the rules in use elsewhere \
                   (triangles). Further left is better.";
    let chart = figure(caption, false, &charts::strips("Detection limits", &strips, axis)?);
    Ok(html! { h3 { "Detection limits" } (chart) details { summary { "As a table" } (table(&heads, rows)) } })
}

fn functions(report: &Report) -> Markup {
    if report.functions.is_empty() {
        return html! {};
    }
    let rows = report.functions.iter().map(|function| {
        vec![
            function.function.clone(),
            function.arguments.to_string(),
            utilization(function.ulp.error),
            function.budget.map_or_else(|| "–".into(), |budget| budget.to_string()),
            function.utilization.as_ref().map_or_else(|| "–".into(), |worst| utilization(worst.error)),
            if function.passed { function.verdict.clone() } else { format!("FAILED: {}", function.verdict) },
        ]
    });
    html! {
        h3 { "Functions" }
        (table(&["function", "#arguments", "#ulp at most", "#budget", "#of bound", "verdict"], rows))
    }
}

fn flags(rows: &[FlagRow]) -> Result<Markup, String> {
    if rows.is_empty() {
        return Ok(html! {});
    }
    let mut sets: Vec<(&str, &str)> = Vec::new();
    for row in rows {
        if !sets.contains(&(row.set.as_str(), row.arch.as_str())) {
            sets.push((&row.set, &row.arch));
        }
    }
    let beyond = |row: &FlagRow| row.utilization.unwrap_or(f64::INFINITY);
    let of =
        |&(set, arch): &(&str, &str)| rows.iter().filter(|row| row.set == set && row.arch == arch).collect::<Vec<_>>();
    let lines = sets.iter().map(|set| {
        let own = of(set);
        let failed: usize = own.iter().map(|row| row.failed).sum();
        let cases: usize = own.iter().map(|row| row.cases).sum();
        let worst = own.iter().max_by(|a, b| beyond(a).total_cmp(&beyond(b)));
        let mut regimes: Vec<&str> = own.iter().flat_map(|row| &row.failing).map(String::as_str).collect();
        regimes.sort_unstable();
        regimes.dedup();
        vec![
            worst.filter(|row| !row.options.is_empty()).map_or_else(|| set.0.to_owned(), |row| row.options.join(" ")),
            set.1.to_owned(),
            format!("{failed} of {cases}"),
            utilization(worst.and_then(|worst| worst.utilization)),
            worst.map_or_else(String::new, |row| format!("{} {}", row.kernel, row.output)),
            regimes.join(", "),
            if failed == 0 { "YES".into() } else { "NO".into() },
        ]
    });
    let strips: Vec<Strip> = sets
        .iter()
        .map(|set| {
            let look = |row: &&FlagRow| if row.failed > 0 { Look::Wrong } else { Look::Plain };
            let mark = |row: &&FlagRow| (beyond(row).clamp(1e-3, 1e9), look(row));
            Strip { label: format!("{} {}", set.0, set.1), marks: of(set).iter().map(mark).collect(), interval: None }
        })
        .collect();
    let axis = Axis { title: "utilization", log: true, zero: false, line: Some(1.0) };
    let caption = "Worst utilization of each output under each set of compile options; crosses are failures, and those beyond all bounds \
                   stand at 1e9.";
    let chart = figure(caption, false, &charts::strips("Utilization under compile options", &strips, axis)?);
    let heads = ["options", "architecture", "verdicts failed", "#worst", "of", "fails in", "may be on"];
    Ok(html! { h3 { "Compile options" } (table(&heads, lines)) (chart) })
}

fn sanitized(report: &Report) -> Markup {
    if report.sanitized.is_empty() {
        return html! {};
    }
    let rows = report.sanitized.iter().map(|tool| {
        let findings = tool.findings.len();
        let verdict = if findings == 0 { "✓ clean".into() } else { format!("✗ {findings} FAILED") };
        vec![tool.tool.clone(), tool.by.clone(), tool.launches.to_string(), verdict]
    });
    html! {
        h3 { "Sanitizers" }
        (table(&["tool", "by", "#launches", "findings"], rows))
        @for tool in &report.sanitized { @for finding in &tool.findings { div.failure { strong { (tool.tool) } p { (finding) } } } }
    }
}

fn speed(report: &Report) -> Result<Markup, String> {
    if report.speed.is_empty() {
        return Ok(html! {});
    }
    let rows = report.speed.iter().map(|speed| {
        vec![
            speed.kernel.clone(),
            format!("{:.2}", speed.accepted_ns / 1e3),
            format!("{:.2}", speed.ns / 1e3),
            format!("{:.3}", speed.ratio),
            format!("{:.3} to {:.3}", speed.low, speed.high),
            format!("{:.0}", speed.bytes as f64 / speed.ns),
            format!("{:.0} %", 100.0 * speed.copy_ns / speed.ns),
        ]
    });
    let ratios: Vec<Strip> = report
        .speed
        .iter()
        .map(|speed| Strip {
            label: speed.kernel.clone(),
            marks: vec![(speed.ratio, Look::Plain)],
            interval: Some((speed.low, speed.high)),
        })
        .collect();
    let roof: Vec<Strip> = report
        .speed
        .iter()
        .map(|speed| Strip {
            label: speed.kernel.clone(),
            marks: vec![(speed.copy_ns / speed.ns, Look::Plain)],
            interval: Some((0.0, speed.copy_ns / speed.ns)),
        })
        .collect();
    let axis = Axis { title: "time ÷ time of the accepted kernel", log: false, zero: false, line: Some(1.0) };
    let ratios = charts::strips("Speed against the accepted kernels", &ratios, axis)?;
    let axis = Axis { title: "bandwidth ÷ bandwidth of a copy", log: false, zero: true, line: Some(1.0) };
    let roof = charts::strips("Roofline", &roof, axis)?;
    let heads = ["kernel", "#accepted, µs", "#now, µs", "#ratio", "between", "#GB/s", "#of a copy"];
    Ok(html! {
        h3 { "Speed" }
        (table(&heads, rows))
        (figure("Median ratio of neighbouring times, and the interval that holds it. Left of the line is faster.", false, &ratios))
        (figure(
            "Roofline: decode kernels do few operations for each byte, so memory is their roof. The line is what a copy of as many bytes \
             reaches on the same device.",
            false,
            &roof,
        ))
    })
}

fn resources(report: &Report) -> Markup {
    if report.resources.is_empty() {
        return html! {};
    }
    let rows = report.resources.iter().map(|of| {
        let spills = of.spills.map_or_else(|| "–".into(), |spills| spills.to_string());
        let numbers = [of.registers, of.shared, of.local].map(|x| x.to_string());
        let code = [of.blocks, of.instructions].map(|x| x.to_string());
        let named = vec![of.kernel.clone(), of.source.clone()];
        [named, numbers.to_vec(), vec![spills], code.to_vec()].concat()
    });
    let heads = [
        "kernel",
        "says",
        "#registers",
        "#shared, bytes",
        "#local, bytes",
        "#spills, bytes",
        "#PTX blocks",
        "#PTX instructions",
    ];
    html! { h3 { "Resources" } (table(&heads, rows)) }
}

fn coverage(report: &Report) -> Result<Markup, String> {
    if report.coverage.is_empty() {
        return Ok(html! {});
    }
    let strips: Vec<Strip> = report
        .coverage
        .iter()
        .map(|kernel| {
            let part = kernel.ran() as f64 / kernel.reachable().max(1) as f64;
            let look = if kernel.is_whole() { Look::Plain } else { Look::Wrong };
            Strip {
                label: kernel.kernel.clone(),
                marks: vec![(100.0 * part, look)],
                interval: Some((0.0, 100.0 * part)),
            }
        })
        .collect();
    let axis = Axis { title: "% of the reachable basic blocks", log: false, zero: true, line: None };
    let chart = charts::strips("Coverage", &strips, axis)?;
    let rows = report.coverage.iter().map(|kernel| {
        let (seen, all) = kernel.outcomes();
        let [ran, reachable] = [kernel.ran(), kernel.reachable()].map(|x| x.to_string());
        vec![kernel.kernel.clone(), ran, reachable, kernel.blocks.len().to_string(), format!("{seen} of {all}")]
    });
    let missed = crate::coverage::missed(&report.coverage);
    Ok(html! {
        h3 { "Coverage" }
        (figure("Basic blocks of each kernel's PTX that the run executed, of those that some input can reach.", false, &chart))
        details {
            summary { "Blocks, branches, and what was not reached" }
            (table(&["kernel", "#ran", "#reachable", "#of", "branch outcomes"], rows))
            ul { @for line in &missed { li { (line) } } }
        }
    })
}
