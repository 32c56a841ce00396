//! Bit instructions, each a function of plain integers as the ISA defines it.

/// Three-input logic by truth table.
#[inline(always)]
pub(crate) const fn lop3(a: u32, b: u32, c: u32, table: u32) -> u32 {
    let mut result = 0;
    let mut at = 0;
    while at < 8 {
        if table >> at & 1 != 0 {
            let x = if at & 4 != 0 { a } else { !a };
            let y = if at & 2 != 0 { b } else { !b };
            let z = if at & 1 != 0 { c } else { !c };
            result |= x & y & z;
        }
        at += 1;
    }
    result
}

/// High word of `(b:a) << shift`, shift up to 32.
#[inline(always)]
pub(crate) const fn funnel_left(a: u32, b: u32, shift: u32) -> u32 {
    ((((b as u64) << 32 | a as u64) << shift) >> 32) as u32
}

/// Low word of `(b:a) >> shift`, shift up to 32.
#[inline(always)]
pub(crate) const fn funnel_right(a: u32, b: u32, shift: u32) -> u32 {
    (((b as u64) << 32 | a as u64) >> shift) as u32
}

/// Picks four bytes of `b:a`; bit 3 of a selector nibble spreads the byte's sign instead.
pub(crate) const fn prmt(a: u32, b: u32, selector: u32) -> u32 {
    let bytes = (b as u64) << 32 | a as u64;
    let mut result = 0;
    let mut at = 0;
    while at < 4 {
        let nibble = selector >> (4 * at) & 15;
        let mut byte = (bytes >> (8 * (nibble & 7)) & 0xFF) as u32;
        if nibble & 8 != 0 {
            byte = if byte & 0x80 != 0 { 0xFF } else { 0 };
        }
        result |= byte << (8 * at);
        at += 1;
    }
    result
}

/// Extracts a field of `len` bits at `pos`, bits beyond the value being copies of its sign (or zero).
pub(crate) const fn bfe(a: u64, pos: u32, len: u32, width: u32, signed: bool) -> u64 {
    let (pos, len) = (pos & 0xFF, len & 0xFF);
    let last = width - 1;
    let sign_at = if len == 0 {
        last
    } else if pos + len - 1 < last {
        pos + len - 1
    } else {
        last
    };
    let sign = signed && len != 0 && a >> sign_at & 1 != 0;
    let mut result = if sign { u64::MAX } else { 0 };
    if len != 0 {
        let mut at = 0;
        while at < len && at < width && pos + at <= last {
            let value = a >> (pos + at) & 1;
            result = result & !(1 << at) | value << at;
            at += 1;
        }
    }
    if width == 64 { result } else { result & 0xFFFF_FFFF }
}

/// Inserts the low `len` bits of `a` into `b` at `pos`.
pub(crate) const fn bfi(a: u64, b: u64, pos: u32, len: u32, width: u32) -> u64 {
    let (pos, len) = (pos & 0xFF, len & 0xFF);
    let mut result = b;
    let mut at = 0;
    while at < len && pos + at < width {
        result = result & !(1 << (pos + at)) | (a >> at & 1) << (pos + at);
        at += 1;
    }
    result
}

/// A mask of `len` ones at `pos`.
pub(crate) const fn bmsk(pos: u32, len: u32) -> u32 {
    if pos > 31 {
        return 0;
    }
    let ones = if len > 31 { u32::MAX } else { (1 << len) - 1 };
    ones << pos
}

/// Extends from bit `n - 1`.
pub(crate) const fn szext(a: u32, n: u32, signed: bool) -> u32 {
    if n > 31 {
        return a;
    }
    if n == 0 {
        return 0;
    }
    let cut = a << (32 - n);
    if signed { (cut as i32 >> (32 - n)) as u32 } else { cut >> (32 - n) }
}

/// The position of the n-th set bit from `base`, upwards or downwards.
pub(crate) const fn fns(mask: u32, base: u32, offset: i32) -> u32 {
    if base > 31 {
        return u32::MAX;
    }
    if offset == 0 {
        return if mask >> base & 1 != 0 { base } else { u32::MAX };
    }
    let mut left = offset.unsigned_abs();
    let mut at = base as i32;
    while at >= 0 && at < 32 {
        if mask >> at & 1 != 0 {
            left -= 1;
            if left == 0 {
                return at as u32;
            }
        }
        at += if offset > 0 { 1 } else { -1 };
    }
    u32::MAX
}

/// Four byte products and a sum.
pub(crate) const fn dp4a(a: u32, b: u32, c: u32, a_signed: bool, b_signed: bool) -> u32 {
    let mut sum = c;
    let mut at = 0;
    while at < 4 {
        let (x, y) = ((a >> (8 * at)) as u8, (b >> (8 * at)) as u8);
        let x = if a_signed { x as i8 as i32 } else { x as i32 };
        let y = if b_signed { y as i8 as i32 } else { y as i32 };
        sum = sum.wrapping_add((x * y) as u32);
        at += 1;
    }
    sum
}
