//! What the suite itself costs: drawing a case, the oracle with its bounds, the comparison, for every kernel; and the delta rule's
//! oracle with and without bounds against head size, heads and tokens. `cargo bench -p gdn-bench --bench suite`; with
//! `-- --save-baseline NAME` and `-- --baseline NAME` criterion compares two versions.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

use comfy_table::{CellAlignment, Table};
use criterion::{BenchmarkId, Criterion};
use gdn_conformance::case::Case;
use gdn_conformance::draw::Draws;
use gdn_conformance::report::STYLE;
use gdn_conformance::runner::Runner;
use gdn_conformance::{cases, suites, verdict};
use gdn_reference::ops::delta_rule;
use gdn_reference::{Bounded, Budget, HeadMap, Reduction, Scalar};
use ndarray::{Array1, Array2, Array3};

/// What is measured against one size, the others being those of a Qwen3-Next layer: sizes, and the exponent that the rule's cost has.
const SERIES: [(&str, [usize; 4], f64); 3] =
    [("D", [32, 64, 128, 256], 2.0), ("HV", [6, 12, 24, 48], 1.0), ("tokens", [1, 4, 16, 64], 1.0)];

/// Milliseconds that a step of the layer may take: D = 128, HV = 48, on two cores.
const TARGETS: [(&str, f64); 2] = [("f64", 1.6), ("bounded", 5.0)];

/// The largest case of a kernel's profile whose values are finite.
fn largest(suite: &'static dyn gdn_conformance::family::Suite) -> Option<Case> {
    let elements = |case: &Case| {
        let buffers = case.contract.buffers();
        buffers.map(|(_, spec)| spec.extent.elements(&case.shape)).sum::<usize>()
    };
    cases::profile(suite, 81).into_iter().filter(|case| !case.regime.is_nonfinite()).max_by_key(elements)
}

/// Drawing, oracle and comparison of each kernel.
fn kernels(criterion: &mut Criterion) {
    for suite in suites::all() {
        let Some(case) = largest(suite) else { continue };
        let kernel = case.contract.kernel;
        let inputs = suite.draw(&case, &Draws::new(&case, 0));
        let outcome = Runner::Model.run(suite, &case.shape, &inputs, 1).expect("a case of the profile can be run");
        let checks = suite.expect(&case.shape, &inputs, &outcome.outputs).expect("its inputs fit its shape");
        criterion.bench_function(&format!("draw/{kernel}"), |bencher| {
            bencher.iter(|| suite.draw(black_box(&case), &Draws::new(&case, 0)));
        });
        criterion.bench_function(&format!("oracle/{kernel}"), |bencher| {
            bencher.iter(|| suite.expect(black_box(&case.shape), &inputs, &outcome.outputs));
        });
        criterion.bench_function(&format!("compare/{kernel}"), |bencher| {
            bencher.iter(|| {
                for check in &checks {
                    black_box(verdict::judge(check, outcome.outputs.get(check.output)));
                }
            });
        });
    }
}

/// One layer's delta rule over some tokens.
fn steps<T: Scalar>(criterion: &mut Criterion, scalar: &str, series: &str, size: usize) {
    let [mut d, mut hv, mut tokens] = [128, 48, 1];
    match series {
        "D" => d = size,
        "HV" => hv = size,
        "tokens" => tokens = size,
        _ => {}
    }
    // Key heads a third of the value heads, as in the models, and at least one where that is no whole number.
    let hk = if hv % 3 == 0 { hv / 3 } else { 1 };
    // Values of 23 bits, all different, so that nothing is exact.
    let number = |i: usize| T::exact(((i * 2_654_435_761) % 16_777_216) as f64 / 16_777_216.0 - 0.5);
    let small = |i: usize| T::exact(f64::from((number(i).value() / (d as f64).sqrt()) as f32));
    let matrix = |rows: usize| Array2::from_shape_fn((rows, d), |(i, j)| small(i * d + j));
    let (q, k, v) = (matrix(hk), matrix(hk), matrix(hv));
    let (beta, decay) = (
        Array1::from_elem(hv, T::exact(f64::from(0.4321_f32))),
        Array1::from_elem(hv, T::exact(f64::from(0.9037_f32))),
    );
    let start = Array3::from_shape_fn((hv, d, d), |(h, i, j)| number((h * d + i) * d + j));
    let budget = Budget::CUDA.with_reduction(Reduction::Warp);
    let x = delta_rule::Inputs { q: q.view(), k: k.view(), v: v.view(), beta: beta.view(), decay: decay.view() };
    let mut o: Array2<T> = Array2::from_elem((hv, d), T::exact(0.0));
    let id = BenchmarkId::new(format!("{scalar}/{series}"), size);
    criterion.bench_with_input(id, &size, |bencher, _| {
        let mut run = |state: &mut Array3<T>| {
            for _ in 0..tokens {
                let done = delta_rule::step(&x, state.view_mut(), o.view_mut(), HeadMap::Tile, &budget);
                done.expect("the arrays fit together");
            }
        };
        // Token after token on the same state, as a chain runs it: a fresh copy would time the memory that it comes from.
        let mut state = start.clone();
        bencher.iter(|| run(&mut state));
    });
}

