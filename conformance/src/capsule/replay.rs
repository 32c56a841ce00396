//! Replaying a capsule: the same launch again, or its recorded outputs judged again, and whether the verdict is the same.

use std::fmt;

use gdn_gpu::Executor;
use gdn_gpu::executor::{Code, Description, Program};
use gdn_gpu::run::{Outcome, RunError, Tensor, Tensors};

use super::{Capsule, Recorded};
use crate::check;
use crate::error::Error;
use crate::localize::Explanation;
use crate::runner::Runner;
use crate::suites;
use crate::verdict::{Disposition, Verdict};

/// What came of a capsule.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The capsule.
    pub capsule: Capsule,
    /// Who ran it; nobody where the recorded outputs were judged.
    pub runner: Option<Description>,
    /// The verdicts.
    pub verdicts: Vec<Verdict>,
    /// What the launch left.
    pub outputs: Tensors,
}

impl Capsule {
    /// A runner of the program in the capsule: as it was run, or its PTX where this executor cannot compile CUDA.
    ///
    /// # Errors
    /// Where it does not compile or load, and where the capsule holds no program.
    pub fn runner(&self, executor: Box<dyn Executor>) -> Result<Runner, Error> {
        let program = self.program.clone().ok_or_else(|| Error::NoProgram { case: self.case.to_string() })?;
        let portable =
            self.ptx.as_ref().map(|ptx| Program { name: program.name.clone(), code: Code::Ptx(ptx.clone()) });
        match portable {
            Some(portable) if executor.describe().executor == "vm" => Runner::programs(executor, vec![portable]),
            Some(portable) => {
                let other = executor.fork()?;
                match Runner::programs(executor, vec![program]) {
                    Err(Error::Executor(gdn_gpu::Error::NoCompiler { .. })) => Runner::programs(other, vec![portable]),
                    ran => ran,
                }
            }
            None => Runner::programs(executor, vec![program]),
        }
    }
}

/// Makes a capsule's launch again, or judges its recorded outputs where there is no runner.
///
/// # Errors
/// Where the runner has not the kernel, or no longer answers.
pub fn replay(capsule: Capsule, runner: Option<&mut Runner>) -> Result<Replayed, Error> {
    let suite = suites::find(capsule.case.contract.kernel)?;
    let (shape, inputs) = (&capsule.case.shape, &capsule.inputs);
    let description = runner.as_ref().map(|runner| runner.describe());
    let (verdicts, outputs) = if let Some(runner) = runner {
        match runner.run(suite, shape, inputs, capsule.case.seed.wrapping_add(capsule.token.into())) {
            Ok(outcome) => (check::judge(suite, shape, inputs, &outcome)?, outcome.outputs),
            Err(Error::Run(RunError::Executor(error))) => {
                (vec![Verdict::found("launch", error.to_string())], Tensors::new())
            }
            Err(error) => return Err(error),
        }
    } else {
        let outcome = Outcome { outputs: capsule.outputs.clone(), findings: Vec::new() };
        let mut verdicts =
            if outcome.outputs.is_empty() { Vec::new() } else { check::judge(suite, shape, inputs, &outcome)? };
        // What was found while it ran cannot be found again without running.
        let found = capsule.verdicts.iter().filter(|recorded| recorded.elements == 0);
        verdicts.extend(found.map(|recorded| Verdict::found(&recorded.output, &recorded.detail)));
        (verdicts, outcome.outputs)
    };
    Ok(Replayed { capsule, runner: description, verdicts, outputs })
}

impl Replayed {
    /// Whether every output passed.
    pub fn passed(&self) -> bool {
        !self.verdicts.is_empty() && self.verdicts.iter().all(|verdict| verdict.disposition == Disposition::Passed)
    }

