//! Constant ratios and offsets, for the whole output or in each of its heads, and which known number or input they are.

use std::f64::consts::{LN_2, LOG2_E, SQRT_2};
use std::fmt::Write as _;

use gdn_gpu::contract::{Dim, Shape};

use super::{Failing, Failures, Scene};
use crate::localize::laws::Law;

/// An element whose value is below this many times its bound says nothing of a ratio.
const INFORMATIVE: f64 = 8.0;
/// How many groups are printed.
const PRINTED: usize = 3;

/// An ulp of what the kernel answered, which its last operation rounded.
fn ulp(x: &Failing) -> f64 {
    f64::from(f32::EPSILON) * f64::from(x.got).abs()
}

/// Elements that say something of a ratio.
fn informative(elements: &[Failing]) -> Vec<Failing> {
    let says = |x: &&Failing| x.got.is_finite() && x.want.is_finite() && x.want.abs() > INFORMATIVE * x.slack;
    elements.iter().filter(says).copied().collect()
}

/// The ratio that the elements agree on best, how exactly it is known, and the part of them that it explains.
fn fit(elements: &[Failing]) -> Option<(f64, f64, f64)> {
    let (mut numerator, mut denominator) = (0.0, 0.0);
    for x in elements {
        let weight = (x.want / x.slack).abs().min(1e12) / x.want.abs();
        numerator += (weight * x.want) * (weight * f64::from(x.got));
        denominator += (weight * x.want).powi(2);
    }
    let ratio = numerator / denominator;
    let known = elements.iter().map(|x| x.slack / x.want.abs()).fold(f64::INFINITY, f64::min);
    let explained = |x: &&Failing| (f64::from(x.got) - ratio * x.want).abs() <= (1.0 + ratio.abs()) * x.slack + ulp(x);
    let share = elements.iter().filter(explained).count() as f64 / elements.len() as f64;
    (elements.len() > 1 && ratio.is_finite()).then_some((ratio, known, share))
}

/// Constant ratio, constant ratio in each place of an axis, constant offset.
pub(super) fn laws(scene: &Scene<'_>, failures: &Failures<'_>) -> Vec<Law> {
    let elements = &failures.sample;
    let says = informative(elements);
    // Elements that say nothing do not count; those that are not finite are not explained.
    let finite = elements.iter().filter(|x| x.got.is_finite()).count() as f64 / elements.len() as f64;
    let mut laws = Vec::new();
    if let Some((ratio, known, share)) = fit(&says).filter(|_| says.len() * 2 > elements.len()) {
        let share = share * finite;
        let hint = constant(ratio, known, scene.shape).map_or_else(String::new, |name| format!(": {name}"));
        laws.push(Law { share, partial: false, words: format!("got ÷ oracle is {} throughout{hint}", digits(ratio)) });
        if share < 1.0 {
            laws.extend((0..failures.layout.axes.len()).filter_map(|axis| grouped(scene, failures, &says, axis)));
        }
    }
    laws.extend(offset(failures));
    laws
}

/// A ratio of each place along an axis.
fn grouped(scene: &Scene<'_>, failures: &Failures<'_>, says: &[Failing], axis: usize) -> Option<Law> {
    let layout = &failures.layout;
    let name = layout.axes[axis].name;
    let mut groups: Vec<Vec<Failing>> = vec![Vec::new(); layout.axes[axis].size];
    for x in says.iter().filter(|x| layout.range().contains(&x.index)) {
        groups[layout.coordinate(x.index, axis)].push(*x);
    }
    let mut fits = Vec::new();
    let (mut explained, mut total) = (0.0, 0.0);
    for (place, group) in groups.iter().enumerate().filter(|(_, group)| !group.is_empty()) {
        // A ratio of one element is no law.
        let (ratio, known, share) = fit(group)?;
        explained += share * group.len() as f64;
        total += group.len() as f64;
        fits.push((place, ratio, known));
    }
    if fits.len() < 2 || total < 3.0 * fits.len() as f64 {
        return None;
    }
    let mut words = format!("got ÷ oracle is constant in each {name} (");
    for (i, (place, ratio, _)) in fits.iter().take(PRINTED).enumerate() {
        let _ = write!(words, "{}{}: {}", if i > 0 { ", " } else { "" }, place, digits(*ratio));
    }
    words.push_str(if fits.len() > PRINTED { ", …)" } else { ")" });
    if let Some(input) = input_like(scene, &fits, layout.axes[axis].size) {
        let _ = write!(words, ": {input}");
    }
    Some(Law { share: explained / total, partial: false, words })
}

