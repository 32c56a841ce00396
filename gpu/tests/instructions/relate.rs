//! Operands that depend on each other: equal ones, ones that cancel, ties.

use rand::Rng;
use rand::rngs::ChaCha8Rng;

use crate::draw::{Draw, float};
use crate::form::{Float, Input, Relation};

/// Makes a tuple obey a relation, or miss it by a place.
pub(crate) fn relate(relation: Relation, tuple: &mut [u64; 4], rng: &mut ChaCha8Rng, first: Input) {
    let random = rng.next_u64();
    let near = |value: u64| value.wrapping_add_signed([0, 0, 1, -1, 2, -2, 3, 0][(random & 7) as usize]);
    match relation {
        Relation::None => {}
        Relation::Neighbours => tuple[1] = near(tuple[0]),
        Relation::Opposite(kind) => tuple[1] = near(tuple[0]) ^ kind.sign(),
        Relation::Product(kind) => {
            tuple[2] = match first.draw {
                Draw::Pair(_) => {
                    let half = |shift: u32| {
                        let of = |at: usize| tuple[at] >> shift & 0xFFFF;
                        near(product(kind, of(0), of(1)) ^ kind.sign()) & 0xFFFF
                    };
                    half(0) | half(16) << 16
                }
                _ => near(product(kind, tuple[0], tuple[1]) ^ kind.sign()),
            }
        }
        Relation::Quotient(kind) => tuple[0] = near(product(kind, tuple[1], float(rng, kind))),
        Relation::Square(kind) => {
            let root = float(rng, kind);
            tuple[0] = near(product(kind, root, root));
        }
        Relation::Tie(bits) => tuple[0] = near(tuple[0] & !((1 << bits) - 1) | 1 << (bits - 1)),
        Relation::IntegerTie(bits) => {
            let room = 8 * first.width.bytes() as u64 - u64::from(bits);
            let length = u64::from(bits) + 1 + (random >> 8) % room;
            let value = rng.next_u64() | 1 << 63;
            let tie = value >> (63 - bits) | 1;
            let value = near(tie << (length - u64::from(bits) - 1));
            tuple[0] = if random >> 40 & 1 == 0 { value } else { value.wrapping_neg() };
        }
    }
}

/// A product, rounded in some way that is the same everywhere.
fn product(kind: Float, a: u64, b: u64) -> u64 {
    let single = |bits: u32| if f32::from_bits(bits).is_nan() { 0x7FC0_0000 } else { bits };
    match kind {
        Float::F32 => single((f32::from_bits(a as u32) * f32::from_bits(b as u32)).to_bits()).into(),
        Float::F64 => {
            let product = f64::from_bits(a) * f64::from_bits(b);
            if product.is_nan() { kind.nan() } else { product.to_bits() }
        }
        Float::Bf16 => {
            let wide = |bits: u64| f32::from_bits((bits as u32) << 16);
            u64::from(single((wide(a) * wide(b)).to_bits()) >> 16)
        }
        Float::F16 => half((kind.value(a) * kind.value(b)) as f32),
    }
}

/// An f32 cut to an f16.
fn half(value: f32) -> u64 {
    let bits = value.to_bits();
    let (sign, magnitude) = (bits >> 16 & 0x8000, bits & 0x7FFF_FFFF);
    u64::from(match magnitude {
        0..0x3880_0000 => sign,
        0x3880_0000..0x4780_0000 => sign | (magnitude - (112 << 23)) >> 13,
        0x4780_0000..=0x7F80_0000 => sign | 0x7C00,
        _ => 0x7E00,
    })
}
