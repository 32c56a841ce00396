//! Mutants: known-wrong kernels, each a small named change to a shipped kernel's source, by which the suite proves that its yes
//! is worth something.
//!
//! A mutant is a patch of source text: the shipped kernels stay as readable as they are, and what is wrong stands in two
//! strings beside each other. Its PTX lies in `golden/ptx/mutants/`, a file a family, so that no toolkit is needed to run it.

use std::fmt;

use gdn_gpu::executor::{Code, Program};
use gdn_gpu::ptx;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Error;

mod causal_conv;
mod delta_rule;
mod gated_rms_norm;
mod gates;
mod l2_norm;
mod output_gate;
mod qk_norm_rope;
mod quantize;
mod reduce;
pub mod store;

/// The registry: every family's mutants.
pub const FAMILIES: &[Catalogue] = &[
    reduce::CATALOGUE,
    quantize::CATALOGUE,
    causal_conv::CATALOGUE,
    l2_norm::CATALOGUE,
    gates::CATALOGUE,
    delta_rule::CATALOGUE,
    gated_rms_norm::CATALOGUE,
    qk_norm_rope::CATALOGUE,
    output_gate::CATALOGUE,
];

/// What is known of the ways in which one family goes wrong, and the mutants' accepted PTX.
#[derive(Clone, Copy, Debug)]
pub struct Catalogue {
    /// The family.
    pub family: &'static str,
    /// Its mutants.
    pub mutants: &'static [Mutant],
    /// Its terms and outputs, to be made wrong by as much as one likes.
    pub faults: &'static [Fault],
    /// What kernels of the family do in one of several ways.
    pub conventions: &'static [Convention],
    /// The text of `golden/ptx/mutants/FAMILY.ptx`: of mutants and of faults.
    pub ptx: &'static str,
}

/// What sort of fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// Other numbers.
    Numerical,
    /// Memory that may not be touched, or is not written.
    Memory,
    /// Races, missing or divergent barriers, absent lanes, no end.
    Concurrency,
}

impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Numerical => "numerical",
            Self::Memory => "memory",
            Self::Concurrency => "concurrency",
        })
    }
}

/// A known-wrong kernel.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// Its name, unique over all families.
    pub name: &'static str,
    /// The entry point that it changes.
    pub kernel: &'static str,
    /// The term that it breaks.
    pub term: &'static str,
    /// What sort of fault.
    pub sort: Sort,
    /// Where such a fault was seen, in one line.
    pub story: &'static str,
    /// Replacements in the source, each of text that stands in it once.
    pub edits: &'static [(&'static str, &'static str)],
    /// Why no input can tell it from the shipped kernel, where that is so.
    pub equivalent: Option<&'static str>,
}

impl Mutant {
    const fn new(
        sort: Sort,
        name: &'static str,
        kernel: &'static str,
        term: &'static str,
        story: &'static str,
        edits: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { name, kernel, term, sort, story, edits, equivalent: None }
    }

    /// A mutant that no input can tell from the shipped kernel, with the proof.
    const fn equivalent(self, proof: &'static str) -> Self {
        Self { equivalent: Some(proof), ..self }
    }

    /// Its source: narrowing helpers, then the shipped source with its edits.
    ///
    /// # Errors
    /// [`Error::Patch`] where an edit's text does not stand in the source exactly once.
    pub fn source(&self) -> Result<String, Error> {
        patched(self.name, self.kernel, self.edits)
    }

    /// The program to run: its accepted PTX where that was made of this source, else the source itself, which needs NVRTC.
    ///
    /// # Errors
    /// As [`Mutant::source`].
    pub fn program(&self) -> Result<Program, Error> {
        let source = self.source()?;
        let accepted = accepted(self.name, &source).map(ToOwned::to_owned);
        let code = accepted.map_or(Code::Cuda(source), Code::Ptx);
        Ok(Program { name: self.name.into(), code })
    }
}

