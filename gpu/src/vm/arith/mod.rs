//! The arithmetic of PTX as pure functions: bits in, bits out, no state, no panics.
//!
//! | module | holds | first functions to call |
//! | --- | --- | --- |
//! | [`soft`] | formats, exact integer evaluation, one rounding | [`soft::Format::fma`], [`soft::Format::round`] |
//! | [`float`] | f32: `add sub mul fma div rcp sqrt`, every mode, `.ftz`, `.sat`; fast exact rows | [`float::fma`], [`float::fma_rows`] |
//! | [`double`] | f64: the same, NaN payloads kept | [`double::fma`] |
//! | [`half`] | f16, bf16 and their pairs, `.relu` | [`half::fma`], [`half::pair`] |
//! | [`compare`] | `min max set setp testp copysign abs neg` | [`compare::extreme`], [`compare::floats`] |
//! | [`cvt`] | conversions between all of them and integers | [`cvt::float_to_int`], [`cvt::float_to_float`] |
//! | [`int`] | typed integer arithmetic, carries, division | `int::s32::mul_hi`, [`int::add_cc`] |
//! | [`field`] | shifts, bit fields, permutes, `lop3`, dot products | [`field::shf_l`], [`field::prmt`] |
//! | [`approx`] | approximate instructions, correctly rounded or adversarial | [`approx::ex2`], [`approx::Approx`] |
//!
//! Conventions: an f16 or bf16 is the low half of a u32, a pair has its second element in the upper half; [`Mode`] carries
//! the modifiers of floating-point instructions. Sections in comments are those of NVIDIA's PTX ISA 9.1.
//!
//! Below that stands what the machine's decoder uses for the same purposes: everything narrower than f64 is computed as an
//! f64 and the sign of what it leaves out.

pub mod approx;
pub mod compare;
pub mod cvt;
pub mod double;
pub mod field;
pub mod float;
pub mod half;
pub mod int;
mod real;
pub mod soft;
#[cfg(test)]
mod tests;

/// The modifiers of a floating-point instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mode {
    /// `.rn`, `.rz`, `.rm`, `.rp`, `.rna`.
    pub rounding: Rounding,
    /// Subnormal operands and results become zeros of their sign.
    pub ftz: bool,
    /// The result is clamped to [+0, 1]; NaN becomes +0.
    pub sat: bool,
    /// A negative result becomes +0 (NaN stays).
    pub relu: bool,
}

impl Mode {
    /// A rounding mode without modifiers.
    pub const fn rounding(rounding: Rounding) -> Self {
        Self { rounding, ftz: false, sat: false, relu: false }
    }
}

/// A rounding mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rounding {
    /// To nearest, ties to even.
    #[default]
    Nearest,
    /// Towards zero.
    Zero,
    /// Towards minus infinity.
    Down,
    /// Towards plus infinity.
    Up,
    /// To nearest, ties away from zero.
    Away,
}

/// How approximate instructions choose their result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Approximation {
    /// The correctly rounded value.
    #[default]
    CorrectlyRounded,
    /// Any value within the error that the ISA documents, drawn from a seed and the operands.
    Adversarial(u64),
}

/// A binary format: bits of the significand (hidden one included), bits of the exponent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    precision: u32,
    exponent: u32,
}

pub(crate) const F32: Format = Format { precision: 24, exponent: 8 };
pub(crate) const F16: Format = Format { precision: 11, exponent: 5 };
pub(crate) const BF16: Format = Format { precision: 8, exponent: 8 };

/// An f64 and the sign of the exact value minus it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exact(pub(crate) f64, pub(crate) f64);

impl Format {
    pub(crate) const fn nan(self) -> u32 {
        match (self.precision, self.exponent) {
            (24, _) => 0x7FFF_FFFF,
            _ => 0x7FFF,
        }
    }

    const fn width(self) -> u32 {
        self.precision + self.exponent
    }

    /// The value of bits in this format; exact.
    pub(crate) fn value(self, bits: u32) -> f64 {
        match (self.precision, self.exponent) {
            (24, _) => f64::from(f32::from_bits(bits)),
            (8, _) => f64::from(f32::from_bits(bits << 16)),
            _ => {
                let magnitude = f64::from(bits & 0x3FF);
                let value = match bits >> 10 & 31 {
                    0 => magnitude * 2f64.powi(-24),
                    31 if bits & 0x3FF == 0 => f64::INFINITY,
                    31 => f64::NAN,
                    e => (magnitude + 1024.0) * 2f64.powi(e as i32 - 25),
                };
                if bits & 0x8000 != 0 { -value } else { value }
            }
        }
    }

