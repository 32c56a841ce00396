//! `chain`: the delta rule over thousands of tokens, in both views of its error.

use comfy_table::{CellAlignment, Table};
use gdn_gpu::vm::Options;

use super::{NONCONFORMANT, Outputs, PASS, Parts, Subject, announce, not_run, progress, tell_not_run};
use crate::chains::{self, ChainCurve, ChainPlan, ChainRegime};
use crate::error::Error;
use crate::report::{Header, Report, STYLE};
use crate::verdict::Disposition;
use crate::workers;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    subject: Subject,
    /// Only this regime; may be given several times.
    #[arg(long, value_name = "NAME")]
    regime: Vec<ChainRegime>,
    /// Tokens of each chain.
    #[arg(long, default_value_t = 2048, value_parser = clap::value_parser!(u32).range(1..))]
    tokens: u32,
    /// Seed of what is drawn.
    #[arg(long, default_value_t = 81)]
    seed: u64,
    #[command(flatten)]
    parts: Parts,
    #[command(flatten)]
    outputs: Outputs,
}

/// Runs the command.
pub(super) fn run(args: &Args) -> Result<u8, Error> {
    args.outputs.prepare()?;
    // A chain repeats one launch, which `check` looks at.
    let (runner, absent) = args.subject.runner(Options { checks: false, ..Options::default() })?;
    let description = runner.describe();
    announce(&description);
    let mut regimes = if args.regime.is_empty() { ChainRegime::ALL.to_vec() } else { args.regime.clone() };
    regimes.retain(|regime| args.parts.has(&regime.to_string()));
    let bar = progress(regimes.len(), "chains");
    let forks = (0..workers::threads(regimes.len())).map(|_| runner.fork()).collect::<Result<Vec<_>, _>>()?;
    let (curves, _) = workers::share(&regimes, forks, |own, _, &regime| {
        let curve = chains::run(own, &ChainPlan::new(regime, args.tokens, args.seed))?;
        bar.set_message(regime.to_string());
        bar.inc(1);
        Ok((regime, curve))
    })?;
    bar.finish_and_clear();
    detail!("{}", table(&curves));
    let mut passed = true;
    for (_, curve) in &curves {
        let verdict = curve.verdict();
        if verdict.disposition != Disposition::Passed {
            passed = false;
            say!("{}: {}: {}", verdict.disposition, verdict.output, verdict.detail);
        }
    }
    tell_not_run(&not_run(absent.as_deref()));
    let names: Vec<String> = args.regime.iter().map(ToString::to_string).collect();
    let selection = format!("{}, {} tokens", super::words(&names, "every regime"), args.tokens);
    let header = Header::new("chain", selection, &description, args.seed, not_run(absent.as_deref()));
    let chains = curves.into_iter().map(|(_, curve)| curve).collect();
    args.outputs.write(&Report { chains, ..Report::empty(args.parts.of(header)) }, args.subject.kernels.as_deref())?;
    Ok(if passed { PASS } else { NONCONFORMANT })
}

/// The worst of each chain: of each view's bound, and of the state's error relative to the state.
fn table(curves: &[(ChainRegime, ChainCurve)]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_header([
        "regime",
        "tokens",
        "step by step",
        "free-running state",
        "free-running output",
        "relative error",
        "verdict",
    ]);
    for (regime, curve) in curves {
        let Some(worst) = curve.worst() else { continue };
        let number = |x: Option<f64>| x.map_or_else(|| "∞".to_owned(), |x| format!("{x:.3}"));
        let relative = worst.relative.map_or_else(|| "∞".to_owned(), |x| format!("{x:.1e}"));
        table.add_row([
            regime.to_string(),
            curve.plan.tokens.to_string(),
            number(worst.step.utilization),
            number(worst.state.utilization),
            number(worst.output.utilization),
            relative,
            curve.verdict().disposition.to_string(),
        ]);
    }
    for column in 1..6 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}
