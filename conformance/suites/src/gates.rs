//! The two gates of the delta rule: `gk_gdn_gates`.

use gdn_gpu::contract::{Contract, Dim, Shape};
use gdn_gpu::contracts;
use gdn_gpu::run::{Tensor, Tensors};
use gdn_reference::ShapeError;
use gdn_reference::ops::gates;
use gdn_reference::scalar::Scalar;
use rand::RngExt;

use crate::case::Case;
use crate::draw::Draws;
use crate::family::{Family, Plan, Results, Suite, scalars};
use crate::localize::Feeds;
use crate::regime::Regime;
use crate::{view, view_mut};

pub(crate) const SUITES: &[&dyn Suite] = &[&Gates];

struct Gates;

/// u = ar + dt across overflow (88.7), cancellation (−16.6) and the softplus threshold (20).
const U: [f32; 22] = [
    -100.0, -30.0, -18.0, -17.0, -16.0, -10.0, -1.0, 0.0, 1.0, 10.0, 11.1, 12.0, 19.9, 20.0, 20.1, 30.0, 88.0, 88.8,
    100.0, 1000.0, -0.5, -12.0,
];
/// Beyond what checkpoints hold, −1e3 makes the cancellation of 1 + e^u show in the decay.
const RATE: [f32; 6] = [0.0, -1e-3, -0.04, -1.0, -16.0, -1e3];
const B: [f32; 17] =
    [0.0, 1e-3, -1e-3, 1.0, -1.0, 10.0, -10.0, 17.0, -17.0, 30.0, -30.0, 88.0, -88.0, 89.0, -89.0, 104.0, -104.0];

impl Family for Gates {
    fn contract(&self) -> &'static Contract {
        contracts::find("gk_gdn_gates").expect("the registry test names a missing contract")
    }

    fn regimes(&self) -> &'static [Regime] {
        use Regime::*;
        &[Gaussian, Ramp, Zeros, Extremes, Edges, Nonfinite]
    }

    fn plans(&self, _regime: Regime) -> Vec<Plan> {
        [1, 31, 32, 33, 48, 129, 255, 256, 257, 2112]
            .iter()
            .map(|&hv| Plan::once(Shape::new(&[(Dim::Hv, hv)])))
            .collect()
    }

    fn draw(&self, case: &Case, draws: &Draws) -> Tensors {
        let hv = case.get(Dim::Hv);
        let mut br = draws.data("br", 1, hv);
        let (mut ar, mut dt) = (draws.data("ar", 1, hv), draws.data("dt", 1, hv));
        // −exp(A_log) of the checkpoints lies between about −16 and −1e-3.
        let mut rate: Vec<f32> = draws.uniform("rate", hv, -7.0, 2.8).iter().map(|x| -x.exp()).collect();
        match case.regime {
            Regime::Edges => {
                br = Draws::cycle(hv, &B);
                // u is split between the two addends, so that one left out shows.
                ar = U.iter().map(|u| u * 0.75).cycle().take(hv).collect();
                dt = U.iter().map(|u| u * 0.25).cycle().take(hv).collect();
                rate = (0..hv).map(|h| RATE[h / U.len() % RATE.len()]).collect();
            }
            // A quarter of the largest finite number: the sum at the very edge may or may not overflow, and would leave the
            // decay open.
            Regime::Extremes => {
                ar.iter_mut().chain(&mut dt).for_each(|x| *x *= 0.25);
                rate = Draws::cycle(hv, &[0.0, -0.0, -1e-40, -1.0, -3e38]);
            }
            Regime::Nonfinite => {
                let mut rng = draws.stream("place");
                br[rng.random_range(0..hv)] = f32::NAN;
                br[rng.random_range(0..hv)] = f32::NEG_INFINITY;
                ar[rng.random_range(0..hv)] = f32::NAN;
            }
            _ => {}
        }
        Tensors::from([
            ("br", Tensor::F32(br)),
            ("ar", Tensor::F32(ar)),
            ("dt", Tensor::F32(dt)),
            ("rate", Tensor::F32(rate)),
        ])
    }

    fn evaluate<T: Scalar>(&self, shape: &Shape, inputs: &Tensors) -> Result<Results<T>, ShapeError> {
        let hv = shape.get(Dim::Hv);
        let [br, ar, dt, rate] = ["br", "ar", "dt", "rate"].map(|name| scalars::<T>(inputs, name));
        let (br, ar, dt, rate) = (br?, ar?, dt?, rate?);
        let (mut beta, mut decay) = (vec![T::exact(0.0); hv], vec![T::exact(0.0); hv]);
        gates::gates(
            view("br", &br, hv)?,
            view("ar", &ar, hv)?,
            view("dt", &dt, hv)?,
            view("rate", &rate, hv)?,
            view_mut("beta", &mut beta, hv)?,
            view_mut("decay", &mut decay, hv)?,
            &Family::contract(self).budget,
        )?;
        Ok(Results::from([("beta", beta), ("decay", decay)]))
    }

    fn feeds(&self, _shape: &Shape, output: &str, index: usize) -> Feeds {
        let names: &[&str] = if output == "beta" { &["br"] } else { &["ar", "dt", "rate"] };
        names.iter().map(|&name| (name, index..index + 1)).collect()
    }
}
