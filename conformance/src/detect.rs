//! Detection limits: how small a fault in each term the suite still sees, beside the rules that are in use elsewhere.
//!
//! A [`Fault`] multiplies one term by 1 + ε. It is a patch of the source in which the factor is a literal of its own, so that its
//! PTX, kept beside the mutants', serves every ε: the literal is replaced, nothing is compiled.

use std::collections::BTreeMap;

use gdn_gpu::Executor;
use gdn_gpu::executor::{Code, Program};
use gdn_gpu::run::Tensors;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::case::Case;
use crate::error::Error;
use crate::kill;
use crate::mutants::{self, Fault};
use crate::runner::Runner;
use crate::suites;
use crate::tokens::Tokens;
use crate::verdict::{self, Check, Disposition, Want};

/// The literal that stands for 1 + ε; no kernel has it for anything else.
const LITERAL: f32 = 1.734_567_9;

/// A factor as PTX writes it: as a float, negated into a subtraction, widened to a double.
fn spellings(factor: f32) -> [String; 3] {
    let [plain, negated] = [factor, -factor].map(|x| format!("0f{:08X}", x.to_bits()));
    [plain, negated, format!("0d{:016X}", f64::from(factor).to_bits())]
}

/// The source of a fault, in which 1 + ε is a literal.
///
/// # Errors
/// [`Error::Patch`] where its text does not stand in the source exactly once.
pub fn source(fault: &Fault) -> Result<String, Error> {
    let (find, replace) = fault.edit;
    let replaced = replace.replace("FAULT", &format!("{LITERAL:?}f"));
    mutants::patched(&fault.name(), fault.kernel, &[(find, &replaced)])
}

/// The program of a fault with a factor of 1 + ε.
fn program(fault: &Fault, factor: f32) -> Result<Program, Error> {
    let (name, source) = (fault.name(), source(fault)?);
    let code = match mutants::accepted(&name, &source) {
        Some(text) => {
            let mut replaced = text.to_owned();
            for (literal, number) in spellings(LITERAL).iter().zip(spellings(factor)) {
                replaced = replaced.replace(literal, &number);
            }
            if factor != LITERAL && replaced == text {
                return Err(Error::Patch { mutant: name, text: LITERAL.to_string(), found: 0 });
            }
            Code::Ptx(replaced)
        }
        None => Code::Cuda(source.replace(&format!("{LITERAL:?}f"), &format!("{factor:?}f"))),
    };
    Ok(Program { name, code })
}

/// A rule that decides whether outputs are right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// This suite's: every element within its bound.
    Bound,
    /// Σ error² / Σ value² over all outputs together.
    Nmse(f64),
    /// √(Σ error² / Σ value²) over all outputs together.
    Rms(f64),
    /// |error| ≤ atol + rtol·|value| for every element.
    Close {
        /// Relative part.
        rtol: f64,
        /// Absolute part.
        atol: f64,
    },
}

/// The rules of the table, this suite's first.
pub const RULES: [(&str, Rule); 8] = [
    ("bound", Rule::Bound),
    ("NMSE 1e-7", Rule::Nmse(1e-7)),
    ("RMS 2e-3", Rule::Rms(2e-3)),
    ("RMS 5e-3", Rule::Rms(5e-3)),
    ("1e-3/1e-3", Rule::Close { rtol: 1e-3, atol: 1e-3 }),
    ("1e-4/1e-4", Rule::Close { rtol: 1e-4, atol: 1e-4 }),
    ("1.3e-6/1e-5", Rule::Close { rtol: 1.3e-6, atol: 1e-5 }),
    ("1.6e-2/5e-3", Rule::Close { rtol: 1.6e-2, atol: 5e-3 }),
];

/// A fault's row of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// The kernel.
    pub kernel: String,
    /// The term.
    pub term: String,
    /// The least ε that each rule of [`RULES`] sees, within a factor of two (this suite's within a tenth); nothing where it does
    /// not see ε = 1/2.
    pub limits: Vec<Option<f64>>,
    /// A case that shows the fault at this suite's limit.
    pub case: Option<String>,
}

/// Cases of a kernel that faults are looked for in: spread over regimes and shapes, and small.
fn cases(kernel: &str, seed: u64) -> Result<Vec<Case>, Error> {
    let mut by_regime: BTreeMap<_, Vec<Case>> = BTreeMap::new();
    for case in kill::matrix_cases(kernel, seed)? {
        if kill::cost(&case) <= LARGEST && !case.regime.is_nonfinite() {
            by_regime.entry(case.regime).or_default().push(case);
        }
    }
    let spread = |list: Vec<Case>| {
        let step = list.len().div_ceil(EACH).max(1);
        list.into_iter().step_by(step)
    };
    Ok(by_regime.into_values().flat_map(spread).collect())
}

/// Elements of the largest case.
const LARGEST: u64 = 20_000;

/// Cases of a regime.
const EACH: usize = 5;

