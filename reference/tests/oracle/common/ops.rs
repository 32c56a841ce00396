//! Every operation over any scalar: its inputs as flat buffers with their domains, its outputs by name.

use gdn_reference::ops::{
    causal_conv, delta_rule, gated_rms_norm, gates, l2_norm, output_gate, qk_norm_rope, quantize,
};
use gdn_reference::{Bounded, Budget, HeadMap, Perturbed, Reduction, Scalar};
use ndarray::{Array, ArrayView, ArrayViewMut, Dimension, ShapeBuilder, StrideShape};

/// An operation at a size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Op {
    CausalConv {
        channels: usize,
        taps: usize,
    },
    L2Norm {
        heads: usize,
        d: usize,
    },
    Gates {
        heads: usize,
    },
    DeltaRule {
        hk: usize,
        hv: usize,
        d: usize,
    },
    GatedRmsNorm {
        hv: usize,
        d: usize,
    },
    QkNormRope {
        heads: usize,
        hd: usize,
        rot: usize,
        position: u64,
        base: f32,
    },
    OutputGate {
        n: usize,
    },
    /// A group of products, so that there are rounding errors to quantize.
    Quantize {
        n: usize,
    },
}

/// The number of a domain that stands for any other.
type Domain = fn(f32) -> f32;

/// An input: its length and its domain.
pub(crate) struct Buffer {
    pub(crate) len: usize,
    pub(crate) domain: Domain,
}

