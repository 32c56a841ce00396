//! A scalar of 192 bits: multi-precision numbers in an arena of the thread, named by their place in it, because a scalar is `Copy`.
//!
//! It keeps to the range of f32: overflow is part of the value that the oracle gives (a sum of squares beyond f32 makes a norm
//! zero), so results of 2¹²⁸ and more are infinite here too.

#![allow(unreachable_pub)]

use std::cell::{Cell, RefCell};
use std::ops::{Add, Mul, Neg, Sub};

use astro_float_num::{BigFloat, Consts, INF_NEG, INF_POS, RoundingMode, Sign};
use gdn_reference::scalar::{Angle, Rotary};
use gdn_reference::{Budget, Reduction, Scalar};

const BITS: usize = 192;
const NEAR: RoundingMode = RoundingMode::ToEven;
/// 2¹²⁸ less half an ulp of the largest f32: what rounds to infinity.
const OVERFLOW: f64 = f32::MAX as f64 + 10_141_204_801_825_835_211_973_625_643_008.0;

thread_local! {
    static ARENA: RefCell<Vec<BigFloat>> = const { RefCell::new(Vec::new()) };
    static CONSTS: RefCell<Consts> = RefCell::new(Consts::new().expect("memory for the constants"));
    static OVERFLOWED: Cell<bool> = const { Cell::new(false) };
}

/// A number of 192 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Precise(u32);

fn with_consts<R>(body: impl FnOnce(&mut Consts) -> R) -> R {
    CONSTS.with_borrow_mut(body)
}

impl Precise {
    fn store(value: BigFloat) -> Self {
        ARENA.with_borrow_mut(|arena| {
            arena.push(value);
            Self(u32::try_from(arena.len() - 1).expect("the arena is emptied long before"))
        })
    }

    /// A result, with f32's overflow.
    fn result(value: BigFloat) -> Self {
        // 2¹²⁷ has the exponent 128 here, mantissas being in [½, 1).
        let may_overflow = value.is_inf() || value.exponent().is_some_and(|exponent| exponent >= 128);
        if may_overflow && value.abs().cmp(&BigFloat::from_f64(OVERFLOW, BITS)) >= Some(0) {
            OVERFLOWED.set(true);
            return Self::store(if value.is_negative() { INF_NEG } else { INF_POS });
        }
        Self::store(value)
    }

    fn with<R>(self, body: impl FnOnce(&BigFloat) -> R) -> R {
        let value = ARENA.with_borrow(|arena| arena[self.0 as usize].clone());
        body(&value)
    }

    /// Its distance from an f64, rounded to f64; zero for the same infinity, NaN where one of the two is not finite alone.
    pub(crate) fn distance(self, from: f64) -> f64 {
        self.with(|value| {
            if value.is_inf() && from == if value.is_negative() { f64::NEG_INFINITY } else { f64::INFINITY } {
                return 0.0;
            }
            if value.is_nan() || value.is_inf() || !from.is_finite() {
                return f64::NAN;
            }
            about(&value.sub(&BigFloat::from_f64(from, BITS), BITS, NEAR)).abs()
        })
    }

    pub(crate) fn is_nan(self) -> bool {
        self.with(BigFloat::is_nan)
    }

    /// Empties the arena but for the numbers given, which keep their values. All other numbers of the thread are void.
    pub(crate) fn keep_only<'a>(kept: impl Iterator<Item = &'a mut Self>) {
        ARENA.with_borrow_mut(|arena| {
            let mut next = Vec::new();
            for number in kept {
                next.push(arena[number.0 as usize].clone());
                number.0 = next.len() as u32 - 1;
            }
            *arena = next;
        });
    }

    /// Whether anything overflowed since the last time that this was asked.
    pub(crate) fn overflowed() -> bool {
        OVERFLOWED.replace(false)
    }
}

