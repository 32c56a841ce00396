//! The operands of a form: edge values in all pairs, then values drawn from the form's name. Nothing of them is stored.

use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

use crate::edges;
use crate::form::{Float, Form, Width};
use crate::relate::relate;

/// Where the values of an operand come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Draw {
    /// Integers of the register's size.
    Bits,
    /// Floats.
    Float(Float),
    /// Two halves in a word.
    Pair(Float),
    /// All values of 16 bits.
    All,
    /// All values of 16 bits, two a word.
    AllPairs,
    /// Shift amounts, positions and lengths.
    Amount,
    /// Numbers below a limit.
    Below(u32),
    /// Zero or one.
    Flag,
    /// Angles: most within ±100π, where the ISA says something.
    Angle,
    /// What a shuffle moves: lanes of a warp differ.
    Lanes,
    /// The lane operand of a shuffle that stays in segments of so many lanes.
    Lane(u32),
    /// The clamp and segment operand of a shuffle that stays in segments of so many lanes.
    Clamp(u32),
    /// A mask of so many neighbouring lanes, the thread's own among them.
    Segment(u32),
    /// A mask of the lanes on the thread's side of a warp that is divided by chance.
    Side,
    /// Predicates that a vote finds interesting.
    Vote,
    /// Values that repeat within a warp.
    Few,
}

impl Draw {
    /// All values, where these are few enough to go through.
    pub(crate) fn complete(self, width: Width) -> Self {
        match (self, width) {
            (Self::Bits | Self::Float(_), Width::B16) => Self::All,
            (Self::Pair(_), Width::B32) => Self::AllPairs,
            _ => self,
        }
    }

    /// How many tuples go through all values.
    pub(crate) const fn count(self) -> Option<usize> {
        match self {
            Self::All => Some(1 << 16),
            Self::AllPairs => Some(1 << 15),
            _ => None,
        }
    }

    fn collective(self) -> bool {
        matches!(
            self,
            Self::Lanes | Self::Lane(_) | Self::Clamp(_) | Self::Segment(_) | Self::Side | Self::Vote | Self::Few
        )
    }
}

/// A stream of numbers for a form.
fn stream(form: &Form) -> ChaCha8Rng {
    ChaCha8Rng::from_seed(Sha256::digest(format!("gdn-conformance instructions 1: {}", form.name)).into())
}

/// The operands of a form: a tuple a thread, of as many values as the form has inputs.
pub(crate) fn tuples(form: &Form) -> Vec<[u64; 4]> {
    let count = form.tuples();
    let mut rng = stream(form);
    let mut tuples: Vec<[u64; 4]> = Vec::with_capacity(count);
    if let Some(at) = form.inputs.iter().position(|input| input.draw.count().is_some()) {
        for value in 0..count as u64 {
            let mut tuple = [0; 4];
            tuple[at] = if count == 1 << 16 { value } else { (2 * value) << 16 | (2 * value + 1) };
            tuples.push(tuple);
        }
        return tuples;
    }
    if form.inputs.iter().any(|input| input.draw.collective()) {
        return collective(form, &mut rng);
    }
    // Pairs of edges fill no more than about half of the tuples.
    let limit = [usize::MAX, 72, 40, 28][form.inputs.len() - 1];
    let edges: Vec<Vec<u64>> =
        form.inputs.iter().map(|input| edges::of(input.draw, input.width).into_iter().take(limit).collect()).collect();
    let any = |rng: &mut ChaCha8Rng, at: usize| edges[at][rng.next_u64() as usize % edges[at].len()];
    for first in 0..form.inputs.len() {
        if form.inputs.len() == 1 {
            tuples.extend(edges[0].iter().map(|&value| [value, 0, 0, 0]));
        }
        for second in first + 1..form.inputs.len() {
            for &x in &edges[first] {
                for &y in &edges[second] {
                    let mut tuple = [0; 4];
                    tuple.iter_mut().enumerate().take(edges.len()).for_each(|(at, value)| *value = any(&mut rng, at));
                    (tuple[first], tuple[second]) = (x, y);
                    tuples.push(tuple);
                }
            }
        }
    }
    assert!(tuples.len() <= count * 2 / 3, "{}: {} pairs of edges", form.name, tuples.len());
    while tuples.len() < count {
        let mut tuple = [0; 4];
        for (at, input) in form.inputs.iter().enumerate() {
            tuple[at] = if rng.next_u64().is_multiple_of(12) {
                any(&mut rng, at)
            } else {
                value(&mut rng, input.draw, input.width)
            };
        }
        if rng.next_u64().is_multiple_of(3) {
            relate(form.relation, &mut tuple, &mut rng, form.inputs[0]);
        }
        for (at, input) in form.inputs.iter().enumerate() {
            tuple[at] &= input.width.mask();
        }
        tuples.push(tuple);
    }
    tuples
}

/// One value.
fn value(rng: &mut ChaCha8Rng, draw: Draw, width: Width) -> u64 {
    let random = rng.next_u64();
    match draw {
        Draw::Float(kind) => float(rng, kind),
        Draw::Pair(kind) => float(rng, kind) | float(rng, kind) << 16,
        Draw::Amount => match random & 7 {
            0..5 => (random >> 8) % 70,
            5 | 6 => (random >> 8) % 300,
            _ => random >> 32,
        },
        Draw::Below(limit) => (random >> 8) % u64::from(limit),
        Draw::Flag => random >> 8 & 1,
        Draw::Angle => angle(rng),
        _ => integer(rng) & width.mask(),
    }
}

