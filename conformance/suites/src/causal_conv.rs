//! The depthwise causal convolution with a carried ring: `gk_conv_silu` and `gk_conv_silu_l2`.

use gdn_gpu::contract::{Contract, Dim, Param, Shape};
use gdn_gpu::contracts;
use gdn_gpu::run::{Tensor, Tensors};
use gdn_reference::ShapeError;
use gdn_reference::ops::{causal_conv, l2_norm};
use gdn_reference::scalar::Scalar;
use rand::RngExt;

use crate::case::Case;
use crate::draw::Draws;
use crate::family::{Family, Plan, Results, Suite, scalars};
use crate::localize::{Feeds, Layout};
use crate::regime::Regime;
use crate::{HEAD_SIZES, view, view_mut, with_eps};

pub(crate) const SUITES: &[&dyn Suite] = &[&Conv { fused: false }, &Conv { fused: true }];

struct Conv {
    fused: bool,
}

/// Channels around warp and block edges, and those of a Qwen3.5 layer (2·16·128 + 48·128 = 10,240).
const CHANNELS: [i64; 9] = [1, 31, 33, 127, 129, 256, 257, 8193, 10_240];

/// Taps: one (no history), two, the models' four, and more.
const TAPS: [i64; 4] = [4, 1, 2, 5];

impl Family for Conv {
    fn contract(&self) -> &'static Contract {
        let kernel = if self.fused { "gk_conv_silu_l2" } else { "gk_conv_silu" };
        contracts::find(kernel).expect("the registry test names a missing contract")
    }

    fn regimes(&self) -> &'static [Regime] {
        use Regime::*;
        &[Gaussian, Ramp, Integers, Ladder, OneHot, Zeros, Edges, Nonfinite]
    }

    fn plans(&self, _regime: Regime) -> Vec<Plan> {
        let taps = |i: usize| TAPS[i % TAPS.len()];
        let tokens = |i: usize| [1, 2, 9][i % 3];
        if !self.fused {
            let plan = |(i, &c): (usize, &i64)| Plan {
                shape: Shape::new(&[(Dim::C, c), (Dim::T, taps(i))]),
                tokens: tokens(i),
            };
            return CHANNELS.iter().enumerate().map(plan).collect();
        }
        // Chunks of q, k and v; normalized none, some, all.
        let chunks = [(4, 2), (3, 0), (5, 5), (6, 4), (1, 1)];
        let plan = |(i, &d): (usize, &i64)| {
            let (count, nl2) = chunks[i % chunks.len()];
            let shape = with_eps(&[(Dim::C, count * d), (Dim::D, d), (Dim::T, taps(i)), (Dim::Nl2, nl2)]);
            Plan { shape, tokens: tokens(i) }
        };
        let model = with_eps(&[(Dim::C, 10_240), (Dim::D, 128), (Dim::T, 4), (Dim::Nl2, 32)]);
        HEAD_SIZES.iter().chain(&[1024]).enumerate().map(plan).chain([Plan { shape: model, tokens: 2 }]).collect()
    }

    fn draw(&self, case: &Case, draws: &Draws) -> Tensors {
        let (c, t) = (case.get(Dim::C), case.get(Dim::T));
        let mut x = draws.data("x", 1, c);
        let mut weights = draws.data("wc", t, c);
        let mut ring = draws.data("cs", t, c);
        match case.regime {
            // Heads, not taps, are the rows that a ladder scales.
            Regime::Ladder => {
                let width = if self.fused { case.get(Dim::D) } else { 32 };
                for (i, x) in x.iter_mut().enumerate() {
                    *x = draws.scale() * 10f32.powi(-((i / width % 9) as i32)) * (1.0 + (i % 7) as f32 / 8.0);
                }
                ring = draws.normal("cs", t * c, 0.0);
                weights = draws.normal("wc", t * c, 1.0);
            }
            Regime::Ramp => {
                ring = (0..t * c).map(|i| (i / c + 1) as f32 + (i % c) as f32 / c as f32).collect();
                weights = (0..t * c).map(|i| 0.25 + (i / c) as f32 * 0.5 - (i % c) as f32 / c as f32).collect();
            }
            // Pre-activations across every edge of silu: the newest tap alone carries them.
            Regime::Edges => {
                ring = vec![0.0; t * c];
                weights = vec![1.0; t * c];
                let edges = [-6.0, -1e-3, 6.0, -87.5, -88.0, -88.8, -90.0, -104.0, 88.8, 104.0, -1e3, 1e3, 1.0, -17.0];
                x = Draws::cycle(c, &edges);
            }
            Regime::Nonfinite => {
                let mut rng = draws.stream("place");
                x[rng.random_range(0..c)] = f32::NAN;
                x[rng.random_range(0..c)] = f32::INFINITY;
            }
            _ => {}
        }
        Tensors::from([("x", Tensor::F32(x)), ("wc", Tensor::F32(weights)), ("cs", Tensor::F32(ring))])
    }

    fn evaluate<T: Scalar>(&self, shape: &Shape, inputs: &Tensors) -> Result<Results<T>, ShapeError> {
        let (c, t) = (shape.get(Dim::C), shape.get(Dim::T));
        let budget = &Family::contract(self).budget;
        let (x, weights, mut ring) = (scalars::<T>(inputs, "x")?, scalars(inputs, "wc")?, scalars(inputs, "cs")?);
        let mut y = vec![T::exact(0.0); c];
        let ring_view = view_mut("cs", &mut ring, (t, c))?;
        causal_conv::step(
            view("x", &x, c)?,
            view("wc", &weights, (t, c))?,
            ring_view,
            view_mut("y", &mut y, c)?,
            budget,
        )?;
        if self.fused {
            let (d, nl2) = (shape.get(Dim::D), shape.get(Dim::Nl2));
            let eps = T::exact(f64::from(shape.param(Param::Eps).unwrap_or(f32::NAN)));
            l2_norm::normalize(view_mut("y", &mut y[..nl2 * d], (nl2, d))?, eps, budget)?;
        }
        Ok(Results::from([("cs", ring), ("y", y)]))
    }

    fn is_copy(&self, _shape: &Shape, output: &str, _index: usize) -> bool {
        output == "cs"
    }

    fn layout(&self, shape: &Shape, output: &str) -> Layout {
        let (c, t) = (shape.get(Dim::C), shape.get(Dim::T));
        match (output, self.fused) {
            ("cs", _) => Layout::new(&[("tap", t), ("channel", c)]),
            (_, false) => Layout::new(&[("channel", c)]),
            (_, true) => {
                let d = shape.get(Dim::D);
                Layout::new(&[("chunk", c / d), ("channel", d)])
            }
        }
    }

    fn feeds(&self, shape: &Shape, output: &str, index: usize) -> Feeds {
        let (c, t) = (shape.get(Dim::C), shape.get(Dim::T));
        let channel = index % c;
        let at = |tap: usize| tap * c + channel..tap * c + channel + 1;
        if output == "cs" {
            return vec![if index / c + 1 < t { ("cs", at(index / c + 1)) } else { ("x", at(0)) }];
        }
        let mut feeds = vec![("x", at(0))];
        // The oldest tap leaves the ring; the taps nearest the newest are printed.
        let first = t.saturating_sub(8);
        feeds.extend((first.max(1)..t).map(|tap| ("cs", at(tap))));
        feeds.extend((first..t).map(|tap| ("wc", at(tap))));
        feeds
    }
}
