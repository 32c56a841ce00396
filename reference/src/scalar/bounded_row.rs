//! Rows of bounded numbers: the delta rule's inner loops without branches, in the widest vectors that the processor has.
//!
//! Values and bounds lie apart, so that a vector is loaded as it lies. Each loop computes for every element what the operation of one
//! number computes in its usual case, and notes whether any element was not usual. A row with such an element is computed again, one
//! number after the other, so that the result is the same bit for bit.

#![expect(clippy::inline_always, reason = "what runs in vectors is compiled for those of its caller")]
#![expect(clippy::needless_bitwise_bool, reason = "a lazy operator is a branch, and the loop would not be in vectors")]

use std::sync::LazyLock;

use ndarray::{ArrayView1, ArrayViewMut1};

use super::bounded::{Bounded, OVERFLOW, rounded_product};
use super::bounded_sum::{self, Parts};
use super::{Reduction, Row, Scalar, U};

/// The processor's vectors, asked for once.
pub(super) static ARCH: LazyLock<pulp::Arch> = LazyLock::new(pulp::Arch::new);

/// A row of bounded numbers, values and bounds apart.
#[derive(Clone, Debug)]
pub struct BoundedRow {
    values: Vec<f64>,
    bounds: Vec<f64>,
}

impl BoundedRow {
    /// Values and bounds.
    fn parts(&self) -> Parts<'_> {
        (&self.values, &self.bounds)
    }

    fn parts_mut(&mut self) -> (&mut [f64], &mut [f64]) {
        (&mut self.values, &mut self.bounds)
    }

    fn element(&self, i: usize) -> Bounded {
        Bounded { value: self.values[i], bound: self.bounds[i] }
    }

    fn take(&mut self, from: impl Iterator<Item = Bounded>) {
        for ((value, bound), x) in self.values.iter_mut().zip(&mut self.bounds).zip(from) {
            (*value, *bound) = (x.value, x.bound);
        }
    }

    fn give<'a>(&self, to: impl Iterator<Item = &'a mut Bounded>) {
        for (to, (&value, &bound)) in to.zip(self.values.iter().zip(&self.bounds)) {
            *to = Bounded { value, bound };
        }
    }

    /// The row again, one element after the other.
    #[cold]
    fn recompute(&mut self, element: impl Fn(usize) -> Bounded) {
        for i in 0..self.values.len() {
            let Bounded { value, bound } = element(i);
            (self.values[i], self.bounds[i]) = (value, bound);
        }
    }
}

impl Row<Bounded> for BoundedRow {
    fn zeros(len: usize) -> Self {
        Self { values: vec![0.0; len], bounds: vec![0.0; len] }
    }

    fn read(&mut self, from: ArrayView1<'_, Bounded>) {
        // By way of an array's iterator this takes as long as the arithmetic.
        if let Some(from) = from.as_slice() {
            self.take(from.iter().copied());
        } else {
            self.take(from.iter().copied());
        }
    }

    fn write(&self, mut to: ArrayViewMut1<'_, Bounded>) {
        if let Some(to) = to.as_slice_mut() {
            self.give(to.iter_mut());
        } else {
            self.give(to.iter_mut());
        }
    }

    fn scale(&mut self, factor: Bounded, x: &Self) {
        let usual = ARCH.dispatch(Scale { factor, x: x.parts(), out: self.parts_mut() });
        if !usual {
            self.recompute(|i| factor * x.element(i));
        }
    }

    fn scale_and_add(&mut self, factor: Bounded, x: &Self, y: &Self) {
        let usual = ARCH.dispatch(ScaleAndAdd { factor, x: x.parts(), y: y.parts(), out: self.parts_mut() });
        if !usual {
            self.recompute(|i| factor.mul_add(x.element(i), y.element(i)));
        }
    }

    fn dot(&self, other: &Self, reduction: Reduction) -> Bounded {
        bounded_sum::dot(self.parts(), other.parts(), reduction)
    }

    fn largest(&self) -> f64 {
        ARCH.dispatch(Largest(&self.values))
    }

    fn any_exact(&self) -> bool {
        ARCH.dispatch(AnyExact(self.parts()))
    }
}

/// `out[i]` = `factor * x[i]`; whether all were usual.
struct Scale<'a> {
    factor: Bounded,
    x: Parts<'a>,
    out: (&'a mut [f64], &'a mut [f64]),
}

impl pulp::NullaryFnOnce for Scale<'_> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        let Self { factor, x: (x_values, x_bounds), out: (values, bounds) } = self;
        let n = values.len();
        let (bounds, x_values, x_bounds) = (&mut bounds[..n], &x_values[..n], &x_bounds[..n]);
        let mut usual = true;
        for i in 0..n {
            let (value, spread) = factor.before_rounding(Bounded { value: x_values[i], bound: x_bounds[i] });
            bounds[i] = rounded_product(value, spread);
            values[i] = value;
            usual &= value.abs() + spread < OVERFLOW;
        }
        usual
    }
}

/// `out[i]` = `factor * x[i] + y[i]`; whether all were usual.
struct ScaleAndAdd<'a> {
    factor: Bounded,
    x: Parts<'a>,
    y: Parts<'a>,
    out: (&'a mut [f64], &'a mut [f64]),
}

