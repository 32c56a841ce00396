//! `which`: the conventions that kernels follow.

use comfy_table::Table;
use gdn_gpu::vm::Options;

use super::{NONCONFORMANT, PASS, Selection, Subject, executor_with};
use crate::error::Error;
use crate::mutants;
use crate::report::STYLE;
use crate::runner::Runner;
use crate::which::{self, Finding};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    subject: Subject,
    /// The kernel of this mutant.
    #[arg(long, value_name = "NAME", conflicts_with = "kernels")]
    mutant: Option<String>,
    /// Only this kernel; may be given several times.
    #[arg(long, value_name = "NAME")]
    kernel: Vec<String>,
}

/// Runs the command. A kernel that follows no known convention somewhere is not conformant.
pub(super) fn run(args: &Args) -> Result<u8, Error> {
    for kernel in &args.kernel {
        crate::suites::find(kernel)?;
    }
    // What a kernel computes is asked here, not what it may do: races and the like are for `check`.
    let options = Options { checks: false, ..Options::default() };
    let mut runner = match &args.mutant {
        Some(name) => {
            let (executor, _) = executor_with(args.subject.executor, options)?;
            Runner::programs(executor, vec![mutants::find(name)?.program()?])?
        }
        None => args.subject.runner(options)?.0,
    };
    let (machine, _) = executor_with(Selection::Vm, options)?;
    let mut findings = which::which(&mut runner, machine.as_ref())?;
    findings.retain(|finding| args.kernel.is_empty() || args.kernel.iter().any(|kernel| kernel == finding.kernel));
    if findings.is_empty() {
        return Err(Error::NoCases { filter: "the conventions of these kernels".into() });
    }
    let text = table(&findings).to_string();
    say!("{}", text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n"));
    let known = findings.iter().all(|finding| finding.follows.is_some());
    Ok(if known { PASS } else { NONCONFORMANT })
}

fn table(findings: &[Finding]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(["kernel", "convention", "follows", "", "told by"]);
    for finding in findings {
        let remark = match (finding.contract, finding.follows) {
            (true, _) => "as the contract",
            (false, Some(_)) => "NOT the contract",
            (false, None) => "no convention known",
        };
        table.add_row([finding.kernel, finding.convention, finding.follows.unwrap_or("–"), remark, finding.case]);
    }
    table
}
