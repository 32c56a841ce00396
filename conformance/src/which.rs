//! `which`: the conventions that a kernel follows, each told by a case in which the conventions known for it differ.
//!
//! The other conventions are mutants. A kernel follows the one whose outputs its own agree with; a case is chosen so that it
//! hides the kernel's other conventions where it can.

use gdn_gpu::Executor;
use gdn_gpu::run::{Tensor, Tensors};

use crate::case::Case;
use crate::draw::Draws;
use crate::error::Error;
use crate::mutants::{self, Mutant};
use crate::runner::Runner;
use crate::suites;
use crate::verdict::{Check, Want};

/// What a kernel was found to follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The kernel.
    pub kernel: &'static str,
    /// The convention.
    pub convention: &'static str,
    /// What it follows; nothing where it agrees with none that is known.
    pub follows: Option<&'static str>,
    /// Whether that is what the contract says.
    pub contract: bool,
    /// The mutant that goes the same way, where it is another.
    pub mutant: Option<&'static str>,
    /// The case that told.
    pub case: &'static str,
}

/// Tells the conventions of the kernels that a runner has, by running the shipped kernels and the mutants on `machine`.
///
/// # Errors
/// What either executor ran into, faults of the kernel in question excepted: a kernel that faults follows nothing.
pub fn which(runner: &mut Runner, machine: &dyn Executor) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    for convention in mutants::conventions() {
        let case: Case = convention.case.parse()?;
        let kernel = case.contract.kernel;
        if !runner.has(kernel)? {
            continue;
        }
        let suite = suites::find(kernel)?;
        let inputs = suite.draw(&case, &Draws::new(&case, 0));
        let own = runner.run(suite, &case.shape, &inputs, case.seed).ok().map(|outcome| outcome.outputs);
        let mut shipped = Runner::kernels(machine.fork()?)?;
        let right = shipped.run(suite, &case.shape, &inputs, case.seed)?.outputs;
        let checks = suite.expect(&case.shape, &inputs, &right)?;
        let agrees = |other: &Tensors| own.as_ref().is_some_and(|own| agree(&checks, own, other));
        let mut found = Finding {
            kernel,
            convention: convention.name,
            follows: None,
            contract: agrees(&right),
            mutant: None,
            case: convention.case,
        };
        if found.contract {
            found.follows = Some(convention.contract);
        } else {
            for (name, label) in convention.others {
                if let Some(outputs) = outputs_of(mutants::find(name)?, machine, &case, &inputs)?
                    && agrees(&outputs)
                {
                    found.follows = Some(label);
                    found.mutant = Some(name);
                    break;
                }
            }
        }
        findings.push(found);
    }
    Ok(findings)
}

/// The known-wrong kernel that a failing launch looks like: the first whose outputs agree with it.
///
/// # Errors
/// What the machine ran into, apart from faults of the mutants.
pub fn nearest(
    machine: &dyn Executor,
    case: &Case,
    inputs: &Tensors,
    outputs: &Tensors,
) -> Result<Option<&'static Mutant>, Error> {
    let suite = suites::find(case.contract.kernel)?;
    let checks = suite.expect(&case.shape, inputs, outputs)?;
    for mutant in mutants::all().filter(|m| m.kernel == case.contract.kernel && m.equivalent.is_none()) {
        if let Some(theirs) = outputs_of(mutant, machine, case, inputs)?
            && agree(&checks, outputs, &theirs)
        {
            return Ok(Some(mutant));
        }
    }
    Ok(None)
}

/// What a mutant makes of inputs; nothing where it faults, or where its PTX is not at hand.
fn outputs_of(
    mutant: &Mutant,
    machine: &dyn Executor,
    case: &Case,
    inputs: &Tensors,
) -> Result<Option<Tensors>, Error> {
    let Ok(mut runner) = Runner::programs(machine.fork()?, vec![mutant.program()?]) else { return Ok(None) };
    let suite = suites::find(mutant.kernel)?;
    Ok(runner.run(suite, &case.shape, inputs, case.seed).ok().map(|outcome| outcome.outputs))
}

/// Whether two kernels compute the same: apart by no more than two correct kernels may be, by the bounds of the oracle's value
/// and, where a convention makes the value larger, in proportion.
fn agree(checks: &[Check], one: &Tensors, other: &Tensors) -> bool {
    checks.iter().filter(|check| check.aspect.is_empty()).all(|check| {
        match (one.get(check.output), other.get(check.output)) {
            (Some(Tensor::F32(one)), Some(Tensor::F32(other))) => {
                one.len() == other.len()
                    && check.wants.iter().zip(one.iter().zip(other)).all(|(want, (&one, &other))| {
                        if one.to_bits() == other.to_bits() || (one.is_nan() && other.is_nan()) {
                            return true;
                        }
                        let Want::Near(want) = want else { return false };
                        let scale = (f64::from(other) / want.value).abs().max(1.0);
                        (f64::from(one) - f64::from(other)).abs() <= 2.0 * want.bound * scale
                    })
            }
            (Some(Tensor::I8(one)), Some(Tensor::I8(other))) => one == other,
            _ => false,
        }
    })
}
