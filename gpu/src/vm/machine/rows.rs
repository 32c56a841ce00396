//! Rows of addresses that lie together: all lanes of an access looked at at once.

use super::grid::Run;
use super::regs::{LANES, Regs};
use crate::vm::ARCH;
use crate::vm::decode::code::{Access, Address, Class};
use crate::vm::memory::{Allocation, Memory, SHARED_WINDOW, WINDOW};
use crate::vm::ptx::Space;

/// The one place that all lanes of an access go to.
#[derive(Clone, Copy)]
pub(super) enum Home<'m> {
    /// A buffer, by number.
    Global(usize, &'m Allocation),
    /// Shared memory.
    Shared,
}

/// Byte offsets of the lanes of a row in their home; the home's first byte where a lane takes no part.
pub(super) type Offsets = [u32; LANES];

/// Lanes that are looked at together: rows of the usual square tiles.
const HALF: usize = LANES / 2;

/// How half of the lanes of a row lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// All at one place.
    One,
    /// Each a word behind the last.
    Ascending,
    /// In any other way.
    Scattered,
}

/// Subtracts a home's address from a row of addresses.
struct Distances<'a> {
    regs: &'a Regs,
    address: Address,
    active: u32,
    base: u64,
    /// The largest distance that is inside, below 2³¹.
    last: u32,
    /// Bits that are not set in an aligned distance.
    align: u32,
}

/// Distances from the home's first byte, whether all are aligned and inside, and how each half lies.
struct Spread {
    row: Offsets,
    good: bool,
    orders: [Order; 2],
}

/// Distances of 16 words in order, twice.
static STEPS: [u32; LANES] = {
    let mut steps = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        steps[lane] = 4 * (lane % HALF) as u32;
        lane += 1;
    }
    steps
};

impl pulp::WithSimd for Distances<'_> {
    type Output = Spread;

    // Sums over lanes are written with vectors, because the compiler unrolls a loop of 32 before it thinks of them.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)]
    fn with_simd<S: pulp::Simd>(self, simd: S) -> Spread {
        let Self { regs, address, active, base, last, align } = self;
        let all = active == u32::MAX;
        let mut row = [0; LANES];
        let mut beyond = [0; LANES];
        if address.base.class == Class::Long {
            let from = &regs.r64[address.base.index as usize];
            let distance = base.wrapping_sub(address.offset as u64);
            for lane in 0..LANES {
                let at = from[lane].wrapping_sub(distance);
                row[lane] = at as u32;
                beyond[lane] = (at >> 32) as u32;
            }
        } else {
            let from = &regs.r32[address.base.index as usize];
            let distance = (base as u32).wrapping_sub(address.offset as u32);
            for lane in 0..LANES {
                row[lane] = from[lane].wrapping_sub(distance);
            }
        }
        if !all {
            for lane in 0..LANES {
                let taken = if active >> lane & 1 != 0 { u32::MAX } else { 0 };
                row[lane] &= taken;
                beyond[lane] &= taken;
            }
        }
        let zero = simd.splat_u32s(0);
        let none = |v: S::u32s| simd.first_true_m32s(simd.not_m32s(simd.equal_u32s(v, zero))) >= S::U32_LANES;
        // A distance of 2³¹ or more has its upper bit set, one between the last and that leaves it set in the difference.
        let (last, sign, align) = (simd.splat_u32s(last), simd.splat_u32s(1 << 31), simd.splat_u32s(align));
        let (vectors, _) = S::as_simd_u32s(&row);
        let (upper, _) = S::as_simd_u32s(&beyond);
        let (steps, _) = S::as_simd_u32s(&STEPS);
        let mut bad = zero;
        for (&at, &upper) in vectors.iter().zip(upper) {
            let over = simd.and_u32s(simd.or_u32s(at, simd.sub_u32s(last, at)), sign);
            bad = simd.or_u32s(bad, simd.or_u32s(upper, simd.or_u32s(over, simd.and_u32s(at, align))));
        }
        let mut orders = [Order::Scattered; 2];
        if all {
            let half = vectors.len() / 2;
            for (at, order) in orders.iter_mut().enumerate() {
                let first = simd.splat_u32s(row[at * HALF]);
                let (mut different, mut apart) = (zero, zero);
                for (&at, &step) in vectors[at * half..][..half].iter().zip(&steps[at * half..][..half]) {
                    different = simd.or_u32s(different, simd.xor_u32s(at, first));
                    apart = simd.or_u32s(apart, simd.xor_u32s(at, simd.add_u32s(first, step)));
                }
                if none(different) {
                    *order = Order::One;
                } else if none(apart) {
                    *order = Order::Ascending;
                }
            }
        }
        Spread { row, good: none(bad), orders }
    }
}

