//! What the probes found: the table a person reads and reviews, and the JSON a machine reads.

use comfy_table::{CellAlignment, ContentArrangement, Table};
use gdn_gpu::probe::{Limit, Measured, Worst};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::STYLE;

/// The worst result by one measure. JSON has no infinity and no NaN: those are `null`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Extreme {
    /// How far it is off.
    pub error: Option<f64>,
    /// Bits of its argument.
    pub bits: u32,
    /// Its argument in words.
    pub at: String,
    /// The result.
    pub got: Option<f64>,
    /// Its counterpart in double.
    pub exact: Option<f64>,
}

/// One function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Function {
    /// Its name.
    pub function: String,
    /// Whether it is known to be wrong.
    pub control: bool,
    /// How many arguments were measured.
    pub arguments: u64,
    /// How many there are.
    pub of: u64,
    /// The largest distance in ulp.
    pub ulp: Extreme,
    /// How many ulp the budget grants; nothing where the bound is the oracle's.
    pub budget: Option<f64>,
    /// The largest part of the oracle's bound; nothing where a budget judges.
    pub utilization: Option<Extreme>,
    /// What came of it.
    pub verdict: String,
    /// Whether that is what should be.
    pub passed: bool,
    /// How many counterparts the CPU evaluated again.
    pub compared: u64,
    /// How far the two are apart at most, relatively.
    pub values_apart: Option<f64>,
    /// And their bounds.
    pub bounds_apart: Option<f64>,
    /// How long it took.
    pub seconds: f64,
}

fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

fn extreme(measured: &Measured, worst: &Worst) -> Extreme {
    Extreme {
        error: finite(worst.error),
        bits: worst.bits,
        at: measured.probe.argument(worst.bits),
        got: finite(worst.got),
        exact: finite(worst.exact),
    }
}

impl Function {
    /// What was measured of a function.
    pub fn new(measured: &Measured) -> Self {
        Self {
            function: measured.probe.name.into(),
            control: measured.probe.control,
            arguments: measured.arguments,
            of: measured.probe.arguments,
            ulp: extreme(measured, &measured.ulp),
            budget: match measured.probe.limit {
                Limit::Ulp(budget) => Some(budget),
                Limit::Bound => None,
            },
            utilization: measured.utilization.as_ref().map(|worst| extreme(measured, worst)),
            verdict: measured.verdict().name().into(),
            passed: measured.verdict().passed(),
            compared: measured.agreement.compared,
            values_apart: finite(measured.agreement.values),
            bounds_apart: finite(measured.agreement.bounds),
            seconds: measured.seconds,
        }
    }
}

/// The table of functions: worst distance in ulp, worst part of the bound, and where. Without times it is the same on every run
/// over the same arguments, which is what is kept in `golden/` and reviewed.
pub fn table(functions: &[Function], times: bool) -> String {
    let mut table = Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Disabled);
    let mut header = vec!["function", "arguments", "ulp", "budget", "at", "of bound", "at", "verdict"];
    if times {
        header.push("seconds");
    }
    table.set_header(header);
    for record in functions {
        let none = || "–".to_owned();
        let utilization = record.utilization.as_ref();
        let mut row = vec![
            record.function.clone(),
            record.arguments.to_string(),
            number(record.ulp.error),
            record.budget.map_or_else(none, |budget| budget.to_string()),
            record.ulp.at.clone(),
            utilization.map_or_else(none, |worst| number(worst.error)),
            utilization.map_or_else(none, |worst| worst.at.clone()),
            record.verdict.clone(),
        ];
        if times {
            row.push(format!("{:.1}", record.seconds));
        }
        table.add_row(row);
    }
    for column in [1, 2, 3, 5, 8] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines: Vec<String> = table.to_string().lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n") + "\n"
}

fn number(x: Option<f64>) -> String {
    match x {
        None => "∞".into(),
        Some(x) if x >= 1e4 => format!("{x:.3e}"),
        Some(x) => format!("{x:.4}"),
    }
}
