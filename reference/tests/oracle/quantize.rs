//! The int8 specification at its edges, and the oracle's intervals around it.

use gdn_reference::ops::quantize::{
    accepts_two_words, code_range, quantize_group, quantize_group_two_words, scale, scale_bound, two_words,
};
use gdn_reference::{Bounded, Budget, Scalar};
use proptest::prelude::*;

fn group(fill: impl Fn(usize) -> f32) -> Vec<f32> {
    (0..32).map(fill).collect()
}

#[test]
fn ties_round_to_even() {
    // amax 127 makes the scale 1.
    let x = [127.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 125.5, 126.5];
    let quantized = quantize_group(&x);
    assert_eq!(quantized.scale, 1.0);
    assert_eq!(quantized.codes, [127, 0, 2, 2, 0, -2, -2, 126, 126]);
}

#[test]
fn groups_too_small_for_a_normal_scale_are_zero() {
    for amax in [0.0, 1e-45, 1e-40, 1e-37, 126.9 * f32::MIN_POSITIVE] {
        let quantized = quantize_group(&group(|i| if i == 3 { -amax } else { 0.0 }));
        assert_eq!((quantized.scale, quantized.codes), (0.0, vec![0; 32]), "amax {amax:e}");
    }
    let quantized = quantize_group(&group(|i| if i == 3 { -1e-30 } else { 0.0 }));
    assert_eq!((quantized.scale, quantized.codes[3]), (1e-30 / 127.0, -127));
}

#[test]
fn an_outlier_takes_the_whole_range() {
    let quantized = quantize_group(&group(|i| if i == 31 { 1e7 } else { 1.0 }));
    assert_eq!(quantized.codes[31], 127);
    assert!(quantized.codes[..31].iter().all(|&code| code == 0));
}

#[test]
fn what_is_not_finite_leaves_no_codes() {
    for poison in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let x = group(|i| if i == 9 { poison } else { i as f32 });
        let quantized = quantize_group_two_words(&x);
        assert!(quantized.scale.is_nan());
        assert!(quantized.high.iter().chain(&quantized.low).all(|&code| code == 0));
        let bounds: Vec<_> = x.iter().map(|&x| Bounded::exact(f64::from(x))).collect();
        let scale = scale_bound(&bounds);
        assert!(scale.accepts(f32::NAN) && !scale.accepts(1.0));
        assert_eq!(code_range(bounds[0], scale, &Budget::CUDA), 0..=0);
    }
}

#[test]
fn a_scale_that_may_be_zero_allows_both_answers() {
    let edge = Bounded::within(127.0 * f64::from(f32::MIN_POSITIVE), 1e-42);
    let scale = scale_bound(&[edge]);
    assert!(scale.accepts(0.0) && scale.accepts(f32::MIN_POSITIVE));
    assert_eq!(code_range(edge, scale, &Budget::CUDA), -127..=127);
}

#[test]
fn low_words_reach_half_and_no_more() {
    assert_eq!(two_words(0.5), (0, 64));
    assert_eq!(two_words(1.5), (2, -64));
    assert_eq!(two_words(-127.0), (-127, 0));
}

proptest! {
    #[test]
    fn the_specification_is_inside_its_own_interval(
        x in proptest::collection::vec(-1000.0_f32..1000.0, 32),
        error in 0.0_f64..1e-3,
    ) {
        let bounds: Vec<_> = x.iter().map(|&x| Bounded::within(f64::from(x) + 0.9 * error, error)).collect();
        let interval = scale_bound(&bounds);
        prop_assert!(interval.accepts(scale(&x)));
        let (one, two) = (quantize_group(&x), quantize_group_two_words(&x));
        prop_assert_eq!(&one.codes, &two.high);
        for (i, bound) in bounds.iter().enumerate() {
            prop_assert!(code_range(*bound, interval, &Budget::CUDA).contains(&i32::from(one.codes[i])));
            prop_assert!(accepts_two_words(two.high[i], two.low[i], *bound, interval, &Budget::CUDA));
            // A low word that lost its sign, or an off-by-four one, decodes to something else.
            if error < 1e-6 && two.low[i].abs() > 2 {
                prop_assert!(!accepts_two_words(two.high[i], -two.low[i], *bound, interval, &Budget::CUDA));
            }
        }
    }

    #[test]
    fn an_exact_value_has_one_code(x in proptest::collection::vec(-1000.0_f32..1000.0, 32)) {
        let scale = Bounded::exact(f64::from(scale(&x)));
        for (&x, code) in x.iter().zip(quantize_group(&x).codes) {
            let range = code_range(Bounded::exact(f64::from(x)), scale, &Budget::CUDA);
            prop_assert!(range.contains(&i32::from(code)));
            prop_assert!(range.end() - range.start() <= 1);
        }
    }
}
