//! Correct rounding by definition: the neighbouring values of a format are found by bisection over all of them, each compared
//! exactly with the result in integers of any length.

use crate::vm::arith::Rounding;
use crate::vm::arith::soft::Format;
use dashu_int::{IBig, UBig};
use std::cmp::Ordering;

pub(super) const MODES: [Rounding; 4] = [Rounding::Nearest, Rounding::Zero, Rounding::Down, Rounding::Up];

/// A stream of operands.
pub(super) struct Draws(pub(super) u64);

impl Draws {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// A finite operand: any bits, round significands, neighbours of edges, or the exponent near that of `near`.
    pub(super) fn operand(&mut self, format: Format, near: u64) -> u64 {
        let fraction = (1 << (format.precision - 1)) - 1;
        let bits = self.next() & (format.sign() | (format.sign() - 1));
        let bits = match self.below(8) {
            0..3 => bits,
            3 => {
                // Few bits set, so that ties happen.
                let places = format.precision.min(self.below(12) as u32 + 1);
                bits & !(fraction >> places)
            }
            4 => {
                let edges = [0, 1, 2, fraction, fraction + 1, fraction + 2, format.one(), format.infinity() - 1];
                let edge = edges[self.below(8) as usize];
                edge | bits & format.sign()
            }
            5 => bits & (format.sign() | fraction),
            _ => {
                let shift = self.below(2 * u64::from(format.precision) + 6) as i64 - i64::from(format.precision) - 3;
                let field = (near >> (format.precision - 1)) as i64 & ((1 << format.exponent_bits) - 1);
                let field = (field + shift).clamp(0, (1 << format.exponent_bits) - 2) as u64;
                bits & (format.sign() | fraction) | field << (format.precision - 1)
            }
        };
        if bits & format.infinity() == format.infinity() { bits ^ (format.one() & (format.one() >> 1)) } else { bits }
    }
}

/// The format's unit: every value is an integer of `2^-scale`.
pub(super) fn scale(format: Format) -> usize {
    (1_usize << (format.exponent_bits - 1)) - 3 + format.precision as usize
}

/// A magnitude in units; that of infinity is where the next binade would begin.
pub(super) fn units(format: Format, magnitude: u64) -> UBig {
    let field = magnitude >> (format.precision - 1);
    let fraction = magnitude & ((1 << (format.precision - 1)) - 1);
    match field {
        0 => UBig::from(fraction),
        _ => UBig::from(fraction | 1 << (format.precision - 1)) << (field as usize - 1),
    }
}

/// A value in units.
pub(super) fn signed(format: Format, bits: u64) -> IBig {
    let magnitude = IBig::from(units(format, bits & (format.sign() - 1)));
    if bits & format.sign() != 0 { -magnitude } else { magnitude }
}

/// Where a magnitude lies in a format.
pub(super) struct Place {
    below: u64,
    exact: bool,
    half: Ordering,
}

/// `order` compares its argument, counted in *half* units, with the exact magnitude.
pub(super) fn place(format: Format, order: impl Fn(&UBig) -> Ordering) -> Place {
    let (mut low, mut high) = (0, format.infinity());
    if order(&(units(format, high) << 1)).is_le() {
        return Place { below: high, exact: false, half: Ordering::Greater };
    }
    while high - low > 1 {
        let middle = low.midpoint(high);
        if order(&(units(format, middle) << 1)).is_le() { low = middle } else { high = middle }
    }
    let exact = order(&(units(format, low) << 1)).is_eq();
    let half = order(&(units(format, low) + units(format, low + 1))).reverse();
    Place { below: low, exact, half }
}

impl Place {
    /// The rounded bits.
    pub(super) fn round(&self, format: Format, negative: bool, mode: Rounding) -> u64 {
        let sign = if negative { format.sign() } else { 0 };
        let away = match mode {
            Rounding::Zero => false,
            Rounding::Down => negative,
            Rounding::Up => !negative,
            Rounding::Nearest => self.half.is_gt() || self.half.is_eq() && self.below & 1 == 1,
            Rounding::Away => self.half.is_ge(),
        };
        let magnitude = if self.below == format.infinity() {
            self.below - u64::from(!away)
        } else {
            self.below + u64::from(away && !self.exact)
        };
        sign | magnitude
    }
}

/// An operation to evaluate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Op {
    Add,
    Sub,
    Mul,
    Fma,
    Div,
    Sqrt,
}

/// The result in every mode of [`MODES`] on finite operands (a divisor that is not zero, a square root of what is not
/// negative).
pub(super) fn evaluate(op: Op, format: Format, a: u64, b: u64, c: u64) -> [u64; 4] {
    let k = scale(format);
    let (x, y, z) = (signed(format, a), signed(format, b), signed(format, c));
    let sign_of = |bits: u64| bits & format.sign() != 0;
    let product_sign = sign_of(a) != sign_of(b);
    // The numerator, in units of 2^-k or 2^-2k, and the signs of the addends, which an exact zero depends on.
    let (total, fine, first, second) = match op {
        Op::Add => (&x + &y, false, sign_of(a), sign_of(b)),
        Op::Sub => (&x - &y, false, sign_of(a), !sign_of(b)),
        Op::Mul => (&x * &y, true, product_sign, product_sign),
        Op::Fma => (&x * &y + (z << k), true, product_sign, sign_of(c)),
        Op::Div | Op::Sqrt => (x.clone(), false, product_sign, product_sign),
    };
    if total == IBig::ZERO {
        return MODES.map(|mode| {
            let negative = match op {
                Op::Sqrt => sign_of(a),
                _ if first == second => first,
                _ => mode == Rounding::Down,
            };
            if negative { format.sign() } else { 0 }
        });
    }
    let negative = match op {
        Op::Div => product_sign,
        Op::Sqrt => false,
        _ => total < IBig::ZERO,
    };
    let magnitude =
        |v: &IBig| UBig::try_from(if *v < IBig::ZERO { -v.clone() } else { v.clone() }).expect("a magnitude");
    let (total, divisor) = (magnitude(&total), magnitude(&y));
    let found = match op {
        Op::Div => {
            let left = total << (k + 1);
            place(format, |half_units| (half_units * &divisor).cmp(&left))
        }
        Op::Sqrt => {
            let left = total << (k + 2);
            place(format, |half_units| (half_units * half_units).cmp(&left))
        }
        _ => {
            let left = total << 1;
            let shift = if fine { k } else { 0 };
            place(format, |half_units| (half_units << shift).cmp(&left))
        }
    };
    MODES.map(|mode| found.round(format, negative, mode))
}
