//! Where the failing elements lie: the smallest set with a name that holds all of them.

use gdn_gpu::run::Tensors;

use super::{Axis, Failures};
use crate::verdict::Want;

/// A set of places along an axis: its words, nothing for all of them, and how many places it has.
struct Named {
    words: Option<String>,
    size: usize,
}

/// The part of a named set that must fail for the name to fit where no name fits exactly.
const FITS: f64 = 0.5;
/// The part of an axis from which on it is all of it.
const ALL: f64 = 0.97;

/// The failing elements' place in words, and how many there are.
pub(super) fn describe(inputs: &Tensors, failures: &Failures<'_>) -> String {
    let layout = &failures.layout;
    let (range, count) = (layout.range(), failures.failing.len());
    let indices: Vec<usize> =
        failures.failing.iter().filter(|x| range.contains(&x.index)).map(|x| x.index - layout.offset).collect();
    let outside = count - indices.len();
    let also = if outside > 0 { format!("{outside} outside of what the kernel may write") } else { String::new() };
    let text = match indices.as_slice() {
        [] => return also,
        [index] => {
            let place = layout.place(index + layout.offset).map_or_else(String::new, |place| format!(": {place}"));
            format!("one element of {}{place}", failures.values.len())
        }
        _ => {
            let place = place(failures, &indices);
            let condition = || condition(inputs, failures).filter(|_| !place.fits);
            condition().map_or_else(
                || place.describe(layout.elements()),
                |condition| format!("{} of {} elements, {condition}", indices.len(), layout.elements()),
            )
        }
    };
    if outside > 0 { format!("{text}, and {also}") } else { text }
}

/// A set of elements in words.
struct Place {
    /// Nothing for all of them.
    words: Option<String>,
    /// Whether most elements there fail.
    fits: bool,
    /// Elements there that could fail.
    covered: usize,
    /// Elements there that do.
    count: usize,
}

impl Place {
    fn describe(&self, all: usize) -> String {
        let Self { words, fits, covered, count } = self;
        match words {
            None if !fits => format!("{count} of {all} elements, scattered"),
            None if count == covered => format!("every element ({count})"),
            None => format!("most elements ({count} of {covered})"),
            Some(words) if !fits => format!("{count} of {all} elements, scattered over {words}"),
            Some(words) if count < covered => format!("{words} ({count} of {covered} elements there)"),
            Some(words) => {
                format!("{words} (all {count} elements there, and none of the other {})", all - count)
            }
        }
    }
}

/// Several elements, counted from the layout's start: by their axes, or by their flat index where that fits better.
fn place(failures: &Failures<'_>, indices: &[usize]) -> Place {
    let layout = &failures.layout;
    let mut parts = Vec::new();
    let mut covered = 1;
    for (axis, &description) in layout.axes.iter().enumerate() {
        let mut hit = vec![false; description.size];
        for &index in indices {
            hit[layout.coordinate(index + layout.offset, axis)] = true;
        }
        let found = name(description, &hit);
        parts.extend(found.words);
        covered *= found.size;
    }
    let (count, all) = (indices.len(), layout.elements());
    if covered == all {
        // Elements that the oracle leaves open cannot fail: they are no counterexample.
        covered -= failures.wants[layout.range()].iter().filter(|want| want.is_open()).count();
    }
    let fits = |size: usize| count as f64 >= FITS * size as f64;
    if layout.axes.len() > 1 && !fits(covered) {
        if let Some(words) = diagonal(failures, indices) {
            return Place { words: Some(words), fits: true, covered: count, count };
        }
        let mut hit = vec![false; all];
        for &index in indices {
            hit[index] = true;
        }
        let flat = name(Axis { name: "flat index", size: all }, &hit);
        if flat.words.is_some() && fits(flat.size) {
            return Place { words: flat.words, fits: true, covered: flat.size, count };
        }
    }
    Place { words: (!parts.is_empty()).then(|| parts.join(", ")), fits: fits(covered), covered, count }
}

/// An error is large from this part of the largest on.
const LARGE: f64 = 0.2;
/// The part of the squared errors that the places of the large errors must hold to be named.
const WEIGHT: f64 = 0.8;

