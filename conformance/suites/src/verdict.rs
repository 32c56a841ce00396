//! Verdicts: how far each output is from the oracle, as a fraction of the bound, where it is worst, and what that means.

use std::fmt;
use std::ops::RangeInclusive;

use gdn_gpu::run::{Finding, Tensor};
use gdn_reference::scalar::Bounded;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::localize::Explanation;

/// What one element must be.
#[derive(Clone, Debug, PartialEq)]
pub enum Want {
    /// Within the bound of the oracle's value.
    Near(Bounded),
    /// These bits; any NaN where the bits are a NaN.
    Bits(u32),
    /// A code of this range.
    Code(RangeInclusive<i32>),
}

/// What one output must be.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The output.
    pub output: &'static str,
    /// Which of several checks of the same output this is; empty for the comparison with the oracle.
    pub aspect: &'static str,
    /// A want an element.
    pub wants: Vec<Want>,
}

/// What became of a case's output. Only *passed* is a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Disposition {
    /// Every element within its bound.
    Passed,
    /// Some element is not, or memory was touched that may not be.
    Failed,
    /// Failed as named beforehand, with a reason.
    Waived,
    /// There was nothing to run it with.
    NotRun,
    /// The shape or the values are not the kernel's.
    OutsideContract,
}

impl fmt::Display for Disposition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Passed => "passed",
            Self::Failed => "FAILED",
            Self::Waived => "waived",
            Self::NotRun => "not run",
            Self::OutsideContract => "outside the contract",
        })
    }
}

/// The verdict on one output of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The output, with the aspect where there is one: `xq`, `xq:recomputed`.
    pub output: String,
    /// What it comes to.
    pub disposition: Disposition,
    /// Worst utilization: error ÷ bound. Infinite where an exact element is wrong.
    pub utilization: f64,
    /// Worst distance from the oracle in units of the last place of the oracle's value.
    pub ulp: f64,
    /// Flat index of the worst element.
    pub index: usize,
    /// Elements compared.
    pub elements: usize,
    /// Elements outside of their bound.
    pub failures: usize,
    /// Elements whose expected value f32's range leaves open.
    pub undetermined: usize,
    /// The worst element, or what was found, in words.
    pub detail: String,
    /// Why, where it failed and there are elements to look at.
    pub explanation: Option<Explanation>,
}

/// One element against its want.
struct Element {
    utilization: f64,
    ulp: f64,
    undetermined: bool,
}

impl Want {
    /// Whether an element may be this float or code.
    pub fn admits(&self, got: f32, code: i32) -> bool {
        self.judge(got, code).utilization <= 1.0
    }

    /// The middle of what an element may be, and how far from it.
    pub fn centre(&self) -> (f64, f64) {
        match self {
            Self::Near(want) => (want.value, want.bound),
            Self::Bits(bits) => (f64::from(f32::from_bits(*bits)), 0.0),
            Self::Code(range) => {
                let (start, end) = (f64::from(*range.start()), f64::from(*range.end()));
                (f64::midpoint(start, end), (end - start) / 2.0)
            }
        }
    }

    fn judge(&self, got: f32, code: i32) -> Element {
        let hit =
            |ok: bool| Element { utilization: if ok { 0.0 } else { f64::INFINITY }, ulp: 0.0, undetermined: false };
        match self {
            Self::Near(want) => Element {
                utilization: want.utilization(got),
                ulp: ulps(want.value, got),
                // A NaN of infinite bound still asks for a value that is not finite.
                undetermined: want.is_undetermined() && !want.value.is_nan(),
            },
            Self::Bits(bits) => {
                let want = f32::from_bits(*bits);
                let same = got.to_bits() == *bits || (got.is_nan() && want.is_nan());
                Element { ulp: ulps(f64::from(want), got), ..hit(same) }
            }
            Self::Code(range) => {
                let miss = (range.start() - code).max(code - range.end()).max(0);
                Element { ulp: f64::from(miss), ..hit(miss == 0) }
            }
        }
    }
}

impl fmt::Display for Want {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Near(want) if want.bound == 0.0 => write!(f, "{:e} exactly", want.value),
            Self::Near(want) => write!(f, "{:e} ± {:.2e}", want.value, want.bound),
            Self::Bits(bits) => write!(f, "{:e} bit for bit", f32::from_bits(*bits)),
            Self::Code(range) if range.start() == range.end() => write!(f, "code {}", range.start()),
            Self::Code(range) => write!(f, "a code from {} to {}", range.start(), range.end()),
        }
    }
}

