//! The kill matrix as heat maps: known-wrong kernels against the regimes of the cases that show them.

use super::charts::{Cell, heat};
use crate::case::Case;
use crate::kill::{Evidence, Fate};

/// The power of ten at which a cell is as hot as it gets.
const HOTTEST: f64 = 8.0;

/// A heat map for each kernel, in the mutants' order.
pub(super) fn maps(fates: &[Fate]) -> Result<Vec<(String, String)>, String> {
    let mut kernels: Vec<&str> = fates.iter().map(|fate| fate.kernel.as_str()).collect();
    kernels.dedup();
    let mut maps = Vec::new();
    for kernel in kernels {
        let own: Vec<&Fate> = fates.iter().filter(|fate| fate.kernel == kernel).collect();
        let kills: Vec<Vec<(String, &Evidence)>> = own.iter().map(|fate| by_regime(fate)).collect();
        let mut regimes: Vec<String> = kills.iter().flatten().map(|(regime, _)| regime.clone()).collect();
        regimes.sort();
        regimes.dedup();
        let row = |(fate, kills): (&&Fate, &Vec<(String, &Evidence)>)| {
            let cell = |regime: &String| {
                let own = kills.iter().filter(|(of, _)| of == regime).map(|(_, evidence)| *evidence);
                own.max_by(|a, b| weight(a).total_cmp(&weight(b))).map(cell)
            };
            (fate.mutant.clone(), regimes.iter().map(cell).collect())
        };
        let rows: Vec<_> = own.iter().zip(&kills).map(row).collect();
        maps.push((kernel.to_owned(), heat(&format!("Kill matrix of {kernel}"), &regimes, &rows)?));
    }
    Ok(maps)
}

/// A mutant's kills, each by the regime of its case.
fn by_regime(fate: &Fate) -> Vec<(String, &Evidence)> {
    let regime = |line: &str| line.parse::<Case>().map_or_else(|_| "?".into(), |case| case.regime.name().to_owned());
    fate.kills.iter().map(|kill| (regime(&kill.case), &kill.evidence)).collect()
}

/// Named faults before exact elements before errors, by their size.
fn weight(evidence: &Evidence) -> f64 {
    match evidence {
        Evidence::Fault(_) => f64::INFINITY,
        Evidence::Exact(_) => f64::MAX,
        Evidence::Bound(factor) => *factor,
    }
}

fn cell(evidence: &Evidence) -> Cell {
    match evidence {
        Evidence::Fault(_) => Cell { heat: 1.0, text: "!".into() },
        Evidence::Exact(_) => Cell { heat: 1.0, text: "=".into() },
        Evidence::Bound(factor) => {
            let power = factor.max(1.0).log10();
            Cell { heat: power / HOTTEST, text: format!("{:.0}", power.floor()) }
        }
    }
}