/// A term of a kernel, which [`crate::detect`] multiplies by 1 + ε.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// The kernel.
    pub kernel: &'static str,
    /// The term; `output NAME` for the whole of an output.
    pub term: &'static str,
    /// A replacement in the source, in which `FAULT` stands for 1 + ε.
    pub edit: (&'static str, &'static str),
}

impl Fault {
    const fn new(kernel: &'static str, term: &'static str, find: &'static str, replace: &'static str) -> Self {
        Self { kernel, term, edit: (find, replace) }
    }

    /// Its name in the file of PTX.
    pub fn name(&self) -> String {
        format!("{}: {}", self.kernel, self.term)
    }
}

/// Something that kernels of a family do in one of several ways, told apart by [`crate::which`].
#[derive(Clone, Copy, Debug)]
pub struct Convention {
    /// What it is about.
    pub name: &'static str,
    /// What the contract says.
    pub contract: &'static str,
    /// Other ways: the mutant that goes each, and the way in words.
    pub others: &'static [(&'static str, &'static str)],
    /// The case that tells them apart.
    pub case: &'static str,
}

/// Narrowing helpers, then a kernel's shipped source with edits.
///
/// # Errors
/// [`Error::Patch`] where an edit's text does not stand in the source exactly once; [`Error::Suite`] for the kernel.
pub(crate) fn patched(name: &str, kernel: &str, edits: &[(&str, &str)]) -> Result<String, Error> {
    let mut text = crate::suites::find(kernel)?.contract().source.text().to_owned();
    for (find, replace) in edits {
        let found = text.matches(find).count();
        if found != 1 {
            return Err(Error::Patch { mutant: name.into(), text: (*find).into(), found });
        }
        text = text.replacen(find, replace, 1);
    }
    Ok(format!("{NARROWING}{text}"))
}

/// Other people's narrow formats, for mutants that lose digits on the way.
const NARROWING: &str = "\
static __device__ float gdn_bf16(float x) {
    const unsigned bits = (unsigned)__float_as_int(x);
    return x == x ? __int_as_float((int)((bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u)) : x;
}
static __device__ float gdn_fp16(float x) {
    float y;
    asm(\"{ .reg .b16 h; cvt.rn.f16.f32 h, %1; cvt.f32.f16 %0, h; }\" : \"=f\"(y) : \"f\"(x));
    return y;
}
static __device__ float gdn_tf32(float x) {
    return x == x ? __int_as_float((__float_as_int(x) + 0x1000) & (int)0xffffe000u) : x;
}
";

/// Every mutant.
pub fn all() -> impl Iterator<Item = &'static Mutant> {
    FAMILIES.iter().flat_map(|catalogue| catalogue.mutants)
}

/// Every fault.
pub fn faults() -> impl Iterator<Item = &'static Fault> {
    FAMILIES.iter().flat_map(|catalogue| catalogue.faults)
}

/// Every convention.
pub fn conventions() -> impl Iterator<Item = &'static Convention> {
    FAMILIES.iter().flat_map(|catalogue| catalogue.conventions)
}

/// The mutant of a name.
///
/// # Errors
/// [`Error::Suite`] with the nearest name.
pub fn find(name: &str) -> Result<&'static Mutant, Error> {
    all()
        .find(|mutant| mutant.name == name)
        .ok_or_else(|| Error::unknown("mutant", name, all().map(|mutant| mutant.name)))
}

/// The accepted PTX of a mutant or a fault, where there is one that was made of this source.
pub fn accepted(name: &str, source: &str) -> Option<&'static str> {
    let hash = ptx::hash(source);
    FAMILIES.iter().find_map(|catalogue| store::find(catalogue.ptx, name, &hash))
}

/// Compiles the source of a mutant or a fault to what belongs in `golden/ptx/mutants/`: the one entry point that it changes.
///
/// # Errors
/// NVRTC missing, or its log.
pub fn compile(name: &str, kernel: &str, source: &str) -> Result<String, Error> {
    Ok(store::only_entry(&ptx::compile(name, source)?, kernel))
}
