//! The decode chain of a linear-attention layer: convolution, L2 norm, gates, delta rule and gated norm, with the carried state.

use ndarray::{Array1, Array2, Array3, ArrayView1, ArrayView2};

use crate::ops::{causal_conv, delta_rule, expect_shape, gated_rms_norm, gates, l2_norm};
use crate::{Budget, HeadMap, Scalar, ShapeError};

/// The sizes of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerShape {
    /// Key heads.
    pub hk: usize,
    /// Value heads, a multiple of the key heads.
    pub hv: usize,
    /// Head size.
    pub d: usize,
    /// Taps of the convolution.
    pub taps: usize,
}

impl LayerShape {
    /// Channels of the convolution: q and k of every key head, then v of every value head.
    pub fn channels(self) -> usize {
        (2 * self.hk + self.hv) * self.d
    }
}

/// A linear-attention layer: what is fixed, and what it carries from token to token.
#[derive(Clone, Debug)]
pub struct LinearAttention<T> {
    /// The sizes.
    pub shape: LayerShape,
    /// Which key head a value head reads.
    pub head_map: HeadMap,
    /// Convolution weights [T, C], the newest tap last.
    pub conv_weight: Array2<T>,
    /// Bias of the decay gate \[HV\].
    pub dt: Array1<T>,
    /// −exp(`A_log`) \[HV\].
    pub rate: Array1<T>,
    /// Weight of the gated norm \[D\].
    pub norm_weight: Array1<T>,
    /// eps of the L2 norm of q and k.
    pub l2_eps: T,
    /// eps of the gated norm.
    pub norm_eps: T,
    /// Past inputs of the convolution [T, C], the newest last.
    pub ring: Array2<T>,
    /// State [HV, D, D], a row a value index.
    pub state: Array3<T>,
}

/// One token's inputs to a layer, the projections of its hidden vector.
#[derive(Clone, Debug)]
pub struct Token<'a, T> {
    /// Input of the convolution \[C\]: q, then k, then v, head by head.
    pub x: ArrayView1<'a, T>,
    /// Gate of the norm [HV, D].
    pub z: ArrayView2<'a, T>,
    /// Input of β \[HV\].
    pub br: ArrayView1<'a, T>,
    /// Input of the decay \[HV\].
    pub ar: ArrayView1<'a, T>,
}

/// Everything that a layer computes for one token.
#[derive(Clone, Debug)]
pub struct Outputs<T> {
    /// The convolution, after silu \[C\].
    pub conv: Array1<T>,
    /// Normalized queries [HK, D].
    pub q: Array2<T>,
    /// Normalized keys [HK, D].
    pub k: Array2<T>,
    /// Write gates \[HV\].
    pub beta: Array1<T>,
    /// Decays \[HV\].
    pub decay: Array1<T>,
    /// The delta rule's output [HV, D], scaled by 1/√D.
    pub o: Array2<T>,
    /// The gated norm's output [HV, D].
    pub out: Array2<T>,
}

impl<T: Scalar> LinearAttention<T> {
    /// Decodes one token, updating ring and state.
    ///
    /// # Errors
    ///
    /// A [`ShapeError`] when the layer's arrays or the token's do not fit its shape.
    pub fn step(&mut self, token: &Token<'_, T>, budget: &Budget) -> Result<Outputs<T>, ShapeError> {
        let LayerShape { hk, hv, d, .. } = self.shape;
        let channels = self.shape.channels();
        let zero = T::exact(0.0);
        expect_shape("x", token.x.shape(), &[channels])?;
        expect_shape("conv_weight", self.conv_weight.shape(), &[self.shape.taps, channels])?;

        let mut conv = Array1::from_elem(channels, zero);
        causal_conv::step(token.x, self.conv_weight.view(), self.ring.view_mut(), conv.view_mut(), budget)?;
        let heads =
            |from: usize, count: usize| Array2::from_shape_fn((count, d), |(head, i)| conv[(from + head) * d + i]);
        let (mut q, mut k, v) = (heads(0, hk), heads(hk, hk), heads(2 * hk, hv));
        l2_norm::normalize(q.view_mut(), self.l2_eps, budget)?;
        l2_norm::normalize(k.view_mut(), self.l2_eps, budget)?;

        let mut beta = Array1::from_elem(hv, zero);
        let mut decay = beta.clone();
        let (dt, rate) = (self.dt.view(), self.rate.view());
        gates::gates(token.br, token.ar, dt, rate, beta.view_mut(), decay.view_mut(), budget)?;

        let mut o = Array2::from_elem((hv, d), zero);
        let inputs =
            delta_rule::Inputs { q: q.view(), k: k.view(), v: v.view(), beta: beta.view(), decay: decay.view() };
        delta_rule::step(&inputs, self.state.view_mut(), o.view_mut(), self.head_map, budget)?;

        let mut out = o.clone();
        gated_rms_norm::norm(token.z, self.norm_weight.view(), o.view(), self.norm_eps, out.view_mut(), budget)?;
        Ok(Outputs { conv, q, k, beta, decay, o, out })
    }
}