    /// Rounds to this format.
    pub(crate) fn round(self, exact: Exact, mode: Rounding) -> u32 {
        let Exact(value, rest) = exact;
        if value.is_nan() {
            return self.nan();
        }
        let sign = u32::from(value.is_sign_negative()) << (self.width() - 1);
        let max_exponent = (1 << self.exponent) - 1;
        let infinity = max_exponent << (self.precision - 1);
        if value.is_infinite() {
            return sign | infinity;
        }
        // The magnitude's bits, truncated, with what was cut as a fraction of the last place.
        let magnitude = value.abs();
        let rest = if value.is_sign_negative() { -rest } else { rest };
        let bias = (1 << (self.exponent - 1)) - 1;
        let least = 1 - bias;
        let mut exponent = (((magnitude.to_bits() >> 52) as i32) - 1023).max(least);
        let ulp = exponent - (self.precision as i32 - 1);
        let scaled = scale(magnitude, -ulp);
        let mut whole = scaled.floor();
        let mut cut = scaled - whole;
        let mut rest = rest;
        if cut == 0.0 && rest < 0.0 {
            // Just below a representable value.
            if whole == 2f64.powi(self.precision as i32 - 1) && exponent > least {
                // Below a power of two the places are half as wide.
                exponent -= 1;
                whole = 2f64.powi(self.precision as i32) - 1.0;
                cut = 1.0;
            } else if whole > 0.0 {
                whole -= 1.0;
                cut = 1.0;
            } else {
                rest = 0.0;
            }
        }
        let inexact = cut != 0.0 || rest != 0.0;
        let half =
            (cut - 0.5).partial_cmp(&0.0).map(|o| if o.is_eq() { rest.partial_cmp(&0.0).unwrap_or(o) } else { o });
        let up = match mode {
            Rounding::Nearest => half.is_some_and(|o| o.is_gt() || o.is_eq() && whole % 2.0 == 1.0),
            Rounding::Away => half.is_some_and(std::cmp::Ordering::is_ge),
            Rounding::Zero => false,
            Rounding::Down => inexact && sign != 0,
            Rounding::Up => inexact && sign == 0,
        };
        let significand = whole as u64 + u64::from(up);
        // Adding the exponent field lets a carry out of the significand move into it.
        let field = (exponent - least) as u64;
        let bits = (field << (self.precision - 1)) + significand;
        if bits >= u64::from(infinity) {
            let clamps =
                mode == Rounding::Zero || mode == Rounding::Down && sign == 0 || mode == Rounding::Up && sign != 0;
            return sign | if clamps { infinity - 1 } else { infinity };
        }
        sign | bits as u32
    }

    /// Flushes a subnormal to zero.
    pub(crate) const fn flush(self, bits: u32) -> u32 {
        let exponent_mask = ((1 << self.exponent) - 1) << (self.precision - 1);
        if bits & exponent_mask == 0 { bits & 1 << (self.width() - 1) } else { bits }
    }
}

/// `x · 2ⁿ`, in steps that keep subnormals exact.
fn scale(x: f64, n: i32) -> f64 {
    let half = n / 2;
    x * 2f64.powi(half) * 2f64.powi(n - half)
}

/// The sum of two f64 and the sign of its rounding error.
pub(crate) fn sum(a: f64, b: f64) -> Exact {
    let s = a + b;
    let t = s - a;
    let e = (a - (s - t)) + (b - t);
    Exact(s, if s.is_finite() { e } else { 0.0 })
}

/// The quotient and the sign of its error.
pub(crate) fn quotient(a: f64, b: f64) -> Exact {
    let q = a / b;
    if !q.is_finite() || b.is_infinite() || q == 0.0 {
        return Exact(q, 0.0);
    }
    let r = (-q).mul_add(b, a);
    Exact(q, if b < 0.0 { -r } else { r })
}

/// The square root and the sign of its error.
pub(crate) fn root(a: f64) -> Exact {
    let s = a.sqrt();
    if !s.is_finite() || s == 0.0 {
        return Exact(s, 0.0);
    }
    Exact(s, (-s).mul_add(s, a))
}

/// Moves an f64 result to the side that a directed mode wants; `rest` is the exact value minus it.
pub(crate) fn direct(exact: Exact, mode: Rounding) -> f64 {
    let Exact(value, rest) = exact;
    if value.is_nan() {
        return value;
    }
    match mode {
        Rounding::Down if rest < 0.0 => value.next_down(),
        Rounding::Up if rest > 0.0 => value.next_up(),
        Rounding::Zero if value > 0.0 && rest < 0.0 => value.next_down(),
        Rounding::Zero if value < 0.0 && rest > 0.0 => value.next_up(),
        _ => value,
    }
}

/// A pseudo-random number in [-1, 1] from a seed and operand bits.
pub(crate) fn noise(seed: u64, bits: u64) -> f64 {
    let mut z = seed.wrapping_add(bits.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_add(0x2545_F491_4F6C_DD1D);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    (z >> 11) as f64 * 2f64.powi(-52) - 1.0
}

/// Rounds an approximation to f32: `relative` and `absolute` are the errors that the ISA documents.
pub(crate) fn approximate(value: f64, relative: f64, absolute: f64, bits: u32, how: Approximation) -> u32 {
    let shifted = match how {
        Approximation::Adversarial(seed) if value.is_finite() && value != 0.0 => {
            // The final rounding may add half an ulp, which the draw leaves room for.
            let room = (value.abs() * (relative - 2f64.powi(-24)).max(0.0)).max(absolute);
            value + room * noise(seed, u64::from(bits))
        }
        _ => value,
    };
    F32.round(Exact(shifted, 0.0), Rounding::Nearest)
}
