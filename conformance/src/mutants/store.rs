//! The files of accepted PTX: sections of one mutant each, headed by its name and the hash of the source that it was made of.

use std::fmt::Write as _;

const HEAD: &str = "// mutant ";

/// The heading of a section.
fn heading(name: &str, hash: &str) -> String {
    format!("{HEAD}{name}, source sha256 {hash}\n")
}

/// The PTX of a mutant, where the file has it for this source.
pub fn find<'a>(file: &'a str, name: &str, hash: &str) -> Option<&'a str> {
    let heading = heading(name, hash);
    let start = file.find(&heading)? + heading.len();
    let rest = &file[start..];
    Some(&rest[..rest.find(HEAD).unwrap_or(rest.len())])
}

/// A file of sections: name, hash and PTX of each.
pub fn join(sections: &[(String, String, String)]) -> String {
    sections.iter().fold(String::new(), |mut file, (name, hash, text)| {
        let _ = write!(file, "{}{}\n\n", heading(name, hash), text.trim());
        file
    })
}

/// PTX without comments, and without the entry points other than one.
pub fn only_entry(text: &str, entry: &str) -> String {
    let mut kept = String::new();
    let mut skipping = false;
    for line in text.lines() {
        if line.trim_start().starts_with("//") {
            continue;
        }
        if let Some((_, name)) = line.split_once(".entry ") {
            skipping = name.split('(').next() != Some(entry);
        }
        // NVRTC closes a body with a brace in the first column, and nothing else.
        let second_blank = line.trim().is_empty() && kept.ends_with("\n\n");
        if !skipping && !second_blank {
            kept.push_str(line.split("//").next().unwrap_or_default().trim_end());
            kept.push('\n');
        }
        if line == "}" {
            skipping = false;
        }
    }
    kept
}
