//! The q/k RMSNorm with partial RoPE: `gk_qk_norm_rope_part`.

use gdn_gpu::contract::{Contract, Dim, Param, Shape};
use gdn_gpu::contracts;
use gdn_gpu::run::{Tensor, Tensors};
use gdn_reference::ShapeError;
use gdn_reference::ops::qk_norm_rope;
use gdn_reference::scalar::Scalar;
use rand::RngExt;

use crate::case::Case;
use crate::draw::Draws;
use crate::family::{Family, Plan, Results, Suite, Unreachable, scalars};
use crate::localize::{Feeds, Layout};
use crate::regime::Regime;
use crate::{view, view_mut, with_eps};

pub(crate) const SUITES: &[&dyn Suite] = &[&NormRope];

struct NormRope;

/// Positions of the design; at 0 every rotary variant agrees.
const POSITIONS: [i64; 10] = [0, 1, 2, 63, 64, 2047, 40_000, 131_071, 262_143, 1_048_575];

/// Head sizes and rotated dimensions: Qwen3-Next's (256, 64), full rotation, small and odd sizes, none.
const HEADS: [(i64, i64); 8] = [(256, 64), (128, 64), (128, 128), (80, 32), (64, 2), (33, 4), (3, 2), (48, 0)];

/// Paths that log2, exp2, sinf and cosf bring with them, for arguments that the kernel never gives them.
const UNREACHABLE: &[Unreachable] = &[
    Unreachable {
        branch: "0f47CE4780",
        taken: false,
        reason: "the slow reduction of sinf and cosf from 105615 on: the angle is reduced to [-pi, pi] before",
    },
    Unreachable {
        branch: "1048575",
        taken: false,
        reason: "the subnormal doubles of log2: rbase is a positive f32, which is a normal double",
    },
    Unreachable {
        branch: "2146435071",
        taken: false,
        reason: "zero, infinity and NaN of log2: rbase is positive and finite",
    },
    Unreachable {
        branch: "0f408FF000",
        taken: false,
        reason: "exp2 beyond the exponents of double: |2i/rot log2(rbase)| is below 150",
    },
];

impl NormRope {
    /// First element of the row at `pos` in the window, which starts a row earlier where there is one.
    fn row(shape: &Shape) -> usize {
        if shape.get(Dim::Pos) == 0 { 0 } else { shape.get(Dim::Stride) }
    }
}

impl Family for NormRope {
    fn contract(&self) -> &'static Contract {
        contracts::find("gk_qk_norm_rope_part").expect("the registry test names a missing contract")
    }

    fn regimes(&self) -> &'static [Regime] {
        use Regime::*;
        &[Gaussian, Ramp, Ladder, OneHot, Zeros, Nonfinite]
    }

    fn unreachable(&self) -> &'static [Unreachable] {
        UNREACHABLE
    }

    fn plans(&self, _regime: Regime) -> Vec<Plan> {
        let counts = [2, 1, 3, 8, 16, 24, 33];
        let plan = |(i, (&pos, &(hd, rot))): (usize, (&i64, &(i64, i64)))| {
            let heads = counts[i % counts.len()];
            // 1e6 has a mantissa above √2, which the logarithm treats by itself.
            let rbase = [1e7, 1e4, 1e6][i % 3];
            let stride = heads * hd + [0, 5, 64][i % 3];
            let sizes = [(Dim::H, heads), (Dim::Hd, hd), (Dim::Rot, rot), (Dim::Pos, pos), (Dim::Stride, stride)];
            Plan::once(with_eps(&sizes).with(Param::Rbase, rbase))
        };
        // Every position with two head sizes, in a fixed order.
        let twice = POSITIONS.iter().chain(&POSITIONS);
        twice.zip(HEADS.iter().cycle()).enumerate().map(plan).collect()
    }

    fn draw(&self, case: &Case, draws: &Draws) -> Tensors {
        let (stride, heads, hd) = (case.get(Dim::Stride), case.get(Dim::H), case.get(Dim::Hd));
        let rows = if case.get(Dim::Pos) == 0 { 2 } else { 3 };
        let mut base = draws.normal("neighbours", rows * stride, 1.0);
        let at = Self::row(&case.shape);
        let mut row = draws.data("base", heads, hd);
        if case.regime == Regime::Nonfinite {
            row[draws.stream("place").random_range(0..heads * hd)] = f32::NAN;
        }
        base[at..at + heads * hd].copy_from_slice(&row);
        // Attention norms hold 1 + w: near one, all distinct.
        let weight = draws.normal("nw", hd, 0.25).iter().map(|w| 1.0 + w).collect();
        Tensors::from([
            ("base", Tensor::F32(base)),
            ("d_pos", Tensor::I32(vec![case.get(Dim::Pos) as i32])),
            ("nw", Tensor::F32(weight)),
        ])
    }

    fn evaluate<T: Scalar>(&self, shape: &Shape, inputs: &Tensors) -> Result<Results<T>, ShapeError> {
        let (heads, hd) = (shape.get(Dim::H), shape.get(Dim::Hd));
        let mut base = scalars::<T>(inputs, "base")?;
        let weight = scalars::<T>(inputs, "nw")?;
        let param = |param| shape.param(param).unwrap_or(f32::NAN);
        let at = Self::row(shape);
        let missing = || ShapeError { argument: "base", found: vec![], expected: vec![heads, hd] };
        let row = base.get_mut(at..at + heads * hd).ok_or_else(missing)?;
        qk_norm_rope::norm_rope(
            view_mut("base", row, (heads, hd))?,
            view("nw", &weight, hd)?,
            shape.get(Dim::Pos) as u64,
            shape.get(Dim::Rot),
            param(Param::Rbase),
            T::exact(f64::from(param(Param::Eps))),
            &Family::contract(self).budget,
        )?;
        Ok(Results::from([("base", base)]))
    }

    /// Neighbouring rows, and what lies between the heads and the stride, must not be touched.
    fn is_copy(&self, shape: &Shape, _output: &str, index: usize) -> bool {
        let at = Self::row(shape);
        !(at..at + shape.get(Dim::H) * shape.get(Dim::Hd)).contains(&index)
    }

    fn layout(&self, shape: &Shape, _output: &str) -> Layout {
        let axes = Layout::new(&[("head", shape.get(Dim::H)), ("dimension", shape.get(Dim::Hd))]);
        Layout { offset: Self::row(shape), ..axes }
    }

    fn feeds(&self, shape: &Shape, output: &str, index: usize) -> Feeds {
        let (at, hd, rot) = (Self::row(shape), shape.get(Dim::Hd), shape.get(Dim::Rot));
        if self.is_copy(shape, output, index) {
            return vec![("base", index..index + 1)];
        }
        let (head, i) = (at + (index - at) / hd * hd, (index - at) % hd);
        let mut feeds = vec![("d_pos", 0..1), ("base", index..index + 1), ("nw", i..i + 1)];
        // A rotated dimension mixes with its partner.
        if i < rot {
            let partner = if i < rot / 2 { i + rot / 2 } else { i - rot / 2 };
            feeds.extend([("base", head + partner..head + partner + 1), ("nw", partner..partner + 1)]);
        }
        feeds.push(("base", head..head + hd));
        feeds
    }
}
