//! PTX of CUDA sources for the virtual machine: the accepted texts in `golden/ptx/`, and NVRTC for every other source.
//!
//! A machine with neither GPU nor toolkit runs the shipped kernels from the accepted texts. Each carries the hash of its source,
//! so that a text is used only for the source that it was made of.

use std::collections::HashMap;
use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use crate::contract::Source;
use crate::executor::Error;
use crate::nvrtc::Nvrtc;
use crate::{GDN_KERNELS, PROBE_KERNELS, QWEN38_KERNELS};

/// The virtual architecture that the accepted PTX is made for: the oldest that CUDA 13 compiles for, so that it runs anywhere.
pub const ARCH: &str = "compute_75";

/// A published source and the PTX that was made of it.
#[derive(Clone, Copy, Debug)]
pub struct Accepted {
    /// Name in messages and of the file in `golden/ptx/`.
    pub name: &'static str,
    /// The source.
    pub source: &'static str,
    /// The accepted PTX.
    pub ptx: &'static str,
}

impl Accepted {
    /// The published kernels, and what measures their functions.
    pub const ALL: [Self; 3] = [
        Self { name: "gdn", source: GDN_KERNELS, ptx: include_str!("../../golden/ptx/gdn.ptx") },
        Self { name: "qwen38", source: QWEN38_KERNELS, ptx: include_str!("../../golden/ptx/qwen38.ptx") },
        Self { name: "probe", source: PROBE_KERNELS, ptx: include_str!("../../golden/ptx/probe.ptx") },
    ];

    /// Whether the accepted PTX was made of the published source.
    pub fn is_current(&self) -> bool {
        self.ptx.lines().next() == Some(&header(self.source))
    }
}

/// The accepted PTX of a source.
pub const fn accepted(source: Source) -> &'static str {
    match source {
        Source::Gdn => Accepted::ALL[0].ptx,
        Source::Qwen38 => Accepted::ALL[1].ptx,
    }
}

/// SHA-256 of a source, in hexadecimal.
pub fn hash(source: &str) -> String {
    Sha256::digest(source.as_bytes()).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The first line of an accepted text: what it was made of.
fn header(source: &str) -> String {
    format!("// source sha256 {}", hash(source))
}

/// The hash of the source that a PTX text says it was made of, where it says so.
pub fn source_hash(ptx: &str) -> Option<&str> {
    ptx.lines().next()?.strip_prefix("// source sha256 ")
}

/// Compiles a source to what belongs in `golden/ptx/`.
///
/// # Errors
/// [`Error::NoCompiler`], or [`Error::Compile`] with NVRTC's log.
pub fn compile(program: &str, source: &str) -> Result<String, Error> {
    let ptx = Nvrtc::find()?.compile(program, source, ARCH, &[])?;
    Ok(format!("{}\n{}", header(source), ptx.trim_end_matches('\0')))
}

/// What belongs in `golden/ptx/` for a published source: the accepted text itself where NVRTC makes the same of it but for the numbers
/// of registers.
///
/// # Errors
/// As [`compile`].
pub fn renewed(accepted: &Accepted) -> Result<String, Error> {
    let text = compile(accepted.name, accepted.source)?;
    let same = renumbered(&text) == renumbered(accepted.ptx);
    Ok(if same { accepted.ptx.to_owned() } else { text })
}

/// PTX of any source: the accepted one where it was made of this very text, else NVRTC's.
///
/// # Errors
/// [`Error::NoCompiler`] where the source is not a shipped one and NVRTC is missing; [`Error::Compile`] with its log.
pub fn of(program: &str, source: &str) -> Result<String, Error> {
    let shipped = Accepted::ALL.into_iter().find(|shipped| shipped.source == source && shipped.is_current());
    shipped.map_or_else(|| compile(program, source), |shipped| Ok(shipped.ptx.to_owned()))
}

/// PTX with its registers numbered as they come, to be compared: NVRTC numbers those of constants otherwise from run to run. It is no
/// PTX any more, because their declarations are left as they were.
pub fn renumbered(ptx: &str) -> String {
    let mut text = String::new();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for line in ptx.lines() {
        if line.contains(".entry ") || line.contains(".func ") {
            numbers.clear();
        }
        for (i, part) in line.split('%').enumerate() {
            let end = part.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(part.len());
            let (name, rest) = part.split_at(if i == 0 { 0 } else { end });
            text.push_str(if i == 0 { "" } else { "%" });
            if name.ends_with(|c: char| c.is_ascii_digit()) {
                let next = numbers.len();
                let number = numbers.entry(name).or_insert(next);
                text.push_str(name.trim_end_matches(|c: char| c.is_ascii_digit()));
                text.push_str(&number.to_string());
            } else {
                text.push_str(name);
            }
            text.push_str(rest);
        }
        text.push('\n');
    }
    text
}
