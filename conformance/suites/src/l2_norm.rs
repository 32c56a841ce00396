//! The L2 norm of each head: `gk_l2norm_heads`.

use gdn_gpu::contract::{Contract, Dim, Param, Shape};
use gdn_gpu::contracts;
use gdn_gpu::run::{Tensor, Tensors};
use gdn_reference::ShapeError;
use gdn_reference::ops::l2_norm;
use gdn_reference::scalar::Scalar;
use rand::RngExt;

use crate::case::Case;
use crate::draw::Draws;
use crate::family::{Family, Plan, Results, Suite, scalars};
use crate::localize::Feeds;
use crate::regime::Regime;
use crate::{HEAD_SIZES, view_mut, with_eps};

pub(crate) const SUITES: &[&dyn Suite] = &[&Normalize];

struct Normalize;

impl Family for Normalize {
    fn contract(&self) -> &'static Contract {
        contracts::find("gk_l2norm_heads").expect("the registry test names a missing contract")
    }

    fn regimes(&self) -> &'static [Regime] {
        use Regime::*;
        &[Gaussian, Ramp, Ladder, Huge, OneHot, Zeros, Extremes, Nonfinite]
    }

    fn plans(&self, _regime: Regime) -> Vec<Plan> {
        let heads = [9, 1, 2, 18, 5];
        let plan = |(i, &d): (usize, &i64)| Plan::once(with_eps(&[(Dim::H, heads[i % heads.len()]), (Dim::D, d)]));
        HEAD_SIZES.iter().chain(&[512, 1000, 1024]).enumerate().map(plan).collect()
    }

    fn draw(&self, case: &Case, draws: &Draws) -> Tensors {
        let (heads, d) = (case.get(Dim::H), case.get(Dim::D));
        let mut x = draws.data("x", heads, d);
        if case.regime == Regime::Nonfinite {
            let mut rng = draws.stream("place");
            x[rng.random_range(0..heads * d)] = f32::NAN;
            x[rng.random_range(0..heads * d)] = f32::INFINITY;
        }
        Tensors::from([("x", Tensor::F32(x))])
    }

    fn evaluate<T: Scalar>(&self, shape: &Shape, inputs: &Tensors) -> Result<Results<T>, ShapeError> {
        let mut x = scalars::<T>(inputs, "x")?;
        let eps = T::exact(f64::from(shape.param(Param::Eps).unwrap_or(f32::NAN)));
        let rows = view_mut("x", &mut x, (shape.get(Dim::H), shape.get(Dim::D)))?;
        l2_norm::normalize(rows, eps, &Family::contract(self).budget)?;
        Ok(Results::from([("x", x)]))
    }

    fn feeds(&self, shape: &Shape, _output: &str, index: usize) -> Feeds {
        let d = shape.get(Dim::D);
        vec![("x", index..index + 1), ("x", index / d * d..(index / d + 1) * d)]
    }
}
