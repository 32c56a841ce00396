//! Any correct f32 kernel: random summation trees of the declared depth, random contraction, random choice among accepted
//! forms, and every function at an edge of its budget. What the bounds are tested with.

use std::cell::Cell;
use std::ops::{Add, Mul, Neg, Sub};

use super::{Angle, Budget, Reduction, Scalar};

/// An f32 whose operations err at random within the budget. Draws come from a seed that [`Perturbed::with_seed`] sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Perturbed(f32);

thread_local! {
    static STATE: Cell<u64> = const { Cell::new(0) };
}

/// Steele, Lea and Flood's `SplitMix64`.
fn draw() -> u64 {
    STATE.with(|state| {
        state.set(state.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
        let mut z = state.get();
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

fn below(n: usize) -> usize {
    (draw() % n.max(1) as u64) as usize
}

impl Perturbed {
    /// Runs `work` with draws from a seed, on this thread.
    pub fn with_seed<R>(seed: u64, work: impl FnOnce() -> R) -> R {
        STATE.with(|state| state.set(seed));
        work()
    }

    /// The f32 within `ulp` units of the last place of `value`: at either end, or anywhere between.
    fn within(value: f64, ulp: f64) -> Self {
        if ulp <= 0.5 || !value.is_finite() || value == 0.0 {
            return Self(value as f32);
        }
        let push = match draw() % 4 {
            0 => -1.0,
            1 => 1.0,
            _ => (draw() % 2001) as f64 / 1000.0 - 1.0,
        };
        // The unit of the last place of the exact value, less the half of it that the final rounding may add.
        let exponent = value.abs().max(f64::from(f32::MIN_POSITIVE)).log2().floor() as i32;
        let pushed = value + push * (ulp - 0.5) * 2f64.powi(exponent - 23);
        // No function here changes its sign within its error: an exponential that underflows is zero, not negative.
        Self(if pushed * value < 0.0 { 0.0f32.copysign(value as f32) } else { pushed as f32 })
    }

    /// Adds the terms pairwise in a random order: a tree no deeper than a balanced one.
    fn tree(terms: &mut Vec<f32>) -> f32 {
        while terms.len() > 1 {
            for i in (1..terms.len()).rev() {
                terms.swap(i, below(i + 1));
            }
            *terms = terms.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
        terms.first().copied().unwrap_or(0.0)
    }
}

impl Add for Perturbed {
    type Output = Self;

    fn add(self, rhs: Self) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl Sub for Perturbed {
    type Output = Self;

    fn sub(self, rhs: Self) -> Self {
        Self(self.0 - rhs.0)
    }
}

impl Mul for Perturbed {
    type Output = Self;

    fn mul(self, rhs: Self) -> Self {
        Self(self.0 * rhs.0)
    }
}

impl Neg for Perturbed {
    type Output = Self;

    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl Scalar for Perturbed {
    fn exact(value: f64) -> Self {
        Self(value as f32)
    }

    fn value(self) -> f64 {
        f64::from(self.0)
    }

    fn div(self, rhs: Self, budget: &Budget) -> Self {
        Self::within(self.value() / rhs.value(), budget.div)
    }

    fn sqrt(self, budget: &Budget) -> Self {
        Self::within(self.value().sqrt(), budget.sqrt)
    }

    fn rsqrt(self, budget: &Budget) -> Self {
        Self::within(1.0 / self.value().sqrt(), budget.rsqrt)
    }

    fn exp(self, budget: &Budget) -> Self {
        Self::within(self.value().exp(), budget.exp)
    }

    fn log1p(self, budget: &Budget) -> Self {
        Self::within(self.value().ln_1p(), budget.log1p)
    }

    fn sin_cos(angle: Angle, budget: &Budget) -> (Self, Self) {
        let rounded = f64::from(angle.value() as f32);
        (Self::within(rounded.sin(), budget.sin_cos), Self::within(rounded.cos(), budget.sin_cos))
    }

    fn abs(self) -> Self {
        Self(self.0.abs())
    }

    fn max(self, other: Self) -> Self {
        Self(Scalar::max(self.0, other.0))
    }

    fn mul_add(self, a: Self, b: Self) -> Self {
        if draw().is_multiple_of(2) { Self(self.0.mul_add(a.0, b.0)) } else { self * a + b }
    }

    fn sum(terms: impl Iterator<Item = Self>, reduction: Reduction) -> Self {
        let mut terms: Vec<f32> = terms.map(|x| x.0).collect();
        let strided = |terms: &[f32], lanes: usize| -> Vec<f32> {
            (0..lanes.min(terms.len())).map(|lane| terms.iter().skip(lane).step_by(lanes).sum()).collect()
        };
        let serial = reduction == Reduction::AnyOrder && draw().is_multiple_of(2);
        Self(match reduction {
            _ if serial => terms.iter().sum(),
            Reduction::Warp => Self::tree(&mut strided(&terms, 32)),
            Reduction::Block | Reduction::AnyOrder => Self::tree(&mut terms),
        })
    }

    fn dot(a: impl Iterator<Item = Self>, b: impl Iterator<Item = Self>, reduction: Reduction) -> Self {
        if reduction == Reduction::Block || draw().is_multiple_of(2) {
            return Self::sum(a.zip(b).map(|(a, b)| a * b), reduction);
        }
        // Fused: one running sum a lane, as a compiler contracts it.
        let lanes = if reduction == Reduction::Warp { 32 } else { 1 };
        let mut sums = vec![0.0f32; lanes];
        for (i, (a, b)) in a.zip(b).enumerate() {
            sums[i % lanes] = a.0.mul_add(b.0, sums[i % lanes]);
        }
        Self(Self::tree(&mut sums))
    }

    fn or_form(self, form: impl FnOnce() -> Self) -> Self {
        if draw().is_multiple_of(2) { self } else { form() }
    }
}
