//! The error bound of a sum, for every order that the depth of its tree allows.
//!
//! A tree of depth d over n terms xᵢ held with errors eᵢ: each term passes at most d additions, so the roundings add up to at most
//! γ(d)·Σ(|xᵢ| + eᵢ), γ(d) = d·u/(1 − d·u) (N. J. Higham, "Accuracy and Stability of Numerical Algorithms", §4.2). Three
//! refinements, each of them rigorous:
//!
//! * The last addition rounds the total and not the terms: γ(d − 1) for the tree below it, and u·|total| for itself.
//! * An exact zero takes part without rounding: with m terms that are not, d is at most m − 1.
//! * Where all terms are exact multiples of 2^e and Σ|xᵢ| ≤ 2^(e+24), every partial sum in every order is a multiple of 2^e of at most
//!   24 bits, and the sum is exact.

use super::bounded::{Bounded, OVERFLOW, is_f32, rounding};
use super::bounded_rows::in_vectors;
use super::{Reduction, U};

/// γ(d) = d·u/(1 − d·u).
fn gamma(depth: usize) -> f64 {
    let roundings = depth as f64 * U;
    roundings / (1.0 - roundings)
}

/// Whether f32 holds a + b exactly, for a and b that f64 holds (`TwoSum` gives the error of the f64 addition).
#[inline]
pub(super) fn sum_is_f32(a: f64, b: f64) -> bool {
    let sum = a + b;
    let part = sum - a;
    is_f32(sum) && (a - (sum - part)) + (b - part) == 0.0
}

/// The sum of the terms in any tree that `reduction` allows.
#[inline]
pub(super) fn sum<I>(terms: I, reduction: Reduction) -> Bounded
where
    I: Iterator<Item = Bounded> + Clone,
{
    let (mut total, mut magnitude, mut errors) = (0.0, 0.0, 0.0);
    let (mut count, mut nonzero) = (0_usize, 0_usize);
    for term in terms.clone() {
        total += term.value;
        magnitude += term.value.abs();
        errors += term.bound;
        count += 1;
        nonzero += usize::from(term.value != 0.0 || term.bound != 0.0);
    }
    finish(terms, total, magnitude, errors, reduction.depth(count).min(nonzero.saturating_sub(1)))
}

/// Partial sums of a dot product. Their number decides its last bits: it is not the width of anybody's vectors.
const LANES: usize = 2;

/// Products that are computed before they are added: the one is a loop without order, and the other has one. Of 8, 16 and 32, the
/// number with which the compiler makes the fastest code.
const BLOCK: usize = 16;

/// The sums over products that a bound is made of, for [`in_vectors`].
struct Products<'a> {
    a: &'a [Bounded],
    b: &'a [Bounded],
}

/// The terms' sum, that of their magnitudes and that of their bounds, each in lanes; and how many are not exact zeros.
#[derive(Default)]
struct Sums {
    total: [f64; LANES],
    magnitude: [f64; LANES],
    errors: [f64; LANES],
    nonzero: u64,
}

impl Sums {
    #[expect(clippy::inline_always, reason = "compiled for the vectors of its caller")]
    #[inline(always)]
    fn add(&mut self, lane: usize, value: f64, bound: f64) {
        self.total[lane] += value;
        self.magnitude[lane] += value.abs();
        self.errors[lane] += bound;
    }
}

/// Value and error before rounding of a product in range, as [`Bounded::product`] has them.
#[expect(clippy::inline_always, reason = "compiled for the vectors of its caller")]
#[inline(always)]
fn product(a: Bounded, b: Bounded) -> (f64, f64) {
    (a.value * b.value, a.value.abs() * b.bound + b.value.abs() * a.bound + a.bound * b.bound)
}

/// The product's bound.
#[expect(clippy::inline_always, reason = "compiled for the vectors of its caller")]
#[inline(always)]
fn rounded(value: f64, spread: f64) -> f64 {
    // Both sides are there: a choice, and no branch.
    let bound = spread + rounding(value.abs() + spread);
    if (spread == 0.0) & is_f32(value) { 0.0 } else { bound }
}

/// One where a product is not an exact zero. Only a zero without error has a zero bound and value both.
#[expect(clippy::inline_always, reason = "compiled for the vectors of its caller")]
#[inline(always)]
fn not_zero(value: f64, spread: f64) -> u64 {
    u64::from(value.abs() + spread != 0.0)
}

impl pulp::NullaryFnOnce for Products<'_> {
    type Output = Sums;

    #[expect(clippy::inline_always, reason = "compiled for the vectors of its caller")]
    #[inline(always)]
    fn call(self) -> Sums {
        let mut sums = Sums::default();
        let (a_blocks, a_rest) = self.a.as_chunks::<BLOCK>();
        let (b_blocks, b_rest) = self.b.as_chunks::<BLOCK>();
        for (a, b) in a_blocks.iter().zip(b_blocks) {
            let (mut values, mut spreads, mut bounds) = ([0.0; BLOCK], [0.0; BLOCK], [0.0; BLOCK]);
            let mut sure = 0_u64;
            for i in 0..BLOCK {
                (values[i], spreads[i]) = product(a[i], b[i]);
                sure += u64::from(spreads[i] == 0.0);
            }
            // Whether f32 holds a product takes as long to ask as all the rest, and matters only where its factors are exact: hardly
            // ever in the middle of a step, so that the branch is foreseen.
            if sure == 0 {
                for i in 0..BLOCK {
                    bounds[i] = spreads[i] + rounding(values[i].abs() + spreads[i]);
                }
                sums.nonzero += BLOCK as u64;
            } else {
                for i in 0..BLOCK {
                    bounds[i] = rounded(values[i], spreads[i]);
                    sums.nonzero += not_zero(values[i], spreads[i]);
                }
            }
            for i in 0..BLOCK {
                sums.add(i % LANES, values[i], bounds[i]);
            }
        }
        // A block has a whole number of rounds over the lanes, so a term's lane is its place still.
        for (i, (&a, &b)) in a_rest.iter().zip(b_rest).enumerate() {
            let (value, spread) = product(a, b);
            sums.add(i % LANES, value, rounded(value, spread));
            sums.nonzero += not_zero(value, spread);
        }
        sums
    }
}

