//! Quantization of a group of f32 to int8 codes and one scale: the specification, in the exact arithmetic of a kernel, and what
//! the oracle's interval allows.
//!
//! A group (32 elements in the kernels) has amax = max|x| and scale = amax/127 in IEEE f32 division. Then:
//!
//! * a NaN or an infinity anywhere in the group: the scale is NaN and all codes are 0, so that nothing finite comes of it;
//! * a scale below the smallest normal f32 (zero included): the scale is 0 and all codes are 0;
//! * otherwise t = x/scale in IEEE f32 division, clamped to [−127, 127], and the code is t rounded half to even.
//!
//! Two words hold more of t: the high word is t rounded, the low word (t − high)·127 rounded, half to even both, so that
//! t ≈ high + low/127.

use std::ops::RangeInclusive;

use crate::scalar::U;
use crate::{Bounded, Budget, Scalar};

/// The largest code.
const CODE_MAX: f32 = 127.0;

/// A quantized group in one word.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// What a code of 1 stands for; 0 for a group too small to quantize, NaN for one that is not finite.
    pub scale: f32,
    /// One code an element, −127 to 127.
    pub codes: Vec<i8>,
}

/// A quantized group in two words.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupTwoWords {
    /// As in [`Group`].
    pub scale: f32,
    /// The rounded values, −127 to 127.
    pub high: Vec<i8>,
    /// The rest in 127ths, −64 to 64.
    pub low: Vec<i8>,
}

/// The scale of a group: amax/127, 0 where that is below the smallest normal f32, NaN where an element is not finite.
pub fn scale(group: &[f32]) -> f32 {
    if group.iter().any(|x| !x.is_finite()) {
        return f32::NAN;
    }
    let scale = group.iter().fold(0.0_f32, |amax, x| amax.max(x.abs())) / CODE_MAX;
    if scale < f32::MIN_POSITIVE { 0.0 } else { scale }
}

/// The scaled element t = x/scale, clamped; 0 where the scale says that the group has no codes.
fn scaled(x: f32, scale: f32) -> f32 {
    if scale > 0.0 { (x / scale).clamp(-CODE_MAX, CODE_MAX) } else { 0.0 }
}

/// Quantizes a group into one word an element.
pub fn quantize_group(group: &[f32]) -> Group {
    let scale = scale(group);
    let codes = group.iter().map(|&x| scaled(x, scale).round_ties_even() as i8).collect();
    Group { scale, codes }
}

/// Quantizes a group into two words an element.
pub fn quantize_group_two_words(group: &[f32]) -> GroupTwoWords {
    let scale = scale(group);
    let (high, low) = group.iter().map(|&x| two_words(scaled(x, scale))).unzip();
    GroupTwoWords { scale, high, low }
}

/// The two words of a scaled element, |t| ≤ 127: (high, low) with t ≈ high + low/127.
///
/// t − high is exact in f32 (the two are close), so the low word is (t − high)·127 rounded once to f32 and once to an integer.
pub fn two_words(t: f32) -> (i8, i8) {
    let high = t.round_ties_even();
    let low = ((t - high) * CODE_MAX).round_ties_even();
    (high as i8, low as i8)
}

/// The scale that a kernel may answer for a group of oracle values.
///
/// Where only some values of the interval reach the smallest normal f32 the bound covers the documented 0 as well.
pub fn scale_bound(group: &[Bounded]) -> Bounded {
    if let Some(open) = group.iter().find(|x| x.is_undetermined()) {
        return *open;
    }
    if group.iter().any(|x| !x.value.is_finite()) {
        return Bounded::exact(f64::NAN);
    }
    let amax = group.iter().fold(Bounded::exact(0.0), |amax, x| Scalar::max(amax, x.abs()));
    let scale = amax.div(Bounded::exact(f64::from(CODE_MAX)), &Budget::CUDA);
    let threshold = f64::from(f32::MIN_POSITIVE);
    let (low, high) = (scale.value - scale.bound, scale.value + scale.bound);
    if low >= threshold {
        scale
    } else if high < threshold {
        Bounded::exact(0.0)
    } else {
        Bounded::within(scale.value, scale.bound.max(scale.value))
    }
}

/// t = x/scale before clamping, where a scale that may be 0 leaves it open.
fn scaled_bound(x: Bounded, scale: Bounded, budget: &Budget) -> Option<Bounded> {
    let t = x.div(scale, budget);
    (scale.value - scale.bound > 0.0 && !t.is_undetermined() && t.value.is_finite()).then_some(t)
}

/// Whether a scale says, whatever the kernel, that all codes are 0.
fn has_no_codes(scale: Bounded) -> bool {
    !scale.is_undetermined() && (scale.value.is_nan() || (scale.value == 0.0 && scale.bound == 0.0))
}

/// The codes that a kernel may answer for an element: those that round some value inside the interval of x/scale.
///
/// `budget` is that of the division. Where the scale may be 0 or is undetermined every code is allowed.
pub fn code_range(x: Bounded, scale: Bounded, budget: &Budget) -> RangeInclusive<i32> {
    let max = CODE_MAX as i32;
    if has_no_codes(scale) {
        return 0..=0;
    }
    let Some(t) = scaled_bound(x, scale, budget) else {
        return -max..=max;
    };
    let code = |t: f64| (t.round_ties_even() as i32).clamp(-max, max);
    code(t.value - t.bound)..=code(t.value + t.bound)
}

/// Whether a kernel may answer the words `high` and `low` for an element.
///
/// The high word must be in [`code_range`], the low word at most 64 in magnitude, and |high + low/127 − t| ≤ e + 0.5/127 + u/2: the
/// error of t, half a unit of the low word, and the rounding of (t − high)·127 ≤ 63.5, divided by 127.
pub fn accepts_two_words(high: i8, low: i8, x: Bounded, scale: Bounded, budget: &Budget) -> bool {
    if has_no_codes(scale) {
        return high == 0 && low == 0;
    }
    if !code_range(x, scale, budget).contains(&i32::from(high)) || !(-64..=64).contains(&low) {
        return false;
    }
    let Some(t) = scaled_bound(x, scale, budget) else {
        return true;
    };
    let max = f64::from(CODE_MAX);
    let decoded = f64::from(high) + f64::from(low) / max;
    (decoded - t.value.clamp(-max, max)).abs() <= t.bound + 0.5 / max + 0.5 * U
}