/// Looks at all addresses of an access at once: its home and offsets, if all lanes lie inside one buffer or shared variable and
/// are aligned. `None` says nothing but that each lane must be looked at by itself.
#[inline(always)]
pub(super) fn home<'m>(
    run: &Run<'m>,
    access: &Access,
    regs: &Regs,
    active: u32,
) -> Option<(Home<'m>, Offsets, [Order; 2])> {
    let lane = active.trailing_zeros() as usize;
    let bytes = access.size * access.count;
    let long = access.address.base.class == Class::Long;
    let index = access.address.base.index as usize;
    let first = if long {
        regs.r64[index].get(lane)?.wrapping_add_signed(access.address.offset)
    } else {
        u64::from(regs.r32[index].get(lane)?.wrapping_add(access.address.offset as u32))
    };
    let variable = |window: u64| {
        let address = first.checked_sub(window)?;
        let size = |dynamic: bool, bytes: u32| u64::from(if dynamic { run.dynamic_shared } else { bytes });
        let mut variables = run.program.shared.iter();
        let found = variables.find(|v| address.wrapping_sub(u64::from(v.offset)) < size(v.dynamic, v.bytes))?;
        Some((Home::Shared, window + u64::from(found.offset), size(found.dynamic, found.bytes), found.offset))
    };
    let (home, base, size, shift) = match access.space {
        Space::Shared => variable(0)?,
        Space::Generic if long && (SHARED_WINDOW..SHARED_WINDOW + WINDOW).contains(&first) => variable(SHARED_WINDOW)?,
        Space::Global | Space::Const | Space::Generic if long => {
            let (slot, _) = Memory::locate(first)?;
            let allocation = run.memory.get(slot)?;
            (Home::Global(slot, allocation), Memory::address(slot), allocation.bytes as u64, 0)
        }
        _ => return None,
    };
    // Shared memory ends far below where 32-bit addresses wrap around, so that nothing below the base passes for inside.
    let last = i32::try_from(size).ok()?.cast_unsigned().checked_sub(bytes)?;
    let align = bytes - 1;
    if shift & align != 0 {
        return None;
    }
    let spread = ARCH.dispatch(Distances { regs, address: access.address, active, base, last, align });
    if !spread.good {
        return None;
    }
    let mut offsets = spread.row;
    if shift != 0 {
        for offset in &mut offsets {
            *offset += shift;
        }
    }
    Some((home, offsets, spread.orders))
}

/// The 4-byte elements of a row.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
pub(super) fn words<W>(
    offsets: &Offsets,
    shift: u32,
    orders: [Order; 2],
    memory: &[W],
    value: impl Fn(&W) -> u32,
) -> [u32; LANES] {
    let word = |offset: u32| memory.get((offset + shift) as usize / 4).map_or(0, &value);
    let mut row = [0; LANES];
    for (half, order) in orders.into_iter().enumerate() {
        let from = half * HALF;
        let first = (offsets[from] + shift) as usize / 4;
        let run = memory.get(first..).and_then(<[W]>::first_chunk::<HALF>);
        match (order, run) {
            (Order::One, _) => {
                let one = word(offsets[from]);
                for lane in from..from + HALF {
                    row[lane] = one;
                }
            }
            (Order::Ascending, Some(run)) => {
                for lane in 0..HALF {
                    row[from + lane] = value(&run[lane]);
                }
            }
            _ => {
                for lane in from..from + HALF {
                    row[lane] = word(offsets[lane]);
                }
            }
        }
    }
    row
}