/// Distance in units of the last place of `value` rounded to f32; infinite where one of the two is NaN or infinite alone.
fn ulps(value: f64, got: f32) -> f64 {
    let distance = (f64::from(got) - value).abs();
    if distance == 0.0 || (value.is_nan() && got.is_nan()) || value == f64::from(got) {
        return 0.0;
    }
    if !distance.is_finite() {
        return f64::INFINITY;
    }
    // The power of two below the rounded value: the number without the bits of its fraction.
    let magnitude = (value.abs() as f32).clamp(f32::MIN_POSITIVE, f32::MAX);
    let power = f32::from_bits(magnitude.to_bits() & 0x7f80_0000);
    distance / f64::from(power) * f64::from(1 << (f32::MANTISSA_DIGITS - 1))
}

/// The elements as floats, and as integers where they are.
pub(crate) fn values(tensor: &Tensor) -> Vec<(f32, i32)> {
    match tensor {
        Tensor::F32(x) => x.iter().map(|&x| (x, 0)).collect(),
        Tensor::I8(x) => x.iter().map(|&x| (f32::from(x), i32::from(x))).collect(),
        Tensor::I32(x) => x.iter().map(|&x| (x as f32, x)).collect(),
    }
}

/// Judges one output.
///
/// An output that is missing, has another length than the oracle's, or has no element fails: nothing compared is no pass.
pub fn judge(check: &Check, got: Option<&Tensor>) -> Verdict {
    let output = match check.aspect {
        "" => check.output.to_owned(),
        aspect => format!("{}:{aspect}", check.output),
    };
    let mut verdict = Verdict {
        output,
        disposition: Disposition::Failed,
        utilization: 0.0,
        ulp: 0.0,
        index: 0,
        elements: check.wants.len(),
        failures: 0,
        undetermined: 0,
        detail: String::new(),
        explanation: None,
    };
    let values = got.map(values).unwrap_or_default();
    if values.len() != check.wants.len() || values.is_empty() {
        verdict.utilization = f64::INFINITY;
        verdict.detail = format!("{} elements, {} expected", values.len(), check.wants.len());
        return verdict;
    }
    let mut worst = (f64::NEG_INFINITY, 0.0);
    for (i, (want, &(value, code))) in check.wants.iter().zip(&values).enumerate() {
        let element = want.judge(value, code);
        verdict.undetermined += usize::from(element.undetermined);
        // Written so that a NaN counts as outside.
        let inside = element.utilization <= 1.0;
        verdict.failures += usize::from(!inside);
        let rank = if element.utilization.is_nan() { f64::INFINITY } else { element.utilization };
        if (rank, element.ulp) > worst {
            worst = (rank, element.ulp);
            verdict.index = i;
        }
        verdict.ulp = verdict.ulp.max(element.ulp);
    }
    verdict.utilization = worst.0;
    let want = &check.wants[verdict.index];
    verdict.detail = format!("[{}] = {:e}, oracle {want}", verdict.index, values[verdict.index].0);
    if verdict.undetermined == verdict.elements {
        verdict.detail = "every element is beyond what f32 determines: the case compares nothing".into();
    } else if verdict.failures == 0 {
        verdict.disposition = Disposition::Passed;
    }
    verdict
}

/// The verdict on what a kernel did to memory.
pub fn memory(finding: &Finding) -> Verdict {
    let (Finding::GuardWritten { buffer, .. }
    | Finding::InputModified { buffer, .. }
    | Finding::Unwritten { buffer, .. }
    | Finding::NotReproducible { buffer, .. }) = finding;
    Verdict::found(format!("{buffer}:memory"), finding.to_string())
}

impl Verdict {
    /// The verdict on something that was found rather than compared: it failed.
    pub fn found(output: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            output: output.into(),
            disposition: Disposition::Failed,
            utilization: f64::INFINITY,
            ulp: 0.0,
            index: 0,
            elements: 0,
            failures: 1,
            undetermined: 0,
            detail: detail.into(),
            explanation: None,
        }
    }
}
