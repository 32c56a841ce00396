//! What each difference from the baseline means.

use std::collections::BTreeMap;

use super::{Facts, Places};
use crate::report::{Aspect, Change, Severity, Speed};

/// Growth of a utilization that is news: a kernel that comes nearer to its bound by a quarter has lost accuracy that somebody should
/// know of, and less is what an other order of the same sums does (the shipped kernels' two executors are apart by 1.2 at most in the
/// accepted tables, where utilization is above a tenth).
pub const UTILIZATION: f64 = 1.25;

/// Utilization below which growth is no news: ten of such kernels in a row would still be right.
pub const IDLE: f64 = 0.1;

/// Growth of a detection limit that is news: limits are bisected to a tenth.
pub const LIMIT: f64 = 1.25;

/// Growth of a time, or of instructions in its place, that is news: what repeated runs of one kernel on one device differ by is below
/// a hundredth where launches take some ten microseconds (see [`crate::gate::speed`]).
pub const TIME: f64 = 1.03;

/// All differences of one kernel.
pub fn kernel(kernel: &str, before: &Facts, after: &Facts) -> Vec<Change> {
    let none = Places::new();
    let mut changes = Vec::new();
    for aspect in Aspect::ALL {
        let (before, after) = (before.get(&aspect).unwrap_or(&none), after.get(&aspect).unwrap_or(&none));
        // What was not looked at this time is no change: limits take the shipped sources, coverage the virtual machine.
        if after.is_empty() && !matches!(aspect, Aspect::Conformance | Aspect::Bits) {
            continue;
        }
        let places = before.keys().chain(after.keys().filter(|place| !before.contains_key(*place)));
        for place in places {
            let (old, new) = (before.get(place), after.get(place));
            if old == new && !failing(aspect, place, new) {
                continue;
            }
            let severity = match (old, new) {
                (Some(old), Some(new)) => severity(aspect, place, old, new),
                (Some(_), None) => Some(Severity::Regressed),
                (None, _) if failing(aspect, place, new) => Some(Severity::Regressed),
                (None, _) => Some(Severity::Changed),
            };
            let word = |value: Option<&String>| value.map_or_else(|| "–".to_owned(), Clone::clone);
            changes.extend(severity.map(|severity| Change {
                kernel: kernel.into(),
                aspect,
                place: place.clone(),
                before: word(old),
                after: word(new),
                severity,
            }));
        }
    }
    changes
}

/// Whether a value is wrong by itself, whatever was accepted.
fn failing(aspect: Aspect, place: &str, value: Option<&String>) -> bool {
    match aspect {
        Aspect::Conformance => place != "cases" && value.is_some_and(|value| value != "0"),
        Aspect::Coverage => value.is_some_and(|value| value.split_once(" of ").is_none_or(|(ran, all)| ran != all)),
        Aspect::Limits => value.is_some_and(|value| value == "never"),
        _ => false,
    }
}

/// What it means that a value became another; nothing where that is no news.
fn severity(aspect: Aspect, place: &str, old: &str, new: &str) -> Option<Severity> {
    let numbers = old.parse::<f64>().ok().zip(new.parse::<f64>().ok());
    let by_size = |larger: Severity| match numbers {
        Some((old, new)) if new > old => larger,
        Some(_) => Severity::Improved,
        None => Severity::Regressed,
    };
    match aspect {
        Aspect::Conformance if place == "cases" => Some(match numbers {
            Some((old, new)) if new > old => Severity::Changed,
            _ => Severity::Regressed,
        }),
        Aspect::Conformance => Some(if new == "0" { Severity::Improved } else { Severity::Regressed }),
        Aspect::Utilization => beyond(numbers, UTILIZATION, IDLE),
        Aspect::Limits => beyond(numbers, LIMIT, 0.0),
        Aspect::Speed => beyond(numbers, TIME, 0.0),
        Aspect::Coverage => {
            Some(if failing(aspect, place, Some(&new.to_owned())) { Severity::Regressed } else { Severity::Changed })
        }
        // Virtual registers are the compiler's names for values: a hint, and no count.
        Aspect::Resources if place == "registers (ptx)" => Some(Severity::Changed),
        Aspect::Resources => Some(by_size(Severity::Regressed)),
        Aspect::Bits | Aspect::Code => Some(Severity::Changed),
    }
}

/// Whether a number went beyond a factor of what it was; numbers below `idle` count as that. What is no number any more is worse.
fn beyond(numbers: Option<(f64, f64)>, factor: f64, idle: f64) -> Option<Severity> {
    let Some((old, new)) = numbers else { return Some(Severity::Regressed) };
    if old.is_nan() || new.is_nan() {
        return Some(Severity::Regressed);
    }
    let (old, new) = (old.max(idle), new.max(idle));
    if new > old * factor {
        return Some(Severity::Regressed);
    }
    (new * factor < old).then_some(Severity::Improved)
}

/// What a comparison of times means: news only where all of the interval lies beyond the factor.
pub fn speed(speed: &Speed) -> Option<Change> {
    let severity = if speed.low > TIME {
        Severity::Regressed
    } else if speed.high < 1.0 / TIME {
        Severity::Improved
    } else {
        return None;
    };
    Some(Change {
        kernel: speed.kernel.clone(),
        aspect: Aspect::Speed,
        place: speed.case.clone(),
        before: format!("{:.2} µs", speed.accepted_ns / 1e3),
        after: format!("{:.2} µs, ×{:.3} ({:.3} to {:.3})", speed.ns / 1e3, speed.ratio, speed.low, speed.high),
        severity,
    })
}

