//! Products and carries: `mul`, `mad`, `mul24`, `mad24` and the `.cc` instructions.

use super::code::Class;
use super::integers::{s16, sized};
use super::{Decoded, Decoder};
use crate::vm::machine::regs::{Args, Mods, Regs, RowFn, row};
use crate::vm::ptx::Type;

impl Decoder<'_> {
    /// `mul` and `mad` in their `lo`, `hi` and `wide` forms.
    pub(super) fn product(&mut self, kind: Type) -> Decoded {
        let mad = self.parts[0] == "mad";
        let signed = kind.signed();
        let form = self.one_of(&["lo", "hi", "wide"]);
        let sat = self.has("sat");
        self.arity(if mad { 4 } else { 3 })?;
        let result = match (form, kind.bytes()) {
            (Some("wide"), 2) => Type::B32,
            (Some("wide"), 4) => Type::B64,
            (Some("wide") | None, _) => return Err(self.unsupported("its form is missing")),
            _ => kind,
        };
        let d = self.destination(0, result)?;
        let (a, b) = (self.source(1, kind)?, self.source(2, kind)?);
        // The product goes straight to the destination when nothing is added, or to a scratch slot first.
        if sat {
            if !(mad && form == Some("hi") && kind == Type::S32) {
                return Err(self.unsupported("saturation exists for mad.hi.s32 only"));
            }
            let c = self.source(3, kind)?;
            let f = row!(|a: u32, b: u32, c: u32| (((a as i32 as i64 * b as i32 as i64) >> 32) as i32)
                .saturating_add(c as i32) as u32);
            self.alu(f, Mods::default(), d, &[a, b, c]);
            return Ok(());
        }
        if mad && form == Some("lo") && kind.bytes() == 4 {
            let c = self.source(3, kind)?;
            self.alu(row!(|a: u32, b: u32, c: u32| a.wrapping_mul(b).wrapping_add(c)), Mods::default(), d, &[a, b, c]);
            return Ok(());
        }
        let f: RowFn = match (form, signed) {
            (Some("lo"), _) => sized!(
                kind,
                row!(|a: u32, b: u32| a.wrapping_mul(b) & 0xFFFF),
                row!(|a: u32, b: u32| a.wrapping_mul(b)),
                row!(|a: u64, b: u64| a.wrapping_mul(b))
            ),
            (Some("hi"), false) => sized!(
                kind,
                row!(|a: u32, b: u32| a.wrapping_mul(b) >> 16),
                row!(|a: u32, b: u32| ((u64::from(a) * u64::from(b)) >> 32) as u32),
                row!(|a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> 64) as u64)
            ),
            (Some("hi"), true) => sized!(
                kind,
                row!(|a: u32, b: u32| ((s16(a) * s16(b)) >> 16) as u32 & 0xFFFF),
                row!(|a: u32, b: u32| ((a as i32 as i64 * b as i32 as i64) >> 32) as u32),
                row!(|a: u64, b: u64| ((a as i64 as i128 * b as i64 as i128) >> 64) as u64)
            ),
            (_, false) if kind.bytes() == 2 => row!(|a: u32, b: u32| a.wrapping_mul(b)),
            (_, true) if kind.bytes() == 2 => row!(|a: u32, b: u32| (s16(a) * s16(b)) as u32),
            (_, false) => row!(|a: u32, b: u32| u64::from(a) * u64::from(b)),
            (_, true) => row!(|a: u32, b: u32| (a as i32 as i64 * b as i32 as i64) as u64),
        };
        if !mad {
            self.alu(f, Mods::default(), d, &[a, b]);
            return Ok(());
        }
        let c = self.source(3, result)?;
        let product = self.scratch(d.class);
        self.alu(f, Mods::default(), product, &[a, b]);
        let add = sized!(
            result,
            row!(|a: u32, b: u32| a.wrapping_add(b) & 0xFFFF),
            row!(|a: u32, b: u32| a.wrapping_add(b)),
            row!(|a: u64, b: u64| a.wrapping_add(b))
        );
        self.alu(add, Mods::default(), d, &[product, c]);
        Ok(())
    }

    /// `addc`, `subc`, `madc`.
    pub(super) fn carried(&mut self) -> Decoded {
        let kind = self.types().last().copied().ok_or_else(|| self.unsupported("its type is missing"))?;
        self.carry(kind, true)
    }

    /// Instructions that read or write the carry flag.
    pub(super) fn carry(&mut self, kind: Type, reads: bool) -> Decoded {
        let writes = !reads || self.has("cc");
        if kind.bytes() < 4 || kind.float() {
            return Err(self.unsupported("carries exist for 32 and 64 bits"));
        }
        let base = self.parts[0].trim_end_matches('c');
        let d = self.destination(0, kind)?;
        let (mut a, mut b) = (self.source(1, kind)?, self.source(2, kind)?);
        if base == "mad" {
            self.arity(4)?;
            let form = self.one_of(&["lo", "hi"]);
            let f: RowFn = match (form, kind.signed()) {
                (Some("lo"), _) => sized!(
                    kind,
                    unreachable_row(),
                    row!(|a: u32, b: u32| a.wrapping_mul(b)),
                    row!(|a: u64, b: u64| a.wrapping_mul(b))
                ),
                (Some(_), false) => sized!(
                    kind,
                    unreachable_row(),
                    row!(|a: u32, b: u32| ((u64::from(a) * u64::from(b)) >> 32) as u32),
                    row!(|a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> 64) as u64)
                ),
                (Some(_), true) => sized!(
                    kind,
                    unreachable_row(),
                    row!(|a: u32, b: u32| ((a as i32 as i64 * b as i32 as i64) >> 32) as u32),
                    row!(|a: u64, b: u64| ((a as i64 as i128 * b as i64 as i128) >> 64) as u64)
                ),
                (None, _) => return Err(self.unsupported("its form is missing")),
            };
            let product = self.scratch(d.class);
            self.alu(f, Mods::default(), product, &[a, b]);
            (a, b) = (product, self.source(3, kind)?);
        } else {
            self.arity(3)?;
        }
        let f: RowFn = match (base == "sub", d.class == Class::Long, reads, writes) {
            (false, false, false, _) => carry_rows::<false, false, true>,
            (false, false, true, false) => carry_rows::<false, true, false>,
            (false, false, true, true) => carry_rows::<false, true, true>,
            (true, false, false, _) => carry_rows::<true, false, true>,
            (true, false, true, false) => carry_rows::<true, true, false>,
            (true, false, true, true) => carry_rows::<true, true, true>,
            (false, true, false, _) => carry_longs::<false, false, true>,
            (false, true, true, false) => carry_longs::<false, true, false>,
            (false, true, true, true) => carry_longs::<false, true, true>,
            (true, true, false, _) => carry_longs::<true, false, true>,
            (true, true, true, false) => carry_longs::<true, true, false>,
            (true, true, true, true) => carry_longs::<true, true, true>,
        };
        self.alu(f, Mods::default(), d, &[a, b]);
        Ok(())
    }

    /// `mul24` and `mad24`: 24-bit operands, the low or high 32 bits of the 48-bit product.
    pub(super) fn narrow_product(&mut self) -> Decoded {
        let kind = self.kind()?;
        let low = self.has("lo");
        if !low && !self.has("hi") {
            return Err(self.unsupported("its form is missing"));
        }
        let mad = self.parts[0] == "mad24";
        self.arity(if mad { 4 } else { 3 })?;
        let d = self.destination(0, kind)?;
        let (a, b) = (self.source(1, kind)?, self.source(2, kind)?);
        let f: RowFn = match (kind, low) {
            (Type::U32, true) => row!(|a: u32, b: u32| (a & 0xFF_FFFF).wrapping_mul(b & 0xFF_FFFF)),
            (Type::U32, false) => {
                row!(|a: u32, b: u32| ((u64::from(a & 0xFF_FFFF) * u64::from(b & 0xFF_FFFF)) >> 16) as u32)
            }
            (Type::S32, true) => row!(|a: u32, b: u32| (s24(a) * s24(b)) as u32),
            (Type::S32, false) => row!(|a: u32, b: u32| ((s24(a) * s24(b)) >> 16) as u32),
            _ => return Err(self.unsupported("it exists for u32 and s32")),
        };
        if !mad {
            self.alu(f, Mods::default(), d, &[a, b]);
            return Ok(());
        }
        let c = self.source(3, kind)?;
        let product = self.scratch(Class::Word);
        self.alu(f, Mods::default(), product, &[a, b]);
        self.alu(row!(|a: u32, b: u32| a.wrapping_add(b)), Mods::default(), d, &[product, c]);
        Ok(())
    }
}

