//! Right values in the wrong places: one head's results in another, a shift along an axis, a transposed state.

use super::{Failing, Failures};
use crate::localize::laws::Law;

/// Longest axis that is searched for the place that a value belongs to; each place is compared with each other.
const LONGEST: usize = 1024;
/// How many exchanges are printed.
const PRINTED: usize = 3;

/// Transposition, and places along each axis that hold what other places should.
pub(super) fn laws(failures: &Failures<'_>) -> Vec<Law> {
    let mut laws = Vec::new();
    laws.extend(transposed(failures));
    laws.extend((0..failures.layout.axes.len()).filter_map(|axis| exchanged(failures, axis)));
    laws
}

/// Whether a square output holds its transpose.
fn transposed(failures: &Failures<'_>) -> Option<Law> {
    let layout = &failures.layout;
    let [.., rows, columns] = layout.axes.as_slice() else { return None };
    if rows.size != columns.size || rows.size < 2 {
        return None;
    }
    let side = columns.size;
    let mirror = |x: &&Failing| {
        let index = x.index - layout.offset;
        let (row, column) = (index / side % side, index % side);
        failures.would_pass(x.index, layout.offset + index - index % (side * side) + column * side + row)
    };
    let inside: Vec<Failing> = failures.sample.iter().filter(|x| layout.range().contains(&x.index)).copied().collect();
    let count = inside.iter().filter(mirror).count();
    let words = format!("transposed: {} and {} are exchanged", rows.name, columns.name);
    (inside.len() > 1).then(|| Law { share: count as f64 / failures.sample.len() as f64, partial: false, words })
}

/// The places along an axis that hold what other places should.
fn exchanged(failures: &Failures<'_>, axis: usize) -> Option<Law> {
    let layout = &failures.layout;
    let (size, name) = (layout.axes[axis].size, layout.axes[axis].name);
    if !(2..=LONGEST).contains(&size) {
        return None;
    }
    let stride = layout.stride(axis);
    let mut groups: Vec<Vec<usize>> = vec![Vec::new(); size];
    for x in failures.sample.iter().filter(|x| layout.range().contains(&x.index)) {
        groups[layout.coordinate(x.index, axis)].push(x.index);
    }
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    let mut explained = 0;
    for (place, indices) in groups.iter().enumerate().filter(|(_, indices)| !indices.is_empty()) {
        let holds = |other: usize| {
            other != place
                && indices.iter().all(|&index| failures.would_pass(index, index + other * stride - place * stride))
        };
        // Neighbours first: a shift is the likeliest.
        let near = [place.wrapping_sub(1), place + 1].into_iter().filter(|&other| other < size);
        if let Some(other) = near.chain(0..size).find(|&other| holds(other)) {
            pairs.push((place, other));
            explained += indices.len();
        }
    }
    let share = explained as f64 / failures.sample.len() as f64;
    // Around the end: a shift that wraps is one shift.
    let distance = |(place, other): &(usize, usize)| (other + size - place) % size;
    let shift = pairs.first().map(distance)?;
    let uniform = pairs.iter().all(|pair| distance(pair) == shift);
    // One element in another's place may be chance, where values repeat.
    let enough = explained >= 2 * pairs.len() || (uniform && pairs.len() >= 4);
    let words = if uniform && pairs.len() > 2 {
        match (shift, size - shift) {
            (1, _) => format!("each {name} holds what the next should"),
            (_, 1) => format!("each {name} holds what the one before should"),
            (later, earlier) if later <= earlier => format!("each {name} holds what the one {later} later should"),
            (_, earlier) => format!("each {name} holds what the one {earlier} earlier should"),
        }
    } else if pairs.len() > 1 && pairs.iter().all(|(place, other)| pairs.contains(&(*other, *place))) {
        let list: Vec<String> = pairs
            .iter()
            .filter(|(place, other)| place < other)
            .take(PRINTED)
            .map(|(place, other)| format!("{name}s {place} and {other}"))
            .collect();
        format!("{}{} are exchanged", list.join(", "), if pairs.len() > 2 * PRINTED { ", …" } else { "" })
    } else {
        let list: Vec<String> = pairs
            .iter()
            .take(PRINTED)
            .map(|(place, other)| format!("{name} {place} holds what {name} {other} should"))
            .collect();
        format!("{}{}", list.join(", "), if pairs.len() > PRINTED { ", …" } else { "" })
    };
    enough.then_some(Law { share, partial: false, words })
}
