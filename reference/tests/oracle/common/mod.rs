//! Random arrays, lifting into a scalar, and the check that a kernel's answers are accepted.

pub(crate) mod ops;

use gdn_reference::{Bounded, Perturbed, Scalar};
use ndarray::{Array, Dimension, ShapeBuilder};

/// A generator of normally distributed f32 (`SplitMix64`, and the sum of twelve uniforms).
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d))
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| (self.bits() >> 11) as f64 / (1_u64 << 53) as f64).sum::<f64>() - 6.0
    }

    pub(crate) fn array<Sh: ShapeBuilder>(&mut self, shape: Sh, scale: f64) -> Array<f32, Sh::Dim> {
        Array::from_shape_simple_fn(shape, || {
            (self.normal() * scale).clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32
        })
    }
}

/// Inputs as a scalar holds them.
pub(crate) fn lift<T: Scalar, D: Dimension>(array: &Array<f32, D>) -> Array<T, D> {
    array.mapv(|x| T::exact(f64::from(x)))
}

/// Asserts that what a kernel answers, for several ways to make use of its freedom, is within the bounds.
pub(crate) fn accepted_by(bounds: &[Bounded], seed: u64, kernel: impl Fn() -> Vec<Perturbed>) {
    for way in 0..6 {
        let got = Perturbed::with_seed(seed * 100 + way, &kernel);
        assert_eq!(got.len(), bounds.len());
        for (i, (bound, got)) in bounds.iter().zip(got).enumerate() {
            assert!(
                bound.accepts(got.0),
                "seed {seed} way {way} element {i}: {:e} against {bound:?}, utilization {}",
                got.0,
                bound.utilization(got.0)
            );
        }
    }
}
