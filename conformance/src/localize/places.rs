//! Where the failing elements lie: the smallest set with a name that holds all of them.

use super::{Axis, Failures};
use crate::verdict::Want;

/// A set of places along an axis: its words, nothing for all of them, and how many places it has.
struct Named {
    words: Option<String>,
    size: usize,
}

/// The part of a named set that must fail for the name to fit where no name fits exactly.
const FITS: f64 = 0.5;

/// The failing elements' place in words, and how many there are.
pub(super) fn describe(failures: &Failures<'_>) -> String {
    let layout = &failures.layout;
    let (range, count) = (layout.range(), failures.failing.len());
    let outside = failures.failing.iter().filter(|element| !range.contains(&element.index)).count();
    if outside == count {
        return format!("{count} elements outside of what the kernel may write");
    }
    let inside = || failures.failing.iter().map(|element| element.index).filter(|index| range.contains(index));
    let mut text = if let (1, Some(index)) = (count, inside().next()) {
        let place = layout.place(index).map_or_else(String::new, |place| format!(": {place}"));
        format!("one element of {}{place}", failures.values.len())
    } else {
        let indices: Vec<usize> = inside().map(|index| index - layout.offset).collect();
        named(failures, &indices)
    };
    if outside > 0 {
        text = format!("{text}, and {outside} outside of what the kernel may write");
    }
    text
}

/// Several elements: by their axes, or by their flat index where that fits better.
fn named(failures: &Failures<'_>, indices: &[usize]) -> String {
    let layout = &failures.layout;
    let mut parts = Vec::new();
    let mut sets = Vec::new();
    for (axis, &description) in layout.axes.iter().enumerate() {
        let mut hit = vec![false; description.size];
        for &index in indices {
            hit[layout.coordinate(index + layout.offset, axis)] = true;
        }
        let found = name(description, &hit);
        parts.extend(found.words);
        sets.push(found.size);
    }
    // Elements that the oracle leaves open cannot fail: they are no counterexample.
    let open = failures.wants[layout.range()].iter().filter(|want| want.is_open()).count();
    let (count, all) = (indices.len(), layout.elements());
    let covered: usize = sets.iter().product();
    let could_fail = if covered == all { all - open } else { covered };
    if layout.axes.len() > 1 && (count as f64) < FITS * could_fail as f64 {
        if let Some(diagonal) = diagonal(failures, indices) {
            return diagonal;
        }
        let mut hit = vec![false; all];
        for &index in indices {
            hit[index] = true;
        }
        let flat = name(Axis { name: "flat index", size: all }, &hit);
        if count as f64 >= FITS * flat.size as f64
            && let Some(words) = flat.words
        {
            return amount(&words, count, flat.size, all);
        }
    }
    let words = if parts.is_empty() { "every element".to_owned() } else { parts.join(", ") };
    if (count as f64) < FITS * could_fail as f64 {
        let among = if parts.is_empty() { String::new() } else { format!(" among {words}") };
        return format!("{count} of {all} elements, scattered{among}");
    }
    if parts.is_empty() && count == could_fail {
        return format!("{words} ({count})");
    }
    amount(&words, count, could_fail, all)
}

fn amount(words: &str, count: usize, covered: usize, all: usize) -> String {
    if covered == all || count < covered {
        format!("{words} ({count} of {covered} elements there)")
    } else {
        format!("{words} (all {count} elements there, and none of the other {})", all - count)
    }
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
        .then(|| format!("the diagonal, {} = {} ({} elements)", rows.name, columns.name, indices.len()))
}

/// The best name of a set of places along an axis.
fn name(axis: Axis, hit: &[bool]) -> Named {
    let places: Vec<usize> = (0..hit.len()).filter(|&place| hit[place]).collect();
    let (Some(&first), Some(&last)) = (places.first(), places.last()) else { return Named { words: None, size: 0 } };
    let (size, count) = (axis.size, places.len());
    let all = Named { words: None, size };
    if count == size {
        return all;
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
        Some(all),
    ];
    let mut candidates: Vec<Named> = candidates.into_iter().flatten().collect();
    if let Some(exact) = candidates.iter().position(|named| named.size == count) {
        return candidates.swap_remove(exact);
    }
    // The closest; of two that are as close, the later, which is the simpler.
    let best = candidates.into_iter().reduce(|best, named| if named.size <= best.size { named } else { best });
    match best {
        Some(best) if count as f64 >= FITS * best.size as f64 => best,
        _ => Named { words: Some(format!("{count} of {size} {}", plural(axis.name))), size: count },
    }
}

fn plural(name: &str) -> String {
    if name == "flat index" { "flat indices".into() } else { format!("{name}s") }
}

fn single(axis: Axis, place: usize) -> String {
    let last = if place > 0 && place + 1 == axis.size { ", the last" } else { "" };
    format!("{} {place}{last}", axis.name)
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