/// For each rule, the first case in which it rejects; `allowed` says in which cases a rule may speak.
fn seen(
    executor: &dyn Executor,
    program: Program,
    cases: &[Case],
    allowed: impl Fn(usize, usize) -> bool,
) -> Result<[Option<usize>; RULES.len()], Error> {
    let mut runner = Runner::programs(executor.fork()?, vec![program])?;
    let mut first = [None; RULES.len()];
    for (at, case) in cases.iter().enumerate() {
        let suite = suites::find(case.contract.kernel)?;
        let mut tokens = Tokens::of(case)?;
        while let Some((_, inputs)) = tokens.next() {
            let outcome = runner.run(suite, &case.shape, &inputs, case.seed)?;
            let checks = suite.expect(&case.shape, &inputs, &outcome.outputs)?;
            for (rule, (_, kind)) in RULES.iter().enumerate() {
                if first[rule].is_none() && allowed(rule, at) && rejects(*kind, &checks, &outcome.outputs) {
                    first[rule] = Some(at);
                }
            }
            tokens.left(&outcome.outputs);
        }
    }
    Ok(first)
}

/// Whether a rule rejects outputs.
fn rejects(rule: Rule, checks: &[Check], outputs: &Tensors) -> bool {
    if rule == Rule::Bound {
        return checks
            .iter()
            .any(|check| verdict::judge(check, outputs.get(check.output)).disposition != Disposition::Passed);
    }
    let (mut error_squared, mut value_squared, mut apart) = (0.0, 0.0, false);
    for check in checks.iter().filter(|check| check.aspect.is_empty()) {
        let Some(got) = outputs.get(check.output).and_then(|tensor| tensor.f32()) else { continue };
        for (want, &got) in check.wants.iter().zip(got) {
            let value = match want {
                Want::Near(want) => want.value,
                Want::Bits(bits) => f64::from(f32::from_bits(*bits)),
                Want::Code(_) => continue,
            };
            let error = (f64::from(got) - value).abs();
            error_squared += error * error;
            value_squared += value * value;
            if let Rule::Close { rtol, atol } = rule {
                // A NaN is apart from everything.
                apart |= error.is_nan() || error > atol + rtol * value.abs();
            }
        }
    }
    match rule {
        Rule::Nmse(limit) => error_squared > limit * value_squared,
        Rule::Rms(limit) => error_squared > limit * limit * value_squared,
        Rule::Close { .. } => apart,
        Rule::Bound => false,
    }
}

/// Finds a fault's limits. A rule may speak in those cases in which it accepts the shipped kernel.
///
/// # Errors
/// What the executor ran into; NVRTC missing for a fault without accepted PTX.
pub fn limit(executor: &dyn Executor, fault: &Fault, seed: u64) -> Result<Limit, Error> {
    let cases = cases(fault.kernel, seed)?;
    let mut accepts = Vec::new();
    for case in &cases {
        let shipped = seen(executor, program(fault, 1.0)?, std::slice::from_ref(case), |_, _| true)?;
        accepts.push(shipped.map(|rejected| rejected.is_none()));
    }
    let allowed = |rule: usize, at: usize| accepts[at][rule];
    let mut known: BTreeMap<u32, [Option<usize>; RULES.len()]> = BTreeMap::new();
    let mut at = |epsilon: f32| -> Result<[Option<usize>; RULES.len()], Error> {
        let factor = 1.0 + epsilon;
        if let Some(known) = known.get(&factor.to_bits()) {
            return Ok(*known);
        }
        let found = seen(executor, program(fault, factor)?, &cases, allowed)?;
        known.insert(factor.to_bits(), found);
        Ok(found)
    };
    let mut limits = Vec::new();
    let mut shown = None;
    for rule in 0..RULES.len() {
        // Exponents between which the limit lies: unseen below, seen above. 2^-23 is the least step of a factor.
        let (mut unseen, mut visible) = (-24, -1);
        if at(0.5)?[rule].is_none() {
            limits.push(None);
            continue;
        }
        while visible - unseen > 1 {
            let middle = i32::midpoint(unseen, visible);
            if at(2f32.powi(middle))?[rule].is_some() {
                visible = middle;
            } else {
                unseen = middle;
            }
        }
        let mut least = 2f32.powi(visible);
        if rule == 0 {
            for eighths in (1..8).rev() {
                let epsilon = 2f32.powi(visible - 1) * 2f32.powf(eighths as f32 / 8.0);
                if visible > -23 && at(epsilon)?[rule].is_some() {
                    least = epsilon;
                } else {
                    break;
                }
            }
            shown = at(least)?[rule];
        }
        limits.push(Some(f64::from((1.0 + least) - 1.0)));
    }
    Ok(Limit {
        kernel: fault.kernel.into(),
        term: fault.term.into(),
        limits,
        case: shown.map(|at| cases[at].to_string()),
    })
}

/// Whether a fault is seen in one case at ε.
///
/// # Errors
/// As [`limit`].
pub fn is_seen(executor: &dyn Executor, fault: &Fault, case: &Case, epsilon: f64) -> Result<bool, Error> {
    let program = program(fault, 1.0 + epsilon as f32)?;
    Ok(seen(executor, program, std::slice::from_ref(case), |rule, _| rule == 0)?[0].is_some())
}
