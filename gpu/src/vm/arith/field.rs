//! Shifts, bit fields, permutes, logic and dot products (PTX ISA 9.7.1, 9.7.8).

/// Whether counts beyond the width are clamped to it or taken modulo it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// `.clamp`.
    Clamp,
    /// `.wrap`.
    Wrap,
}

const fn funnel_count(c: u32, mode: Overflow) -> u32 {
    match mode {
        Overflow::Wrap => c & 31,
        Overflow::Clamp if c > 32 => 32,
        Overflow::Clamp => c,
    }
}

/// `shf.l`: the upper word of `b:a` shifted left.
#[inline]
pub const fn shf_l(a: u32, b: u32, c: u32, mode: Overflow) -> u32 {
    let both = (b as u64) << 32 | a as u64;
    (both << funnel_count(c, mode) >> 32) as u32
}

/// `shf.r`: the lower word of `b:a` shifted right.
#[inline]
pub const fn shf_r(a: u32, b: u32, c: u32, mode: Overflow) -> u32 {
    let both = (b as u64) << 32 | a as u64;
    (both >> funnel_count(c, mode)) as u32
}

/// How `prmt` reads its selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permute {
    /// Four selectors of four bits; the highest spreads the byte's sign.
    Index,
    /// `.f4e`: four bytes upwards from the selected one.
    Forward4,
    /// `.b4e`: four bytes downwards from the selected one.
    Backward4,
    /// `.rc8`: one byte four times.
    Replicate8,
    /// `.ecl`: edge clamp to the left.
    EdgeLeft,
    /// `.ecr`: edge clamp to the right.
    EdgeRight,
    /// `.rc16`: one half twice.
    Replicate16,
}

/// `prmt`: picks four of the eight bytes of `b:a`.
#[inline]
pub const fn prmt(a: u32, b: u32, c: u32, mode: Permute) -> u32 {
    let s = c & 3;
    let selector = match mode {
        Permute::Index => c,
        Permute::Forward4 => [0x3210, 0x4321, 0x5432, 0x6543][s as usize],
        Permute::Backward4 => [0x5670, 0x6701, 0x7012, 0x0123][s as usize],
        Permute::Replicate8 => s * 0x1111,
        Permute::EdgeLeft => [0x3210, 0x3211, 0x3222, 0x3333][s as usize],
        Permute::EdgeRight => [0x0000, 0x1110, 0x2210, 0x3210][s as usize],
        Permute::Replicate16 => (s & 1) * 0x2222 + 0x1010,
    };
    let bytes = (b as u64) << 32 | a as u64;
    let mut result = 0;
    let mut at = 0;
    while at < 4 {
        let nibble = selector >> (4 * at) & 15;
        let byte = (bytes >> (8 * (nibble & 7))) as u8;
        let byte = if nibble & 8 == 0 { byte } else { (byte as i8 >> 7) as u8 };
        result |= (byte as u32) << (8 * at);
        at += 1;
    }
    result
}

/// A width: 64, or 32 whatever else is asked for.
const fn word(width: u32) -> u32 {
    if width == 64 { 64 } else { 32 }
}

/// `len` ones, all of them from 64 on.
const fn ones(len: u32) -> u64 {
    if len >= 64 { u64::MAX } else { (1 << len) - 1 }
}

/// `bfe` of `width` 32 or 64: the field of `len` bits at `pos` (each taken modulo 256), beyond the operand's end zeros or
/// copies of its sign bit.
#[inline]
pub const fn bfe(a: u64, pos: u32, len: u32, width: u32, signed: bool) -> u64 {
    let width = word(width);
    let (pos, len) = (pos & 255, len & 255);
    if len == 0 {
        return 0;
    }
    let (last, a) = (width - 1, a & ones(width));
    let end = if pos + len - 1 < last { pos + len - 1 } else { last };
    let sign = signed && a >> end & 1 != 0;
    let taken = if pos > last { 0 } else { end - pos + 1 };
    let field = if taken == 0 { 0 } else { a >> pos & ones(taken) };
    let fill = if sign { !ones(taken) } else { 0 };
    (field | fill) & ones(width)
}

/// `bfi` of `width` 32 or 64: `b` with the low `len` bits of `a` at `pos` (each taken modulo 256).
#[inline]
pub const fn bfi(a: u64, b: u64, pos: u32, len: u32, width: u32) -> u64 {
    let width = word(width);
    let (pos, len) = (pos & 255, len & 255);
    if pos >= width {
        return b & ones(width);
    }
    let mask = ones(len) << pos;
    (b & !mask | a << pos & mask) & ones(width)
}