#[inline(always)]
const fn s24(a: u32) -> i64 {
    ((a << 8) as i32 >> 8) as i64
}

/// Stands where a 16-bit form does not exist; decoding refuses it before.
fn unreachable_row() -> RowFn {
    row!(|a: u32| a)
}

/// 32-bit addition or subtraction with carry in, out, or both.
fn carry_rows<const SUB: bool, const IN: bool, const OUT: bool>(regs: &mut Regs, args: &Args, mask: u32) {
    let (a, b) = (regs.r32[args.a as usize], regs.r32[args.b as usize]);
    let mut carries = 0;
    for lane in 0..32 {
        if mask >> lane & 1 == 0 {
            continue;
        }
        let flag = IN && regs.carry >> lane & 1 != 0;
        let (x, y) = (a[lane], b[lane]);
        let (value, out) = if SUB {
            let (v, o1) = x.overflowing_sub(y);
            let (v, o2) = v.overflowing_sub(u32::from(flag));
            (v, o1 | o2)
        } else {
            let (v, o1) = x.overflowing_add(y);
            let (v, o2) = v.overflowing_add(u32::from(flag));
            (v, o1 | o2)
        };
        regs.r32[args.d as usize][lane] = value;
        carries |= u32::from(out) << lane;
    }
    if OUT {
        regs.carry = regs.carry & !mask | carries & mask;
    }
}

/// As [`carry_rows`], 64 bits.
fn carry_longs<const SUB: bool, const IN: bool, const OUT: bool>(regs: &mut Regs, args: &Args, mask: u32) {
    let (a, b) = (regs.r64[args.a as usize], regs.r64[args.b as usize]);
    let mut carries = 0;
    for lane in 0..32 {
        if mask >> lane & 1 == 0 {
            continue;
        }
        let flag = u64::from(IN && regs.carry >> lane & 1 != 0);
        let (value, out) = if SUB {
            let (v, o1) = a[lane].overflowing_sub(b[lane]);
            let (v, o2) = v.overflowing_sub(flag);
            (v, o1 | o2)
        } else {
            let (v, o1) = a[lane].overflowing_add(b[lane]);
            let (v, o2) = v.overflowing_add(flag);
            (v, o1 | o2)
        };
        regs.r64[args.d as usize][lane] = value;
        carries |= u32::from(out) << lane;
    }
    if OUT {
        regs.carry = regs.carry & !mask | carries & mask;
    }
}
