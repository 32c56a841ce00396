//! What is measured of the working kernels: one fact for everything that a change of a kernel may change.

use std::collections::BTreeMap;

use gdn_gpu::Executor;
use gdn_gpu::executor::{Code, Program};
use gdn_gpu::run::Tensor;
use gdn_gpu::vm::{Options, VmExecutor};
use sha2::{Digest as _, Sha256};

use super::{Facts, Places, baseline, ptxas};
use crate::case::Case;
use crate::cases;
use crate::detect::Limit;
use crate::error::Error;
use crate::report::{Aspect, Report, Resources};
use crate::runner::Runner;
use crate::suites;
use crate::tokens::Tokens;
use crate::verdict::Disposition;

/// Facts of kernels, and the programs that they are in by their stems.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// The facts.
    pub facts: BTreeMap<String, Facts>,
    /// The stem of each kernel's program.
    pub stems: BTreeMap<String, String>,
    /// The programs' PTX by their stems.
    pub programs: BTreeMap<String, String>,
    /// What each kernel takes.
    pub resources: Vec<Resources>,
}

impl Measured {
    fn places(&mut self, kernel: &str, aspect: Aspect) -> &mut Places {
        self.facts.entry(kernel.to_owned()).or_default().entry(aspect).or_default()
    }

    /// Takes what a run of cases came to: conformance, utilization, coverage.
    pub fn take_report(&mut self, report: &Report) {
        let mut cases: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut failed: BTreeMap<&str, usize> = BTreeMap::new();
        let mut worst: BTreeMap<(&str, String), f64> = BTreeMap::new();
        for record in &report.records {
            cases.entry(&record.kernel).or_default().push(&record.case);
            *failed.entry(&record.kernel).or_default() += usize::from(record.disposition != Disposition::Passed);
            let place = format!("{} {}", record.output, record.regime);
            let kept = worst.entry((&record.kernel, place)).or_default();
            *kept = kept.max(record.utilization.unwrap_or(f64::INFINITY));
        }
        for (kernel, mut cases) in cases {
            cases.sort_unstable();
            cases.dedup();
            let places = self.places(kernel, Aspect::Conformance);
            places.insert("cases".into(), cases.len().to_string());
            places.insert("verdicts not passed".into(), failed[kernel].to_string());
        }
        for ((kernel, place), utilization) in worst {
            self.places(kernel, Aspect::Utilization).insert(place, format!("{utilization:.2}"));
        }
        for coverage in &report.coverage {
            let value = format!("{} of {}", coverage.ran(), coverage.reachable());
            self.places(&coverage.kernel, Aspect::Coverage).insert("reachable blocks run".into(), value);
        }
    }

    /// Takes detection limits.
    pub fn take_limits(&mut self, limits: &[Limit]) {
        for limit in limits {
            let value = limit.limits.first().copied().flatten().map_or_else(|| "never".into(), |e| format!("{e:.1e}"));
            self.places(&limit.kernel, Aspect::Limits).insert(limit.term.clone(), value);
        }
    }

