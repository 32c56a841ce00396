//! The kernels on a recording, token by token: each launch takes what the one before it left, and is judged by its own inputs.

use std::collections::BTreeMap;

use gdn_gpu::contract::{Dim, Param, Shape};
use gdn_gpu::run::{Tensor, Tensors};
use gdn_reference::HeadMap;

use super::recording::{Attention, Layer, Linear, Recording};
use crate::check;
use crate::error::Error;
use crate::runner::Runner;
use crate::suites;
use crate::verdict::{Disposition, Verdict};

/// The worst verdict of each kernel's outputs over all tokens.
///
/// # Errors
/// Values outside of a contract; what the executor ran into.
pub(super) fn verdicts(runner: &mut Runner, recording: &Recording) -> Result<Vec<(&'static str, Verdict)>, Error> {
    let mut chain = Chain { runner, worst: BTreeMap::new(), token: 0 };
    match recording.layer {
        Layer::Linear(linear) => linear_layer(&mut chain, recording, linear)?,
        Layer::Attention(attention) => attention_layer(&mut chain, recording, attention)?,
    }
    Ok(chain.worst.into_iter().map(|((kernel, _), verdict)| (kernel, verdict)).collect())
}

struct Chain<'a> {
    runner: &'a mut Runner,
    worst: BTreeMap<(&'static str, String), Verdict>,
    token: usize,
}

