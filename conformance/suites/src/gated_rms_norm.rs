//! The gated RMSNorm and its int8 epilogues: `gdn_gate_norm`, `gdn_gate_norm_q`, `gdn_gate_norm_hl`.

use gdn_gpu::contract::{Contract, Dim, Param, Shape};
use gdn_gpu::contracts;
use gdn_gpu::run::{Tensor, Tensors};
use gdn_reference::ShapeError;
use gdn_reference::ops::{gated_rms_norm, quantize};
use gdn_reference::scalar::{Bounded, Scalar};
use rand::RngExt;

use crate::case::Case;
use crate::draw::Draws;
use crate::family::{Family, Plan, Results, Suite, scalars};
use crate::localize::Feeds;
use crate::regime::Regime;
use crate::verdict::{Check, Want};
use crate::{HEAD_SIZES, view, view_mut, with_eps};

pub(crate) const SUITES: &[&dyn Suite] =
    &[&GateNorm(Epilogue::None), &GateNorm(Epilogue::OneWord), &GateNorm(Epilogue::TwoWords)];

#[derive(Clone, Copy, PartialEq)]
enum Epilogue {
    None,
    OneWord,
    TwoWords,
}

struct GateNorm(Epilogue);

impl Family for GateNorm {
    fn contract(&self) -> &'static Contract {
        let kernel = match self.0 {
            Epilogue::None => "gdn_gate_norm",
            Epilogue::OneWord => "gdn_gate_norm_q",
            Epilogue::TwoWords => "gdn_gate_norm_hl",
        };
        contracts::find(kernel).expect("the registry test names a missing contract")
    }

    fn regimes(&self) -> &'static [Regime] {
        use Regime::*;
        if self.0 == Epilogue::None {
            &[Gaussian, Ramp, Ladder, Huge, OneHot, Zeros, Extremes, Edges, Nonfinite]
        } else {
            &[Gaussian, Ramp, Ladder, OneHot, Zeros, Edges, Nonfinite, Ties, Outlier, TinyGroups]
        }
    }

    fn plans(&self, _regime: Regime) -> Vec<Plan> {
        let heads = [3, 1, 9, 2, 6];
        let plan = |(i, &d): (usize, &i64)| Plan::once(with_eps(&[(Dim::D, d), (Dim::Hv, heads[i % heads.len()])]));
        if self.0 == Epilogue::None {
            return HEAD_SIZES.iter().chain(&[512, 1000, 1024]).enumerate().map(plan).collect();
        }
        let model = Plan::once(with_eps(&[(Dim::D, 128), (Dim::Hv, 48)]));
        [32, 64, 96, 128, 160, 192, 256, 512, 992, 1024].iter().enumerate().map(plan).chain([model]).collect()
    }

    fn draw(&self, case: &Case, draws: &Draws) -> Tensors {
        let (hv, d) = (case.get(Dim::Hv), case.get(Dim::D));
        let mut z = draws.normal("z", hv * d, 1.5);
        let mut weight: Vec<f32> = draws.normal("gn", d, 0.5).iter().map(|w| 1.0 + w).collect();
        let mut o = draws.data("o", hv, d);
        match case.regime {
            Regime::Edges => {
                z = Draws::cycle(
                    hv * d,
                    &[0.0, 20.0, -20.0, 87.0, -87.0, -88.0, 88.0, 89.0, -89.0, 104.0, -104.0, 1e3, -1e3],
                );
            }
            Regime::Nonfinite => {
                let mut rng = draws.stream("place");
                o[rng.random_range(0..hv * d)] = f32::NAN;
                z[rng.random_range(0..hv * d)] = f32::INFINITY;
            }
            // Where the kernel's floats land on k + ½ steps, its codes must round to even: ±127 sets the scale, the rest are halves.
            Regime::Ties => {
                weight = vec![1.0; d];
                z = vec![1e3; hv * d];
                o = (0..hv * d).map(|i| if i % 32 == 0 { 127.0 } else { (i % 253) as f32 / 2.0 - 63.0 }).collect();
            }
            Regime::Outlier => {
                for group in o.chunks_mut(32) {
                    group[draws.stream("place").random_range(0..32)] = 1e7 * draws.scale();
                }
            }
            // The weight brings a group's amax down to where its scale is subnormal or zero.
            Regime::TinyGroups => {
                let sizes = [0.0, 1e-40, 1e-37, 1e-30, 1.0, 3e-36, 1.5e-36];
                for (i, w) in weight.iter_mut().enumerate() {
                    *w *= sizes[i / 32 % sizes.len()];
                }
            }
            _ => {}
        }
        Tensors::from([("z", Tensor::F32(z)), ("gn", Tensor::F32(weight)), ("o", Tensor::F32(o))])
    }

    fn evaluate<T: Scalar>(&self, shape: &Shape, inputs: &Tensors) -> Result<Results<T>, ShapeError> {
        let (hv, d) = (shape.get(Dim::Hv), shape.get(Dim::D));
        let (z, weight, o) = (scalars::<T>(inputs, "z")?, scalars(inputs, "gn")?, scalars(inputs, "o")?);
        let mut out = vec![T::exact(0.0); hv * d];
        gated_rms_norm::norm(
            view("z", &z, (hv, d))?,
            view("gn", &weight, d)?,
            view("o", &o, (hv, d))?,
            T::exact(f64::from(shape.param(Param::Eps).unwrap_or(f32::NAN))),
            view_mut("out", &mut out, (hv, d))?,
            &Family::contract(self).budget,
        )?;
        Ok(Results::from([("out", out)]))
    }

    fn derived(&self, _inputs: &Tensors, outputs: &Tensors) -> Tensors {
        let out = outputs.get("out").and_then(Tensor::f32).unwrap_or_default();
        let (mut codes, mut low, mut scales) = (Vec::new(), Vec::new(), Vec::new());
        for group in out.chunks(32) {
            if self.0 == Epilogue::TwoWords {
                let words = quantize::quantize_group_two_words(group);
                codes.extend(words.high);
                low.extend(words.low);
                scales.push(words.scale);
            } else {
                let words = quantize::quantize_group(group);
                codes.extend(words.codes);
                scales.push(words.scale);
            }
        }
        match self.0 {
            Epilogue::None => Tensors::new(),
            Epilogue::OneWord => Tensors::from([("xq", Tensor::I8(codes)), ("xs", Tensor::F32(scales))]),
            Epilogue::TwoWords => {
                Tensors::from([("xq", Tensor::I8(codes)), ("xl", Tensor::I8(low)), ("xs", Tensor::F32(scales))])
            }
        }
    }

    fn feeds(&self, shape: &Shape, output: &str, index: usize) -> Feeds {
        let d = shape.get(Dim::D);
        match output {
            "out" => {
                let (head, i) = (index / d * d, index % d);
                let one = index..index + 1;
                vec![("z", one.clone()), ("gn", i..i + 1), ("o", one), ("o", head..head + d)]
            }
            // A scale and the codes in its units come of a group of the floats.
            "xs" => vec![("out", index * 32..(index + 1) * 32)],
            _ => vec![("out", index..index + 1), ("xs", index / 32..index / 32 + 1)],
        }
    }

    fn derived_bounds(&self, results: &Results<Bounded>, _outputs: &Tensors) -> Vec<Check> {
        if self.0 == Epilogue::None {
            return Vec::new();
        }
        let budget = &Family::contract(self).budget;
        let (mut scales, mut codes) = (Vec::new(), Vec::new());
        for group in results["out"].chunks(32) {
            let scale = quantize::scale_bound(group);
            scales.push(Want::Near(scale));
            codes.extend(group.iter().map(|&x| Want::Code(quantize::code_range(x, scale, budget))));
        }
        vec![Check { output: "xs", aspect: "", wants: scales }, Check { output: "xq", aspect: "", wants: codes }]
    }
}