/// The input, or a function of it, that the ratios of an axis's places are.
fn input_like(scene: &Scene<'_>, fits: &[(usize, f64, f64)], size: usize) -> Option<String> {
    type Function = fn(f64) -> f64;
    let functions: [(&str, &str, Function); 5] = [
        ("", "", |x| x),
        ("1/", "", |x| 1.0 / x),
        ("", "²", |x| x * x),
        ("1 − ", "", |x| 1.0 - x),
        ("exp(", ")", f64::exp),
    ];
    for (name, tensor) in scene.inputs {
        let Some(data) = tensor.f32().filter(|data| data.len() == size) else { continue };
        for (before, after, function) in functions {
            let same = |(place, ratio, known): &(usize, f64, f64)| {
                (function(f64::from(data[*place])) / ratio - 1.0).abs() <= 1e-6_f64.max(4.0 * known)
            };
            if fits.iter().all(same) {
                return Some(format!("{before}{name}{after}"));
            }
        }
    }
    None
}

/// A constant difference.
fn offset(failures: &Failures<'_>) -> Option<Law> {
    let elements: Vec<&Failing> = failures.sample.iter().filter(|x| x.got.is_finite() && x.want.is_finite()).collect();
    let finest = elements.iter().map(|x| x.slack).min_by(f64::total_cmp)?;
    let mut differences: Vec<f64> =
        elements.iter().filter(|x| x.slack <= 4.0 * finest).map(|x| f64::from(x.got) - x.want).collect();
    differences.sort_by(f64::total_cmp);
    let offset = *differences.get(differences.len() / 2)?;
    let explained = |x: &&&Failing| {
        (f64::from(x.got) - x.want - offset).abs() <= 2.0 * x.slack + ulp(x) && offset.abs() > INFORMATIVE * x.slack
    };
    let share = elements.iter().filter(explained).count() as f64 / failures.sample.len() as f64;
    let words = if failures.holds_codes() {
        format!("got − oracle is {offset:+} throughout")
    } else {
        format!("got − oracle is {} throughout", digits(offset))
    };
    (failures.sample.len() > 1).then_some(Law { share, partial: false, words })
}

/// Six significant digits; near one, the distance from it.
fn digits(x: f64) -> String {
    let away = x - 1.0;
    if away != 0.0 && away.abs() < 1e-3 {
        let sign = if away < 0.0 { '−' } else { '+' };
        return format!("1 {sign} {:.3e}", away.abs());
    }
    if x != 0.0 && !(1e-4..1e6).contains(&x.abs()) {
        return format!("{x:.5e}");
    }
    let before = x.abs().max(1e-30).log10().floor() as i32;
    let text = format!("{x:.*}", usize::try_from(5 - before).unwrap_or(0));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The well-known number that a ratio is.
fn constant(ratio: f64, known: f64, shape: &Shape) -> Option<String> {
    let mut names: Vec<(String, f64)> = [
        ("√2", SQRT_2),
        ("1/√2", 1.0 / SQRT_2),
        ("1/127", 1.0 / 127.0),
        ("127/128", 127.0 / 128.0),
        ("128/127", 128.0 / 127.0),
        ("log₂ e: exp where exp2 is meant, or the reverse", LOG2_E),
        ("ln 2: exp where exp2 is meant, or the reverse", LN_2),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    for (dim, value) in shape.sizes().filter(|(_, value)| *value > 4) {
        let size = value as f64;
        names.extend([(dim.to_string(), size), (format!("1/{dim}"), 1.0 / size)]);
        // Roots are taken of head sizes alone.
        if matches!(dim, Dim::D | Dim::Hd) {
            names.extend([(format!("√{dim}"), size.sqrt()), (format!("1/√{dim}"), 1.0 / size.sqrt())]);
        }
    }
    let tolerance = 1e-6_f64.max(4.0 * known);
    names
        .into_iter()
        .find(|(_, value)| (ratio.abs() / value - 1.0).abs() <= tolerance)
        .map(|(name, _)| if ratio < 0.0 { format!("−{name}") } else { name })
}
