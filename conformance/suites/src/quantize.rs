//! The two-word quantization: `lgx_q8hl_test`.

use gdn_gpu::contract::{Contract, Dim, Shape};
use gdn_gpu::contracts;
use gdn_gpu::run::{Tensor, Tensors};
use gdn_reference::ShapeError;
use gdn_reference::ops::quantize;
use gdn_reference::scalar::Scalar;

use crate::COUNTS;
use crate::case::Case;
use crate::draw::Draws;
use crate::family::{Family, Plan, Results, Suite};
use crate::regime::Regime;

pub(crate) const SUITES: &[&dyn Suite] = &[&TwoWords];

struct TwoWords;

impl Family for TwoWords {
    fn contract(&self) -> &'static Contract {
        contracts::find("lgx_q8hl_test").expect("the registry test names a missing contract")
    }

    fn regimes(&self) -> &'static [Regime] {
        use Regime::*;
        &[Gaussian, Ramp, Zeros, Ties]
    }

    fn plans(&self, _regime: Regime) -> Vec<Plan> {
        COUNTS.iter().map(|&n| Plan::once(Shape::new(&[(Dim::N, n)]))).collect()
    }

    fn draw(&self, case: &Case, draws: &Draws) -> Tensors {
        let n = case.get(Dim::N);
        let t = match case.regime {
            // Ties of the high word at every half, and of the low word at halves of 1/127.
            Regime::Ties => (0..n)
                .map(|i| {
                    let half = (i % 508) as f32 / 2.0 - 127.0;
                    if i % 3 == 0 { half } else { (half.floor() + (i % 64) as f32 / 128.0).clamp(-127.0, 127.0) }
                })
                .collect(),
            Regime::Gaussian => draws.uniform("t", n, -127.0, 127.0),
            _ => draws.data("t", 1, n).iter().map(|t| (t * 127.0).clamp(-127.0, 127.0)).collect(),
        };
        Tensors::from([("t", Tensor::F32(t))])
    }

    /// The words are integers fixed by t bit for bit: there is nothing to bound.
    fn evaluate<T: Scalar>(&self, _shape: &Shape, _inputs: &Tensors) -> Result<Results<T>, ShapeError> {
        Ok(Results::new())
    }

    fn derived(&self, inputs: &Tensors, _outputs: &Tensors) -> Tensors {
        let t = inputs.get("t").and_then(Tensor::f32).unwrap_or_default();
        let (high, low) = t.iter().map(|&t| quantize::two_words(t)).unzip();
        Tensors::from([("qh", Tensor::I8(high)), ("ql", Tensor::I8(low))])
    }
}