/// Where the large errors lie, when that is a fraction of where errors lie: one fault often spreads over what it feeds.
pub(super) fn heaviest(failures: &Failures<'_>) -> Option<String> {
    let range = failures.layout.range();
    let errors: Vec<(usize, f64)> = failures
        .failing
        .iter()
        .filter(|x| range.contains(&x.index))
        .map(|x| (x.index - range.start, (f64::from(x.got) - x.want).abs()))
        .filter(|(_, error)| error.is_finite())
        .collect();
    let most = errors.iter().map(|(_, error)| *error).fold(0.0, f64::max);
    let total: f64 = errors.iter().map(|(_, error)| error * error).sum();
    let large: Vec<(usize, f64)> = errors.into_iter().filter(|(_, error)| *error >= LARGE * most).collect();
    let weight: f64 = large.iter().map(|(_, error)| error * error).sum();
    if large.len() < 4 || weight < WEIGHT * total {
        return None;
    }
    let indices: Vec<usize> = large.iter().map(|(index, _)| *index).collect();
    let place = place(failures, &indices);
    let narrow = place.fits && place.covered * 4 <= failures.failing.len();
    place.words.filter(|_| narrow).map(|words| format!("the large errors lie in {words}"))
}

/// What of an input is compared with a threshold.
type Key = fn(f32) -> f32;

/// An input whose values tell the failing elements from the others: `where |g| ≥ 20`.
fn condition(inputs: &Tensors, failures: &Failures<'_>) -> Option<String> {
    let layout = &failures.layout;
    let mut fails = vec![false; failures.values.len()];
    for x in &failures.failing {
        fails[x.index] = true;
    }
    let keys: [(&str, &str, Key); 4] =
        [("", "≥", |x| x), ("", "≤", |x| -x), ("|", "≥", f32::abs), ("|", "≤", |x: f32| -x.abs())];
    for (name, tensor) in inputs {
        let Some(data) = tensor.f32() else { continue };
        // Along which axis the input lies; along all of them where it has an element for each.
        let whole = data.len() == failures.values.len();
        let axis = (0..layout.axes.len()).find(|&axis| layout.axes[axis].size == data.len());
        if !whole && axis.is_none() {
            continue;
        }
        let at = |index: usize| match axis {
            Some(axis) if !whole => data[layout.coordinate(index, axis)],
            _ => data[index],
        };
        for (bar, relation, key) in keys {
            let least = failures.failing.iter().map(|x| key(at(x.index))).fold(f32::INFINITY, f32::min);
            let inside = layout.range().filter(|&index| key(at(index)) >= least).count();
            let passing = layout.range().len() - failures.failing.len();
            let wrong = inside.saturating_sub(failures.failing.len());
            if passing >= 3
                && failures.failing.len() >= 3
                && wrong * 10 <= failures.failing.len()
                && wrong * 4 <= passing
            {
                let edge = if relation == "≥" { least } else { -least };
                let exactly = if wrong == 0 { "exactly where" } else { "where" };
                return Some(format!("{exactly} {bar}{name}{bar} {relation} {edge:e}"));
            }
        }
    }
    None
}

/// The diagonal of the last two axes.
fn diagonal(failures: &Failures<'_>, indices: &[usize]) -> Option<String> {
    let layout = &failures.layout;
    let [.., rows, columns] = layout.axes.as_slice() else { return None };
    let last = layout.axes.len() - 1;
    let on = |index: &usize| {
        let index = index + layout.offset;
        layout.coordinate(index, last) == layout.coordinate(index, last - 1)
    };
    (rows.size == columns.size && rows.size > 2 && indices.iter().all(on))
        .then(|| format!("the diagonal, {} = {}", rows.name, columns.name))
}

