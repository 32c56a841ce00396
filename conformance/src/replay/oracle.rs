//! The oracle, in f64 and in the file's own head order, against the file's answers.

use std::collections::BTreeMap;

use gdn_reference::layer::{LayerShape, LinearAttention, Token};
use gdn_reference::ops::{output_gate, qk_norm_rope};
use gdn_reference::scalar::Budget;
use ndarray::{Array1, Array2, Array3, ArrayView1, ArrayView2, ArrayView3, Axis};

use super::Agreement;
use super::recording::{Attention, Layer, Linear, Recording};
use crate::error::Error;

/// Relative agreement asked of every answer; the source of the figure is the design, §7.
const LIMIT: f64 = 1e-12;

/// What the position multiplies in the vectors' own f64 frequency (design, §7).
const PER_POSITION: f64 = 1.0 / (1u64 << 51) as f64;

/// Compares the oracle with every `out.*` that it knows.
///
/// # Errors
/// Arrays that do not fit together.
pub(super) fn agreements(recording: &Recording) -> Result<Vec<Agreement>, Error> {
    let computed = match recording.layer {
        Layer::Linear(linear) => linear_layer(recording, linear)?,
        Layer::Attention(attention) => attention_layer(recording, attention)?,
    };
    let furthest = recording.positions().iter().copied().max().unwrap_or(0);
    let mut rows = Vec::new();
    for (name, values) in &computed {
        let Some(answer) = recording.answer(name) else { continue };
        let limit = if *name == "rotated" { LIMIT + f64::from(furthest) * PER_POSITION } else { LIMIT };
        rows.push(Agreement { name: format!("out.{name}"), error: relative(values, answer), limit });
    }
    Ok(rows)
}

/// Largest difference, relative to the answer's largest element; infinite where lengths differ or something is not a number.
fn relative(values: &[f64], answer: &[f64]) -> f64 {
    if values.len() != answer.len() || values.is_empty() {
        return f64::INFINITY;
    }
    let largest = answer.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let mut error: f64 = 0.0;
    for (a, b) in values.iter().zip(answer) {
        let off = (a - b).abs();
        if off.is_nan() {
            return f64::INFINITY;
        }
        error = error.max(off);
    }
    if largest == 0.0 { error } else { error / largest }
}

fn wide(data: &[f32]) -> Vec<f64> {
    data.iter().map(|&x| f64::from(x)).collect()
}

type Computed = BTreeMap<&'static str, Vec<f64>>;

fn linear_layer(recording: &Recording, linear: Linear) -> Result<Computed, Error> {
    let Linear { hk, hv, d, taps, head_map } = linear;
    let (c, tokens) = (linear.channels(), recording.tokens);
    let matrix = |name: &'static str, rows: usize, columns: usize| {
        Array2::from_shape_vec((rows, columns), wide(recording.input(name))).map_err(shape_of(name))
    };
    let vector = |name: &'static str| Array1::from(wide(recording.input(name)));
    let (x, a, b) = (matrix("x", tokens, c)?, matrix("a", tokens, hv)?, matrix("b", tokens, hv)?);
    let z = Array3::from_shape_vec((tokens, hv, d), wide(recording.input("z"))).map_err(shape_of("z"))?;
    let state = Array3::from_shape_vec((hv, d, d), wide(recording.input("state"))).map_err(shape_of("state"))?;
    let mut layer = LinearAttention {
        shape: LayerShape { hk, hv, d, taps },
        head_map,
        // The file keeps taps innermost; the layer takes [T, C].
        conv_weight: matrix("conv_weight", c, taps)?.reversed_axes(),
        dt: vector("dt_bias"),
        rate: vector("rate"),
        norm_weight: vector("norm_weight"),
        l2_eps: recording.eps,
        norm_eps: recording.eps,
        ring: matrix("ring", c, taps)?.reversed_axes(),
        state,
    };

    let mut computed = Computed::new();
    for t in 0..tokens {
        let token = Token { x: x.row(t), z: z.index_axis(Axis(0), t), br: b.row(t), ar: a.row(t) };
        let outputs = layer.step(&token, &Budget::CUDA)?;
        computed.entry("conv").or_default().extend(&outputs.conv);
        computed.entry("qn").or_default().extend(&outputs.q);
        computed.entry("kn").or_default().extend(&outputs.k);
        computed.entry("beta").or_default().extend(&outputs.beta);
        computed.entry("decay").or_default().extend(&outputs.decay);
        computed.entry("o").or_default().extend(&outputs.o);
        computed.entry("y").or_default().extend(&outputs.out);
        if t == 0 {
            computed.insert("state_first", layer.state.iter().copied().collect());
        }
    }
    let state: Vec<f64> = layer.state.iter().copied().collect();
    // The chunked algorithm's answers are a second derivation of the same numbers.
    computed.insert("chunk_o", computed["o"].clone());
    computed.insert("chunk_state_final", state.clone());
    computed.insert("state_final", state);
    computed.insert("ring_final", layer.ring.t().iter().copied().collect());
    Ok(computed)
}

fn attention_layer(recording: &Recording, attention: Attention) -> Result<Computed, Error> {
    let Attention { heads, hd, rot, rbase } = attention;
    let (eps, budget) = (recording.eps, &Budget::CUDA);
    let (x, weight) = (wide(recording.input("x")), wide(recording.input("norm_weight")));
    let weight = ArrayView1::from(&weight);
    let x = ArrayView3::from_shape((recording.tokens, heads, hd), &x).map_err(shape_of("x"))?;
    let mut computed = Computed::new();
    for (token, &position) in x.outer_iter().zip(recording.positions()) {
        let token: ArrayView2<'_, f64> = token;
        // Without rotated dimensions the operation is the norm alone.
        for (name, rot) in [("normed", 0), ("rotated", rot)] {
            let mut rows = token.to_owned();
            qk_norm_rope::norm_rope(rows.view_mut(), weight, position.unsigned_abs().into(), rot, rbase, eps, budget)?;
            computed.entry(name).or_default().extend(&rows);
        }
    }
    let mut gated = wide(recording.input("ctx"));
    let gate = wide(recording.input("gate"));
    output_gate::gate(ndarray::ArrayViewMut1::from(&mut gated), ArrayView1::from(&gate), budget)?;
    computed.insert("gated", gated);
    Ok(computed)
}

/// Names the array of a failed reshape.
fn shape_of(argument: &'static str) -> impl Fn(ndarray::ShapeError) -> Error {
    move |_| Error::Shape(gdn_reference::ShapeError { argument, found: vec![], expected: vec![] })
}
