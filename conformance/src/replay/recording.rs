//! Recordings on disk: safetensors with `in.*`, optional `out.*`, and the layer's sizes as metadata.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use gdn_reference::HeadMap;
use safetensors::{Dtype, SafeTensors};

use crate::error::Error;

/// Sizes of a linear-attention layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linear {
    /// Key heads.
    pub hk: usize,
    /// Value heads.
    pub hv: usize,
    /// Head size.
    pub d: usize,
    /// Convolution taps.
    pub taps: usize,
    /// Order of the value heads in the file.
    pub head_map: HeadMap,
}

impl Linear {
    /// Convolution channels: q, k, v.
    pub const fn channels(&self) -> usize {
        (2 * self.hk + self.hv) * self.d
    }
}

/// Sizes of an attention layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attention {
    /// Heads.
    pub heads: usize,
    /// Head size.
    pub hd: usize,
    /// Rotated dimensions.
    pub rot: usize,
    /// Rotary base.
    pub rbase: f32,
}

/// The kind of layer recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Layer {
    /// `gdn_decode`.
    Linear(Linear),
    /// `gated_attention`.
    Attention(Attention),
}

/// One file in memory.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Where it came from.
    pub path: PathBuf,
    /// Layer and sizes.
    pub layer: Layer,
    /// Tokens recorded.
    pub tokens: usize,
    /// Constant under the norms' roots; the kernels take it rounded to f32.
    pub eps: f64,
    inputs: BTreeMap<String, Vec<f32>>,
    positions: Vec<i32>,
    answers: BTreeMap<String, Vec<f64>>,
}

impl Recording {
    /// An input, row-major as in the file. All inputs of the layer are there: [`load`] saw to it.
    pub fn input(&self, name: &str) -> &[f32] {
        self.inputs.get(name).map_or(&[], Vec::as_slice)
    }

    /// Positions of an attention layer's tokens.
    pub fn positions(&self) -> &[i32] {
        &self.positions
    }

    /// An answer of the file, where it has it.
    pub fn answer(&self, name: &str) -> Option<&[f64]> {
        self.answers.get(name).map(Vec::as_slice)
    }
}

struct Reader<'a> {
    path: &'a Path,
    tensors: SafeTensors<'a>,
    metadata: HashMap<String, String>,
}

/// Reads a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|error| Error::file(path, format!("cannot be read: {error}")))
}

/// The tensors and the metadata of a whole safetensors file.
pub(crate) fn whole<'a>(path: &Path, bytes: &'a [u8]) -> Result<(SafeTensors<'a>, HashMap<String, String>), Error> {
    let broken = |error: safetensors::SafeTensorError| {
        Error::file(path, format!("is not a whole safetensors file ({error}); copy or record it again"))
    };
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(broken)?;
    let metadata = header.metadata().clone().unwrap_or_default();
    Ok((SafeTensors::deserialize(bytes).map_err(broken)?, metadata))
}

/// Loads a recording and checks that all of it is there.
///
/// # Errors
/// Names the file and what is wrong: unreadable, not whole, a tensor missing, of another type, or of another shape.
pub fn load(path: &Path) -> Result<Recording, Error> {
    let bytes = read(path)?;
    let (tensors, metadata) = whole(path, &bytes)?;
    Reader { path, tensors, metadata }.recording()
}