impl pulp::NullaryFnOnce for ScaleAndAdd<'_> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        let Self { factor, x: (x_values, x_bounds), y: (y_values, y_bounds), out: (values, bounds) } = self;
        let n = values.len();
        let (bounds, x_values, x_bounds) = (&mut bounds[..n], &x_values[..n], &x_bounds[..n]);
        let (y_values, y_bounds) = (&y_values[..n], &y_bounds[..n]);
        let mut usual = true;
        for i in 0..n {
            let (product, spread) = factor.before_rounding(Bounded { value: x_values[i], bound: x_bounds[i] });
            let of_product = rounded_product(product, spread);
            let value = product + y_values[i];
            let spread = of_product + y_bounds[i];
            let magnitude = value.abs() + spread;
            // An addition that is exact, or of an exact zero, or out of range, is not usual.
            usual &= (product != 0.0)
                & ((y_values[i] != 0.0) | (y_bounds[i] != 0.0))
                & (spread > 0.0)
                & (magnitude < OVERFLOW)
                & (product.abs() + of_product < OVERFLOW);
            values[i] = value;
            bounds[i] = spread + U * magnitude;
        }
        usual
    }
}

/// The largest magnitude, or infinity.
struct Largest<'a>(&'a [f64]);

impl pulp::NullaryFnOnce for Largest<'_> {
    type Output = f64;

    #[inline(always)]
    fn call(self) -> f64 {
        // Maxima side by side, as wide as vectors are.
        const LANES: usize = 8;
        let mut max = [0.0_f64; LANES];
        let mut nan = [false; LANES];
        let mut take = |lane: usize, x: f64| {
            let x = x.abs();
            max[lane] = if x > max[lane] { x } else { max[lane] };
            nan[lane] |= x.is_nan();
        };
        let (chunks, rest) = self.0.as_chunks::<LANES>();
        for chunk in chunks {
            for (lane, &x) in chunk.iter().enumerate() {
                take(lane, x);
            }
        }
        for &x in rest {
            take(0, x);
        }
        if nan.iter().any(|&nan| nan) {
            return f64::INFINITY;
        }
        max.into_iter().fold(0.0, f64::max)
    }
}

/// Whether any number is exact and not zero.
struct AnyExact<'a>(Parts<'a>);

impl pulp::NullaryFnOnce for AnyExact<'_> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        let (values, bounds) = self.0;
        values.iter().zip(bounds).fold(false, |any, (&value, &bound)| any | ((bound == 0.0) & (value != 0.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Bounded, Reduction, Row, Scalar};
    use super::BoundedRow;

    fn elements(row: &BoundedRow) -> Vec<Bounded> {
        let mut elements = vec![Bounded::exact(0.0); row.values.len()];
        row.write(elements.as_mut_slice().into());
        elements
    }

    fn of(numbers: &[Bounded]) -> BoundedRow {
        let mut row = BoundedRow::zeros(numbers.len());
        row.read(numbers.into());
        row
    }

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
            let x_row = of(row);
            let mut out = BoundedRow::zeros(row.len());
            for &factor in &numbers {
                out.scale(factor, &x_row);
                for (&x, out) in row.iter().zip(elements(&out)) {
                    assert!(same(out, factor * x), "{factor:?} · {x:?} = {out:?}");
                }
                for shift in 0..row.len() {
                    let mut y = row.clone();
                    y.rotate_left(shift);
                    out.scale_and_add(factor, &x_row, &of(&y));
                    for ((&x, &y), out) in row.iter().zip(&y).zip(elements(&out)) {
                        assert!(same(out, factor.mul_add(x, y)), "{factor:?} · {x:?} + {y:?} = {out:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_largest_magnitude_is_found_and_no_nan_is_lost() {
        let row = |values: &[f64]| of(&values.iter().map(|&x| Bounded::exact(x)).collect::<Vec<_>>());
        for at in 0..19 {
            let mut values = vec![0.5; 19];
            values[at] = -2.0;
            assert_eq!(row(&values).largest(), 2.0);
            values[at] = f64::NAN;
            assert_eq!(row(&values).largest(), f64::INFINITY);
        }
        assert_eq!(row(&[]).largest(), 0.0);
    }

    #[test]
    fn a_dot_product_of_rows_is_that_of_their_elements() {
        let numbers = numbers();
        let usual: Vec<Bounded> = numbers.iter().copied().filter(|x| x.value != 0.0 && x.value.abs() < 2.0).collect();
        for a in [&numbers[..], &usual[..], &usual[..3], &numbers[..20]] {
            for shift in 0..a.len() {
                let mut b = a.to_vec();
                b.rotate_left(shift);
                let of_rows = of(a).dot(&of(&b), Reduction::Warp);
                assert!(same(of_rows, Bounded::dot(a, &b, Reduction::Warp)), "{a:?} · {b:?} = {of_rows:?}");
            }
        }
    }

    #[test]
    fn an_exact_number_that_is_not_zero_is_found_wherever_it_stands() {
        for at in 0..19 {
            let mut numbers = vec![Bounded::within(0.5, 1e-9); 19];
            numbers[at] = Bounded::exact(0.0);
            assert!(!of(&numbers).any_exact());
            numbers[at] = Bounded::exact(-2.0);
            assert!(of(&numbers).any_exact());
        }
    }
}
