//! The oracle against 192 bits: what f64 leaves out is below a part in 2²⁰ of the bound, everywhere that is tested, and nothing
//! where the bound is zero.

mod chains;
mod precise;

use std::collections::BTreeMap;

use crate::common::Draw;
use crate::common::ops::{Buffer, Op};
use gdn_reference::Bounded;
use precise::Precise;

/// The most of a bound that the oracle's own error may be.
const PART: f64 = 1.0 / (1_u64 << 20) as f64;

const POSITIONS: [u64; 10] = [0, 1, 2, 63, 64, 2047, 40_000, 131_071, 262_143, 1_048_575];

/// Ways to draw inputs: those of the suite's regimes that matter to rounding, and some that are hard on an oracle.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Normal numbers times a scale.
    Gaussian(f64),
    /// −2 to 2, where f32 is exact.
    Integers,
    /// One element of a buffer.
    OneHot,
    /// Elements scaled 1, 1e-1, … 1e-8.
    Ladder,
    /// Signed zeros, subnormals, one, the largest finite.
    Extremes,
    /// Arguments at the overflow and cancellation edges of the exponential.
    Edges,
    /// Pairs that all but cancel in a sum.
    Cancelling,
    /// Any finite bits.
    Bits,
}

const KINDS: [Kind; 11] = [
    Kind::Gaussian(1e-6),
    Kind::Gaussian(1e-3),
    Kind::Gaussian(1.0),
    Kind::Gaussian(30.0),
    Kind::Gaussian(1e3),
    Kind::Integers,
    Kind::OneHot,
    Kind::Ladder,
    Kind::Edges,
    Kind::Cancelling,
    Kind::Bits,
];

fn inputs(op: Op, kind: Kind, seed: u64) -> Vec<Vec<f32>> {
    const EXTREMES: [f32; 8] = [0.0, -0.0, 1e-45, -1e-40, f32::MIN_POSITIVE, 1.0, -1.5, f32::MAX];
    const EDGES: [f32; 16] =
        [-1000.0, -104.0, -88.8, -88.7, -30.0, -17.0, -16.6, -1e-3, 0.0, 1e-3, 11.1, 19.9, 20.1, 88.0, 88.8, 1000.0];
    let mut draw = Draw::new(seed);
    let mut fill = |buffer: Buffer| {
        let (hot, n) = (draw.bits() as usize % buffer.len, buffer.len);
        let mut data: Vec<f32> = (0..n)
            .map(|i| {
                let pick = draw.bits() as usize;
                match kind {
                    Kind::Gaussian(scale) => (draw.normal() * scale) as f32,
                    Kind::Integers => (pick % 5) as f32 - 2.0,
                    Kind::OneHot => f32::from(u8::from(i == hot)),
                    Kind::Ladder => (draw.normal() * 10f64.powi(-((i % 9) as i32))) as f32,
                    Kind::Extremes => EXTREMES[pick % EXTREMES.len()],
                    Kind::Edges => EDGES[pick % EDGES.len()],
                    Kind::Cancelling => draw.normal() as f32,
                    Kind::Bits => f32::from_bits(pick as u32),
                }
            })
            .collect();
        if kind == Kind::Cancelling {
            for pair in data.chunks_exact_mut(2) {
                pair[1] = if draw.bits() & 1 == 0 { -pair[0] } else { (-pair[0]).next_up() };
            }
        }
        data.into_iter().map(buffer.domain).collect()
    };
    op.buffers().into_iter().map(&mut fill).collect()
}

/// How much of its bound the oracle's error takes, worst by operation and output.
#[derive(Default)]
struct Worst(BTreeMap<(&'static str, &'static str), (f64, usize, usize)>);

impl Worst {
    /// Compares one evaluation, both as the value that carries a bound and as plain f64.
    fn compare(&mut self, op: Op, inputs: &[Vec<f32>]) {
        let budget = op.budget();
        let bounded = op.evaluate::<Bounded>(inputs, &budget);
        let plain = op.evaluate::<f64>(inputs, &budget);
        Precise::overflowed();
        let precise = op.evaluate::<Precise>(inputs, &budget);
        // Plain f64 has no f32 overflow, and need not have what follows from it.
        let overflowed = Precise::overflowed();
        for (((output, bounded), (_, plain)), (_, precise)) in bounded.iter().zip(&plain).zip(&precise) {
            let (worst, compared, exact) = self.0.entry((op.name(), output)).or_default();
            for (i, ((bounded, &plain), &precise)) in bounded.iter().zip(plain).zip(precise).enumerate() {
                let context = || format!("{op:?} {output}[{i}]: {bounded:?}, {plain:e} for {inputs:?}");
                if bounded.is_undetermined() {
                    continue;
                }
                if bounded.value.is_nan() {
                    assert!(precise.is_nan(), "not NaN in 192 bits: {}", context());
                    continue;
                }
                let mut error = precise.distance(bounded.value);
                if !overflowed {
                    error = error.max(precise.distance(plain));
                }
                *compared += 1;
                if bounded.bound == 0.0 {
                    *exact += 1;
                    assert!(error == 0.0, "exact by its bound, off by {error:e}: {}", context());
                } else {
                    let part = error / bounded.bound;
                    assert!(part <= PART, "off by 2^{:.1} of the bound: {}", part.log2(), context());
                    *worst = worst.max(part);
                }
            }
        }
        Precise::keep_only(std::iter::empty());
    }

    fn print(&self) {
        for ((op, output), (worst, compared, exact)) in &self.0 {
            println!("{op:<16} {output:<8} 2^{:<6.1} {compared:>8} elements, {exact} of them exact", worst.log2());
        }
    }
}

#[test]
fn the_oracles_error_is_far_below_every_bound() {
    let mut worst = Worst::default();
    let mut seed = 0;
    for size in [1, 2, 3, 8, 16, 33, 64] {
        let mut ops = vec![
            Op::CausalConv { channels: size, taps: 1 + size % 5 },
            Op::L2Norm { heads: 2, d: size },
            Op::Gates { heads: 3 * size },
            Op::GatedRmsNorm { hv: 2, d: size },
            Op::OutputGate { n: 3 * size },
        ];
        if size <= 33 {
            ops.push(Op::DeltaRule { hk: 1, hv: 2, d: size });
        }
        for op in ops {
            for kind in KINDS.into_iter().chain([Kind::Extremes]) {
                seed += 1;
                worst.compare(op, &inputs(op, kind, seed));
            }
        }
    }
    worst.compare(Op::DeltaRule { hk: 1, hv: 1, d: 128 }, &inputs(Op::DeltaRule { hk: 1, hv: 1, d: 128 }, KINDS[2], 1));
    worst.print();
}

#[test]
fn the_oracles_angles_hold_at_every_position() {
    let mut worst = Worst::default();
    for (i, position) in POSITIONS.into_iter().enumerate() {
        for (j, (hd, rot)) in [(256, 64), (128, 128), (80, 32), (64, 2), (7, 6)].into_iter().enumerate() {
            for base in [1e4, 1e7] {
                let op = Op::QkNormRope { heads: 1, hd, rot, position, base };
                for kind in [KINDS[(i + j) % KINDS.len()], Kind::Gaussian(1.0)] {
                    worst.compare(op, &inputs(op, kind, (100 * i + j) as u64));
                }
            }
        }
    }
    worst.print();
}
