//! Draws inputs: one stream of numbers a buffer and token, so that adding a buffer changes no other.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

use crate::case::Case;
use crate::regime::Regime;

/// Source of a case's random numbers.
#[derive(Clone, Debug)]
pub struct Draws {
    seed: u64,
    token: u32,
    scale: f32,
    regime: Regime,
}

/// Values at the edges of f32: signed zeros, subnormals, the smallest normal, one, the largest finite.
pub const EXTREMES: [f32; 10] =
    [0.0, -0.0, f32::from_bits(1), -1e-40, f32::MIN_POSITIVE, -f32::MIN_POSITIVE, 1.0, -1.5, f32::MAX, f32::MIN];

impl Draws {
    /// The draws of one token of a case.
    pub fn new(case: &Case, token: u32) -> Self {
        Self { seed: case.seed, token, scale: 2f32.powi(case.scale), regime: case.regime }
    }

    /// The power of two that data is scaled by.
    pub const fn scale(&self) -> f32 {
        self.scale
    }

    /// The stream of one buffer. The seed is mixed with the buffer's name by FNV-1a, and with the token.
    pub fn stream(&self, buffer: &str) -> ChaCha8Rng {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in self.seed.to_le_bytes().into_iter().chain(self.token.to_le_bytes()).chain(buffer.bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        ChaCha8Rng::seed_from_u64(hash)
    }

    /// `n` normal numbers times `scale`.
    pub fn normal(&self, buffer: &str, n: usize, scale: f32) -> Vec<f32> {
        let mut rng = self.stream(buffer);
        (0..n).map(|_| scale * sample(&mut rng)).collect()
    }

    /// `n` numbers uniform in `low..high`.
    pub fn uniform(&self, buffer: &str, n: usize, low: f32, high: f32) -> Vec<f32> {
        let mut rng = self.stream(buffer);
        (0..n).map(|_| rng.random_range(low..high)).collect()
    }

    /// `n` draws from a list.
    pub fn choose(&self, buffer: &str, n: usize, from: &[f32]) -> Vec<f32> {
        let mut rng = self.stream(buffer);
        (0..n).map(|_| from[rng.random_range(0..from.len())]).collect()
    }

    /// A list in order, over and over.
    pub fn cycle(n: usize, from: &[f32]) -> Vec<f32> {
        from.iter().copied().cycle().take(n).collect()
    }

    /// `rows` × `width` numbers of the case's regime: what a data buffer (a query, a state, a projection) holds.
    pub fn data(&self, buffer: &str, rows: usize, width: usize) -> Vec<f32> {
        let n = rows * width;
        let row_scale = |scale: &dyn Fn(usize) -> f32| {
            let mut data = self.normal(buffer, n, 1.0);
            for (i, x) in data.iter_mut().enumerate() {
                *x *= scale(i / width);
            }
            data
        };
        match self.regime {
            Regime::Ramp => {
                let shift = self.stream(buffer).random_range(1..8) as f32;
                (0..n)
                    .map(|i| {
                        let ramp = (i as f32 + shift) / (n as f32 + 8.0);
                        self.scale * if i % 2 == 0 { ramp } else { -ramp }
                    })
                    .collect()
            }
            Regime::Integers => self.choose(buffer, n, &[-2.0, -1.0, 0.0, 1.0, 2.0]),
            Regime::Ladder => row_scale(&|row| self.scale * 10f32.powi(-((row % 9) as i32))),
            // Alternately within a factor of the largest sum of squares, and beyond it.
            Regime::Huge => row_scale(&|row| if row % 2 == 0 { 1e17 } else { 1e21 }),
            Regime::OneHot => {
                let mut data = vec![0.0; n];
                let edges = [width - 1, 0, 31, 32, 63, 64, width / 2];
                let turn = self.token as usize + usize::from(buffer.as_bytes().first() == Some(&b'k'));
                for row in 0..rows {
                    data[row * width + edges[(row + turn) % edges.len()] % width] = self.scale;
                }
                data
            }
            Regime::Zeros => vec![0.0; n],
            Regime::Extremes => self.choose(buffer, n, &EXTREMES),
            _ => self.normal(buffer, n, self.scale),
        }
    }
}

fn sample(rng: &mut ChaCha8Rng) -> f32 {
    StandardNormal.sample(rng)
}