impl Reader<'_> {
    fn text(&self, key: &str) -> Result<&str, Error> {
        self.metadata.get(key).map(String::as_str).ok_or_else(|| {
            Error::file(self.path, format!("has no metadata `{key}`; golden/vectors/README.md lists what is needed"))
        })
    }

    fn number<T: std::str::FromStr>(&self, key: &str) -> Result<T, Error> {
        let text = self.text(key)?;
        text.parse()
            .map_err(|_| Error::file(self.path, format!("metadata `{key}` = `{text}` is not a number in range")))
    }

    /// Bytes of a tensor of the given type and shape.
    fn tensor(&self, name: &str, dtype: Dtype, shape: &[usize]) -> Result<&[u8], Error> {
        let wrong = |problem: String| Error::file(self.path, problem);
        let missing = |_| wrong(format!("has no tensor `{name}`; golden/vectors/README.md lists what is needed"));
        let tensor = self.tensors.tensor(name).map_err(missing)?;
        if tensor.dtype() != dtype {
            return Err(wrong(format!("tensor `{name}` holds {:?}, {dtype:?} is needed", tensor.dtype())));
        }
        if tensor.shape() != shape {
            return Err(wrong(format!("tensor `{name}` has shape {:?}, {shape:?} is needed", tensor.shape())));
        }
        Ok(tensor.data())
    }

    fn floats(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, Error> {
        let (words, _) = self.tensor(name, Dtype::F32, shape)?.as_chunks::<4>();
        Ok(words.iter().map(|&word| f32::from_le_bytes(word)).collect())
    }

    fn recording(&self) -> Result<Recording, Error> {
        let kind = self.text("kind")?;
        let eps = self.number("eps")?;
        let mut inputs = BTreeMap::new();
        let mut expected: Vec<(&str, Vec<usize>)> = Vec::new();
        let (layer, tokens) = match kind {
            "gdn_decode" => {
                let (hk, hv, d, taps): (usize, usize, usize, usize) =
                    (self.number("hk")?, self.number("hv")?, self.number("d")?, self.number("conv_taps")?);
                let tokens = self.number("tokens")?;
                let head_map = match self.text("head_map")? {
                    "interleave" => HeadMap::Interleave,
                    "tile" => HeadMap::Tile,
                    other => {
                        return Err(Error::file(
                            self.path,
                            format!("metadata `head_map` = `{other}`, must be `interleave` or `tile`"),
                        ));
                    }
                };
                if hk == 0 || hv == 0 || d == 0 || taps == 0 || tokens == 0 || !hv.is_multiple_of(hk) {
                    let sizes = format!("hk = {hk}, hv = {hv}, d = {d}, conv_taps = {taps}, tokens = {tokens}");
                    return Err(Error::file(
                        self.path,
                        format!("metadata {sizes}: none may be 0, and hv must be a multiple of hk"),
                    ));
                }
                let linear = Linear { hk, hv, d, taps, head_map };
                let c = linear.channels();
                expected.extend([
                    ("x", vec![tokens, c]),
                    ("z", vec![tokens, hv, d]),
                    ("a", vec![tokens, hv]),
                    ("b", vec![tokens, hv]),
                    ("conv_weight", vec![c, taps]),
                    ("dt_bias", vec![hv]),
                    ("norm_weight", vec![d]),
                    ("rate", vec![hv]),
                    ("ring", vec![c, taps]),
                    ("state", vec![hv, d, d]),
                ]);
                (Layer::Linear(linear), tokens)
            }
            "gated_attention" => {
                let (heads, hd, rot): (usize, usize, usize) =
                    (self.number("heads")?, self.number("head_dim")?, self.number("rot")?);
                let tokens = self.tensors.tensor("in.positions").map_or(0, |t| t.shape().first().copied().unwrap_or(0));
                let attention = Attention { heads, hd, rot, rbase: self.number("rope_base")? };
                expected.extend([
                    ("x", vec![tokens, heads, hd]),
                    ("norm_weight", vec![hd]),
                    ("ctx", vec![tokens, heads * hd]),
                    ("gate", vec![tokens, heads * hd]),
                ]);
                (Layer::Attention(attention), tokens)
            }
            other => {
                return Err(Error::file(
                    self.path,
                    format!("metadata `kind` = `{other}`, must be `gdn_decode` or `gated_attention`"),
                ));
            }
        };
        let mut positions = Vec::new();
        if let Layer::Attention(_) = layer {
            let (words, _) = self.tensor("in.positions", Dtype::I32, &[tokens])?.as_chunks::<4>();
            positions = words.iter().map(|&word| i32::from_le_bytes(word)).collect();
            if tokens == 0 {
                return Err(Error::file(self.path, "has no tokens"));
            }
        }
        for (name, shape) in expected {
            inputs.insert(name.to_owned(), self.floats(&format!("in.{name}"), &shape)?);
        }
        let mut answers = BTreeMap::new();
        for (name, tensor) in self.tensors.iter() {
            if let Some(short) = name.strip_prefix("out.") {
                if tensor.dtype() != Dtype::F64 {
                    return Err(Error::file(
                        self.path,
                        format!("tensor `{name}` holds {:?}, F64 is needed", tensor.dtype()),
                    ));
                }
                let (words, _) = tensor.data().as_chunks::<8>();
                answers.insert(short.to_owned(), words.iter().map(|&word| f64::from_le_bytes(word)).collect());
            }
        }
        Ok(Recording { path: self.path.to_owned(), layer, tokens, eps, inputs, positions, answers })
    }
}
