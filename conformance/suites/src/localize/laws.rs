//! What became of the failing values: the one law that explains them, or their errors' sizes where none does.

use gdn_gpu::run::{POISON, Tensor};

use super::{Failing, Failures, Scene, ratios, shuffles};

/// A law in words, and the part of the failing elements that it explains.
pub(super) struct Law {
    pub(super) share: f64,
    /// Whether it is worth a word where it explains some of them only: a NaN is, a ratio that some happen to have is not.
    pub(super) partial: bool,
    pub(super) words: String,
}

impl Law {
    /// The law that holds for those elements of a list that pass a test.
    fn holds(elements: &[Failing], words: impl Into<String>, test: impl Fn(&Failing) -> bool) -> Self {
        let count = elements.iter().filter(|element| test(element)).count();
        Self { share: count as f64 / elements.len().max(1) as f64, partial: false, words: words.into() }
    }

    /// The same law, worth a word where it explains some of them only.
    fn even_of_some(self) -> Self {
        Self { partial: true, ..self }
    }
}

/// The part of the failing elements that a law must explain to be named alone.
const EXPLAINS: f64 = 0.9;
/// The part from which on a law of some is worth a mention.
const MENTION: f64 = 0.02;

/// What became of the failing values, in words, and whether one law explains them.
pub(super) fn describe(scene: &Scene<'_>, output: &str, failures: &Failures<'_>) -> (String, bool) {
    let elements = &failures.sample;
    let mut laws = exact(scene, output, failures);
    laws.extend(shuffles::laws(failures));
    laws.extend(ratios::laws(scene, failures));
    laws.extend(precision(elements));
    // The first of those that explain most.
    let best = laws.iter().reduce(|best, law| if law.share > best.share { law } else { best });
    if let Some(law) = best.filter(|law| law.share >= EXPLAINS) {
        let most = if law.share < 1.0 { format!(" ({:.0}% of them)", 100.0 * law.share) } else { String::new() };
        return (format!("{}{most}", law.words), true);
    }
    let some: Vec<String> = laws
        .iter()
        .filter(|law| law.partial && law.share >= MENTION && !failures.holds_codes())
        .map(|law| format!("{} in {:.0}% of them", law.words, 100.0 * law.share))
        .collect();
    let grown = growth(failures);
    (some.into_iter().chain(sizes(failures)).chain(grown).collect::<Vec<_>>().join("; "), false)
}

/// Laws that hold bit for bit.
fn exact(scene: &Scene<'_>, output: &str, failures: &Failures<'_>) -> Vec<Law> {
    let elements = &failures.sample;
    let mut laws = vec![
        unwritten(scene, output, elements).even_of_some(),
        Law::holds(elements, "NaN", |x| x.got.is_nan() && !is_poison(x)).even_of_some(),
        Law::holds(elements, "infinite", |x| x.got.is_infinite()).even_of_some(),
        Law::holds(elements, "zero where the oracle is not", |x| x.got == 0.0).even_of_some(),
    ];
    // A constant input says nothing by being found again.
    let varied = |data: &[f32]| elements.iter().any(|x| data[x.index].to_bits() != data[elements[0].index].to_bits());
    for (name, tensor) in scene.inputs {
        let Some(data) = tensor.f32().filter(|data| data.len() == failures.values.len()) else { continue };
        if *name != output && !varied(data) {
            continue;
        }
        let words =
            if *name == output { "as it came in, never updated".to_owned() } else { format!("a copy of {name}") };
        laws.push(Law::holds(elements, words, |x| x.got.to_bits() == data[x.index].to_bits()));
    }
    laws.push(Law::holds(elements, "the sign is flipped", |x| {
        (f64::from(x.got) + x.want).abs() <= 2.0 * x.slack && x.want.abs() > 4.0 * x.slack
    }));
    laws
}

/// Elements that still hold what the output was filled with before the launch.
fn unwritten(scene: &Scene<'_>, output: &str, elements: &[Failing]) -> Law {
    let words = "never written: the fill pattern is still there";
    match scene.outputs.get(output) {
        Some(Tensor::I8(data)) => Law::holds(elements, words, |x| data[x.index] == POISON[0][x.index % 4] as i8),
        _ => Law::holds(elements, words, is_poison),
    }
}

fn is_poison(x: &Failing) -> bool {
    x.got.to_bits() == u32::from_le_bytes(POISON[0])
}

