//! Mutants: known-wrong kernels, each a small named change to a shipped kernel's source, by which the suite proves that its yes
//! is worth something.
//!
//! A mutant is a patch of source text: the shipped kernels stay as readable as they are, and what is wrong stands in two
//! strings beside each other. Its PTX lies in `golden/ptx/mutants/`, a file a family, so that no toolkit is needed to run it.

use std::fmt;

use gdn_gpu::executor::{Code, Program};
use gdn_gpu::ptx;

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

/// The mutants of one family, and their accepted PTX.
#[derive(Clone, Copy, Debug)]
pub struct Catalogue {
    /// The family.
    pub family: &'static str,
    /// Its mutants.
    pub mutants: &'static [Mutant],
    /// The text of `golden/ptx/mutants/FAMILY.ptx`.
    pub ptx: &'static str,
}

/// What sort of fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
        let accepted = FAMILIES.iter().find_map(|catalogue| store::find(catalogue.ptx, self.name, &ptx::hash(&source)));
        let code = accepted.map_or(Code::Cuda(source), |text| Code::Ptx(text.to_owned()));
        Ok(Program { name: self.name.into(), code })
    }
}

/// Narrowing helpers, then a kernel's shipped source with edits.
///
/// # Errors
/// [`Error::Patch`] where an edit's text does not stand in the source exactly once; [`Error::Unknown`] for the kernel.
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

/// The mutant of a name.
///
/// # Errors
/// [`Error::Unknown`] with the nearest name.
pub fn find(name: &str) -> Result<&'static Mutant, Error> {
    all()
        .find(|mutant| mutant.name == name)
        .ok_or_else(|| Error::unknown("mutant", name, all().map(|mutant| mutant.name)))
}

/// Compiles a mutant to what belongs in `golden/ptx/mutants/`: its one entry point.
///
/// # Errors
/// An edit that does not fit; NVRTC missing, or its log.
pub fn compile(mutant: &Mutant) -> Result<String, Error> {
    let source = mutant.source()?;
    let text = ptx::compile(mutant.name, &source)?;
    Ok(store::only_entry(&text, mutant.kernel))
}