/// The best name of a set of places along an axis.
fn name(axis: Axis, hit: &[bool]) -> Named {
    let places: Vec<usize> = (0..hit.len()).filter(|&place| hit[place]).collect();
    let (Some(&first), Some(&last)) = (places.first(), places.last()) else { return Named { words: None, size: 0 } };
    let (size, count) = (axis.size, places.len());
    if count as f64 >= ALL * size as f64 {
        return Named { words: None, size };
    }
    let candidates = [
        (count == 1).then(|| Named { words: Some(single(axis, first)), size: 1 }),
        Some(Named { words: Some(from(axis, first)), size: size - first }),
        Some(Named { words: Some(format!("{} 0 to {last}", plural(axis.name))), size: last + 1 }),
        (count + 1 == size && size <= 64)
            .then(|| hit.iter().position(|hit| !hit))
            .flatten()
            .map(|missing| Named { words: Some(format!("every {} but {missing}", axis.name)), size: count }),
        residue(axis, &places),
        lanes(axis, &places),
        Some(Named { words: Some(format!("{} {first} to {last}", plural(axis.name))), size: last + 1 - first }),
        (count <= 4).then(|| Named { words: Some(list(axis, &places)), size: count }),
        Some(Named { words: None, size }),
    ];
    let mut candidates: Vec<Named> = candidates.into_iter().flatten().collect();
    if let Some(exact) = candidates.iter().position(|named| named.size == count) {
        return candidates.swap_remove(exact);
    }
    // The closest; of two that are as close, the later, which is the simpler.
    let best = candidates.into_iter().reduce(|best, named| if named.size <= best.size { named } else { best });
    match best {
        Some(best) if count as f64 >= FITS * best.size as f64 => best,
        // Scattered: no name, and too many places for one.
        _ => Named { words: None, size },
    }
}

fn plural(name: &str) -> String {
    if name == "flat index" { "flat indices".into() } else { format!("{name}s") }
}

fn single(axis: Axis, place: usize) -> String {
    let Axis { name, size } = axis;
    if place > 0 && place + 1 == size { format!("the last {name} ({place})") } else { format!("{name} {place}") }
}

fn from(axis: Axis, first: usize) -> String {
    let whole = axis.size / 32 * 32;
    let edge = if first > 0 && first == whole && whole != axis.size {
        ", the tail behind the last whole warp"
    } else if first > 0 && first.is_multiple_of(256) {
        ", from a block's edge"
    } else if first > 0 && first.is_multiple_of(32) {
        ", from a warp's edge"
    } else {
        ""
    };
    format!("{} {first} on{edge}", plural(axis.name))
}

/// One residue: odd heads, every fourth row, one lane.
fn residue(axis: Axis, places: &[usize]) -> Option<Named> {
    let of = |modulus: usize| {
        let rest = places[0] % modulus;
        places.iter().all(|place| place % modulus == rest).then_some((modulus, rest))
    };
    // The largest modulus is the smallest set.
    let (modulus, rest) = [32, 16, 8, 5, 4, 3, 2].into_iter().filter(|&modulus| modulus < axis.size).find_map(of)?;
    let size = (axis.size - rest).div_ceil(modulus);
    if size < 3 && !matches!(modulus, 2 | 32) {
        return None;
    }
    let plural = plural(axis.name);
    let words = match (modulus, rest) {
        (2, 0) => format!("even {plural}"),
        (2, _) => format!("odd {plural}"),
        (32, _) => format!("{plural} {rest}, {}, … (lane {rest} of each warp)", rest + 32),
        _ => format!("{plural} {rest}, {}, … ({rest} mod {modulus})", rest + modulus),
    };
    (places.len() > 1).then_some(Named { words: Some(words), size })
}

/// A run of lanes, the same in every warp.
fn lanes(axis: Axis, places: &[usize]) -> Option<Named> {
    if axis.size <= 32 {
        return None;
    }
    let (least, most) = (places.iter().map(|place| place % 32).min()?, places.iter().map(|place| place % 32).max()?);
    if most - least == 31 || most == least {
        return None;
    }
    let size = (0..axis.size).filter(|place| (least..=most).contains(&(place % 32))).count();
    Some(Named { words: Some(format!("lanes {least} to {most} of each warp of {}", plural(axis.name))), size })
}

fn list(axis: Axis, places: &[usize]) -> String {
    let numbers: Vec<String> = places.iter().map(ToString::to_string).collect();
    let (last, rest) = numbers.split_last().map_or(("", &[][..]), |(last, rest)| (last.as_str(), rest));
    format!("{} {} and {last}", plural(axis.name), rest.join(", "))
}

impl Want {
    /// Whether any value passes here.
    fn is_open(&self) -> bool {
        matches!(self, Self::Near(want) if want.is_undetermined() && !want.value.is_nan())
    }
}
