//! Registers of a warp, laid out lane by lane, and the loops over 32 lanes that the compiler turns into vector code.
//!
//! Immediates and special registers live in the same files as registers, filled when a frame starts, so that a row
//! function fetches every operand in the same way.

/// One value per lane of a warp.
pub(crate) const LANES: usize = 32;

/// Modifiers that a row function may need at run time.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools)]
pub(crate) struct Mods {
    /// Rounding of the result.
    pub(crate) rounding: super::super::arith::Rounding,
    /// Whether subnormal operands and results are flushed to zero.
    pub(crate) ftz: bool,
    /// Whether the result is clamped to [0, 1] or to the integer's range.
    pub(crate) sat: bool,
    /// Whether a negative result becomes zero.
    pub(crate) relu: bool,
    /// Whether `min` and `max` hand on a NaN.
    pub(crate) nan: bool,
    /// Whether `min` and `max` compare magnitudes.
    pub(crate) abs: bool,
    /// Whether the sign of `min` and `max` is the exclusive or of the operands'.
    pub(crate) xorsign: bool,
    /// Whether a conversion rounds to an integral value.
    pub(crate) integral: bool,
    /// Types of a conversion, and the bits of its destination register.
    pub(crate) from: Option<crate::vm::ptx::Type>,
    pub(crate) to: Option<crate::vm::ptx::Type>,
    pub(crate) bits: u32,
}

/// Slots of an operation: destination and up to four sources, each in the file that the row function knows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Args {
    pub(crate) d: u32,
    pub(crate) a: u32,
    pub(crate) b: u32,
    pub(crate) c: u32,
    pub(crate) e: u32,
    pub(crate) mods: Mods,
}

/// An operation over the lanes of a mask.
pub(crate) type RowFn = fn(&mut Regs, &Args, u32);

/// The register files of one frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct Regs {
    /// Registers of up to 32 bits; narrower ones are zero-extended.
    pub(crate) r32: Vec<[u32; LANES]>,
    /// Registers of 64 bits.
    pub(crate) r64: Vec<[u64; LANES]>,
    /// Predicates, a bit a lane.
    pub(crate) pred: Vec<u32>,
    /// Which lanes of each 32-bit register hold a value.
    pub(crate) set32: Vec<u32>,
    /// Which lanes of each 64-bit register hold a value.
    pub(crate) set64: Vec<u32>,
    /// Which lanes of each predicate hold a value.
    pub(crate) set_pred: Vec<u32>,
    /// The carry flag of the `.cc` instructions, a bit a lane.
    pub(crate) carry: u32,
    /// How approximate instructions choose their result.
    pub(crate) approximation: super::super::arith::Approximation,
}

/// A type that a lane of a register file holds.
pub(crate) trait Lane: Copy + Default {
    fn fetch(regs: &Regs, slot: u32) -> [Self; LANES];
    fn store(regs: &mut Regs, slot: u32, mask: u32, row: [Self; LANES]);
}

impl Lane for u32 {
    #[inline(always)]
    fn fetch(regs: &Regs, slot: u32) -> [Self; LANES] {
        regs.r32[slot as usize]
    }
    #[inline(always)]
    fn store(regs: &mut Regs, slot: u32, mask: u32, row: [Self; LANES]) {
        let to = &mut regs.r32[slot as usize];
        if mask == u32::MAX {
            *to = row;
        } else {
            for (lane, (to, from)) in to.iter_mut().zip(row).enumerate() {
                *to = if mask >> lane & 1 != 0 { from } else { *to };
            }
        }
    }
}

impl Lane for u64 {
    #[inline(always)]
    fn fetch(regs: &Regs, slot: u32) -> [Self; LANES] {
        regs.r64[slot as usize]
    }
    #[inline(always)]
    fn store(regs: &mut Regs, slot: u32, mask: u32, row: [Self; LANES]) {
        let to = &mut regs.r64[slot as usize];
        if mask == u32::MAX {
            *to = row;
        } else {
            for (lane, (to, from)) in to.iter_mut().zip(row).enumerate() {
                *to = if mask >> lane & 1 != 0 { from } else { *to };
            }
        }
    }
}

impl Lane for bool {
    #[inline(always)]
    fn fetch(regs: &Regs, slot: u32) -> [Self; LANES] {
        let bits = regs.pred[slot as usize];
        let mut row = [false; LANES];
        for (lane, value) in row.iter_mut().enumerate() {
            *value = bits >> lane & 1 != 0;
        }
        row
    }
    #[inline(always)]
    fn store(regs: &mut Regs, slot: u32, mask: u32, row: [Self; LANES]) {
        let mut bits = 0;
        for (lane, value) in row.into_iter().enumerate() {
            bits |= u32::from(value) << lane;
        }
        let to = &mut regs.pred[slot as usize];
        *to = *to & !mask | bits & mask;
    }
}

// Plain loops: iterators and `array::from_fn` are not always inlined, and then neither vectorize nor inherit the vector
// extensions of the caller.

#[inline(always)]
#[allow(clippy::needless_range_loop)]
pub(crate) fn map1<A: Lane, D: Lane>(regs: &mut Regs, args: &Args, mask: u32, f: impl Fn(A) -> D) {
    let a = A::fetch(regs, args.a);
    let mut row = [D::default(); LANES];
    for i in 0..LANES {
        row[i] = f(a[i]);
    }
    D::store(regs, args.d, mask, row);
}

