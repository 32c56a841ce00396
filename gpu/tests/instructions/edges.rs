//! Values at which instructions go wrong, the most telling ones first.

use crate::draw::Draw;
use crate::form::{Float, Width};

/// The edge values of an operand, each once.
pub(crate) fn of(draw: Draw, width: Width) -> Vec<u64> {
    let all = match draw {
        Draw::Float(kind) => floats(kind),
        Draw::Pair(kind) => {
            let edges = floats(kind);
            let upper = |at: usize| edges[(at * 7 + 3) % edges.len()];
            edges.iter().enumerate().map(|(at, &edge)| upper(at) << 16 | edge).collect()
        }
        Draw::Angle => angles(),
        Draw::Amount => AMOUNTS.to_vec(),
        Draw::Below(limit) => (0..u64::from(limit)).collect(),
        Draw::Flag => vec![0, 1],
        _ => integers(width),
    };
    let mut edges = Vec::with_capacity(all.len());
    for edge in all.into_iter().map(|edge| edge & width.mask()) {
        if !edges.contains(&edge) {
            edges.push(edge);
        }
    }
    edges
}

const AMOUNTS: [u64; 28] = [
    0,
    1,
    31,
    32,
    33,
    63,
    64,
    65,
    15,
    16,
    17,
    2,
    7,
    8,
    30,
    255,
    256,
    257,
    127,
    128,
    24,
    48,
    4,
    0x8000_0000,
    0xFFFF_FFFF,
    0x100_0000,
    62,
    3,
];

fn integers(width: Width) -> Vec<u64> {
    let bits = 8 * width.bytes() as u32;
    let (all, top) = (width.mask(), 1 << (bits - 1));
    let mut edges = vec![0, 1, all, top, top - 1, 2, all - 1, top + 1, top - 2, 3, all - 2, 10];
    // Where narrower types end.
    for narrow in [8, 16, 24, 32, 31, 15, 7, 23, 4, 48, 62, 63] {
        if narrow < bits {
            let limit: u64 = 1 << narrow;
            edges.extend([limit, limit - 1, limit.wrapping_neg(), limit + 1, limit.wrapping_neg() - 1]);
        }
    }
    edges.extend([0x5555_5555_5555_5555, 0xAAAA_AAAA_AAAA_AAAA, 0x0123_4567_89AB_CDEF, 0xFEDC_BA98_7654_3210]);
    edges.extend([0x8080_8080_8080_8080, 0x7F7F_7F7F_7F7F_7F7F, 0xFF00_FF00_FF00_FF00, 7, 100, 1000, 33, 31]);
    edges.extend((0..bits).map(|bit| 1 << bit));
    edges
}

fn floats(kind: Float) -> Vec<u64> {
    let (fraction, _) = kind.fields();
    let (one, infinity) = (kind.one(), kind.infinity());
    let normal = 1 << fraction;
    let step = |exponent: i64| one.saturating_add_signed(exponent << fraction).min(infinity);
    let magnitudes = [
        0,
        one,
        infinity,
        normal,       // Least normal value.
        infinity - 1, // Greatest finite value.
        1,            // Least subnormal value.
        normal - 1,   // Greatest subnormal value.
        kind.nan(),
        one + 1,
        one - 1,
        step(1),
        step(-1),
        infinity + 1, // A signalling NaN.
        infinity | normal >> 1,
        one | normal >> 1, // 1.5
        normal + 1,
        step(1) | normal >> 1,     // 3
        step(i64::from(fraction)), // From here on only integers.
        step(i64::from(fraction)) + 1,
        step(-i64::from(fraction) - 1), // Half a place of one.
        step(-i64::from(fraction) - 2),
        step(-i64::from(fraction) - 1) + 1,
        infinity | normal >> 1 | 5, // A NaN with a payload.
        normal >> 1,
        step(i64::from(fraction) - 1) + 1, // Halves end here.
        2 * normal,
        infinity - normal, // Its square root is a power of two, nearly.
        one | normal >> 2,
    ];
    let mut edges: Vec<u64> = magnitudes.iter().flat_map(|&m| [m, m | kind.sign()]).collect();
    // Where integers end, with their neighbours and the halves between.
    for exponent in [7, 8, 15, 16, 31, 32, 63, 64, 24, 53, 11, 4, 3, -14, -24, -25, -126, -149, 127, 128] {
        let edge = step(exponent);
        edges.extend([edge, edge.wrapping_sub(1), edge + 1].iter().flat_map(|&m| [m, m | kind.sign()]));
        for half in 1..=3 {
            // limit ± 1/2, where the format still has it.
            let place = i64::from(fraction) - exponent;
            if (1..i64::from(fraction)).contains(&place) {
                let unit = 1_u64 << (place - 1);
                edges.extend(
                    [edge + unit * half, edge.wrapping_sub(2 * unit * half)].iter().flat_map(|&m| [m, m | kind.sign()]),
                );
            }
        }
    }
    // Small integers and a half.
    for numerator in 1..20_u64 {
        let lead = numerator.ilog2();
        if lead <= fraction {
            let bits = step(i64::from(lead) - 1) | (numerator << (fraction - lead)) & (normal - 1);
            edges.extend([bits, bits.wrapping_sub(1), bits + 1].iter().flat_map(|&m| [m, m | kind.sign()]));
        }
    }
    edges
}

fn angles() -> Vec<u64> {
    let mut edges = floats(Float::F32);
    for multiple in 1..=8 {
        let angle = (f64::from(multiple) * std::f64::consts::FRAC_PI_4) as f32;
        let bits = u64::from(angle.to_bits());
        edges.extend([bits, bits.wrapping_sub(1), bits + 1].iter().flat_map(|&m| [m, m | 1 << 31]));
    }
    edges
}