/// Values whose low bits are all zero went through a shorter format.
fn precision(elements: &[Failing]) -> Vec<Law> {
    let shorter = |words: &str, bits: u32| {
        Law::holds(elements, format!("every value went through {words}: its low {bits} bits are zero"), move |x| {
            x.got.is_finite() && x.got != 0.0 && x.got.to_bits().trailing_zeros() >= bits
        })
    };
    // Integers, codes and small fractions have short mantissas anyway.
    let short = elements.iter().filter(|x| (x.want as f32).to_bits().trailing_zeros() >= 13).count();
    if 2 * short > elements.len() || elements.len() < 4 {
        return Vec::new();
    }
    vec![shorter("bf16", 16), shorter("f16 or tf32", 13)]
}

/// How large the errors are, relative to the oracle; in codes where the output holds codes. Zeros and what is not finite have been
/// counted before.
fn sizes(failures: &Failures<'_>) -> Option<String> {
    let elements = &failures.failing;
    if failures.holds_codes() {
        let off = |x: &Failing| (f64::from(x.got) - x.want).round();
        let (up, down) =
            (elements.iter().filter(|x| off(x) > 0.0).count(), elements.iter().filter(|x| off(x) < 0.0).count());
        let most = elements.iter().map(|x| off(x).abs()).fold(0.0, f64::max);
        let by = if most == 1.0 { "by 1".to_owned() } else { format!("by at most {most}") };
        return Some(format!("codes off {by}, {up} above and {down} below"));
    }
    let mut relative: Vec<f64> = elements
        .iter()
        .filter(|x| x.got != 0.0)
        .map(|x| ((f64::from(x.got) - x.want) / x.want).abs())
        .filter(|error| error.is_finite())
        .collect();
    relative.sort_by(f64::total_cmp);
    match relative.as_slice() {
        [] => None,
        [one] => Some(format!("relative error {one:.1e}")),
        [least, .., most] => {
            let middle = relative[relative.len() / 2];
            Some(format!("no constant ratio or offset: relative errors {least:.1e} to {most:.1e}, median {middle:.1e}"))
        }
    }
}

/// Places along an axis from which on a growth can be told from noise.
const STEPS: usize = 8;
/// Most bins of an axis.
const BINS: usize = 16;
/// How many times the error must grow from the first quarter of an axis to the last.
const GROWTH: f64 = 4.0;

/// Whether the error, relative to the values around it, grows or falls along an axis.
fn growth(failures: &Failures<'_>) -> Option<String> {
    let layout = &failures.layout;
    (0..layout.axes.len()).find_map(|axis| {
        // Neighbours share a bin, so that the values' own scatter averages out.
        let size = layout.axes[axis].size;
        let bins = size.min(BINS);
        let mut sums = vec![(0.0, 0.0); bins];
        for x in failures.sample.iter().filter(|x| layout.range().contains(&x.index)) {
            let error = f64::from(x.got) - x.want;
            if error.is_finite() {
                let (errors, wants) = &mut sums[layout.coordinate(x.index, axis) * bins / size];
                *errors += error * error;
                *wants += x.want * x.want;
            }
        }
        let relative: Vec<f64> =
            sums.iter().filter(|(_, wants)| *wants > 0.0).map(|(errors, wants)| (errors / wants).sqrt()).collect();
        let quarter = relative.len() / 4;
        if relative.len() < STEPS || rank_correlation(&relative).abs() < 0.85 {
            return None;
        }
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        let ratio = mean(&relative[relative.len() - quarter..]) / mean(&relative[..quarter]);
        let name = layout.axes[axis].name;
        let words = |verb: &str, times: f64, to: &str, from: &str| {
            format!("the relative error {verb} with the {name}: {times:.1} times larger over the {to} quarter than over the {from}")
        };
        if ratio >= GROWTH {
            Some(words("grows", ratio, "last", "first"))
        } else if ratio * GROWTH <= 1.0 && ratio > 0.0 {
            Some(words("falls", 1.0 / ratio, "first", "last"))
        } else {
            None
        }
    })
}

/// Spearman's correlation of a series with its index.
fn rank_correlation(series: &[f64]) -> f64 {
    let mut order: Vec<usize> = (0..series.len()).collect();
    order.sort_by(|&a, &b| series[a].total_cmp(&series[b]));
    let n = series.len() as f64;
    let squares: f64 = order.iter().enumerate().map(|(rank, &index)| (rank as f64 - index as f64).powi(2)).sum();
    1.0 - 6.0 * squares / (n * (n * n - 1.0))
}