#[inline(always)]
#[allow(clippy::needless_range_loop)]
pub(crate) fn map2<A: Lane, B: Lane, D: Lane>(regs: &mut Regs, args: &Args, mask: u32, f: impl Fn(A, B) -> D) {
    let (a, b) = (A::fetch(regs, args.a), B::fetch(regs, args.b));
    let mut row = [D::default(); LANES];
    for i in 0..LANES {
        row[i] = f(a[i], b[i]);
    }
    D::store(regs, args.d, mask, row);
}

#[inline(always)]
#[allow(clippy::needless_range_loop)]
pub(crate) fn map3<A: Lane, B: Lane, C: Lane, D: Lane>(
    regs: &mut Regs,
    args: &Args,
    mask: u32,
    f: impl Fn(A, B, C) -> D,
) {
    let (a, b, c) = (A::fetch(regs, args.a), B::fetch(regs, args.b), C::fetch(regs, args.c));
    let mut row = [D::default(); LANES];
    for i in 0..LANES {
        row[i] = f(a[i], b[i], c[i]);
    }
    D::store(regs, args.d, mask, row);
}

#[inline(always)]
#[allow(clippy::needless_range_loop)]
pub(crate) fn map4<A: Lane, B: Lane, C: Lane, E: Lane, D: Lane>(
    regs: &mut Regs,
    args: &Args,
    mask: u32,
    f: impl Fn(A, B, C, E) -> D,
) {
    let (a, b, c, e) = (A::fetch(regs, args.a), B::fetch(regs, args.b), C::fetch(regs, args.c), E::fetch(regs, args.e));
    let mut row = [D::default(); LANES];
    for i in 0..LANES {
        row[i] = f(a[i], b[i], c[i], e[i]);
    }
    D::store(regs, args.d, mask, row);
}

/// Makes a [`RowFn`] of a closure over one lane's values; with `mods` first, the modifiers come as its first argument.
macro_rules! row {
    (mods $m:ident, |$a:ident: $A:ty| $body:expr) => {{
        fn go(regs: &mut $crate::vm::machine::regs::Regs, args: &$crate::vm::machine::regs::Args, mask: u32) {
            let $m = args.mods;
            $crate::vm::machine::regs::map1(regs, args, mask, |$a: $A| $body);
        }
        go as $crate::vm::machine::regs::RowFn
    }};
    (mods $m:ident, |$a:ident: $A:ty, $b:ident: $B:ty| $body:expr) => {{
        fn go(regs: &mut $crate::vm::machine::regs::Regs, args: &$crate::vm::machine::regs::Args, mask: u32) {
            let $m = args.mods;
            $crate::vm::machine::regs::map2(regs, args, mask, |$a: $A, $b: $B| $body);
        }
        go as $crate::vm::machine::regs::RowFn
    }};
    (mods $m:ident, |$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty| $body:expr) => {{
        fn go(regs: &mut $crate::vm::machine::regs::Regs, args: &$crate::vm::machine::regs::Args, mask: u32) {
            let $m = args.mods;
            $crate::vm::machine::regs::map3(regs, args, mask, |$a: $A, $b: $B, $c: $C| $body);
        }
        go as $crate::vm::machine::regs::RowFn
    }};
    (approx $m:ident $p:ident, |$a:ident: $A:ty| $body:expr) => {{
        fn go(regs: &mut $crate::vm::machine::regs::Regs, args: &$crate::vm::machine::regs::Args, mask: u32) {
            let ($m, $p) = (args.mods, regs.approximation);
            $crate::vm::machine::regs::map1(regs, args, mask, |$a: $A| $body);
        }
        go as $crate::vm::machine::regs::RowFn
    }};
    (approx $m:ident $p:ident, |$a:ident: $A:ty, $b:ident: $B:ty| $body:expr) => {{
        fn go(regs: &mut $crate::vm::machine::regs::Regs, args: &$crate::vm::machine::regs::Args, mask: u32) {
            let ($m, $p) = (args.mods, regs.approximation);
            $crate::vm::machine::regs::map2(regs, args, mask, |$a: $A, $b: $B| $body);
        }
        go as $crate::vm::machine::regs::RowFn
    }};
    (|$a:ident: $A:ty| $body:expr) => {{
        fn go(regs: &mut $crate::vm::machine::regs::Regs, args: &$crate::vm::machine::regs::Args, mask: u32) {
            $crate::vm::machine::regs::map1(regs, args, mask, |$a: $A| $body);
        }
        go as $crate::vm::machine::regs::RowFn
    }};
    (|$a:ident: $A:ty, $b:ident: $B:ty| $body:expr) => {{
        fn go(regs: &mut $crate::vm::machine::regs::Regs, args: &$crate::vm::machine::regs::Args, mask: u32) {
            $crate::vm::machine::regs::map2(regs, args, mask, |$a: $A, $b: $B| $body);
        }
        go as $crate::vm::machine::regs::RowFn
    }};
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty| $body:expr) => {{
        fn go(regs: &mut $crate::vm::machine::regs::Regs, args: &$crate::vm::machine::regs::Args, mask: u32) {
            $crate::vm::machine::regs::map3(regs, args, mask, |$a: $A, $b: $B, $c: $C| $body);
        }
        go as $crate::vm::machine::regs::RowFn
    }};
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty, $e:ident: $E:ty| $body:expr) => {{
        fn go(regs: &mut $crate::vm::machine::regs::Regs, args: &$crate::vm::machine::regs::Args, mask: u32) {
            $crate::vm::machine::regs::map4(regs, args, mask, |$a: $A, $b: $B, $c: $C, $e: $E| $body);
        }
        go as $crate::vm::machine::regs::RowFn
    }};
}
pub(crate) use row;
