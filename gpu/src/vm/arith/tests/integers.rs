//! Integers and bit fields against wide integers, bit-by-bit readings of the ISA's pseudocode, and values by hand.

use super::oracle::Draws;
use crate::vm::arith::field::{self, Overflow, Permute};
use crate::vm::arith::int;

const COUNT: usize = 10_000;
const EDGES: [u64; 8] = [0, 1, 2, 31, 32, 33, u64::MAX, 1 << 63];

fn draw(draws: &mut Draws) -> u64 {
    match draws.below(3) {
        0 => draws.next(),
        1 => draws.next() >> draws.below(64),
        _ => EDGES[draws.below(8) as usize] ^ (u64::from(draws.below(4) == 0) << 31),
    }
}

macro_rules! against_i128 {
    ($($test:ident $module:ident $t:ty;)*) => {$(
        #[test]
        fn $test() {
            let bits = <$t>::BITS;
            let mut draws = Draws(bits.into());
            for _ in 0..COUNT {
                let (a, b, c) = (draw(&mut draws) as $t, draw(&mut draws) as $t, draw(&mut draws) as $t);
                // Products of 64-bit unsigned operands need all of u128: compare by halves modulo 2^128.
                let (x, y, z) = (i128::from(a), i128::from(b), i128::from(c));
                let product = x.wrapping_mul(y);
                let high = if <$t>::MIN == 0 { ((product as u128) >> bits) as $t } else { (product >> bits) as $t };
                assert_eq!(int::$module::mul_lo(a, b), product as $t);
                assert_eq!(int::$module::mul_hi(a, b), high);
                assert_eq!(int::$module::mul_wide(a, b) as i128, product);
                assert_eq!(int::$module::mad_lo(a, b, c), product.wrapping_add(z) as $t);
                assert_eq!(int::$module::mad_hi(a, b, c), i128::from(high).wrapping_add(z) as $t);
                assert_eq!(int::$module::mad_wide(a, b, 1), int::$module::mul_wide(a, b).wrapping_add(1));
                assert_eq!(int::$module::sad(a, b, c), (z + (x - y).abs()) as $t);
                let (quotient, remainder) = if y == 0 { (-1, -1) } else { (x / y, x % y) };
                assert_eq!(int::$module::div(a, b), quotient as $t);
                assert_eq!(int::$module::rem(a, b), remainder as $t);
                let by = c as u32 % (2 * bits + 3);
                assert_eq!(int::$module::shr(a, by), (x >> by.min(100)) as $t);
                assert_eq!(int::$module::shl(a, by), if by >= bits { 0 } else { (x << by) as $t });
            }
            assert_eq!(int::$module::div(<$t>::MIN, !0), (i128::from(<$t>::MIN) / i128::from(!0 as $t)) as $t);
            assert_eq!(int::$module::shr(<$t>::MIN, u32::MAX), if <$t>::MIN == 0 { 0 } else { !0 });
        }
    )*};
}

against_i128! {
    u16_arithmetic_agrees_with_wide_integers u16 u16;
    s16_arithmetic_agrees_with_wide_integers s16 i16;
    u32_arithmetic_agrees_with_wide_integers u32 u32;
    s32_arithmetic_agrees_with_wide_integers s32 i32;
    u64_arithmetic_agrees_with_wide_integers u64 u64;
    s64_arithmetic_agrees_with_wide_integers s64 i64;
}

