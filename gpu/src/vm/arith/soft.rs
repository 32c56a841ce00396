//! Binary floating point by integers: any format up to f64, any rounding mode, nothing assumed of the processor.
//!
//! A finite operand becomes a [`Real`] — sign, integer significand, exponent — an operation yields another one that is exact
//! or exact up to a sticky bit, and [`Format::round`] rounds once. So every result is correctly rounded by construction,
//! subnormals, overflow and signed zeros included.

pub(crate) use super::real::Real;

use super::Rounding;

/// A binary interchange format, held in the low bits of a u64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// Bits of the significand, the hidden one included.
    pub(super) precision: u32,
    /// Bits of the exponent field.
    pub(super) exponent_bits: u32,
    /// The NaN of an operation without NaN operands.
    pub(super) nan: u64,
    /// Whether an operand's NaN payload survives (f64 only).
    pub(super) payloads: bool,
    /// Whether results that are tiny become zeros (`.ftz`).
    pub(super) flushes: bool,
}

/// IEEE binary16. Its canonical NaN is `0x7FFF`.
pub(crate) const F16: Format = Format { precision: 11, exponent_bits: 5, nan: 0x7FFF, payloads: false, flushes: false };
/// The upper half of a binary32. Its canonical NaN is `0x7FFF`.
pub(crate) const BF16: Format = Format { precision: 8, exponent_bits: 8, nan: 0x7FFF, payloads: false, flushes: false };
/// IEEE binary32. PTX: single-precision instructions return an unspecified NaN; hardware returns `0x7FFFFFFF`.
pub(crate) const F32: Format =
    Format { precision: 24, exponent_bits: 8, nan: 0x7FFF_FFFF, payloads: false, flushes: false };
/// IEEE binary64. PTX: NaN payloads are supported for double-precision instructions.
pub(crate) const F64: Format =
    Format { precision: 53, exponent_bits: 11, nan: 0xFFF8_0000_0000_0000, payloads: true, flushes: false };
/// The upper word of a binary64, "1.11.20", in which the approximate f64 instructions work.
pub(crate) const F64_HIGH: Format =
    Format { precision: 21, exponent_bits: 11, nan: 0x7FFF_FFFF, payloads: false, flushes: false };

/// What bits of a format stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// Not a number.
    Nan,
    /// An infinity, negative or not.
    Infinite(bool),
    /// Everything else.
    Finite(Real),
}

impl Format {
    /// The same format, in which results that are tiny become zeros of their sign.
    ///
    /// A result is tiny if it is below the least normal value once it is rounded to the format's precision, with exponents
    /// that have no end: what rounds up to the least normal value only for want of places below it is flushed. The ISA says
    /// no more than that subnormal results are; this is what devices of `sm_90` do.
    #[inline]
    #[must_use]
    pub(crate) const fn flushing(self, flushes: bool) -> Self {
        Self { flushes, ..self }
    }

    /// Bits in all.
    pub(crate) const fn width(self) -> u32 {
        self.precision + self.exponent_bits
    }

    /// The sign bit.
    pub(crate) const fn sign(self) -> u64 {
        1 << (self.width() - 1)
    }

    /// Positive infinity.
    pub(crate) const fn infinity(self) -> u64 {
        ((1 << self.exponent_bits) - 1) << (self.precision - 1)
    }

    /// Positive one.
    pub(crate) const fn one(self) -> u64 {
        ((1 << (self.exponent_bits - 1)) - 1) << (self.precision - 1)
    }

    const fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    /// Exponent of the last place of subnormals.
    const fn least(self) -> i32 {
        2 - self.bias() - self.precision as i32
    }

    /// Whether bits are a NaN.
    #[inline]
    pub(crate) const fn is_nan(self, bits: u64) -> bool {
        bits & (self.sign() - 1) > self.infinity()
    }

    /// Whether bits are subnormal or zero.
    pub(crate) const fn is_tiny(self, bits: u64) -> bool {
        bits & self.infinity() == 0
    }

    /// A subnormal becomes a zero of its sign.
    #[inline]
    pub(crate) const fn flush(self, bits: u64) -> u64 {
        if self.is_tiny(bits) { bits & self.sign() } else { bits }
    }

    /// Splits bits.
    pub(crate) const fn decode(self, bits: u64) -> Value {
        let negative = bits & self.sign() != 0;
        let magnitude = bits & (self.sign() - 1);
        if magnitude > self.infinity() {
            return Value::Nan;
        }
        if magnitude == self.infinity() {
            return Value::Infinite(negative);
        }
        let hidden = 1 << (self.precision - 1);
        let field = (magnitude >> (self.precision - 1)) as i32;
        let fraction = magnitude & (hidden - 1);
        let (significand, exponent) =
            if field == 0 { (fraction, self.least()) } else { (fraction | hidden, self.least() + field - 1) };
        Value::Finite(Real { negative, significand: significand as u128, exponent, sticky: false })
    }

    /// The NaN that an operation on these operands returns.
    #[inline]
    pub(crate) const fn nan_of(self, a: u64, b: u64, c: u64) -> u64 {
        let quiet = 1 << (self.precision - 2);
        if self.payloads && self.is_nan(a) {
            a | quiet
        } else if self.payloads && self.is_nan(b) {
            b | quiet
        } else if self.payloads && self.is_nan(c) {
            c | quiet
        } else {
            self.nan
        }
    }

