//! int8 quantization in groups of 32: exact integer semantics, and where the oracle says that codes may lie.
//!
//! Documented answers: scale = amax/127; a scale that would be zero or subnormal is 0, with codes 0; a NaN or an infinity in
//! the group makes the scale NaN, with codes 0, so that no finite number is read back in silence.

use std::ops::RangeInclusive;

use crate::scalar::{Bounded, Budget, Scalar};

/// Elements that share a scale.
pub const GROUP: usize = 32;

/// One group in one word an element: x ≈ code·scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Words {
    /// The scale.
    pub scale: f32,
    /// The codes, −127 to 127.
    pub codes: Vec<i8>,
}

/// One group in two words an element: x ≈ (high + low/127)·scale.
#[derive(Clone, Debug, PartialEq)]
pub struct TwoWords {
    /// The scale.
    pub scale: f32,
    /// The high words, −127 to 127.
    pub high: Vec<i8>,
    /// The low words, −64 to 64.
    pub low: Vec<i8>,
}

/// The scale of a group, and each element in units of it, within ±127.
fn in_units(group: &[f32]) -> (f32, Vec<f32>) {
    let zeros = || vec![0.0; group.len()];
    if group.iter().any(|x| !x.is_finite()) {
        return (f32::NAN, zeros());
    }
    let amax = group.iter().fold(0.0f32, |most, x| most.max(x.abs()));
    let scale = amax / 127.0;
    if scale < f32::MIN_POSITIVE {
        return (0.0, zeros());
    }
    (scale, group.iter().map(|x| (x / scale).clamp(-127.0, 127.0)).collect())
}

/// One word an element: rounded half to even.
pub fn quantize_group(group: &[f32]) -> Words {
    let (scale, units) = in_units(group);
    Words { scale, codes: units.iter().map(|t| t.round_ties_even() as i8).collect() }
}

/// t ≈ high + low/127, |t| ≤ 127: the high word is t rounded half to even, the low word 127 times what is left.
pub fn two_words(t: f32) -> (i8, i8) {
    let high = t.round_ties_even();
    (high as i8, ((t - high) * 127.0).round_ties_even() as i8)
}

/// Two words an element.
pub fn quantize_group_two_words(group: &[f32]) -> TwoWords {
    let (scale, units) = in_units(group);
    let (high, low) = units.into_iter().map(two_words).unzip();
    TwoWords { scale, high, low }
}

/// The oracle's scale of a group. Where the scale may or may not be subnormal, both it and 0 are accepted.
pub fn scale_bound(group: &[Bounded]) -> Bounded {
    if group.iter().any(|x| !x.value.is_finite()) {
        return Bounded::exact(f64::NAN);
    }
    let amax = group.iter().fold(Bounded::exact(0.0), |most, x| most.max(x.abs()));
    let scale = amax.div(Bounded::exact(127.0), &Budget::CUDA);
    let least_normal = f64::from(f32::MIN_POSITIVE);
    if scale.value + scale.bound < least_normal {
        Bounded::exact(0.0)
    } else if scale.value - scale.bound < least_normal {
        Bounded { bound: scale.bound.max(scale.value), ..scale }
    } else {
        scale
    }
}

/// The codes that are the rounding of some value in \[t − e, t + e\], t = x/scale: what a correct kernel may emit, whatever
/// its own floats are.
pub fn code_range(x: Bounded, scale: Bounded, budget: &Budget) -> RangeInclusive<i32> {
    if !scale.value.is_finite() || (scale.value == 0.0 && scale.bound == 0.0) {
        return 0..=0;
    }
    let t = x.div(scale, budget);
    if !(t.value.is_finite() && t.bound.is_finite()) {
        return -127..=127;
    }
    let code = |t: f64| t.clamp(-127.0, 127.0).round_ties_even() as i32;
    code(t.value - t.bound)..=code(t.value + t.bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_round_to_even() {
        let mut group = vec![127.0f32; 1];
        group.extend([0.5, 1.5, 2.5, -0.5, -1.5, 126.5]);
        assert_eq!(quantize_group(&group).codes, [127, 0, 2, 2, 0, -2, 126]);
    }

    #[test]
    fn zero_and_subnormal_scales_are_zero_with_zero_codes() {
        for amax in [0.0f32, 1e-40, 1e-37, 1.4e-36] {
            assert_eq!(quantize_group(&[amax, -amax]), Words { scale: 0.0, codes: vec![0, 0] }, "{amax}");
        }
        assert_eq!(quantize_group(&[1e-30, 0.0]).codes, [127, 0]);
    }

    #[test]
    fn nonfinite_groups_have_a_nan_scale() {
        for x in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let words = quantize_group(&[1.0, x]);
            assert!(words.scale.is_nan() && words.codes == [0, 0]);
        }
    }

    #[test]
    fn two_words_recover_to_half_of_a_127th() {
        for i in -12_700..=12_700 {
            let t = i as f32 / 100.0;
            let (high, low) = two_words(t);
            let back = f64::from(high) + f64::from(low) / 127.0;
            assert!((back - f64::from(t)).abs() <= 0.5 / 127.0 + 1e-6, "{t}");
        }
    }
}
