//! The oracle agrees with independent answers: the model's own implementation, evaluated in float64.

use std::collections::HashMap;
use std::path::Path;

use gdn_reference::layer::{LayerShape, LinearAttention, Token};
use gdn_reference::ops::{output_gate, qk_norm_rope};
use gdn_reference::{Budget, HeadMap};
use ndarray::{ArrayD, ArrayView1, ArrayView2, Axis, Ix1, Ix2, Ix3, IxDyn};
use safetensors::{Dtype, SafeTensors};

struct Vector {
    metadata: HashMap<String, String>,
    arrays: HashMap<String, ArrayD<f64>>,
}

impl Vector {
    fn read(path: &Path) -> Self {
        let bytes = std::fs::read(path).unwrap();
        let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let arrays = file.iter().map(|(name, view)| {
            let data: Vec<f64> = match view.dtype() {
                Dtype::F64 => view.data().as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
                Dtype::F32 => view.data().as_chunks().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect(),
                Dtype::I32 => view.data().as_chunks().0.iter().map(|b| f64::from(i32::from_le_bytes(*b))).collect(),
                other => panic!("{name}: {other:?}"),
            };
            (name.to_owned(), ArrayD::from_shape_vec(IxDyn(view.shape()), data).unwrap())
        });
        Self { metadata: header.metadata().clone().unwrap(), arrays: arrays.collect() }
    }

    fn number<N: std::str::FromStr>(&self, key: &str) -> N {
        self.metadata[key].parse().ok().unwrap()
    }

    /// eps as the float parameter of a kernel holds it is not what the vectors were made with: they hold the f64 nearest to 1e-6.
    fn eps(&self) -> f64 {
        self.number("eps")
    }

    fn one(&self, name: &str) -> ArrayView1<'_, f64> {
        self.arrays[name].view().into_dimensionality::<Ix1>().unwrap()
    }

    fn two(&self, name: &str) -> ArrayView2<'_, f64> {
        self.arrays[name].view().into_dimensionality::<Ix2>().unwrap()
    }

    /// Collects the largest deviation of one output, relative to its own largest element.
    fn deviation(&self, name: &str, token: Option<usize>, got: impl IntoIterator<Item = f64>) -> f64 {
        let expected = &self.arrays[name];
        let largest = expected.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
        let expected = token.map_or(expected.view(), |t| expected.index_axis(Axis(0), t));
        let got: Vec<f64> = got.into_iter().collect();
        assert_eq!(got.len(), expected.len(), "{name}");
        let worst = got.iter().zip(&expected).fold(0.0, |worst: f64, (a, b)| {
            assert!(!a.is_nan(), "{name}");
            worst.max((a - b).abs())
        });
        worst / largest
    }
}

fn vectors(kind: &str) -> Vec<(String, Vector)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/vectors");
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "safetensors"))
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), Vector::read(&path)))
        .filter(|(_, vector)| vector.metadata["kind"] == kind)
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(!found.is_empty());
    found
}

#[test]
fn decoding_token_by_token_gives_the_vectors() {
    let budget = &Budget::CUDA;
    for (name, v) in vectors("gdn_decode") {
        let shape = LayerShape {
            hk: v.arrays["out.kn"].shape()[1],
            hv: v.number("hv"),
            d: v.number("d"),
            taps: v.number("conv_taps"),
        };
        assert_eq!(v.metadata["head_map"], "interleave");
        let mut layer = LinearAttention {
            shape,
            head_map: HeadMap::Interleave,
            conv_weight: v.two("in.conv_weight").t().to_owned(),
            dt: v.one("in.dt_bias").to_owned(),
            rate: v.one("in.rate").to_owned(),
            norm_weight: v.one("in.norm_weight").to_owned(),
            l2_eps: v.eps(),
            norm_eps: v.eps(),
            ring: v.two("in.ring").t().to_owned(),
            state: v.arrays["in.state"].view().into_dimensionality::<Ix3>().unwrap().to_owned(),
        };
        let mut worst: HashMap<&str, f64> = HashMap::new();
        let mut note = |name: &'static str, deviation: f64| {
            let worst = worst.entry(name).or_default();
            *worst = worst.max(deviation);
        };
        for t in 0..v.number("tokens") {
            let z = v.arrays["in.z"].index_axis(Axis(0), t);
            let token = Token {
                x: v.two("in.x").index_axis_move(Axis(0), t),
                z: z.into_dimensionality::<Ix2>().unwrap(),
                br: v.two("in.b").index_axis_move(Axis(0), t),
                ar: v.two("in.a").index_axis_move(Axis(0), t),
            };
            let out = layer.step(&token, budget).unwrap();
            note("out.conv", v.deviation("out.conv", Some(t), out.conv));
            note("out.qn", v.deviation("out.qn", Some(t), out.q));
            note("out.kn", v.deviation("out.kn", Some(t), out.k));
            note("out.beta", v.deviation("out.beta", Some(t), out.beta));
            note("out.decay", v.deviation("out.decay", Some(t), out.decay));
            note("out.o", v.deviation("out.o", Some(t), out.o.clone()));
            note("out.chunk_o", v.deviation("out.chunk_o", Some(t), out.o));
            note("out.y", v.deviation("out.y", Some(t), out.out));
            if t == 0 {
                note("out.state_first", v.deviation("out.state_first", None, layer.state.clone()));
            }
        }
        for name in ["out.state_final", "out.chunk_state_final"] {
            note(name, v.deviation(name, None, layer.state.clone()));
        }
        note("out.ring_final", v.deviation("out.ring_final", None, layer.ring.t().iter().copied()));
        println!("{name}: {worst:?}");
        for (output, deviation) in worst {
            assert!(deviation <= 1e-12, "{name} {output}: {deviation:e}");
        }
    }
}

#[test]
fn normalizing_and_rotating_gives_the_vectors() {
    let budget = &Budget::CUDA;
    for (name, v) in vectors("gated_attention") {
        let (rot, base): (usize, f32) = (v.number("rot"), v.number("rope_base"));
        for (t, &position) in v.one("in.positions").iter().enumerate() {
            let x = v.arrays["in.x"].index_axis(Axis(0), t).into_dimensionality::<Ix2>().unwrap();
            // Rotating nothing leaves the normalized heads.
            for (output, rot, limit) in
                [("out.normed", 0, 1e-12), ("out.rotated", rot, 1e-12 + position * 2f64.powi(-51))]
            {
                let mut rows = x.to_owned();
                let weight = v.one("in.norm_weight");
                qk_norm_rope::norm_rope(rows.view_mut(), weight, position as u64, rot, base, v.eps(), budget).unwrap();
                let deviation = v.deviation(output, Some(t), rows);
                println!("{name} {output} at {position}: {deviation:e}");
                assert!(deviation <= limit, "{name} {output} at {position}: {deviation:e} above {limit:e}");
            }
            let mut ctx = v.two("in.ctx").row(t).to_owned();
            output_gate::gate(ctx.view_mut(), v.two("in.gate").row(t), budget).unwrap();
            let deviation = v.deviation("out.gated", Some(t), ctx);
            assert!(deviation <= 1e-12, "{name} out.gated: {deviation:e}");
        }
    }
}