/// How far outputs are from the accepted kernel's: appended to the changes of bits, by kernel, output and case.
pub fn tell_distances(changes: &mut [Change], distances: &BTreeMap<(String, String), String>) {
    for change in changes.iter_mut().filter(|change| change.aspect == Aspect::Bits) {
        if let Some(distance) = distances.get(&(change.kernel.clone(), change.place.clone())) {
            change.after = format!("{}, {distance}", change.after);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(aspect: Aspect, place: &str, value: &str) -> Facts {
        Facts::from([
            (Aspect::Conformance, Places::from([("verdicts not passed".into(), "0".into())])),
            (Aspect::Bits, Places::new()),
            (aspect, Places::from([(place.into(), value.into())])),
        ])
    }

    fn between(aspect: Aspect, place: &str, old: &str, new: &str) -> Option<Severity> {
        let changes = kernel("k", &facts(aspect, place, old), &facts(aspect, place, new));
        assert!(changes.len() <= 1, "{changes:?}");
        changes.first().map(|change| change.severity)
    }

    #[test]
    fn what_stays_is_no_change() {
        for aspect in [Aspect::Utilization, Aspect::Bits, Aspect::Resources, Aspect::Code, Aspect::Speed] {
            assert_eq!(between(aspect, "here", "0.5", "0.5"), None, "{aspect}");
        }
        assert_eq!(between(Aspect::Coverage, "blocks", "5 of 5", "5 of 5"), None);
    }

    #[test]
    fn growth_beyond_the_factor_regresses_and_less_is_no_news() {
        assert_eq!(between(Aspect::Utilization, "o warm", "0.40", "0.49"), None);
        assert_eq!(between(Aspect::Utilization, "o warm", "0.40", "0.51"), Some(Severity::Regressed));
        assert_eq!(between(Aspect::Utilization, "o warm", "0.51", "0.40"), Some(Severity::Improved));
        assert_eq!(between(Aspect::Utilization, "o warm", "0.40", "inf"), Some(Severity::Regressed));
        assert_eq!(between(Aspect::Utilization, "o warm", "0.40", "NaN"), Some(Severity::Regressed));
        assert_eq!(between(Aspect::Utilization, "o warm", "0.01", "0.09"), None);
        assert_eq!(between(Aspect::Limits, "eps", "1.2e-7", "4.8e-7"), Some(Severity::Regressed));
        assert_eq!(between(Aspect::Speed, "warp instructions", "1000", "1029"), None);
        assert_eq!(between(Aspect::Speed, "warp instructions", "1000", "1031"), Some(Severity::Regressed));
    }

    #[test]
    fn a_devices_registers_count_and_virtual_ones_are_a_hint() {
        assert_eq!(between(Aspect::Resources, "registers (driver)", "32", "33"), Some(Severity::Regressed));
        assert_eq!(between(Aspect::Resources, "registers (driver)", "33", "32"), Some(Severity::Improved));
        assert_eq!(between(Aspect::Resources, "registers (ptx)", "32", "33"), Some(Severity::Changed));
        assert_eq!(between(Aspect::Resources, "local bytes", "0", "32"), Some(Severity::Regressed));
    }

    #[test]
    fn a_failure_regresses_even_where_it_was_accepted() {
        let failing = Facts::from([
            (Aspect::Conformance, Places::from([("verdicts not passed".into(), "3".into())])),
            (Aspect::Bits, Places::new()),
        ]);
        assert_eq!(kernel("k", &failing, &failing)[0].severity, Severity::Regressed);
        assert_eq!(between(Aspect::Coverage, "blocks", "4 of 5", "4 of 5"), Some(Severity::Regressed));
        assert_eq!(between(Aspect::Limits, "eps", "never", "never"), Some(Severity::Regressed));
    }

    #[test]
    fn what_is_gone_regresses_and_what_is_new_changed() {
        let (with, without) = (facts(Aspect::Bits, "o of case", "ab"), facts(Aspect::Bits, "S of case", "ab"));
        let changes = kernel("k", &with, &without);
        let of = |place: &str| changes.iter().find(|change| change.place == place).map(|change| change.severity);
        assert_eq!(of("o of case"), Some(Severity::Regressed));
        assert_eq!(of("S of case"), Some(Severity::Changed));
    }

    #[test]
    fn times_are_news_where_their_whole_interval_is() {
        let timed = |low: f64, high: f64| Speed {
            kernel: "k".into(),
            case: "k()".into(),
            accepted_ns: 1000.0,
            ns: 1000.0 * low.midpoint(high),
            ratio: low.midpoint(high),
            low,
            high,
            bytes: 1,
            copy_ns: 1.0,
        };
        assert_eq!(speed(&timed(0.99, 1.01)), None);
        assert_eq!(speed(&timed(1.02, 1.30)), None);
        assert_eq!(speed(&timed(1.05, 1.30)).map(|change| change.severity), Some(Severity::Regressed));
        assert_eq!(speed(&timed(0.70, 0.90)).map(|change| change.severity), Some(Severity::Improved));
    }
}
