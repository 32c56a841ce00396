//! The sections of a report that no other module makes for itself: changes, resources, speed, compile options, sanitizers.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a kernel takes of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resources {
    /// The kernel.
    pub kernel: String,
    /// Who says so: `driver`, `ptxas` or `ptx`. Registers of PTX are virtual ones, which a device has no count of.
    pub source: String,
    /// Registers of a thread.
    pub registers: u32,
    /// Shared memory of a block, in bytes.
    pub shared: u32,
    /// Local memory of a thread, stack and spills together, in bytes.
    pub local: u32,
    /// Spilled bytes of a thread, stores and loads; nothing where only ptxas would know.
    pub spills: Option<u32>,
    /// Basic blocks of its PTX.
    pub blocks: u32,
    /// Instructions of its PTX.
    pub instructions: u32,
}

/// How long a kernel takes, beside the accepted one and a copy of as many bytes, all interleaved in one process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Speed {
    /// The kernel.
    pub kernel: String,
    /// The case whose launch was timed.
    pub case: String,
    /// Median of the accepted kernel, in nanoseconds.
    pub accepted_ns: f64,
    /// Median of this kernel, in nanoseconds.
    pub ns: f64,
    /// Median of the ratios of neighbouring times, this kernel ÷ the accepted one.
    pub ratio: f64,
    /// The least that the ratio's median may be, at the confidence of the comparison.
    pub low: f64,
    /// The most.
    pub high: f64,
    /// Bytes that the contract has it read and write.
    pub bytes: u64,
    /// Median of a copy that moves as many bytes, in nanoseconds.
    pub copy_ns: f64,
}

/// What a change is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Aspect {
    /// Verdicts.
    Conformance,
    /// Worst error ÷ bound of an output in a regime.
    Utilization,
    /// Outputs of a pinned case, bit for bit.
    Bits,
    /// Registers, shared and local memory, spills.
    Resources,
    /// Basic blocks and instructions of the PTX.
    Code,
    /// Basic blocks that ran.
    Coverage,
    /// Detection limits.
    Limits,
    /// Time.
    Speed,
}

impl Aspect {
    /// Every aspect, in the order of reports.
    pub const ALL: [Self; 8] = [
        Self::Conformance,
        Self::Utilization,
        Self::Bits,
        Self::Resources,
        Self::Code,
        Self::Coverage,
        Self::Limits,
        Self::Speed,
    ];
}

impl fmt::Display for Aspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Conformance => "conformance",
            Self::Utilization => "utilization",
            Self::Bits => "bits",
            Self::Resources => "resources",
            Self::Code => "code",
            Self::Coverage => "coverage",
            Self::Limits => "limits",
            Self::Speed => "speed",
        })
    }
}

/// What a change means for whoever reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worse than what was accepted: the gate is shut.
    Regressed,
    /// Other than what was accepted, and neither better nor worse.
    Changed,
    /// Better than what was accepted.
    Improved,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Regressed => "REGRESSED",
            Self::Changed => "changed",
            Self::Improved => "improved",
        })
    }
}

/// One difference from the accepted baseline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The kernel.
    pub kernel: String,
    /// What it is of.
    pub aspect: Aspect,
    /// Where: an output and a regime, a case, a resource, a term.
    pub place: String,
    /// What was accepted.
    pub before: String,
    /// What is.
    pub after: String,
    /// What it means.
    pub severity: Severity,
}

impl Change {
    /// The change as one line.
    pub fn line(&self) -> String {
        let Self { kernel, aspect, place, before, after, severity } = self;
        format!("{severity}: {kernel} {aspect} {place}: {before} → {after}")
    }
}

/// One output of one kernel under one set of compile options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlagRow {
    /// The set's name: `default`, `fast math`, …
    pub set: String,
    /// The options as NVRTC takes them.
    pub options: Vec<String>,
    /// The virtual architecture compiled for.
    pub arch: String,
    /// The kernel.
    pub kernel: String,
    /// The output.
    pub output: String,
    /// Cases that were run.
    pub cases: usize,
    /// Cases that did not pass.
    pub failed: usize,
    /// The regimes that these are of.
    pub failing: Vec<String>,
    /// Worst error ÷ bound; nothing beyond all bounds.
    pub utilization: Option<f64>,
    /// The case of the worst.
    pub worst: String,
    /// Time ÷ time of the first set, where a device timed it.
    pub time: Option<f64>,
}

/// What one tool of the sanitizer found, or the virtual machine's checks in its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sanitized {
    /// `memcheck`, `racecheck`, `initcheck` or `synccheck`.
    pub tool: String,
    /// Who looked: `compute-sanitizer` and its version, or the virtual machine.
    pub by: String,
    /// Launches that were looked at.
    pub launches: usize,
    /// What was found, each whole.
    pub findings: Vec<String>,
}
