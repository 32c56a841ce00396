//! Sanitizers: what compute-sanitizer's four tools say of a run, read from what they print, and which of the virtual machine's checks
//! stand in for each of them.

use std::path::PathBuf;

use gdn_gpu::vm::FindingKind;

use crate::report::{Record, Sanitized};
use crate::verdict::Disposition;

/// A tool of compute-sanitizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Accesses outside of memory, misaligned ones, writes to what is read-only, faults.
    Memcheck,
    /// Accesses that nothing orders.
    Racecheck,
    /// Reads of what nothing has written.
    Initcheck,
    /// Barriers and warp operations in divergent flow.
    Synccheck,
}

impl Tool {
    /// Every tool.
    pub const ALL: [Self; 4] = [Self::Memcheck, Self::Racecheck, Self::Initcheck, Self::Synccheck];

    /// Its name on compute-sanitizer's command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memcheck => "memcheck",
            Self::Racecheck => "racecheck",
            Self::Initcheck => "initcheck",
            Self::Synccheck => "synccheck",
        }
    }

    /// The tool that looks for what one of the virtual machine's checks finds. A kernel that does not end or traps is none's: memcheck
    /// reports such launches as errors.
    const fn of(kind: FindingKind) -> Self {
        match kind {
            FindingKind::Race => Self::Racecheck,
            FindingKind::Uninitialized => Self::Initcheck,
            FindingKind::Lane | FindingKind::Barrier => Self::Synccheck,
            _ => Self::Memcheck,
        }
    }
}

/// compute-sanitizer, in the search path or a toolkit.
pub fn find() -> Option<PathBuf> {
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    let toolkits = toolkits.chain([PathBuf::from("/usr/local/cuda")]);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(toolkits.map(|toolkit| toolkit.join("bin")));
    folders.map(|folder| folder.join("compute-sanitizer")).find(|program| program.is_file())
}

/// What compute-sanitizer printed, taken apart: each finding whole, without the host's backtrace.
///
/// # Errors
/// Where it has no summary, or one that counts more than it shows: the tool did not do its work.
pub fn findings(printed: &str) -> Result<Vec<String>, String> {
    let mut findings: Vec<String> = Vec::new();
    let mut block: Vec<&str> = Vec::new();
    let mut errors = None;
    let lines = printed.lines().filter_map(|line| line.strip_prefix("=========")).chain([""]);
    for line in lines {
        let text = line.trim();
        if let Some(count) = summary(text) {
            errors = Some(count);
        }
        // Details are indented behind what they are details of.
        let details = line.starts_with("  ");
        if !details {
            findings.extend(finding(&block));
            block.clear();
        }
        if !text.is_empty() {
            block.push(text);
        }
    }
    match errors {
        None => Err("it printed no summary".into()),
        Some(0) => Ok(findings),
        Some(count) if findings.is_empty() => Err(format!("it counts {count} errors and shows none")),
        Some(_) => Ok(findings),
    }
}

/// The number of errors in a summary line: `ERROR SUMMARY: 2 errors`, `RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)`.
fn summary(line: &str) -> Option<u64> {
    let (kind, count) = line.split_once(" SUMMARY: ")?;
    matches!(kind, "ERROR" | "RACECHECK").then(|| count.split_whitespace().next()?.parse().ok())?
}

/// A block of lines as one finding; nothing where it is none.
fn finding(block: &[&str]) -> Option<String> {
    let first = block.first()?;
    let none =
        ["COMPUTE-SANITIZER", "Target application returned an error", "Program hit", "Error: process didn't terminate"];
    if first.contains(" SUMMARY: ") || none.iter().any(|start| first.starts_with(start)) {
        // An application that ends with a status other than 0 has failed cases; what the driver was asked for in vain is told by the
        // kernel's own finding.
        return None;
    }
    let own =
        block.iter().take_while(|line| !line.starts_with("Saved host backtrace") && !line.starts_with("Host Frame"));
    Some(own.copied().collect::<Vec<_>>().join(" "))
}

/// What the virtual machine's checks found in a run, as the findings of the tool that looks for such.
pub fn stand_in(records: &[Record], launches: usize, by: &str) -> Vec<Sanitized> {
    let failed = || records.iter().filter(|record| record.disposition == Disposition::Failed);
    let lines: Vec<(Tool, String)> = failed()
        .flat_map(|record| record.detail.lines().map(move |line| (record, line)))
        .filter_map(|(record, line)| {
            let kind = FindingKind::ALL.into_iter().find(|kind| line.contains(&format!(": {kind}")))?;
            Some((Tool::of(kind), format!("{} [{}]", line.trim(), record.case)))
        })
        .collect();
    Tool::ALL
        .into_iter()
        .map(|tool| Sanitized {
            tool: tool.name().into(),
            by: by.into(),
            launches,
            findings: lines.iter().filter(|(of, _)| *of == tool).map(|(_, line)| line.clone()).collect(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::findings;

    /// As compute-sanitizer 2025.3 prints it.
    const MEMCHECK: &str = "\
========= COMPUTE-SANITIZER
executor: cuda
========= Invalid __global__ write of size 4 bytes
=========     at gk_gate_mul+0xa0
=========     by thread (32,0,0) in block (0,0,0)
=========     Access at 0x7f32a1c00080 is out of bounds
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: main [0x1234]
========= 
========= Target application returned an error
========= ERROR SUMMARY: 1 error
";

    #[test]
    fn a_finding_is_kept_whole_and_without_the_hosts_frames() {
        let found = findings(MEMCHECK).expect("there is a summary");
        let whole = "Invalid __global__ write of size 4 bytes at gk_gate_mul+0xa0 by thread (32,0,0) in block (0,0,0) \
                     Access at 0x7f32a1c00080 is out of bounds";
        assert_eq!(found, [whole]);
    }

    #[test]
    fn races_are_counted_by_their_own_summary() {
        let race = "========= COMPUTE-SANITIZER\n========= Error: Race reported between Write access at k+0x70\n\
                    =========     and Read access at k+0x90 [4 hazards]\n=========\n\
                    ========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n";
        assert_eq!(findings(race).map(|found| found.len()), Ok(1));
        let none =
            "========= COMPUTE-SANITIZER\n========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n";
        assert_eq!(findings(none), Ok(Vec::new()));
    }

    #[test]
    fn a_tool_that_did_not_finish_is_no_clean_one() {
        assert!(findings("========= COMPUTE-SANITIZER\n").is_err());
        assert!(findings("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 3 errors\n").is_err());
    }
}
