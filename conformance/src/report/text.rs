//! Reports as text: the table of verdicts that a person reads, and the utilization table that is reviewed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};

use super::{Record, Report};
use crate::verdict::Disposition;

/// Tables have one line under the header and nothing else, so that they diff and grep well.
pub const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

impl Report {
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
}

fn worse(record: &Record) -> f64 {
    record.utilization.unwrap_or(f64::INFINITY)
}

fn number(x: Option<f64>) -> String {
    x.map_or_else(|| "∞".into(), |x| format!("{x:.3}"))
}