#[test]
fn carries_are_bit_32_or_64_of_the_wide_result() {
    let mut draws = Draws(2);
    for _ in 0..COUNT {
        let (a, b, c) = (draw(&mut draws), draw(&mut draws), draw(&mut draws));
        let carry = draws.below(2) == 1;
        let (x, y, z) = (a as u32, b as u32, c as u32);
        let wide = |v: i128, bits: u32| ((v & ((1 << bits) - 1)) as u64, v >> bits & 1 != 0);
        let narrow = |(v, flag): (u32, bool)| (u64::from(v), flag);
        let (p, q, k) = (i128::from(x), i128::from(y), i128::from(carry));
        assert_eq!(narrow(int::add_cc(x, y)), wide(p + q, 32));
        assert_eq!(narrow(int::addc(x, y, carry)), wide(p + q + k, 32));
        assert_eq!(narrow(int::sub_cc(x, y)), wide(p - q, 32));
        assert_eq!(narrow(int::subc(x, y, carry)), wide(p - q - k, 32));
        let (lo, hi) = (i128::from(int::u32::mul_lo(x, y)), i128::from(int::u32::mul_hi(x, y)));
        let signed_hi = i128::from(int::s32::mul_hi(x as i32, y as i32) as u32);
        assert_eq!(narrow(int::madc_lo(x, y, z, carry)), wide(lo + i128::from(z) + k, 32));
        assert_eq!(narrow(int::madc_hi(x, y, z, false, carry)), wide(hi + i128::from(z) + k, 32));
        assert_eq!(narrow(int::madc_hi(x, y, z, true, carry)), wide(signed_hi + i128::from(z) + k, 32));
        let (p, q) = (i128::from(a), i128::from(b));
        assert_eq!(int::add_cc64(a, b), wide(p + q, 64));
        assert_eq!(int::addc64(a, b, carry), wide(p + q + k, 64));
        assert_eq!(int::sub_cc64(a, b), wide(p - q, 64));
        assert_eq!(int::subc64(a, b, carry), wide(p - q - k, 64));
        let (lo, hi) = (i128::from(int::u64::mul_lo(a, b)), i128::from(int::u64::mul_hi(a, b)));
        let signed_hi = i128::from(int::s64::mul_hi(a as i64, b as i64) as u64);
        assert_eq!(int::madc_lo64(a, b, c, carry), wide(lo + i128::from(c) + k, 64));
        assert_eq!(int::madc_hi64(a, b, c, false, carry), wide(hi + i128::from(c) + k, 64));
        assert_eq!(int::madc_hi64(a, b, c, true, carry), wide(signed_hi + i128::from(c) + k, 64));
    }
}

#[test]
fn saturation_stops_at_the_ends() {
    assert_eq!(int::add_sat(i32::MAX, 1), i32::MAX);
    assert_eq!(int::sub_sat(i32::MIN, 1), i32::MIN);
    assert_eq!(int::mad_hi_sat(i32::MIN, i32::MIN, i32::MAX), i32::MAX);
    assert_eq!(int::mad24_hi_sat(0x7F_FFFF, 0x7F_FFFF, i32::MAX), i32::MAX);
    assert_eq!(int::abs(i64::from(i16::MIN), 16), i64::from(i16::MIN));
    assert_eq!(int::abs(-5, 32), 5);
    assert_eq!(int::abs(i64::MIN, 64), i64::MIN);
}

#[test]
fn mul24_takes_the_low_24_bits_of_both_operands() {
    let mut draws = Draws(24);
    for _ in 0..COUNT {
        let (a, b, c) = (draw(&mut draws) as u32, draw(&mut draws) as u32, draw(&mut draws) as u32);
        for signed in [false, true] {
            let cut = |v: u32| {
                let low = i128::from(v % (1 << 24));
                if signed && low >= 1 << 23 { low - (1 << 24) } else { low }
            };
            let product = cut(a) * cut(b);
            let (lo, hi) = (product as u32, product.div_euclid(1 << 16) as u32);
            assert_eq!(int::mul24_lo(a, b, signed), lo);
            assert_eq!(int::mul24_hi(a, b, signed), hi);
            assert_eq!(int::mad24_lo(a, b, c, signed), lo.wrapping_add(c));
            assert_eq!(int::mad24_hi(a, b, c, signed), hi.wrapping_add(c));
        }
    }
}

#[test]
fn funnel_shifts_clamp_at_32_or_wrap() {
    let mut draws = Draws(5);
    for _ in 0..COUNT {
        let (a, b, c) = (draws.next() as u32, draws.next() as u32, draw(&mut draws) as u32);
        for (mode, n) in [(Overflow::Clamp, c.min(32)), (Overflow::Wrap, c % 32)] {
            let both = u128::from(b) << 32 | u128::from(a);
            assert_eq!(field::shf_l(a, b, c, mode), ((both << n) >> 32) as u32);
            assert_eq!(field::shf_r(a, b, c, mode), (both >> n) as u32);
        }
    }
}

