//! The gated delta rule: `gdn_step`.

use gdn_gpu::contract::{Contract, Dim, Shape};
use gdn_gpu::contracts;
use gdn_gpu::run::{Tensor, Tensors};
use gdn_reference::ops::delta_rule;
use gdn_reference::scalar::Scalar;
use gdn_reference::{HeadMap, ShapeError};
use rand::RngExt;

use crate::case::Case;
use crate::draw::Draws;
use crate::family::{Family, Plan, Results, Suite, scalars};
use crate::localize::{Feeds, Layout};
use crate::regime::Regime;
use crate::{HEAD_SIZES, view, view_mut};

pub(crate) const SUITES: &[&dyn Suite] = &[&Step];

struct Step;

/// Key and value heads around the head map: HK = HV hides it, and so does HK = 1.
const HEADS: [(i64, i64); 6] = [(2, 6), (1, 1), (2, 4), (1, 3), (3, 3), (4, 8)];

/// Layers of real models: Qwen3-Next 80B-A3B (16 key, 32 value heads), Qwen3.5 (16 and 48).
const MODELS: [(i64, i64); 2] = [(16, 32), (16, 48)];

impl Family for Step {
    fn contract(&self) -> &'static Contract {
        contracts::find("gdn_step").expect("the registry test names a missing contract")
    }

    fn regimes(&self) -> &'static [Regime] {
        use Regime::*;
        &[Gaussian, Ramp, Integers, Ladder, OneHot, Zeros, Nonfinite, Warm, Fast, Decays, Correlated, Identity]
    }

    fn plans(&self, regime: Regime) -> Vec<Plan> {
        let shape = |d, (hk, hv)| Shape::new(&[(Dim::D, d), (Dim::Hk, hk), (Dim::Hv, hv)]);
        let mut plans: Vec<Plan> = HEAD_SIZES
            .iter()
            .enumerate()
            .map(|(i, &d)| {
                let heads = if d > 128 { HEADS[i % 2] } else { HEADS[i % HEADS.len()] };
                Plan { shape: shape(d, heads), tokens: 1 + i as u32 % 3 }
            })
            .collect();
        if regime == Regime::Warm {
            plans.extend(MODELS.map(|heads| Plan { shape: shape(128, heads), tokens: 2 }));
        }
        plans
    }

    fn draw(&self, case: &Case, draws: &Draws) -> Tensors {
        let (d, hk, hv) = (case.get(Dim::D), case.get(Dim::Hk), case.get(Dim::Hv));
        let unit = 1.0 / (d as f32).sqrt();
        // Queries and keys come L2-normalized in the model; elsewhere they follow the regime.
        let normalized = |name: &str| draws.normal(name, hk * d, unit);
        let (mut q, mut k) = (draws.data("q", hk, d), draws.data("k", hk, d));
        let mut v = draws.data("v", hv, d);
        let mut state = draws.data("S", hv * d, d);
        let mut beta = draws.uniform("beta", hv, 0.05, 0.95);
        let mut decay = draws.uniform("decay", hv, 0.1, 1.0);
        match case.regime {
            Regime::Warm | Regime::Fast | Regime::Decays | Regime::Identity | Regime::Nonfinite => {
                (q, k) = (normalized("q"), normalized("k"));
            }
            Regime::Correlated => {
                q = normalized("q");
                // One direction for all tokens, with a hundredth of noise.
                let common = Draws::new(case, 0).normal("direction", hk * d, unit);
                k = normalized("k").iter().zip(&common).map(|(noise, x)| x + 0.01 * noise).collect();
                beta = draws.uniform("beta", hv, 0.98, 1.0);
            }
            // Distinct decays in a ramp too, so that one head's gate used for another shows.
            Regime::Ramp => decay = (0..hv).map(|h| 0.3 + 0.6 * (h as f32 + 0.5) / hv as f32).collect(),
            Regime::Integers => {
                beta = draws.choose("beta", hv, &[0.0, 1.0, 2.0]);
                decay = draws.choose("decay", hv, &[1.0, 0.5]);
            }
            _ => {}
        }
        match case.regime {
            Regime::Warm | Regime::Correlated => decay = draws.uniform("decay", hv, 0.98, 1.0),
            Regime::Fast => decay = draws.uniform("decay", hv, 0.1, 0.5),
            Regime::Decays => {
                let turn = draws.stream("turn").random_range(0..6);
                let list = [1.0, 0.995, 0.5, 0.1, 1e-3, 0.0];
                decay = (0..hv).map(|h| list[(h + turn) % list.len()]).collect();
            }
            Regime::Identity => {
                beta = vec![0.0; hv];
                decay = vec![1.0; hv];
            }
            Regime::Nonfinite => {
                let mut rng = draws.stream("place");
                v[rng.random_range(0..hv * d)] = f32::NAN;
                v[rng.random_range(0..hv * d)] = f32::INFINITY;
                state[rng.random_range(0..hv * d * d)] = f32::NEG_INFINITY;
            }
            _ => {}
        }
        Tensors::from([
            ("q", Tensor::F32(q)),
            ("k", Tensor::F32(k)),
            ("v", Tensor::F32(v)),
            ("beta", Tensor::F32(beta)),
            ("decay", Tensor::F32(decay)),
            ("S", Tensor::F32(state)),
        ])
    }

    fn evaluate<T: Scalar>(&self, shape: &Shape, inputs: &Tensors) -> Result<Results<T>, ShapeError> {
        let (d, hk, hv) = (shape.get(Dim::D), shape.get(Dim::Hk), shape.get(Dim::Hv));
        let [q, k, v] = ["q", "k", "v"].map(|name| scalars::<T>(inputs, name));
        let [beta, decay, state] = ["beta", "decay", "S"].map(|name| scalars::<T>(inputs, name));
        let (q, k, v, beta, decay, mut state) = (q?, k?, v?, beta?, decay?, state?);
        let mut o = vec![T::exact(0.0); hv * d];
        let x = delta_rule::Inputs {
            q: view("q", &q, (hk, d))?,
            k: view("k", &k, (hk, d))?,
            v: view("v", &v, (hv, d))?,
            beta: view("beta", &beta, hv)?,
            decay: view("decay", &decay, hv)?,
        };
        let s = view_mut("S", &mut state, (hv, d, d))?;
        delta_rule::step(&x, s, view_mut("o", &mut o, (hv, d))?, HeadMap::Tile, &Family::contract(self).budget)?;
        Ok(Results::from([("S", state), ("o", o)]))
    }

    fn layout(&self, shape: &Shape, output: &str) -> Layout {
        let (d, hv) = (shape.get(Dim::D), shape.get(Dim::Hv));
        // An element of the output belongs to a row of the state.
        if output == "S" {
            Layout::new(&[("head", hv), ("row", d), ("column", d)])
        } else {
            Layout::new(&[("head", hv), ("row", d)])
        }
    }

    fn feeds(&self, shape: &Shape, output: &str, index: usize) -> Feeds {
        let (d, hk, hv) = (shape.get(Dim::D), shape.get(Dim::Hk), shape.get(Dim::Hv));
        let value = if output == "S" { index / d } else { index };
        let (h, row) = (value / d, value * d..(value + 1) * d);
        let key = HeadMap::Tile.key_head(h, hv, hk) * d;
        let mut feeds = vec![("beta", h..h + 1), ("decay", h..h + 1), ("v", value..value + 1), ("S", row)];
        feeds.push(("k", key..key + d));
        feeds.extend((output == "o").then(|| ("q", key..key + d)));
        feeds
    }
}