fn integer(rng: &mut ChaCha8Rng) -> u64 {
    let (how, random) = (rng.next_u64(), rng.next_u64());
    let shift = how >> 8 & 63;
    match how & 7 {
        // Of any length, positive or negative.
        0 => random >> shift,
        1 => !(random >> shift),
        // Near a power of two.
        2 => (1_u64 << shift).wrapping_add(random % 7).wrapping_sub(3),
        3 => (1_u64 << shift).wrapping_add(random % 7).wrapping_sub(3).wrapping_neg(),
        // Few ones.
        4 => random & rng.next_u64() & rng.next_u64(),
        _ => random,
    }
}

/// A float; exponents near one, at both ends and where integers end come up more often than by chance.
pub(crate) fn float(rng: &mut ChaCha8Rng, kind: Float) -> u64 {
    let (fraction_bits, exponent_bits) = kind.fields();
    let (how, random) = (rng.next_u64(), rng.next_u64());
    let (top, bias) = ((1_u64 << exponent_bits) - 1, (1_u64 << (exponent_bits - 1)) - 1);
    let fraction = random & ((1 << fraction_bits) - 1);
    let sign = if random >> 63 != 0 { kind.sign() } else { 0 };
    let choice = how >> 8;
    let few = {
        // A few leading bits, then zeros or ones.
        let kept = ((1_u64 << fraction_bits) - 1) >> ((choice >> 16) % u64::from(fraction_bits));
        if choice >> 40 & 1 == 0 { fraction & !kept } else { fraction | kept }
    };
    let (exponent, fraction) = match how & 7 {
        0 | 1 => (choice % (top + 1), fraction),
        2 | 3 => (bias - 8_u64.min(bias) + choice % 17, fraction),
        4 => ([0, 1, 2, top - 2, top - 1][choice as usize % 5], fraction),
        5 => (bias - 2 + choice % 68, few),
        6 => (bias - 2 + choice % 68, fraction),
        _ => (bias - 8_u64.min(bias) + choice % 17, few),
    };
    sign | exponent.min(top) << fraction_bits | fraction
}

fn angle(rng: &mut ChaCha8Rng) -> u64 {
    let (how, random) = (rng.next_u64(), rng.next_u64());
    let sign = (random >> 63) << 31;
    let fraction = random & 0x7F_FFFF;
    match how & 15 {
        0 => float(rng, Float::F32),
        // Near multiples of π/2.
        1..4 => {
            let multiple = (how >> 8) % 200;
            let angle = (multiple as f64 * std::f64::consts::FRAC_PI_2) as f32;
            sign | u64::from(angle.to_bits()).saturating_add_signed((random & 7) as i64 - 3)
        }
        // From 2^-20 to 2^8.
        4..8 => sign | (107 + (how >> 8) % 28) << 23 | fraction,
        // From 2^-4 to 2^3.
        8..12 => sign | (123 + (how >> 8) % 7) << 23 | fraction,
        _ => sign | u64::from(((random >> 8 & 0xFF_FFFF) as f32 * (314.0 / 16_777_216.0)).to_bits()),
    }
}

/// Operands of instructions in which a warp's lanes take part together.
fn collective(form: &Form, rng: &mut ChaCha8Rng) -> Vec<[u64; 4]> {
    let mut tuples = Vec::with_capacity(form.tuples());
    while tuples.len() < form.tuples() {
        let mut warp = [[0; 4]; 32];
        for (at, input) in form.inputs.iter().enumerate() {
            let (how, common) = (rng.next_u64(), rng.next_u64());
            // What repeats within the warp, and whether all lanes are given the same.
            let uniform = how & 1 == 0;
            let few = [integer(rng), integer(rng), integer(rng) ^ 1 << 40, common];
            for (lane, tuple) in warp.iter_mut().enumerate() {
                let own = rng.next_u64();
                let drawn = if uniform { common } else { own };
                let lane = lane as u64;
                tuple[at] = input.width.mask()
                    & match input.draw {
                        Draw::Lane(32) => match how >> 1 & 3 {
                            0 => drawn % 64,
                            _ => drawn % 32,
                        },
                        Draw::Lane(segment) => drawn % u64::from(segment),
                        Draw::Clamp(segment) => {
                            let high = u64::from(32 - segment);
                            let power = (32 - (1 << ((how >> 8) % 6))) & 31;
                            match how >> 1 & 3 {
                                // As compilers write it: a power of two of lanes, clamped at either end.
                                0 => (high | power) << 8,
                                1 => (high | power) << 8 | 31,
                                _ => (high | drawn >> 8 & 31) << 8 | drawn & 31,
                            }
                        }
                        Draw::Segment(segment) => {
                            (u64::from(u32::MAX) >> (32 - segment)) << (lane & !(u64::from(segment) - 1))
                        }
                        Draw::Side => {
                            if common >> lane & 1 != 0 {
                                common
                            } else {
                                !common
                            }
                        }
                        Draw::Vote => match how >> 1 & 7 {
                            0 => 0,
                            1 => 1,
                            2 => u64::from(lane == common % 32),
                            3 => u64::from(lane != common % 32),
                            _ => own & 1,
                        },
                        Draw::Few => match how >> 1 & 3 {
                            0 => few[0],
                            1 => few[usize::from(lane == common % 32)],
                            2 => few[own as usize % 4],
                            // Different in the upper word only.
                            _ => few[0] ^ (own & 1) << 32,
                        },
                        Draw::Flag => own & 1,
                        _ => own,
                    };
            }
        }
        tuples.extend(warp);
    }
    tuples
}

/// The operands as the program reads them.
pub(crate) fn bytes(form: &Form, tuples: &[[u64; 4]]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(form.input_bytes());
    for (at, input) in form.inputs.iter().enumerate() {
        let size = input.width.bytes();
        for tuple in tuples {
            bytes.extend_from_slice(&tuple[at].to_le_bytes()[..size]);
        }
    }
    bytes
}