/// `bfind{.shiftamt}` of `width` 32 or 64: the highest bit that is not a copy of the sign, or the shift that brings it to the
/// top; all ones if there is none.
#[inline]
pub const fn bfind(a: u64, width: u32, signed: bool, shift: bool) -> u32 {
    let width = word(width);
    let negative = signed && a >> (width - 1) & 1 != 0;
    let a = (if negative { !a } else { a }) & ones(width);
    if a == 0 {
        return u32::MAX;
    }
    let at = a.ilog2();
    if shift { width - 1 - at } else { at }
}

/// `brev` of `width` 32 or 64.
#[inline]
pub const fn brev(a: u64, width: u32) -> u64 {
    a.reverse_bits() >> (64 - word(width))
}

/// `clz` of `width` 32 or 64.
#[inline]
pub const fn clz(a: u64, width: u32) -> u32 {
    (a & ones(word(width))).leading_zeros() - (64 - word(width))
}

/// `popc` of `width` 32 or 64.
#[inline]
pub const fn popc(a: u64, width: u32) -> u32 {
    (a & ones(word(width))).count_ones()
}

/// `lop3`: the table's bit `4a + 2b + c`, for every bit.
#[inline]
pub const fn lop3(a: u32, b: u32, c: u32, table: u32) -> u32 {
    let mut result = 0;
    let mut at = 0;
    while at < 8 {
        let x = if at & 4 != 0 { a } else { !a };
        let y = if at & 2 != 0 { b } else { !b };
        let z = if at & 1 != 0 { c } else { !c };
        // All ones where the table says so.
        result |= x & y & z & 0_u32.wrapping_sub(table >> at & 1);
        at += 1;
    }
    result
}

const fn byte(word: u32, at: u32, signed: bool) -> i32 {
    let byte = (word >> (8 * at)) as u8;
    if signed { byte as i8 as i32 } else { byte as i32 }
}

/// `dp4a`: `c` and four products of bytes.
#[inline]
pub const fn dp4a(a: u32, b: u32, c: u32, a_signed: bool, b_signed: bool) -> u32 {
    let mut sum = c;
    let mut at = 0;
    while at < 4 {
        sum = sum.wrapping_add((byte(a, at, a_signed) * byte(b, at, b_signed)) as u32);
        at += 1;
    }
    sum
}

/// `dp2a.{lo,hi}`: `c` and the products of the halves of `a` with the lower or upper two bytes of `b`.
#[inline]
pub const fn dp2a(a: u32, b: u32, c: u32, a_signed: bool, b_signed: bool, high: bool) -> u32 {
    let (low, up) = if a_signed { (a as i16 as i32, a as i32 >> 16) } else { (a as u16 as i32, (a >> 16) as i32) };
    let first = if high { 2 } else { 0 };
    c.wrapping_add((low * byte(b, first, b_signed)) as u32).wrapping_add((up * byte(b, first + 1, b_signed)) as u32)
}

/// `szext`: extends the low `b` bits of `a` by their sign or zeros.
#[inline]
pub const fn szext(a: u32, b: u32, signed: bool, mode: Overflow) -> u32 {
    if matches!(mode, Overflow::Clamp) && b >= 32 {
        return a;
    }
    let n = b & 31;
    if n == 0 {
        return 0;
    }
    let top = a << (32 - n);
    if signed { (top as i32 >> (32 - n)) as u32 } else { top >> (32 - n) }
}

/// `bmsk`: `b` ones from bit `a` on.
#[inline]
pub const fn bmsk(a: u32, b: u32, mode: Overflow) -> u32 {
    let clamp = matches!(mode, Overflow::Clamp);
    if clamp && a >= 32 {
        return 0;
    }
    let from = u32::MAX << (a & 31);
    let end = (a & 31) + (b & 31);
    if end >= 32 || clamp && b >= 32 { from } else { from & !(u32::MAX << end) }
}

/// `fns`: the position of the `offset`-th set bit from `base` on, upwards or downwards; all ones if there is none, and for
/// a base beyond the word, which the ISA leaves open.
#[inline]
pub const fn fns(mask: u32, base: u32, offset: i32) -> u32 {
    if base > 31 {
        return u32::MAX;
    }
    let (mut rest, up) = if offset == 0 {
        (mask & 1 << base, true)
    } else if offset > 0 {
        (mask & u32::MAX << base, true)
    } else {
        (mask & u32::MAX >> (31 - base), false)
    };
    let wanted = if offset == 0 { 1 } else { offset.unsigned_abs() };
    if wanted > rest.count_ones() {
        return u32::MAX;
    }
    let mut skipped = 1;
    while skipped < wanted {
        rest &= if up { rest - 1 } else { !(1 << rest.ilog2()) };
        skipped += 1;
    }
    if up { rest.trailing_zeros() } else { rest.ilog2() }
}