    /// What the verdict contradicts of the recorded one: outputs that were judged both times and came out otherwise, and the
    /// whole, where one passed and the other did not.
    pub fn contradictions(&self) -> Vec<String> {
        let recorded = &self.capsule.verdicts;
        let mut lines = Vec::new();
        for Verdict { output, disposition: now, .. } in &self.verdicts {
            let before = recorded.iter().find(|recorded| recorded.output == *output);
            if let Some(Recorded { disposition, .. }) = before.filter(|before| before.disposition != *now) {
                lines.push(format!("{output}: {now}, recorded {disposition}"));
            }
        }
        let passed = recorded.iter().all(|recorded| recorded.disposition == Disposition::Passed);
        if lines.is_empty() && passed != self.passed() {
            let word = |passed: bool| if passed { Disposition::Passed } else { Disposition::Failed };
            lines.push(format!("{}, recorded {}", word(self.passed()), word(passed)));
        }
        lines
    }

    /// What was met on one side only: an executor stops a launch for what another finds beside the buffer afterwards.
    fn otherwise_found(&self) -> Option<String> {
        let (now, before) = (&self.verdicts, &self.capsule.verdicts);
        let failed = |disposition| disposition != Disposition::Passed;
        let new = now.iter().filter(|now| failed(now.disposition) && before.iter().all(|old| old.output != now.output));
        let gone =
            before.iter().filter(|old| failed(old.disposition) && now.iter().all(|now| now.output != old.output));
        let new: Vec<&str> = new.map(|verdict| verdict.output.as_str()).collect();
        let gone: Vec<&str> = gone.map(|verdict| verdict.output.as_str()).collect();
        let list = |names: &[&str]| if names.is_empty() { "nothing else".into() } else { names.join(", ") };
        (!new.is_empty() || !gone.is_empty()).then(|| format!(", found by {}, recorded by {}", list(&new), list(&gone)))
    }

    /// How many elements of each output are not bit for bit as recorded.
    fn changed(&self) -> Vec<(&'static str, usize, usize)> {
        let count = |a: &Tensor, b: &Tensor| {
            let element = a.dtype().bytes();
            a.bytes().chunks(element).zip(b.bytes().chunks(element)).filter(|(a, b)| a != b).count()
        };
        let pairs = self.capsule.outputs.iter().filter_map(|(name, was)| Some((name, was, self.outputs.get(name)?)));
        pairs.map(|(name, was, now)| (*name, count(was, now), was.len())).filter(|(_, count, _)| *count > 0).collect()
    }
}

impl fmt::Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Capsule { case, token, runner, program, .. } = &self.capsule;
        let verdict = if self.passed() { "passed" } else { "FAILED" };
        let of = if case.tokens > 1 { format!(", token {token}") } else { String::new() };
        writeln!(f, "{case}{of}: {verdict}")?;
        let program = program.as_ref().map_or_else(String::new, |program| format!(", program {}", program.name));
        writeln!(f, "  recorded: {} — {} ({}){program}", runner.executor, runner.device, runner.versions)?;
        for verdict in &self.verdicts {
            write!(f, "  {} {}: ", verdict.disposition, verdict.output)?;
            if verdict.disposition == Disposition::Passed {
                writeln!(f, "utilization {:.3}", verdict.utilization)?;
            } else {
                writeln!(f, "{}", verdict.detail.replace('\n', "\n    "))?;
            }
            for line in verdict.explanation.iter().flat_map(Explanation::lines) {
                writeln!(f, "    {line}")?;
            }
        }
        let contradictions = self.contradictions();
        if contradictions.is_empty() {
            write!(f, "  the same verdict as recorded{}", self.otherwise_found().unwrap_or_default())?;
        } else {
            write!(f, "  NOT the verdict that was recorded: {}", contradictions.join("; "))?;
        }
        if self.runner.is_none() {
            return writeln!(f, "; nothing was run: the recorded outputs were judged again");
        }
        if self.outputs.is_empty() || self.capsule.outputs.is_empty() {
            return writeln!(f);
        }
        let changed: Vec<String> =
            self.changed().iter().map(|(name, count, all)| format!("{count} of {all} elements of {name}")).collect();
        if changed.is_empty() {
            writeln!(f, "; the outputs are bit for bit as recorded")
        } else {
            writeln!(f, "; not bit for bit as recorded: {}", changed.join(", "))
        }
    }
}
