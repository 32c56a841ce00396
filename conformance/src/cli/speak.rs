//! What the command says: colours where a terminal wants them, and less where `--quiet` asks for it.

use std::sync::atomic::{AtomicBool, Ordering};

use anstream::ColorChoice;
use clap::ValueEnum;
use clap::builder::styling::{AnsiColor, Style};

static QUIET: AtomicBool = AtomicBool::new(false);

/// When output is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Sets how everything from here on is said.
pub(super) fn set(color: Color, quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
    let choice = match color {
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
    };
    choice.write_global();
}

/// Whether only failures and the outcome are said.
pub(super) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Words that stand out, each as it is written wherever something is told: what is wrong, and what is right.
const WRONG: [&str; 10] = [
    "FAILED",
    "REGRESSED",
    "SURVIVES",
    "LET THROUGH",
    "KILLED though equivalent",
    "NOT REACHED",
    "NOT the contract",
    "NO",
    "error:",
    "not accepted",
];
const RIGHT: [&str; 4] = ["passed", "nothing changed", "improved", "YES"];

/// Colours the words that stand out. Without colours the stream takes them out again.
pub(super) fn painted(text: &str) -> String {
    let styles = [(&WRONG[..], AnsiColor::Red.on_default().bold()), (&RIGHT[..], AnsiColor::Green.on_default())];
    let mut painted = text.to_owned();
    for (words, style) in styles {
        for word in words {
            painted = paint(&painted, word, style);
        }
    }
    painted
}

/// Styles a word where it stands alone.
fn paint(text: &str, word: &str, style: Style) -> String {
    let alone = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut painted = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, from) = rest.split_at(at);
        let after = &from[word.len()..];
        painted.push_str(before);
        if alone(before.chars().next_back()) && alone(after.chars().next()) && !before.ends_with("not ") {
            painted.push_str(&format_args!("{style}{word}{style:#}").to_string());
        } else {
            painted.push_str(word);
        }
        rest = after;
    }
    painted + rest
}

#[cfg(test)]
mod tests {
    use super::painted;

    #[test]
    fn words_are_coloured_where_they_stand_alone() {
        assert!(painted("3 FAILED").contains("\u{1b}["));
        for plain in ["0 not passed", "NaN", "NOTHING", "unpassed", "a NONE"] {
            assert_eq!(painted(plain), plain);
        }
    }
}