/// Results by output, row-major.
pub(crate) type Outputs<T> = Vec<(&'static str, Vec<T>)>;

fn finite(x: f32) -> f32 {
    if x.is_nan() { 0.0 } else { x.clamp(f32::MIN, f32::MAX) }
}

/// Gates lie in [0, 1]: the fraction of any number, and the number itself where it lies there.
fn unit(x: f32) -> f32 {
    let x = finite(x).abs();
    if x <= 1.0 { x } else { x.fract() }
}

fn not_positive(x: f32) -> f32 {
    -finite(x).abs()
}

/// eps of the models.
fn eps<T: Scalar>() -> T {
    T::exact(f64::from(1e-6_f32))
}

fn view<T, D: Dimension, Sh>(data: &[T], shape: Sh) -> ArrayView<'_, T, D>
where
    Sh: ShapeBuilder<Dim = D> + Into<StrideShape<D>>,
{
    ArrayView::from_shape(shape, data).expect("the buffer has the op's length")
}

fn view_mut<T, D: Dimension, Sh>(data: &mut [T], shape: Sh) -> ArrayViewMut<'_, T, D>
where
    Sh: ShapeBuilder<Dim = D> + Into<StrideShape<D>>,
{
    ArrayViewMut::from_shape(shape, data).expect("the buffer has the op's length")
}

impl Op {
    /// The file of the operation.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::CausalConv { .. } => "causal_conv",
            Self::L2Norm { .. } => "l2_norm",
            Self::Gates { .. } => "gates",
            Self::DeltaRule { .. } => "delta_rule",
            Self::GatedRmsNorm { .. } => "gated_rms_norm",
            Self::QkNormRope { .. } => "qk_norm_rope",
            Self::OutputGate { .. } => "output_gate",
            Self::Quantize { .. } => "quantize",
        }
    }

    /// The sums of the kernels that implement it.
    pub(crate) fn budget(self) -> Budget {
        Budget::CUDA.with_reduction(match self {
            Self::DeltaRule { .. } => Reduction::Warp,
            Self::L2Norm { .. } | Self::GatedRmsNorm { .. } | Self::QkNormRope { .. } => Reduction::Block,
            _ => Reduction::AnyOrder,
        })
    }

    /// Its inputs.
    pub(crate) fn buffers(self) -> Vec<Buffer> {
        let list: Vec<(&str, _, Domain)> = match self {
            Self::CausalConv { channels: c, taps } => {
                vec![("x", c, finite), ("weights", taps * c, finite), ("ring", taps * c, finite)]
            }
            Self::L2Norm { heads, d } => vec![("x", heads * d, finite)],
            Self::Gates { heads: n } => {
                vec![("br", n, finite), ("ar", n, finite), ("dt", n, finite), ("rate", n, not_positive)]
            }
            Self::DeltaRule { hk, hv, d } => vec![
                ("q", hk * d, finite),
                ("k", hk * d, finite),
                ("v", hv * d, finite),
                ("beta", hv, unit),
                ("decay", hv, unit),
                ("S", hv * d * d, finite),
            ],
            Self::GatedRmsNorm { hv, d } => vec![("z", hv * d, finite), ("weight", d, finite), ("o", hv * d, finite)],
            Self::QkNormRope { heads, hd, .. } => vec![("rows", heads * hd, finite), ("weight", hd, finite)],
            Self::OutputGate { n } => vec![("ctx", n, finite), ("g", n, finite)],
            Self::Quantize { n } => vec![("x", n, finite), ("by", n, finite)],
        };
        // The names are for the reader.
        list.into_iter().map(|(_, len, domain)| Buffer { len, domain }).collect()
    }

    /// Its outputs for inputs in the order of [`buffers`](Self::buffers).
    pub(crate) fn evaluate<T: Scalar>(self, inputs: &[Vec<f32>], budget: &Budget) -> Outputs<T> {
        let mut x: Vec<Vec<T>> =
            inputs.iter().map(|buffer| buffer.iter().map(|&x| T::exact(f64::from(x))).collect()).collect();
        let zeros = |n: usize| vec![T::exact(0.0); n];
        match self {
            Self::CausalConv { channels: c, taps } => {
                let (mut ring, mut y) = (x[2].clone(), zeros(c));
                let (ring_view, y_view) = (view_mut(&mut ring, (taps, c)), view_mut(&mut y, c));
                causal_conv::step(view(&x[0], c), view(&x[1], (taps, c)), ring_view, y_view, budget).unwrap();
                vec![("y", y), ("ring", ring)]
            }
            Self::L2Norm { heads, d } => {
                l2_norm::normalize(view_mut(&mut x[0], (heads, d)), eps(), budget).unwrap();
                vec![("x", x.swap_remove(0))]
            }
            Self::Gates { heads: n } => {
                let (mut beta, mut decay) = (zeros(n), zeros(n));
                let [br, ar, dt, rate] = [0, 1, 2, 3].map(|i| view(&x[i], n));
                gates::gates(br, ar, dt, rate, view_mut(&mut beta, n), view_mut(&mut decay, n), budget).unwrap();
                vec![("beta", beta), ("decay", decay)]
            }
            Self::DeltaRule { hk, hv, d } => {
                let (mut state, mut o) = (x[5].clone(), zeros(hv * d));
                let token = delta_rule::Inputs {
                    q: view(&x[0], (hk, d)),
                    k: view(&x[1], (hk, d)),
                    v: view(&x[2], (hv, d)),
                    beta: view(&x[3], hv),
                    decay: view(&x[4], hv),
                };
                let (s, out) = (view_mut(&mut state, (hv, d, d)), view_mut(&mut o, (hv, d)));
                delta_rule::step(&token, s, out, HeadMap::Tile, budget).unwrap();
                vec![("o", o), ("S", state)]
            }
            Self::GatedRmsNorm { hv, d } => {
                let mut out = zeros(hv * d);
                let (z, weight, o) = (view(&x[0], (hv, d)), view(&x[1], d), view(&x[2], (hv, d)));
                gated_rms_norm::norm(z, weight, o, eps(), view_mut(&mut out, (hv, d)), budget).unwrap();
                vec![("out", out)]
            }
            Self::QkNormRope { heads, hd, rot, position, base } => {
                let weight = Array::from_vec(x[1].clone());
                let rows = view_mut(&mut x[0], (heads, hd));
                qk_norm_rope::norm_rope(rows, weight.view(), position, rot, base, eps(), budget).unwrap();
                let part = |rotated: bool| {
                    let inside = |(i, _): &(usize, &T)| (i % hd < rot) == rotated;
                    x[0].iter().enumerate().filter(inside).map(|(_, &x)| x).collect()
                };
                vec![("rotated", part(true)), ("passed", part(false))]
            }
            Self::OutputGate { n } => {
                let g = Array::from_vec(x[1].clone());
                output_gate::gate(view_mut(&mut x[0], n), g.view(), budget).unwrap();
                vec![("ctx", x.swap_remove(0))]
            }
            Self::Quantize { .. } => {
                let (scale, codes) = quantized(x[0].iter().zip(&x[1]).map(|(&x, &by)| x * by).collect(), budget);
                vec![("scale", vec![scale]), ("codes", codes)]
            }
        }
    }
}

/// Scale and codes of a group. The operation is no formula over a scalar: it is fixed for the f32 that a kernel holds, and an interval
/// for what the oracle knows of them. Codes of a range are given as its middle, within half of its width.
fn quantized<T: Scalar>(group: Vec<T>, budget: &Budget) -> (T, Vec<T>) {
    fn convert<A: 'static, B: Copy + 'static>(x: A) -> B {
        *(&x as &dyn std::any::Any).downcast_ref::<B>().expect("a bounded number is what was asked for")
    }
    let group: &dyn std::any::Any = &group;
    if let Some(group) = group.downcast_ref::<Vec<Bounded>>() {
        let scale = quantize::scale_bound(group);
        let code = |&x: &Bounded| {
            let range = quantize::code_range(x, scale, budget);
            let (low, high) = (f64::from(*range.start()), f64::from(*range.end()));
            convert(Bounded::within(f64::midpoint(low, high), 0.5 * (high - low)))
        };
        (convert(scale), group.iter().map(code).collect())
    } else {
        let group: Vec<f32> = match group.downcast_ref::<Vec<Perturbed>>() {
            Some(group) => group.iter().map(|x| x.0).collect(),
            None => Vec::new(),
        };
        let group = quantize::quantize_group(&group);
        let codes = group.codes.iter().map(|&code| T::exact(f64::from(code))).collect();
        (T::exact(f64::from(group.scale)), codes)
    }
}