    /// Takes what the kernels' programs are and take.
    ///
    /// # Errors
    /// When the device no longer answers, or does not say.
    pub fn take_programs(&mut self, runner: &mut Runner, kernels: &[&'static str]) -> Result<(), Error> {
        let arch = runner.describe().arch;
        let mut spilled: BTreeMap<String, BTreeMap<String, u32>> = BTreeMap::new();
        for &kernel in kernels {
            let Some((program, text, used)) = runner.program_of(kernel)? else { continue };
            let stem = baseline::stem(&program, &text);
            let (blocks, instructions) = size(&program, &text, kernel)?;
            let code = self.places(kernel, Aspect::Code);
            code.insert("basic blocks".into(), blocks.to_string());
            code.insert("instructions".into(), instructions.to_string());
            let spilled =
                spilled.entry(stem.clone()).or_insert_with(|| ptxas::spills(&text, &arch).unwrap_or_default());
            let spills = spilled.get(kernel).copied();
            let places = self.places(kernel, Aspect::Resources);
            if let Some(spills) = spills {
                places.insert("spilled bytes (ptxas)".into(), spills.to_string());
            }
            places.insert(format!("registers ({})", used.source), used.registers.to_string());
            places.insert("local bytes".into(), used.local.to_string());
            places.insert("shared bytes".into(), used.shared.to_string());
            self.resources.push(Resources {
                kernel: kernel.into(),
                source: used.source.into(),
                registers: used.registers,
                shared: used.shared,
                local: used.local,
                spills,
                blocks,
                instructions,
            });
            self.stems.insert(kernel.into(), stem.clone());
            self.programs.insert(stem, text);
        }
        Ok(())
    }

    /// Takes the bits of every output of the pinned cases, token by token, and on an executor that counts them, the instructions.
    ///
    /// # Errors
    /// What the executor ran into, faults of a kernel excepted: such a case has no bits.
    pub fn take_bits(&mut self, runner: &mut Runner, pinned: &[Case], done: impl Fn(&Case)) -> Result<(), Error> {
        for case in pinned {
            let kernel = case.contract.kernel;
            let before = runner.instructions();
            let suite = suites::find(kernel)?;
            let mut tokens = Tokens::of(case)?;
            let mut digests: BTreeMap<&'static str, Sha256> = BTreeMap::new();
            let mut whole = true;
            while let Some((_, inputs)) = tokens.next() {
                match runner.run(suite, &case.shape, &inputs, case.seed) {
                    Ok(outcome) => {
                        for (name, tensor) in &outcome.outputs {
                            digests.entry(name).or_default().update(canonical(tensor));
                        }
                        tokens.left(&outcome.outputs);
                    }
                    Err(Error::Run(_)) => {
                        whole = false;
                        break;
                    }
                    Err(error) => return Err(error),
                }
            }
            let bits = self.places(kernel, Aspect::Bits);
            for (name, digest) in digests {
                let hash = digest.finalize().first_chunk().copied().map_or(0, u64::from_be_bytes);
                let value = if whole { format!("{hash:016x}") } else { "the launch failed".into() };
                bits.insert(format!("{name} of {case}"), value);
            }
            if let (Some(before), Some(after)) = (before, runner.instructions()) {
                self.places(kernel, Aspect::Speed)
                    .insert(format!("warp instructions of {case}"), (after - before).to_string());
            }
            done(case);
        }
        Ok(())
    }
}

/// The bytes of a tensor with one NaN for all: which one a device makes is no kernel's choice.
fn canonical(tensor: &Tensor) -> Vec<u8> {
    match tensor {
        Tensor::F32(x) => {
            let canonical = |x: &f32| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() };
            x.iter().flat_map(|x| canonical(x).to_le_bytes()).collect()
        }
        other => other.bytes(),
    }
}

/// Basic blocks and instructions of an entry point in PTX.
fn size(program: &str, text: &str, kernel: &str) -> Result<(u32, u32), Error> {
    let mut machine = VmExecutor::new(Options::default());
    let module = machine.load(&Program { name: program.into(), code: Code::Ptx(text.into()) })?;
    let functions = machine.coverage(module);
    let blocks = functions.iter().find(|function| function.name == kernel).map_or(&[][..], |function| &function.blocks);
    let statements = |text: &str| {
        let code = text.lines().map(|line| line.split("//").next().unwrap_or(line).trim());
        code.filter(|line| line.ends_with(';') && !line.starts_with('.')).count()
    };
    let instructions: usize = blocks.iter().map(|block| statements(&block.text)).sum();
    Ok((blocks.iter().filter(|block| !block.empty).count() as u32, instructions as u32))
}

/// The cases whose outputs are kept to the bit: those that together kill every mutant, and of each kernel the largest of its profile
/// with Gaussian inputs, or those nearest to it.
///
/// # Errors
/// Where a line of the smoke profile is no case any more.
pub fn pinned(kernels: &[&'static str], seed: u64) -> Result<Vec<Case>, Error> {
    let mut pinned = cases::smoke()?;
    pinned.retain(|case| kernels.contains(&case.contract.kernel));
    for kernel in kernels {
        let mut profile = cases::profile(suites::find(kernel)?, seed);
        profile.sort_by_key(crate::kill::cost);
        let plain = |case: &&Case| ["gaussian", "warm"].contains(&case.regime.name());
        pinned.extend(profile.iter().rfind(plain).or(profile.last()).cloned());
    }
    Ok(pinned)
}