/// Σ aᵢ·bᵢ: the sum above over products that may be fused into their additions.
///
/// The loop computes what [`Bounded::product`] computes, without its branches and in vectors, and adds in lanes; what is not finite or
/// leaves the range of f32 shows in the magnitude, and then the terms are looked at one by one.
pub(super) fn dot(a: &[Bounded], b: &[Bounded], reduction: Reduction) -> Bounded {
    let count = a.len().min(b.len());
    let (a, b) = (&a[..count], &b[..count]);
    let Sums { total, magnitude, errors, nonzero } = in_vectors(Products { a, b });
    let sum = |lanes: [f64; LANES]| lanes.iter().sum::<f64>();
    let depth = reduction.depth(count).min((nonzero as usize).saturating_sub(1));
    let terms = a.iter().zip(b).map(|(a, b)| a.product::<true>(*b));
    finish(terms, sum(total), sum(magnitude), sum(errors), depth)
}

/// The bound from the sums over the terms; `depth` is that of the tree of the terms that are not exact zeros.
fn finish<I>(terms: I, total: f64, magnitude: f64, errors: f64, depth: usize) -> Bounded
where
    I: Iterator<Item = Bounded> + Clone,
{
    let reach = magnitude + errors;
    // A NaN compares with nothing, and goes the same way as what is too large.
    let in_range = reach * (1.0 + gamma(depth)) < OVERFLOW;
    if !in_range {
        return out_of_range(terms, depth);
    }
    if depth == 0 || (errors == 0.0 && is_exact(terms, magnitude)) {
        return Bounded { value: total, bound: errors };
    }
    let below = errors + gamma(depth - 1) * reach;
    Bounded { value: total, bound: below + U * (total.abs() + below) }
}

/// Whether exact terms add up exactly in every order.
fn is_exact<I>(terms: I, magnitude: f64) -> bool
where
    I: Iterator<Item = Bounded>,
{
    let mut unit = f64::INFINITY;
    let (mut count, mut first, mut second) = (0_usize, 0.0, 0.0);
    for term in terms.filter(|term| term.value != 0.0) {
        unit = unit.min(lowest_bit(term.value));
        (first, second) = (second, term.value);
        count += 1;
    }
    magnitude <= unit * 16_777_216.0 || (count == 2 && sum_is_f32(first, second))
}

/// The value of the lowest bit set in a non-zero f32: 2^e, so that the value is an odd multiple of it.
fn lowest_bit(value: f64) -> f64 {
    // An f32, subnormal ones included, is a normal f64: the mantissa with its hidden bit is a whole number of these units.
    let bits = value.to_bits();
    let mantissa = (bits & 0x000f_ffff_ffff_ffff) | 0x0010_0000_0000_0000;
    let exponent = ((bits >> 52) & 0x7ff) as i32 - 1075;
    2f64.powi(exponent + mantissa.trailing_zeros() as i32)
}

/// A sum with terms that are not finite, or that overflows in some order.
#[cold]
fn out_of_range<I>(terms: I, depth: usize) -> Bounded
where
    I: Iterator<Item = Bounded>,
{
    let (mut positive, mut negative, mut errors) = (0.0, 0.0, 0.0);
    // The most that the terms can add up to on either side.
    let (mut upward, mut downward) = (0.0, 0.0);
    let (mut total, mut undetermined, mut nan) = (0.0, false, false);
    for term in terms {
        total += term.value;
        undetermined |= term.is_undetermined();
        nan |= term.value.is_nan() && !term.is_undetermined();
        errors += term.bound;
        if term.value > 0.0 {
            positive += term.value;
        } else {
            negative -= term.value;
        }
        upward += (term.value + term.bound).max(0.0);
        downward += (term.bound - term.value).max(0.0);
    }
    if nan {
        return Bounded { value: f64::NAN, bound: 0.0 };
    }
    if undetermined {
        return Bounded::undetermined(total);
    }
    // How far rounding and the terms' errors can move what finite partial sums reach.
    let finite = |x: f64| if x.is_finite() { x } else { 0.0 };
    let slack = errors + gamma(depth) * (finite(positive) + finite(negative) + errors);
    // A sum that must overflow on one side while no partial sum can overflow on the other is infinite in every order; otherwise the
    // order decides, between an infinity, a NaN and perhaps a finite sum. Rounding is monotone, so with the terms of one side left out
    // no partial sum reaches less far to the other: how far it reaches depends on that side's terms alone.
    let overflows = |side: f64, other: f64, other_reach: f64| {
        other_reach * (1.0 + gamma(depth)) < OVERFLOW && side - other - slack >= OVERFLOW
    };
    let infinite = |value| Bounded { value, bound: 0.0 };
    if positive == f64::INFINITY && negative == f64::INFINITY {
        infinite(f64::NAN)
    } else if overflows(positive, negative, downward) {
        infinite(f64::INFINITY)
    } else if overflows(negative, positive, upward) {
        infinite(f64::NEG_INFINITY)
    } else {
        Bounded::undetermined(total)
    }
}
