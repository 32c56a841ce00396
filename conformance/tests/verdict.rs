//! Verdicts measure distance in units of the last place, at every exponent that f32 has.

use gdn_conformance::verdict::{Check, Want, judge};
use gdn_gpu::run::Tensor;
use gdn_reference::Bounded;

/// Distance of a float from what it must be, as a verdict says it.
fn distance(want: Want, got: f32) -> f64 {
    judge(&Check { output: "x", aspect: "", wants: vec![want] }, Some(&Tensor::F32(vec![got]))).ulp
}

#[test]
fn neighbours_are_one_ulp_apart_at_every_exponent() {
    for exponent in 1_u32..=254 {
        // The first, the second and the last of a binade: their upward neighbour is one of their own ulps away.
        for fraction in [0, 1, 0x7f_fffe] {
            let bits = (exponent << 23) | fraction;
            let got = f32::from_bits(bits + 1);
            assert_eq!(distance(Want::Bits(bits), got), 1.0, "{:e}", f32::from_bits(bits));
        }
        // The power of two above the last of a binade is one of its ulps away too, and so is the last from it by half of its own.
        if exponent < 254 {
            let last = (exponent << 23) | 0x7f_ffff;
            assert_eq!(distance(Want::Bits(last), f32::from_bits(last + 1)), 1.0, "{:e}", f32::from_bits(last));
            assert_eq!(distance(Want::Bits(last + 1), f32::from_bits(last)), 0.5, "{:e}", f32::from_bits(last));
        }
    }
}

#[test]
fn subnormals_are_counted_in_the_least_of_them() {
    assert_eq!(distance(Want::Bits(0), f32::from_bits(1)), 1.0);
    assert_eq!(distance(Want::Bits(5), f32::from_bits(8)), 3.0);
}

#[test]
fn what_is_beyond_f32_is_far_from_its_largest() {
    let want = Bounded::within(1e39, 0.0);
    assert!(distance(Want::Near(want), f32::MAX) > 1e6);
}
