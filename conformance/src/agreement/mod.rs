//! Two executors on the same launches: how many elements of each output agree bit for bit, and by how much the others differ.

use std::collections::BTreeMap;

use comfy_table::{CellAlignment, Table};
use gdn_gpu::run::Tensor;

use crate::case::Case;
use crate::error::Error;
use crate::report::STYLE;
use crate::runner::Runner;
use crate::suites;
use crate::tokens::Tokens;

pub mod stand_ins;

/// How far two executors agree on one output of a kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agreement {
    /// Elements compared.
    pub elements: u64,
    /// Elements of the same bits; NaNs count as the same.
    pub same: u64,
    /// Largest distance of the others in units of the last place; infinite where one alone is not finite.
    pub apart: f64,
    /// The case and element of that distance.
    pub at: String,
}

/// Makes every launch of the cases on both, each token from the state that the first left.
///
/// # Errors
/// What either executor ran into.
pub fn compare(
    first: &mut Runner,
    second: &mut Runner,
    cases: &[Case],
) -> Result<BTreeMap<(&'static str, &'static str), Agreement>, Error> {
    let mut agreements: BTreeMap<_, Agreement> = BTreeMap::new();
    for case in cases {
        let suite = suites::find(case.contract.kernel)?;
        let mut tokens = Tokens::of(case)?;
        while let Some((_, inputs)) = tokens.next() {
            let here = first.run(suite, &case.shape, &inputs, case.seed)?.outputs;
            let there = second.run(suite, &case.shape, &inputs, case.seed)?.outputs;
            for (name, tensor) in &here {
                let agreement = agreements.entry((case.contract.kernel, *name)).or_default();
                if let Some(other) = there.get(name) {
                    count(agreement, tensor, other, case);
                }
            }
            tokens.left(&here);
        }
    }
    Ok(agreements)
}

fn count(agreement: &mut Agreement, here: &Tensor, there: &Tensor, case: &Case) {
    let apart: Vec<f64> = match (here, there) {
        (Tensor::F32(a), Tensor::F32(b)) => a.iter().zip(b).map(|(a, b)| apart(*a, *b)).collect(),
        (Tensor::I32(a), Tensor::I32(b)) => a.iter().zip(b).map(|(a, b)| f64::from(a.abs_diff(*b))).collect(),
        (Tensor::I8(a), Tensor::I8(b)) => a.iter().zip(b).map(|(a, b)| f64::from(a.abs_diff(*b))).collect(),
        _ => Vec::new(),
    };
    for (index, distance) in apart.into_iter().enumerate() {
        agreement.elements += 1;
        agreement.same += u64::from(distance == 0.0);
        if distance > agreement.apart {
            agreement.apart = distance;
            agreement.at = format!("{case} [{index}]");
        }
    }
}

/// Floats between two, counted in their own order; 0 for the same bits and for two NaNs.
fn apart(a: f32, b: f32) -> f64 {
    if a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()) {
        return 0.0;
    }
    if !(a.is_finite() && b.is_finite()) {
        return f64::INFINITY;
    }
    // Signed zeros are a place apart, so that they do not count as the same.
    let place = |x: f32| {
        let magnitude = i64::from(x.to_bits() & 0x7fff_ffff);
        if x.is_sign_negative() { -magnitude - 1 } else { magnitude }
    };
    (place(a) - place(b)).unsigned_abs() as f64
}

/// What two executors say to the same kernels with exact stand-ins for their approximate instructions: nothing but those may make a
/// difference.
///
/// # Errors
/// What either executor ran into.
pub fn traced(first: &Runner, second: &Runner, cases: &[Case]) -> Result<String, Error> {
    let missing = std::cell::Cell::new(false);
    let stand_in = |ptx: &str| {
        stand_ins::replaced(ptx).unwrap_or_else(|| {
            missing.set(true);
            ptx.to_owned()
        })
    };
    let (elements, others) = differing(first, second, cases, stand_in)?;
    if missing.get() {
        return Ok(
            "differences are not traced: the kernels have approximate instructions without an exact stand-in".into()
        );
    }
    let with = "with exact stand-ins for the approximate instructions";
    if others.is_empty() {
        return Ok(format!(
            "{with} all {elements} elements agree bit for bit: no other instruction makes a difference"
        ));
    }
    let (_, left) = differing(first, second, cases, |ptx| stand_ins::uncontracted(&stand_in(ptx)))?;
    let list = |lines: &[String]| lines.join("\n  ");
    Ok(if left.is_empty() {
        format!(
            "{with} still differ:\n  {}\nwith contraction forbidden as well all {elements} elements agree bit for bit: those are products \
             and sums that a compiler fused",
            list(&others)
        )
    } else {
        format!("{with}, and without contraction, still differ:\n  {}", list(&left))
    })
}

/// How many elements there are where both run edited programs, and the outputs that are not the same.
fn differing(
    first: &Runner,
    second: &Runner,
    cases: &[Case],
    edit: impl Fn(&str) -> String,
) -> Result<(u64, Vec<String>), Error> {
    let agreements = compare(&mut first.edited(&edit)?, &mut second.edited(&edit)?, cases)?;
    let elements = agreements.values().map(|agreement| agreement.elements).sum();
    let others = agreements.iter().filter(|(_, agreement)| agreement.same < agreement.elements);
    let line = |((kernel, output), agreement): (&(&str, &str), &Agreement)| {
        let count = agreement.elements - agreement.same;
        format!("{kernel} {output}: {count} differ by up to {} ulp, at {}", agreement.apart, agreement.at)
    };
    Ok((elements, others.map(line).collect()))
}

/// The table of kernels and outputs.
pub fn table(agreements: &BTreeMap<(&'static str, &'static str), Agreement>) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(["kernel", "output", "elements", "bit for bit", "furthest apart, ulp", "at"]);
    for ((kernel, output), agreement) in agreements {
        table.add_row([
            (*kernel).to_owned(),
            (*output).to_owned(),
            agreement.elements.to_string(),
            format!("{:.4} %", 100.0 * agreement.same as f64 / agreement.elements as f64),
            agreement.apart.to_string(),
            agreement.at.clone(),
        ]);
    }
    for column in 2..5 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}