    /// Rounds a value once.
    pub(crate) const fn round(self, value: Real, mode: Rounding) -> u64 {
        let sign = if value.negative { self.sign() } else { 0 };
        if value.is_zero() {
            return sign;
        }
        let top = value.exponent + 127 - value.significand.leading_zeros() as i32;
        let unit = top - (self.precision as i32 - 1);
        if self.flushes && unit < self.least() {
            let shift = unit - value.exponent;
            // The next power of two, if it is rounded up to.
            let carries = shift > 0 && value.shifted(shift as u32, mode) >> self.precision != 0;
            if unit + (carries as i32) < self.least() {
                return sign;
            }
        }
        let unit = if unit < self.least() { self.least() } else { unit };
        let shift = unit - value.exponent;
        let whole = if shift <= 0 { value.significand << -shift } else { value.shifted(shift as u32, mode) };
        // The exponent field counts from 0 for subnormals; a carry out of the significand moves into it by itself.
        let bits = (((unit - self.least()) as u128) << (self.precision - 1)) + whole;
        if bits >= self.infinity() as u128 {
            let clamps = match mode {
                Rounding::Nearest | Rounding::Away => false,
                Rounding::Zero => true,
                Rounding::Down => !value.negative,
                Rounding::Up => value.negative,
            };
            return sign | (self.infinity() - clamps as u64);
        }
        sign | bits as u64
    }

    /// An f64 in this format.
    pub(crate) const fn of_f64(self, value: f64, mode: Rounding) -> u64 {
        match F64.decode(value.to_bits()) {
            Value::Nan => self.nan,
            Value::Infinite(negative) => self.signed(self.infinity(), negative),
            Value::Finite(real) => self.round(real, mode),
        }
    }

    /// The value as an f64, exact for every format here.
    pub(crate) const fn to_f64(self, bits: u64) -> f64 {
        f64::from_bits(match self.decode(bits) {
            Value::Nan => F64.nan,
            Value::Infinite(negative) => F64.signed(F64.infinity(), negative),
            Value::Finite(real) => F64.round(real, Rounding::Nearest),
        })
    }

    /// A magnitude with a sign.
    pub(crate) const fn signed(self, magnitude: u64, negative: bool) -> u64 {
        if negative { magnitude | self.sign() } else { magnitude }
    }

    /// `a + b`.
    pub(crate) const fn add(self, a: u64, b: u64, mode: Rounding) -> u64 {
        match (self.decode(a), self.decode(b)) {
            (Value::Finite(x), Value::Finite(y)) => self.round(x.plus(y, mode), mode),
            (Value::Nan, _) | (_, Value::Nan) => self.nan_of(a, b, 0),
            (Value::Infinite(x), Value::Infinite(y)) if x != y => self.nan,
            (Value::Infinite(x), _) | (_, Value::Infinite(x)) => self.signed(self.infinity(), x),
        }
    }

    /// `a − b`; a NaN `b` keeps its sign.
    pub(crate) const fn sub(self, a: u64, b: u64, mode: Rounding) -> u64 {
        self.add(a, if self.is_nan(b) { b } else { b ^ self.sign() }, mode)
    }

    /// `a · b`.
    pub(crate) const fn mul(self, a: u64, b: u64, mode: Rounding) -> u64 {
        match (self.decode(a), self.decode(b)) {
            (Value::Finite(x), Value::Finite(y)) => self.round(x.times(y), mode),
            (x, y) => self.infinite_product(a, b, x, y),
        }
    }

    const fn infinite_product(self, a: u64, b: u64, x: Value, y: Value) -> u64 {
        let negative = (a ^ b) & self.sign() != 0;
        match (x, y) {
            (Value::Nan, _) | (_, Value::Nan) => self.nan_of(a, b, 0),
            (Value::Finite(r), _) | (_, Value::Finite(r)) if r.is_zero() => self.nan,
            _ => self.signed(self.infinity(), negative),
        }
    }

    /// `a · b + c`, rounded once.
    pub(crate) const fn fma(self, a: u64, b: u64, c: u64, mode: Rounding) -> u64 {
        if self.is_nan(a) || self.is_nan(b) || self.is_nan(c) {
            return self.nan_of(a, b, c);
        }
        match (self.decode(a), self.decode(b), self.decode(c)) {
            (Value::Finite(x), Value::Finite(y), Value::Finite(z)) => self.round(x.times(y).plus(z, mode), mode),
            (Value::Finite(_), Value::Finite(_), _) => c,
            (x, y, _) => {
                let product = self.infinite_product(a, b, x, y);
                if self.is_nan(product) { product } else { self.add(product, c, mode) }
            }
        }
    }

    /// `a / b`.
    pub(crate) const fn div(self, a: u64, b: u64, mode: Rounding) -> u64 {
        let negative = (a ^ b) & self.sign() != 0;
        match (self.decode(a), self.decode(b)) {
            (Value::Nan, _) | (_, Value::Nan) => self.nan_of(a, b, 0),
            (Value::Infinite(_), Value::Infinite(_)) => self.nan,
            (Value::Infinite(_), _) => self.signed(self.infinity(), negative),
            (_, Value::Infinite(_)) => self.signed(0, negative),
            (Value::Finite(x), Value::Finite(y)) if y.is_zero() => {
                if x.is_zero() {
                    self.nan
                } else {
                    self.signed(self.infinity(), negative)
                }
            }
            (Value::Finite(x), Value::Finite(y)) => self.round(x.over(y), mode),
        }
    }

    /// `√a`; `√−0` is `−0`.
    pub(crate) const fn sqrt(self, a: u64, mode: Rounding) -> u64 {
        match self.decode(a) {
            Value::Nan => self.nan_of(a, 0, 0),
            Value::Infinite(false) => a,
            Value::Finite(x) if x.is_zero() => a,
            Value::Finite(x) if !x.negative => self.round(x.root(), mode),
            _ => self.nan,
        }
    }
}