/// Nanoseconds of a benchmark, as criterion last wrote them to its folder: its name, with `_` for the first slash. Nothing where it
/// never ran.
fn median(folder: &Path, name: &str) -> Option<f64> {
    let path = folder.join(name).join("new/estimates.json");
    let value: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()?;
    value.get("median")?.get("point_estimate")?.as_f64()
}

/// The slope of log time over log size, by least squares.
fn exponent(sizes: &[usize], times: &[f64]) -> f64 {
    let points: Vec<(f64, f64)> = sizes.iter().zip(times).map(|(&x, &y)| ((x as f64).ln(), y.ln())).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let (above, below) =
        points.iter().fold((0.0, 0.0), |(a, b), p| (a + (p.0 - x) * (p.1 - y), b + (p.0 - x) * (p.0 - x)));
    above / below
}

/// Targets and exponents, from what criterion wrote.
fn tables(folder: &Path) -> String {
    let ms = |ns: f64| format!("{:.2}", ns / 1e6);
    let mut targets = Table::new();
    targets.load_style(STYLE).set_header(["delta rule, D 128, HV 48", "median, ms", "target, ms", ""]);
    let mut exponents = Table::new();
    exponents.load_style(STYLE).set_header(["cost against", "sizes", "medians, ms", "exponent", "of the rule"]);
    for (scalar, target) in TARGETS {
        if let Some(ns) = median(folder, &format!("{scalar}_tokens/1")) {
            let verdict = if ns / 1e6 < target { "met" } else { "MISSED" };
            targets.add_row([scalar.to_owned(), ms(ns), format!("{target}"), verdict.to_owned()]);
        }
        for (series, sizes, of_rule) in SERIES {
            let times: Option<Vec<f64>> =
                sizes.iter().map(|size| median(folder, &format!("{scalar}_{series}/{size}"))).collect();
            let Some(times) = times else { continue };
            exponents.add_row([
                format!("{series}, {scalar}"),
                sizes.map(|size| size.to_string()).join(" "),
                times.iter().map(|&ns| ms(ns)).collect::<Vec<_>>().join(" "),
                format!("{:.2}", exponent(&sizes, &times)),
                format!("{of_rule}"),
            ]);
        }
    }
    let mut costs = Table::new();
    costs.load_style(STYLE).set_header(["kernel", "its largest case", "draw, ms", "oracle, ms", "compare, ms"]);
    for suite in suites::all() {
        let kernel = suite.contract().kernel;
        let of = |what: &str| median(folder, &format!("{what}_{kernel}")).map_or_else(String::new, ms);
        let shape = largest(suite).map_or_else(String::new, |case| case.to_string());
        costs.add_row([kernel.to_owned(), shape, of("draw"), of("oracle"), of("compare")]);
    }
    for (table, columns) in [(&mut targets, 1..3), (&mut exponents, 3..5), (&mut costs, 2..5)] {
        for column in columns {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
    format!("{targets}\n\n{exponents}\n\n{costs}")
}

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(500))
        .configure_from_args();
    for (series, sizes, _) in SERIES {
        for size in sizes {
            steps::<f64>(&mut criterion, "f64", series, size);
            steps::<Bounded>(&mut criterion, "bounded", series, size);
        }
    }
    kernels(&mut criterion);
    criterion.final_summary();
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"), PathBuf::from);
    println!("{}", tables(&target.join("criterion")));
}