#[test]
fn prmt_follows_the_table_of_every_mode() {
    let (a, b) = (0x8302_0100, 0x0706_8504);
    let at = |mode, c| field::prmt(a, b, c, mode);
    assert_eq!(at(Permute::Index, 0x7210), 0x0702_0100);
    assert_eq!(at(Permute::Index, 0xBDA8), 0xFFFF_0000); // signs of bytes 3, 5, 2, 0
    assert_eq!([0, 1, 2, 3].map(|c| at(Permute::Forward4, c)), [0x8302_0100, 0x0483_0201, 0x8504_8302, 0x0685_0483]);
    assert_eq!([0, 1, 2, 3].map(|c| at(Permute::Backward4, c)), [0x8506_0700, 0x0607_0001, 0x0700_0102, 0x0001_0283]);
    assert_eq!([0, 1, 2, 3].map(|c| at(Permute::Replicate8, c)), [0, 0x0101_0101, 0x0202_0202, 0x8383_8383]);
    assert_eq!([0, 1, 2, 3].map(|c| at(Permute::EdgeLeft, c)), [0x8302_0100, 0x8302_0101, 0x8302_0202, 0x8383_8383]);
    assert_eq!([0, 1, 2, 3].map(|c| at(Permute::EdgeRight, c)), [0, 0x0101_0100, 0x0202_0100, 0x8302_0100]);
    assert_eq!([0, 1, 2, 3].map(|c| at(Permute::Replicate16, c)), [0x0100_0100, 0x8302_8302, 0x0100_0100, 0x8302_8302]);
}

/// The pseudocode of `bfe`, bit by bit.
fn bfe(a: u64, pos: u32, len: u32, width: u32, signed: bool) -> u64 {
    let msb = width - 1;
    let (pos, len) = (pos & 255, len & 255);
    let bit = |at: u32| a >> at & 1;
    let sbit = if !signed || len == 0 { 0 } else { bit((pos + len - 1).min(msb)) };
    (0..width).fold(0, |d, i| d | if i < len && pos + i <= msb { bit(pos + i) } else { sbit } << i)
}

#[test]
fn bit_fields_agree_with_the_pseudocode() {
    let mut draws = Draws(6);
    for _ in 0..COUNT {
        let (a, b) = (draw(&mut draws), draw(&mut draws));
        let (pos, len) =
            (draws.below(80) as u32 * draws.below(5) as u32, draws.below(80) as u32 * draws.below(5) as u32);
        for width in [32, 64] {
            let low = if width == 64 { u64::MAX } else { 0xFFFF_FFFF };
            let (a, b) = (a & low, b & low);
            for signed in [false, true] {
                assert_eq!(
                    field::bfe(a, pos, len, width, signed),
                    bfe(a, pos, len, width, signed),
                    "{a:x} {pos} {len}"
                );
                let negative = signed && a >> (width - 1) & 1 == 1;
                let found = (0..width).rev().find(|&at| (a >> at & 1 == 1) != negative);
                assert_eq!(field::bfind(a, width, signed, false), found.unwrap_or(u32::MAX));
                assert_eq!(field::bfind(a, width, signed, true), found.map_or(u32::MAX, |at| width - 1 - at));
            }
            let (p, l) = (pos & 255, len & 255);
            let inserted =
                (0..width).fold(0, |d, i| d | if i >= p && i < p + l { a >> (i - p) & 1 } else { b >> i & 1 } << i);
            assert_eq!(field::bfi(a, b, pos, len, width), inserted, "{a:x} {b:x} {pos} {len}");
            assert_eq!(field::brev(a, width), (0..width).fold(0, |d, i| d | (a >> i & 1) << (width - 1 - i)));
            assert_eq!(field::popc(a, width), (0..width).filter(|&i| a >> i & 1 == 1).count() as u32);
            assert_eq!(field::clz(a, width), (0..width).rev().take_while(|&i| a >> i & 1 == 0).count() as u32);
        }
    }
}

