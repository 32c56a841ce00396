//! Rows of numbers, laid out for the loops that run over them: those of the delta rule are the suite's inner ones.

use ndarray::{ArrayView1, ArrayViewMut1};

use super::{Reduction, Scalar};

/// A row of numbers of one scalar. Rows that meet in an operation have the same length.
pub trait Row<T> {
    /// A row of `len` exact zeros.
    fn zeros(len: usize) -> Self;

    /// Takes the elements of an array.
    fn read(&mut self, from: ArrayView1<'_, T>);

    /// Puts its elements into an array.
    fn write(&self, to: ArrayViewMut1<'_, T>);

    /// Becomes `factor` times `x`, each product an operation of its own.
    fn scale(&mut self, factor: T, x: &Self);

    /// Becomes `factor * x + y`; a kernel may round once or twice.
    fn scale_and_add(&mut self, factor: T, x: &Self, y: &Self);

    /// Σ selfᵢ·otherᵢ, as [`Scalar::dot`] has it.
    fn dot(&self, other: &Self, reduction: Reduction) -> T;

    /// The largest magnitude, infinite if any element is not a number; zero for a scalar that does not weigh forms.
    fn largest(&self) -> f64;

    /// Whether it is known of any element that every kernel holds this very number, and that it is not zero.
    fn any_exact(&self) -> bool;
}

/// The plain row, of numbers that carry no bound.
impl<T: Scalar> Row<T> for Vec<T> {
    fn zeros(len: usize) -> Self {
        vec![T::exact(0.0); len]
    }

    fn read(&mut self, from: ArrayView1<'_, T>) {
        // By way of an array's iterator this takes as long as the arithmetic.
        if let Some(from) = from.as_slice() {
            self.copy_from_slice(from);
        } else {
            self.iter_mut().zip(from).for_each(|(to, &from)| *to = from);
        }
    }

    fn write(&self, mut to: ArrayViewMut1<'_, T>) {
        if let Some(to) = to.as_slice_mut() {
            to.copy_from_slice(self);
        } else {
            self.iter().zip(to).for_each(|(&from, to)| *to = from);
        }
    }

    fn scale(&mut self, factor: T, x: &Self) {
        self.iter_mut().zip(x).for_each(|(out, &x)| *out = factor * x);
    }

    fn scale_and_add(&mut self, factor: T, x: &Self, y: &Self) {
        self.iter_mut().zip(x.iter().zip(y)).for_each(|(out, (&x, &y))| *out = factor.mul_add(x, y));
    }

    fn dot(&self, other: &Self, reduction: Reduction) -> T {
        T::dot(self, other, reduction)
    }

    fn largest(&self) -> f64 {
        0.0
    }

    fn any_exact(&self) -> bool {
        false
    }
}
