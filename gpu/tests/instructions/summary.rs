//! What a run has found, in a few lines.

use std::sync::{Mutex, PoisonError};

use crate::form::Form;
use crate::known;
use crate::verdict::Error;

/// Verdicts of one comparison, as they come in.
#[derive(Default)]
pub(crate) struct Summary {
    verdicts: Mutex<Vec<Entry>>,
}

struct Entry {
    name: String,
    approximate: bool,
    tuples: usize,
    error: Option<Error>,
}

impl Summary {
    /// Notes a verdict, and hands it on.
    pub(crate) fn note(&self, form: &Form, verdict: Result<Error, String>) -> Result<(), String> {
        let entry = Entry {
            name: form.name.clone(),
            approximate: form.approximate,
            tuples: form.tuples(),
            error: verdict.as_ref().ok().copied(),
        };
        self.verdicts.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
        verdict.map(|_| ())
    }

    /// The lines, or nothing if nothing was compared.
    pub(crate) fn lines(&self, what: &str) -> Vec<String> {
        let mut entries = self.verdicts.lock().unwrap_or_else(PoisonError::into_inner);
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        if entries.is_empty() {
            return Vec::new();
        }
        let count = |approximate: bool, right: bool| {
            let is_right = |e: &Entry| e.error.is_some() && known::line(&e.name).is_none();
            entries.iter().filter(|e| e.approximate == approximate && (is_right(e) || !right)).count()
        };
        let tuples = || entries.iter().map(|entry| entry.tuples);
        let mut lines = vec![
            format!(
                "{what}: {} forms, {} to {} operand tuples a form, {} in all",
                entries.len(),
                tuples().min().unwrap_or(0),
                tuples().max().unwrap_or(0),
                tuples().sum::<usize>()
            ),
            format!("  exact forms bitwise equal: {} of {}", count(false, true), count(false, false)),
            format!("  approximate forms within the documented error: {} of {}", count(true, true), count(true, false)),
        ];
        lines.extend(entries.iter().filter_map(|entry| Some(format!("  known of {}", known::line(&entry.name)?))));
        for entry in entries.iter().filter(|entry| entry.approximate) {
            lines.push(match entry.error {
                Some(error) => format!(
                    "    {:24} at most {} ulp from the correctly rounded value, {:.0} % of what is permitted",
                    entry.name,
                    error.ulp,
                    100.0 * error.share
                ),
                None => format!("    {:24} NOT WITHIN", entry.name),
            });
        }
        lines
    }
}
