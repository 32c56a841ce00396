//! Integer arithmetic (PTX ISA 9.7.1 and 9.7.2).
//!
//! One module per type, on native integers; everything wraps unless it says that it saturates. Where the ISA leaves a result
//! open it is defined here: division and remainder by zero are all ones, as hardware's are.

/// The operations that every type has.
macro_rules! integers {
    ($($(#[$doc:meta])* $name:ident: $t:ty, $wide:ty, $unsigned:ty;)*) => {$(
        $(#[$doc])*
        pub mod $name {
            /// `mul.lo`.
            #[inline]
            pub const fn mul_lo(a: $t, b: $t) -> $t {
                a.wrapping_mul(b)
            }

            /// `mul.wide`: the whole product.
            #[inline]
            pub const fn mul_wide(a: $t, b: $t) -> $wide {
                a as $wide * b as $wide
            }

            /// `mul.hi`: the product's upper half.
            #[inline]
            pub const fn mul_hi(a: $t, b: $t) -> $t {
                (mul_wide(a, b) >> <$t>::BITS) as $t
            }

            /// `mad.lo`.
            #[inline]
            pub const fn mad_lo(a: $t, b: $t, c: $t) -> $t {
                a.wrapping_mul(b).wrapping_add(c)
            }

            /// `mad.hi`.
            #[inline]
            pub const fn mad_hi(a: $t, b: $t, c: $t) -> $t {
                mul_hi(a, b).wrapping_add(c)
            }

            /// `mad.wide`.
            #[inline]
            pub const fn mad_wide(a: $t, b: $t, c: $wide) -> $wide {
                mul_wide(a, b).wrapping_add(c)
            }

            /// `sad`: `c + |a − b|`.
            #[inline]
            pub const fn sad(a: $t, b: $t, c: $t) -> $t {
                c.wrapping_add(a.abs_diff(b) as $t)
            }

            /// `div`, towards zero; by zero: all ones.
            #[inline]
            pub const fn div(a: $t, b: $t) -> $t {
                if b == 0 { <$unsigned>::MAX as $t } else { a.wrapping_div(b) }
            }

            /// `rem`, with the sign of the dividend; by zero: all ones.
            #[inline]
            pub const fn rem(a: $t, b: $t) -> $t {
                if b == 0 { <$unsigned>::MAX as $t } else { a.wrapping_rem(b) }
            }

            /// `shr`: by the type's width or more, all copies of the sign (or zero).
            #[inline]
            pub const fn shr(a: $t, by: u32) -> $t {
                let last = <$t>::BITS - 1;
                // Twice: a shift by the whole width is not one that Rust has.
                if by > last { a >> last >> 1 } else { a >> by }
            }

            /// `shl`: by the type's width or more, zero.
            #[inline]
            pub const fn shl(a: $t, by: u32) -> $t {
                if by >= <$t>::BITS { 0 } else { a << by }
            }
        }
    )*};
}

integers! {
    /// `.u16`
    u16: u16, u32, u16;
    /// `.s16`
    s16: i16, i32, u16;
    /// `.u32`
    u32: u32, u64, u32;
    /// `.s32`
    s32: i32, i64, u32;
    /// `.u64`; `wide` is for computing `hi`, PTX has no such form.
    u64: u64, u128, u64;
    /// `.s64`; `wide` is for computing `hi`, PTX has no such form.
    s64: i64, i128, u64;
}

/// `add.sat.s32`.
#[inline]
pub const fn add_sat(a: i32, b: i32) -> i32 {
    a.saturating_add(b)
}

/// `sub.sat.s32`.
#[inline]
pub const fn sub_sat(a: i32, b: i32) -> i32 {
    a.saturating_sub(b)
}

/// `mad.hi.sat.s32`.
#[inline]
pub const fn mad_hi_sat(a: i32, b: i32, c: i32) -> i32 {
    s32::mul_hi(a, b).saturating_add(c)
}

/// `abs` of a sign-extended value of 16, 32 or 64 bits: of the least one, itself.
#[inline]
pub const fn abs(a: i64, bits: u32) -> i64 {
    let shift = 64_u32.saturating_sub(bits) & 63;
    a.wrapping_abs() << shift >> shift
}

macro_rules! carries {
    ($t:ty: $add_cc:ident $addc:ident $sub_cc:ident $subc:ident $lo_cc:ident $hi_cc:ident $wide:ty, $bits:literal) => {
        #[doc = concat!("`add.cc` of ", $bits, " bits: sum and carry.")]
        #[inline]
        pub const fn $add_cc(a: $t, b: $t) -> ($t, bool) {
            a.overflowing_add(b)
        }

        #[doc = concat!("`addc{.cc}` of ", $bits, " bits: sum with carry in, and carry out.")]
        #[inline]
        pub const fn $addc(a: $t, b: $t, carry: bool) -> ($t, bool) {
            let (s, x) = a.overflowing_add(b);
            let (s, y) = s.overflowing_add(carry as $t);
            (s, x | y)
        }

        #[doc = concat!("`sub.cc` of ", $bits, " bits: difference and borrow, which the carry flag holds.")]
        #[inline]
        pub const fn $sub_cc(a: $t, b: $t) -> ($t, bool) {
            a.overflowing_sub(b)
        }

        #[doc = concat!("`subc{.cc}` of ", $bits, " bits: `a − (b + borrow)`, and borrow out.")]
        #[inline]
        pub const fn $subc(a: $t, b: $t, borrow: bool) -> ($t, bool) {
            let (d, x) = a.overflowing_sub(b);
            let (d, y) = d.overflowing_sub(borrow as $t);
            (d, x | y)
        }

        #[doc = concat!("`mad{c}.lo.cc` of ", $bits, " bits (`mad`: without carry in).")]
        #[inline]
        pub const fn $lo_cc(a: $t, b: $t, c: $t, carry: bool) -> ($t, bool) {
            $addc(a.wrapping_mul(b), c, carry)
        }

        #[doc = concat!("`mad{c}.hi.cc` of ", $bits, " bits; signed products differ in their upper half only.")]
        #[inline]
        pub const fn $hi_cc(a: $t, b: $t, c: $t, signed: bool, carry: bool) -> ($t, bool) {
            let unsigned = ((a as $wide * b as $wide) >> <$t>::BITS) as $t;
            // Read as signed, a negative operand is worth 2^n less.
            let top = <$t>::BITS - 1;
            let less_b = if signed && a >> top != 0 { b } else { 0 };
            let less_a = if signed && b >> top != 0 { a } else { 0 };
            $addc(unsigned.wrapping_sub(less_a).wrapping_sub(less_b), c, carry)
        }
    };
}

carries!(u32: add_cc addc sub_cc subc madc_lo madc_hi u64, "32");
carries!(u64: add_cc64 addc64 sub_cc64 subc64 madc_lo64 madc_hi64 u128, "64");

/// The 48-bit product of the operands' low 24 bits.
#[inline]
const fn product24(a: u32, b: u32, signed: bool) -> i64 {
    if signed {
        ((a << 8) as i32 >> 8) as i64 * ((b << 8) as i32 >> 8) as i64
    } else {
        (a & 0xFF_FFFF) as i64 * (b & 0xFF_FFFF) as i64
    }
}

/// `mul24.lo`: bits 0 to 31 of the 48-bit product.
#[inline]
pub const fn mul24_lo(a: u32, b: u32, signed: bool) -> u32 {
    product24(a, b, signed) as u32
}

/// `mul24.hi`: bits 16 to 47 of the 48-bit product.
#[inline]
pub const fn mul24_hi(a: u32, b: u32, signed: bool) -> u32 {
    (product24(a, b, signed) >> 16) as u32
}

/// `mad24.lo`.
#[inline]
pub const fn mad24_lo(a: u32, b: u32, c: u32, signed: bool) -> u32 {
    mul24_lo(a, b, signed).wrapping_add(c)
}

/// `mad24.hi`.
#[inline]
pub const fn mad24_hi(a: u32, b: u32, c: u32, signed: bool) -> u32 {
    mul24_hi(a, b, signed).wrapping_add(c)
}

/// `mad24.hi.sat.s32`.
#[inline]
pub const fn mad24_hi_sat(a: i32, b: i32, c: i32) -> i32 {
    (mul24_hi(a as u32, b as u32, true) as i32).saturating_add(c)
}