#[test]
fn lop3_is_its_truth_table() {
    let (a, b, c) = (0xF0F0_A5A5, 0xCCCC_3C3C, 0xAAAA_9696);
    assert_eq!(field::lop3(a, b, c, 0x80), a & b & c);
    assert_eq!(field::lop3(a, b, c, 0xFE), a | b | c);
    assert_eq!(field::lop3(a, b, c, 0x96), a ^ b ^ c);
    assert_eq!(field::lop3(a, b, c, 0x1A), (a & b | c) ^ a);
    for table in 0..256 {
        let out = field::lop3(a, b, c, table);
        for i in 0..32 {
            let row = (a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1;
            assert_eq!(out >> i & 1, table >> row & 1);
        }
    }
}

#[test]
fn dot_products_sum_signed_and_unsigned_bytes() {
    let mut draws = Draws(8);
    for _ in 0..COUNT {
        let (a, b, c) = (draw(&mut draws) as u32, draw(&mut draws) as u32, draw(&mut draws) as u32);
        for (sa, sb) in [(false, false), (false, true), (true, false), (true, true)] {
            let bytes = |v: u32, s: bool| v.to_le_bytes().map(|x| if s { i64::from(x as i8) } else { i64::from(x) });
            let halves = [a & 0xFFFF, a >> 16].map(|x| if sa { i64::from(x as i16) } else { i64::from(x) });
            let (x, y) = (bytes(a, sa), bytes(b, sb));
            let four: i64 = x.iter().zip(y).map(|(x, y)| x * y).sum();
            assert_eq!(field::dp4a(a, b, c, sa, sb), (i64::from(c) + four) as u32);
            let two = |from: usize| (i64::from(c) + halves[0] * y[from] + halves[1] * y[from + 1]) as u32;
            assert_eq!(field::dp2a(a, b, c, sa, sb, false), two(0));
            assert_eq!(field::dp2a(a, b, c, sa, sb, true), two(2));
        }
    }
}

#[test]
fn extension_and_masks_clamp_or_wrap() {
    assert_eq!(field::szext(0xFF, 8, true, Overflow::Clamp), u32::MAX);
    assert_eq!(field::szext(0xFFFF, 8, false, Overflow::Clamp), 0xFF);
    assert_eq!(field::szext(0xFFFF, 0, true, Overflow::Clamp), 0);
    assert_eq!(field::szext(0x8000_0001, 32, true, Overflow::Clamp), 0x8000_0001);
    assert_eq!(field::szext(0x8000_0001, 32, true, Overflow::Wrap), 0);
    assert_eq!(field::szext(3, 33, true, Overflow::Wrap), u32::MAX);
    assert_eq!(field::bmsk(4, 8, Overflow::Clamp), 0xFF0);
    assert_eq!(field::bmsk(28, 8, Overflow::Clamp), 0xF000_0000);
    assert_eq!(field::bmsk(32, 8, Overflow::Clamp), 0);
    assert_eq!(field::bmsk(4, 32, Overflow::Clamp), 0xFFFF_FFF0);
    assert_eq!(field::bmsk(33, 33, Overflow::Wrap), 2);
    assert_eq!(field::bmsk(4, 0, Overflow::Wrap), 0);
}

/// The pseudocode of `fns`.
fn fns(mask: u32, base: u32, offset: i32) -> u32 {
    if offset == 0 {
        return if mask >> base & 1 == 1 { base } else { u32::MAX };
    }
    let (mut pos, mut count) = (base as i32, offset.unsigned_abs() - 1);
    while (0..32).contains(&pos) {
        if mask >> pos & 1 == 1 {
            if count == 0 {
                return pos as u32;
            }
            count -= 1;
        }
        pos += offset.signum();
    }
    u32::MAX
}

#[test]
fn fns_agrees_with_the_pseudocode() {
    let mut draws = Draws(10);
    for _ in 0..COUNT {
        let (mask, base, offset) = (draw(&mut draws) as u32, draws.below(32) as u32, draws.below(67) as i32 - 33);
        assert_eq!(field::fns(mask, base, offset), fns(mask, base, offset), "{mask:x} {base} {offset}");
    }
    assert_eq!(field::fns(u32::MAX, 32, 1), u32::MAX);
    assert_eq!(field::fns(u32::MAX, 0, i32::MIN), u32::MAX);
}
