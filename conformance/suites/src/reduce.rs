//! The shared reductions: `gdn_warp_sum_test` and `gdn_block_sum3_test`.

use gdn_gpu::contract::{Contract, Dim, Shape};
use gdn_gpu::contracts;
use gdn_gpu::run::{Tensor, Tensors};
use gdn_reference::ShapeError;
use gdn_reference::scalar::Scalar;
use rand::RngExt;

use crate::case::Case;
use crate::draw::Draws;
use crate::family::{Family, Plan, Results, Suite, scalars};
use crate::localize::Feeds;
use crate::regime::Regime;

pub(crate) const SUITES: &[&dyn Suite] = &[&WARP, &BLOCK];

const WARP: Sums = Sums { kernel: "gdn_warp_sum_test", pairs: &[("v", "out")], of_warps: true };
const BLOCK: Sums =
    Sums { kernel: "gdn_block_sum3_test", pairs: &[("a", "oa"), ("b", "ob"), ("c", "oc")], of_warps: false };

/// Sums over warps or blocks, of each input into its output.
struct Sums {
    kernel: &'static str,
    pairs: &'static [(&'static str, &'static str)],
    of_warps: bool,
}

impl Sums {
    /// Threads that share a sum.
    fn group(&self, shape: &Shape) -> usize {
        if self.of_warps { 32 } else { shape.get(Dim::Threads) }
    }
}

impl Family for Sums {
    fn contract(&self) -> &'static Contract {
        contracts::find(self.kernel).expect("the registry test names a missing contract")
    }

    fn regimes(&self) -> &'static [Regime] {
        use Regime::*;
        &[Gaussian, Ramp, Integers, Ladder, OneHot, Zeros, Nonfinite]
    }

    fn plans(&self, _regime: Regime) -> Vec<Plan> {
        [(3, 32), (2, 64), (5, 96), (2, 128), (1, 160), (2, 256), (1, 480), (3, 1024)]
            .iter()
            .map(|&(blocks, threads)| Plan::once(Shape::new(&[(Dim::Blocks, blocks), (Dim::Threads, threads)])))
            .collect()
    }

    fn draw(&self, case: &Case, draws: &Draws) -> Tensors {
        let (blocks, threads) = (case.get(Dim::Blocks), case.get(Dim::Threads));
        let fill = |name| {
            let mut data = draws.data(name, blocks * threads / 32, 32);
            if case.regime == Regime::Nonfinite {
                data[draws.stream(name).random_range(0..blocks * threads)] = f32::NAN;
            }
            Tensor::F32(data)
        };
        self.pairs.iter().map(|&(input, _)| (input, fill(input))).collect()
    }

    fn evaluate<T: Scalar>(&self, shape: &Shape, inputs: &Tensors) -> Result<Results<T>, ShapeError> {
        let reduction = Family::contract(self).budget.reduction;
        let group = self.group(shape);
        let sums = |name| -> Result<Vec<T>, ShapeError> {
            let data = scalars::<T>(inputs, name)?;
            let sum = |part: &[T]| std::iter::repeat_n(T::sum(part.iter().copied(), reduction), part.len());
            Ok(data.chunks(group).flat_map(sum).collect())
        };
        self.pairs.iter().map(|&(input, output)| Ok((output, sums(input)?))).collect()
    }

    fn feeds(&self, shape: &Shape, output: &str, index: usize) -> Feeds {
        let group = self.group(shape);
        let start = index / group * group;
        let of =
            |(input, name): &(&'static str, &'static str)| (*name == output).then(|| (*input, start..start + group));
        self.pairs.iter().filter_map(of).collect()
    }
}