/// A multi-precision number as an f64, truncated to 53 bits; 0 below f64's normal range.
pub(crate) fn about(value: &BigFloat) -> f64 {
    if value.is_inf() {
        return if value.is_negative() { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    let Some((words, _, sign, exponent, _)) = value.as_raw_parts() else { return f64::NAN };
    if value.is_zero() || exponent < -1000 {
        return 0.0;
    }
    let top = words.last().copied().unwrap_or(0) >> 11;
    let magnitude = top as f64 * 2f64.powi(-53) * 2f64.powi(exponent.min(1023));
    if sign == Sign::Neg { -magnitude } else { magnitude }
}

fn binary<R>(a: Precise, b: Precise, op: impl FnOnce(&BigFloat, &BigFloat) -> R) -> R {
    ARENA.with_borrow(|arena| op(&arena[a.0 as usize], &arena[b.0 as usize]))
}

impl Add for Precise {
    type Output = Self;

    fn add(self, rhs: Self) -> Self {
        Self::result(binary(self, rhs, |a, b| a.add(b, BITS, NEAR)))
    }
}

impl Sub for Precise {
    type Output = Self;

    fn sub(self, rhs: Self) -> Self {
        Self::result(binary(self, rhs, |a, b| a.sub(b, BITS, NEAR)))
    }
}

impl Mul for Precise {
    type Output = Self;

    fn mul(self, rhs: Self) -> Self {
        Self::result(binary(self, rhs, |a, b| a.mul(b, BITS, NEAR)))
    }
}

impl Neg for Precise {
    type Output = Self;

    fn neg(self) -> Self {
        Self::store(self.with(BigFloat::neg))
    }
}

/// ln(1 + x): by its series for a small x, of which 1 + x would lose the digits.
fn log1p(x: &BigFloat) -> BigFloat {
    if x.exponent().is_some_and(|exponent| exponent < -64) && !x.is_zero() {
        // x − x²/2 + x³/3 leaves less than x⁴/4, 2⁻¹⁹⁴ of x.
        let two = BigFloat::from_f64(2.0, BITS);
        let three = BigFloat::from_f64(3.0, BITS);
        let square = x.mul(x, BITS, NEAR);
        let cube = square.mul(x, BITS, NEAR);
        return x.sub(&square.div(&two, BITS, NEAR), BITS, NEAR).add(&cube.div(&three, BITS, NEAR), BITS, NEAR);
    }
    // 64 bits more, for those that the sum loses.
    let sum = BigFloat::from_f64(1.0, BITS).add(x, BITS + 64, NEAR);
    with_consts(|consts| sum.ln(BITS, NEAR, consts))
}

/// The angle in radians, not reduced, and so with 64 bits more.
fn radians(of: Rotary) -> BigFloat {
    let bits = BITS + 64;
    let number = |x: f64| BigFloat::from_f64(x, bits);
    let exponent = number(-2.0 * of.pair as f64).div(&number(of.rot as f64), bits, NEAR);
    let log = with_consts(|consts| number(f64::from(of.base)).ln(bits, NEAR, consts));
    let frequency = with_consts(|consts| log.mul(&exponent, bits, NEAR).exp(bits, NEAR, consts));
    number(of.position as f64).mul(&frequency, bits, NEAR)
}

impl Scalar for Precise {
    type Row = Vec<Self>;

    const WEIGHS_FORMS: bool = false;

    fn exact(value: f64) -> Self {
        Self::store(BigFloat::from_f64(value, BITS))
    }

    fn value(self) -> f64 {
        self.with(about)
    }

    fn div(self, rhs: Self, _: &Budget) -> Self {
        Self::result(binary(self, rhs, |a, b| a.div(b, BITS, NEAR)))
    }

    fn sqrt(self, _: &Budget) -> Self {
        Self::result(self.with(|x| x.sqrt(BITS, NEAR)))
    }

    fn rsqrt(self, _: &Budget) -> Self {
        Self::result(self.with(|x| x.sqrt(BITS, NEAR).reciprocal(BITS, NEAR)))
    }

    fn exp(self, _: &Budget) -> Self {
        Self::result(self.with(|x| with_consts(|consts| x.exp(BITS, NEAR, consts))))
    }

    fn log1p(self, _: &Budget) -> Self {
        Self::result(self.with(log1p))
    }

    fn sin_cos(angle: Angle, _: &Budget) -> (Self, Self) {
        let angle = radians(angle.of());
        let (sin, cos) = with_consts(|consts| (angle.sin(BITS, NEAR, consts), angle.cos(BITS, NEAR, consts)));
        (Self::store(sin), Self::store(cos))
    }

    fn max(self, other: Self) -> Self {
        let less = binary(self, other, |a, b| a.cmp(b).is_some_and(|order| order < 0));
        if self.is_nan() || less { other } else { self }
    }

    fn abs(self) -> Self {
        Self::store(self.with(BigFloat::abs))
    }

    /// The product may be fused, so only the result overflows.
    fn mul_add(self, a: Self, b: Self) -> Self {
        let product = binary(self, a, |x, y| x.mul(y, BITS, NEAR));
        Self::result(b.with(|b| product.add(b, BITS, NEAR)))
    }

    fn sum<I>(terms: I, _: Reduction) -> Self
    where
        I: Iterator<Item = Self> + Clone,
    {
        let zero = BigFloat::from_f64(0.0, BITS);
        Self::result(terms.fold(zero, |sum, term| term.with(|term| sum.add(term, BITS, NEAR))))
    }

    fn dot(a: &[Self], b: &[Self], _: Reduction) -> Self {
        let zero = BigFloat::from_f64(0.0, BITS);
        let products = a.iter().zip(b).map(|(&a, &b)| binary(a, b, |a, b| a.mul(b, BITS, NEAR)));
        Self::result(products.fold(zero, |sum, product| sum.add(&product, BITS, NEAR)))
    }

    /// An exponential that overflows is harmless here: the quotient is exact.
    fn recip_one_plus_exp(self, _: &Budget) -> Self {
        let one = BigFloat::from_f64(1.0, BITS);
        let exp = self.with(|x| with_consts(|consts| x.exp(BITS, NEAR, consts)));
        Self::result(one.div(&one.add(&exp, BITS, NEAR), BITS, NEAR))
    }

    fn or_form(self, _: impl FnOnce() -> Self) -> Self {
        self
    }

    fn or_covered_form(self, _: Option<f64>, _: impl FnOnce() -> Self) -> Self {
        self
    }
}
