//! The attention layer's output gate: `gk_gate_mul`.

use gdn_gpu::contract::{Contract, Dim, Shape};
use gdn_gpu::contracts;
use gdn_gpu::run::{Tensor, Tensors};
use gdn_reference::ShapeError;
use gdn_reference::ops::output_gate;
use gdn_reference::scalar::Scalar;
use rand::RngExt;

use crate::case::Case;
use crate::draw::Draws;
use crate::family::{Family, Plan, Results, Suite, scalars};
use crate::regime::Regime;
use crate::{COUNTS, view, view_mut};

pub(crate) const SUITES: &[&dyn Suite] = &[&Gate];

struct Gate;

impl Family for Gate {
    fn contract(&self) -> &'static Contract {
        contracts::find("gk_gate_mul").expect("the registry test names a missing contract")
    }

    fn regimes(&self) -> &'static [Regime] {
        use Regime::*;
        &[Gaussian, Ramp, Zeros, Extremes, Edges, Nonfinite]
    }

    fn plans(&self, _regime: Regime) -> Vec<Plan> {
        COUNTS.iter().map(|&n| Plan::once(Shape::new(&[(Dim::N, n)]))).collect()
    }

    fn draw(&self, case: &Case, draws: &Draws) -> Tensors {
        let n = case.get(Dim::N);
        let mut ctx = draws.data("ctx", 1, n);
        let mut g = draws.data("g", 1, n);
        match case.regime {
            Regime::Edges => {
                // At -86.68955 the product with log2(e) loses most when it is rounded: there a fast exponential shows.
                let edges = [
                    0.0, -1.0, 20.0, -20.0, -86.689_55, -87.0, -88.0, -88.8, -89.0, -104.0, -1e3, -1e4, 88.8, 104.0,
                    1e4,
                ];
                g = Draws::cycle(n, &edges);
            }
            Regime::Nonfinite => {
                let mut rng = draws.stream("place");
                ctx[rng.random_range(0..n)] = f32::NAN;
                g[rng.random_range(0..n)] = f32::NAN;
                ctx[rng.random_range(0..n)] = f32::INFINITY;
            }
            _ => {}
        }
        Tensors::from([("ctx", Tensor::F32(ctx)), ("g", Tensor::F32(g))])
    }

    fn evaluate<T: Scalar>(&self, shape: &Shape, inputs: &Tensors) -> Result<Results<T>, ShapeError> {
        let n = shape.get(Dim::N);
        let (mut ctx, g) = (scalars::<T>(inputs, "ctx")?, scalars(inputs, "g")?);
        output_gate::gate(view_mut("ctx", &mut ctx, n)?, view("g", &g, n)?, &Family::contract(self).budget)?;
        Ok(Results::from([("ctx", ctx)]))
    }
}
