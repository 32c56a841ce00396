//! Rows of bounded numbers: the delta rule's inner loops without branches, in the widest vectors that the processor has.
//!
//! Each loop computes for every element what the operation of one number computes in its usual case, and notes whether any element was
//! not usual. A row with such an element is computed again, one number after the other, so that the result is the same bit for bit.

use std::sync::LazyLock;

use super::Scalar;
use super::U;
use super::bounded::{Bounded, OVERFLOW, is_f32, rounding};

/// The processor's vectors, asked for once.
static ARCH: LazyLock<pulp::Arch> = LazyLock::new(pulp::Arch::new);

/// Runs a loop in the widest vectors that the processor has.
pub(super) fn in_vectors<R>(work: impl pulp::NullaryFnOnce<Output = R>) -> R {
    ARCH.dispatch(work)
}

/// `factor` times each element of a row, each product an operation of its own.
pub(super) fn scale(factor: Bounded, row: &[Bounded], out: &mut [Bounded]) {
    let usual = in_vectors(
        #[inline(always)]
        || {
            let mut usual = true;
            for (out, x) in out.iter_mut().zip(row) {
                let value = factor.value * x.value;
                let spread = factor.value.abs() * x.bound + x.value.abs() * factor.bound + factor.bound * x.bound;
                let magnitude = value.abs() + spread;
                let rounded = spread + rounding(magnitude);
                // Both sides are there: a choice, and no branch.
                let bound = if (spread == 0.0) & is_f32(value) { 0.0 } else { rounded };
                usual &= magnitude < OVERFLOW;
                *out = Bounded { value, bound };
            }
            usual
        },
    );
    if !usual {
        for (out, &x) in out.iter_mut().zip(row) {
            *out = factor * x;
        }
    }
}

/// `factor * x + y` for each element of two rows, rounded once or twice.
#[expect(clippy::needless_bitwise_bool, reason = "a lazy operator is a branch, and the loop would not be in vectors")]
pub(super) fn scale_and_add(factor: Bounded, x: &[Bounded], y: &[Bounded], out: &mut [Bounded]) {
    let usual = in_vectors(
        #[inline(always)]
        || {
            let mut usual = true;
            for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
                let product = factor.value * x.value;
                let spread = factor.value.abs() * x.bound + x.value.abs() * factor.bound + factor.bound * x.bound;
                let rounded = spread + rounding(product.abs() + spread);
                let of_product = if (spread == 0.0) & is_f32(product) { 0.0 } else { rounded };
                let value = product + y.value;
                let spread = of_product + y.bound;
                let magnitude = value.abs() + spread;
                // An addition that is exact, or of an exact zero, or out of range, is not usual.
                usual &= (product != 0.0)
                    & ((y.value != 0.0) | (y.bound != 0.0))
                    & (spread > 0.0)
                    & (magnitude < OVERFLOW)
                    & (product.abs() + of_product < OVERFLOW);
                *out = Bounded { value, bound: spread + U * magnitude };
            }
            usual
        },
    );
    if !usual {
        for ((out, &x), &y) in out.iter_mut().zip(x).zip(y) {
            *out = factor.mul_add(x, y);
        }
    }
}

/// The largest magnitude of a row, infinite where an element is not a number.
pub(super) fn largest(row: &[Bounded]) -> f64 {
    in_vectors(
        #[inline(always)]
        || {
            // Maxima side by side, as wide as vectors are.
            const LANES: usize = 8;
            let mut max = [0.0_f64; LANES];
            let mut nan = [false; LANES];
            let mut take = |lane: usize, x: f64| {
                let x = x.abs();
                max[lane] = if x > max[lane] { x } else { max[lane] };
                nan[lane] |= x.is_nan();
            };
            let (chunks, rest) = row.as_chunks::<LANES>();
            for chunk in chunks {
                for (lane, x) in chunk.iter().enumerate() {
                    take(lane, x.value);
                }
            }
            for x in rest {
                take(0, x.value);
            }
            if nan.iter().any(|&nan| nan) {
                return f64::INFINITY;
            }
            max.into_iter().fold(0.0, f64::max)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::super::{Bounded, Scalar};

    /// Numbers of every sort: exact and not, zeros of both signs, subnormal, huge, infinite, NaN, undetermined.
    fn numbers() -> Vec<Bounded> {
        let mut numbers = Vec::new();
        for value in [0.0, -0.0, 1.0, -1.5, 0.1, 1e-45, 1e-38, 3e38, -1e30, f64::INFINITY, f64::NAN] {
            let value = f64::from(value as f32);
            numbers.extend([0.0, 1e-50, 1e-9, 1e30, f64::INFINITY].map(|bound| Bounded::within(value, bound)));
        }
        numbers
    }

    fn same(a: Bounded, b: Bounded) -> bool {
        let bits = |x: f64| if x.is_nan() { u64::MAX } else { x.to_bits() };
        bits(a.value) == bits(b.value) && bits(a.bound) == bits(b.bound)
    }

    #[test]
    fn rows_are_what_their_elements_are_one_by_one() {
        let numbers = numbers();
        let usual: Vec<Bounded> = numbers.iter().copied().filter(|x| x.value != 0.0 && x.value.abs() < 2.0).collect();
        for row in [&numbers, &usual] {
            let mut out = vec![Bounded::exact(0.0); row.len()];
            for &factor in &numbers {
                Bounded::scale_row(factor, row, &mut out);
                for (&x, &out) in row.iter().zip(&out) {
                    assert!(same(out, factor * x), "{factor:?} · {x:?} = {out:?}");
                }
                for shift in 0..row.len() {
                    let mut y = row.clone();
                    y.rotate_left(shift);
                    Bounded::scale_and_add_row(factor, row, &y, &mut out);
                    for ((&x, &y), &out) in row.iter().zip(&y).zip(&out) {
                        assert!(same(out, factor.mul_add(x, y)), "{factor:?} · {x:?} + {y:?} = {out:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_largest_magnitude_is_found_and_no_nan_is_lost() {
        let row = |values: &[f64]| values.iter().map(|&x| Bounded::exact(x)).collect::<Vec<_>>();
        for at in 0..19 {
            let mut values = vec![0.5; 19];
            values[at] = -2.0;
            assert_eq!(super::largest(&row(&values)), 2.0);
            values[at] = f64::NAN;
            assert_eq!(super::largest(&row(&values)), f64::INFINITY);
        }
        assert_eq!(super::largest(&[]), 0.0);
    }
}
