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

use std::slice::SliceIndex;

use pulp::Simd;

use super::bounded::{Bounded, HALF_SUBNORMAL, OVERFLOW, is_f32, rounded_product};
use super::bounded_row::ARCH;
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

/// Partial sums of a dot product. Their number decides its last bits: it is not the width of the processor's vectors, of which there are
/// as many as it takes.
pub(super) const LANES: usize = 8;

/// The sums over products that a bound is made of, each in lanes.
#[derive(Default)]
struct Sums {
    total: [f64; LANES],
    magnitude: [f64; LANES],
    errors: [f64; LANES],
    /// How many products are not exact zeros.
    nonzero: usize,
}

impl Sums {
    /// Adds products one by one, the first of them to the first lane.
    fn add(&mut self, pairs: impl Iterator<Item = (Bounded, Bounded)>) {
        for (i, (a, b)) in pairs.enumerate() {
            let (value, spread) = a.before_rounding(b);
            let lane = i % LANES;
            self.total[lane] += value;
            self.magnitude[lane] += value.abs();
            self.errors[lane] += rounded_product(value, spread);
            // Only a zero without error has a zero bound and value both.
            self.nonzero += usize::from(value.abs() + spread != 0.0);
        }
    }
}

/// Values and bounds of a row.
pub(super) type Parts<'a> = (&'a [f64], &'a [f64]);

fn part<R: SliceIndex<[f64], Output = [f64]> + Clone>((values, bounds): Parts<'_>, range: R) -> Parts<'_> {
    (&values[range.clone()], &bounds[range])
}

fn pairs<'a>(a: Parts<'a>, b: Parts<'a>) -> impl Iterator<Item = (Bounded, Bounded)> + Clone + use<'a> {
    let numbers =
        |(values, bounds): Parts<'a>| values.iter().zip(bounds).map(|(&value, &bound)| Bounded { value, bound });
    numbers(a).zip(numbers(b))
}

/// The sums over a whole number of rounds over the lanes, in vectors; or nothing where a product has no error before rounding: whether
/// f32 holds such a product takes as long to ask as all the rest, and matters only where both factors are exact, which is hardly ever in
/// the middle of a step.
struct InVectors<'a> {
    a: Parts<'a>,
    b: Parts<'a>,
}

impl pulp::WithSimd for InVectors<'_> {
    type Output = Option<Sums>;

    #[expect(clippy::inline_always, reason = "compiled for the vectors that it is given")]
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Option<Sums> {
        let count = self.a.0.len();
        let (a_values, a_bounds) = (S::as_simd_f64s(self.a.0).0, S::as_simd_f64s(self.a.1).0);
        let (b_values, b_bounds) = (S::as_simd_f64s(self.b.0).0, S::as_simd_f64s(self.b.1).0);
        let vectors = a_values.len();
        let (a_bounds, b_values, b_bounds) = (&a_bounds[..vectors], &b_values[..vectors], &b_bounds[..vectors]);
        let (zero, u, half_subnormal) = (simd.splat_f64s(0.0), simd.splat_f64s(U), simd.splat_f64s(HALF_SUBNORMAL));
        // `abs_f64s` is not inlined in a build without link-time optimization.
        let unsigned = simd.splat_f64s(f64::from_bits(!(1 << 63)));
        let abs = |x| simd.and_f64s(x, unsigned);
        let mut least = simd.splat_f64s(f64::INFINITY);
        let mut sums = Sums { nonzero: count, ..Sums::default() };
        // One vector of lanes after the other, so that its sums stay in registers.
        for lane in (0..LANES).step_by(S::F64_LANES) {
            let (mut total, mut magnitude, mut errors) = (zero, zero, zero);
            for i in (lane / S::F64_LANES..vectors).step_by(LANES / S::F64_LANES) {
                let value = simd.mul_f64s(a_values[i], b_values[i]);
                let of_a = simd.mul_f64s(abs(a_values[i]), b_bounds[i]);
                let of_b = simd.mul_f64s(abs(b_values[i]), a_bounds[i]);
                let spread = simd.add_f64s(simd.add_f64s(of_a, of_b), simd.mul_f64s(a_bounds[i], b_bounds[i]));
                let size = abs(value);
                let rounding = simd.max_f64s(simd.mul_f64s(u, simd.add_f64s(size, spread)), half_subnormal);
                least = simd.min_f64s(least, spread);
                total = simd.add_f64s(total, value);
                magnitude = simd.add_f64s(magnitude, size);
                errors = simd.add_f64s(errors, simd.add_f64s(spread, rounding));
            }
            S::as_mut_simd_f64s(&mut sums.total[lane..]).0[0] = total;
            S::as_mut_simd_f64s(&mut sums.magnitude[lane..]).0[0] = magnitude;
            S::as_mut_simd_f64s(&mut sums.errors[lane..]).0[0] = errors;
        }
        // A NaN may be lost in the minimum, but in no sum.
        let usual = simd.reduce_min_f64s(least) > 0.0 && !sums.errors.iter().any(|error| error.is_nan());
        usual.then_some(sums)
    }
}

/// Σ aᵢ·bᵢ of two rows of one length: the sum above over products that may be fused into their additions.
///
/// The loop computes what [`Bounded::product`] computes, without its branches, and adds in lanes; what is not finite or leaves the range
/// of f32 shows in the magnitude, and then the terms are looked at again.
pub(super) fn dot(a: Parts<'_>, b: Parts<'_>, reduction: Reduction) -> Bounded {
    let count = a.0.len();
    let split = count - count % LANES;
    let (a_whole, b_whole) = (part(a, ..split), part(b, ..split));
    let mut sums = ARCH.dispatch(InVectors { a: a_whole, b: b_whole }).unwrap_or_else(|| {
        let mut sums = Sums::default();
        sums.add(pairs(a_whole, b_whole));
        sums
    });
    sums.add(pairs(part(a, split..), part(b, split..)));
    finish_dot(sums, pairs(a, b), count, reduction)
}

/// The same of fewer numbers than there are lanes.
pub(super) fn short_dot(a: &[Bounded], b: &[Bounded], reduction: Reduction) -> Bounded {
    let pairs = a.iter().copied().zip(b.iter().copied());
    let mut sums = Sums::default();
    sums.add(pairs.clone());
    finish_dot(sums, pairs, a.len().min(b.len()), reduction)
}

fn finish_dot<I>(sums: Sums, pairs: I, count: usize, reduction: Reduction) -> Bounded
where
    I: Iterator<Item = (Bounded, Bounded)> + Clone,
{
    let sum = |lanes: [f64; LANES]| lanes.iter().sum::<f64>();
    let depth = reduction.depth(count).min(sums.nonzero.saturating_sub(1));
    let terms = pairs.map(|(a, b)| a.product::<true>(b));
    finish(terms, sum(sums.total), sum(sums.magnitude), sum(sums.errors), depth)
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