impl Chain<'_> {
    /// Launches a kernel, keeps the worst verdict of each output, and returns the outputs.
    fn launch<const N: usize>(
        &mut self,
        kernel: &'static str,
        shape: &Shape,
        inputs: [(&'static str, Vec<f32>); N],
    ) -> Result<Tensors, Error> {
        self.launch_tensors(kernel, shape, inputs.map(|(name, data)| (name, Tensor::F32(data))).into())
    }

    fn launch_tensors(&mut self, kernel: &'static str, shape: &Shape, inputs: Tensors) -> Result<Tensors, Error> {
        let suite = suites::find(kernel)?;
        let outcome = self.runner.run(suite, shape, &inputs, self.token as u64)?;
        for mut verdict in check::judge(suite, shape, &inputs, &outcome)? {
            verdict.detail = format!("token {}: {}", self.token, verdict.detail);
            let rank = |v: &Verdict| (v.disposition == Disposition::Failed, v.utilization);
            let key = (kernel, verdict.output.clone());
            if self.worst.get(&key).is_none_or(|kept| rank(kept) < rank(&verdict)) {
                self.worst.insert(key, verdict);
            }
        }
        Ok(outcome.outputs)
    }
}

fn floats(outputs: &mut Tensors, name: &str) -> Vec<f32> {
    match outputs.remove(name) {
        Some(Tensor::F32(data)) => data,
        _ => Vec::new(),
    }
}

/// The rows of value heads in the kernels' order (tile), from rows in the file's order.
fn tiled(data: &[f32], linear: Linear) -> Vec<f32> {
    let Linear { hk, hv, head_map, .. } = linear;
    if head_map == HeadMap::Tile {
        return data.to_vec();
    }
    let width = data.len() / hv;
    let mut out = vec![0.0; data.len()];
    for h in 0..hv {
        let key = head_map.key_head(h, hv, hk);
        let to = (h % (hv / hk)) * hk + key;
        out[to * width..(to + 1) * width].copy_from_slice(&data[h * width..(h + 1) * width]);
    }
    out
}

/// Channels with the value heads tiled; `per` numbers a channel, innermost.
fn tiled_channels(data: &[f32], linear: Linear, per: usize) -> Vec<f32> {
    let (keys, values) = data.split_at(2 * linear.hk * linear.d * per);
    [keys.to_vec(), tiled(values, linear)].concat()
}

fn transposed(data: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    (0..columns * rows).map(|i| data[i % rows * columns + i / rows]).collect()
}

fn linear_layer(chain: &mut Chain<'_>, recording: &Recording, linear: Linear) -> Result<(), Error> {
    let Linear { hk, hv, d, taps, .. } = linear;
    let c = linear.channels();
    let size = |n: usize| n as i64;
    let conv = Shape::new(&[(Dim::C, size(c)), (Dim::T, size(taps))]);
    let mut fused = conv.clone().with(Param::Eps, recording.eps as f32);
    fused.set(Dim::D, size(d));
    fused.set(Dim::Nl2, size(2 * hk));
    let norm = Shape::new(&[(Dim::H, size(2 * hk)), (Dim::D, size(d))]).with(Param::Eps, recording.eps as f32);
    let gates = Shape::new(&[(Dim::Hv, size(hv))]);
    let step = Shape::new(&[(Dim::D, size(d)), (Dim::Hk, size(hk)), (Dim::Hv, size(hv))]);
    let gate_norm = Shape::new(&[(Dim::D, size(d)), (Dim::Hv, size(hv))]).with(Param::Eps, recording.eps as f32);

    let weights = transposed(&tiled_channels(recording.input("conv_weight"), linear, taps), c, taps);
    let mut ring = transposed(&tiled_channels(recording.input("ring"), linear, taps), c, taps);
    let (dt, rate) = (tiled(recording.input("dt_bias"), linear), tiled(recording.input("rate"), linear));
    let mut state = tiled(recording.input("state"), linear);
    let row = |name: &str, t: usize, width: usize| recording.input(name)[t * width..(t + 1) * width].to_vec();

    for t in 0..recording.tokens {
        chain.token = t;
        let x = tiled_channels(&row("x", t, c), linear, 1);
        let plain = [("x", x.clone()), ("wc", weights.clone()), ("cs", ring.clone())];
        let mut convolved = chain.launch("gk_conv_silu", &conv, plain)?;
        let y = floats(&mut convolved, "y");
        chain.launch("gk_l2norm_heads", &norm, [("x", y[..2 * hk * d].to_vec())])?;
        let mut fused = chain.launch("gk_conv_silu_l2", &fused, [("x", x), ("wc", weights.clone()), ("cs", ring)])?;
        let y = floats(&mut fused, "y");
        ring = floats(&mut fused, "cs");
        let (br, ar) = (tiled(&row("b", t, hv), linear), tiled(&row("a", t, hv), linear));
        let gate_inputs = [("br", br), ("ar", ar), ("dt", dt.clone()), ("rate", rate.clone())];
        let mut gated = chain.launch("gk_gdn_gates", &gates, gate_inputs)?;
        let (q, rest) = y.split_at(hk * d);
        let (k, v) = rest.split_at(hk * d);
        let inputs = [
            ("q", q.to_vec()),
            ("k", k.to_vec()),
            ("v", v.to_vec()),
            ("beta", floats(&mut gated, "beta")),
            ("decay", floats(&mut gated, "decay")),
            ("S", state),
        ];
        let mut stepped = chain.launch("gdn_step", &step, inputs)?;
        state = floats(&mut stepped, "S");
        let o = floats(&mut stepped, "o");
        let epilogues: &[&str] = if d.is_multiple_of(32) {
            &["gdn_gate_norm", "gdn_gate_norm_q", "gdn_gate_norm_hl"]
        } else {
            &["gdn_gate_norm"]
        };
        for kernel in epilogues {
            let z = tiled(&row("z", t, hv * d), linear);
            let weight = recording.input("norm_weight").to_vec();
            chain.launch(kernel, &gate_norm, [("z", z), ("gn", weight), ("o", o.clone())])?;
        }
    }
    Ok(())
}

fn attention_layer(chain: &mut Chain<'_>, recording: &Recording, attention: Attention) -> Result<(), Error> {
    let Attention { heads, hd, rot, rbase } = attention;
    let width = heads * hd;
    for (t, &position) in recording.positions().iter().enumerate() {
        chain.token = t;
        let sizes = [
            (Dim::H, heads as i64),
            (Dim::Hd, hd as i64),
            (Dim::Rot, rot as i64),
            (Dim::Pos, i64::from(position)),
            (Dim::Stride, width as i64),
        ];
        let shape = Shape::new(&sizes).with(Param::Rbase, rbase).with(Param::Eps, recording.eps as f32);
        let row = recording.input("x")[t * width..(t + 1) * width].to_vec();
        // The neighbouring rows are there to stay untouched.
        let neighbour = vec![1.0; width];
        let window =
            if position == 0 { [row, neighbour].concat() } else { [neighbour.clone(), row, neighbour].concat() };
        let inputs = Tensors::from([
            ("base", Tensor::F32(window)),
            ("d_pos", Tensor::I32(vec![position])),
            ("nw", Tensor::F32(recording.input("norm_weight").to_vec())),
        ]);
        chain.launch_tensors("gk_qk_norm_rope_part", &shape, inputs)?;
        let part = |name: &str| recording.input(name)[t * width..(t + 1) * width].to_vec();
        let gate = Shape::new(&[(Dim::N, width as i64)]);
        chain.launch("gk_gate_mul", &gate, [("ctx", part("ctx")), ("g", part("gate"))])?;
    }
    Ok(())
}
