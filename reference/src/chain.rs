//! How far a free-running kernel may drift from the oracle over many tokens: a norm-wise bound that does not explode.
//!
//! # Derivation
//!
//! A token takes a state row a to f(a) = decay·a·(I − β·k·kᵀ) + β·v·k, an affine map. A kernel holds the row â = a + e and answers
//! f(â) + ρ. Its own row â is an f32 number like any input, so the oracle evaluated *from â* bounds ρ elementwise, sharply:
//! |ρⱼ| ≤ bⱼ, the bounds of [`Bounded`] after one token. The next error is
//!
//! e' = f(â) + ρ − f(a) = decay·e·(I − β·k·kᵀ) + ρ.
//!
//! The matrix is symmetric, with the eigenvalue 1 on all that is orthogonal to k and 1 − β‖k‖² along k, so its 2-norm is
//! μ = max(1, |1 − β‖k‖²|), and
//!
//! ‖e'‖₂ ≤ decay·μ·‖e‖₂ + ‖b‖₂.
//!
//! Elementwise the same recurrence would multiply by |I| + β·|k|·|k|ᵀ, of norm 1 + β(Σ|k|)² or so, and explode within tokens.
//!
//! The output is f(a)·q/√D. The kernel answers f(â)·q/√D + η with |η| ≤ the output's own bound from â, in which ρ is contained. So
//!
//! |ô − o| ≤ decay·μ·‖e‖₂·‖q‖₂/√D + bound of o,
//!
//! with e the error before the token. Rows never mix, so each has a bound of its own.
//!
//! An oracle in f64 drifts as well, by the same recurrence with local errors below 2⁻²⁰ of those bounds (`tests/oracle/precision` shows it
//! against 192 bits), and so does this bound's own arithmetic: the factor 1 + 2⁻²⁰ covers both.
//!
//! # What the sum of the bounds cannot say
//!
//! The bound lets all local errors of a chain point the same way. Those of a correct kernel hardly do: where they are independent, their
//! *squares* add up. [`scatter`](ChainBound::scatter) is that root of a sum of squares. It is no bound, because rounding errors may be
//! biased (a state at a fixed point repeats the same ones), and no verdict may rest on it; but a kernel that errs one way at each
//! token, by less than a step's bound can show, leaves it behind with the square root of the number of tokens.

use ndarray::{Array2, ArrayView2, ArrayView3};

use crate::ops::delta_rule::{Inputs, propagate};
use crate::ops::expect_shape;
use crate::{Bounded, HeadMap, Scalar, ShapeError};

/// Room for the rounding of a free-running f64 oracle and of the bound itself.
const ORACLE: f64 = 1.0 + 1.0 / 1_048_576.0;

/// The norm-wise bounds of every row of a state, carried from token to token.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainBound {
    rows: Array2<f64>,
    scatter: Array2<f64>,
    outputs: Array2<f64>,
}

impl ChainBound {
    /// The bounds of a state [HV, D, D] that kernel and oracle start from alike: zero.
    pub fn new(hv: usize, d: usize) -> Self {
        let zeros = Array2::zeros((hv, d));
        Self { rows: zeros.clone(), scatter: zeros.clone(), outputs: zeros }
    }

    /// Carries the bounds over one token.
    ///
    /// `state` [HV, D, D] and `o` [HV, D] are what [`delta_rule::step`](crate::ops::delta_rule::step) gives in [`Bounded`] for the same
    /// inputs from the *kernel's* state before the token.
    ///
    /// # Errors
    ///
    /// A [`ShapeError`] when the arrays do not fit together, or when HK is zero.
    pub fn step<T: Scalar>(
        &mut self,
        x: &Inputs<'_, T>,
        state: ArrayView3<'_, Bounded>,
        o: ArrayView2<'_, Bounded>,
        head_map: HeadMap,
    ) -> Result<(), ShapeError> {
        let (hv, d) = self.rows.dim();
        let hk = x.k.nrows();
        expect_shape("k", x.k.shape(), &[hk.max(1), d])?;
        expect_shape("q", x.q.shape(), x.k.shape())?;
        expect_shape("beta", x.beta.shape(), &[hv])?;
        expect_shape("decay", x.decay.shape(), &[hv])?;
        expect_shape("state", state.shape(), &[hv, d, d])?;
        expect_shape("o", o.shape(), &[hv, d])?;
        let square = |row: ndarray::ArrayView1<'_, T>| row.iter().map(|x| x.value() * x.value()).sum::<f64>();
        for h in 0..hv {
            let head = head_map.key_head(h, hv, hk);
            let (k_norm_sq, q_norm) = (square(x.k.row(head)), square(x.q.row(head)).sqrt());
            let (decay, beta) = (x.decay[h].value().abs(), x.beta[h].value());
            for row in 0..d {
                let local = (0..d).map(|j| state[[h, row, j]].bound.powi(2)).sum::<f64>().sqrt();
                let carry = |norm: f64| propagate(norm, decay, beta, k_norm_sq, 0.0);
                let carried = carry(self.rows[[h, row]]);
                self.outputs[[h, row]] = carried * q_norm / (d as f64).sqrt() + o[[h, row]].bound;
                self.rows[[h, row]] = carried + local;
                self.scatter[[h, row]] = carry(self.scatter[[h, row]]).hypot(local);
            }
        }
        Ok(())
    }

    /// Bound on the 2-norm of the error of row `row` of value head `h`.
    pub fn state(&self, h: usize, row: usize) -> f64 {
        self.rows[[h, row]] * ORACLE
    }

    /// Bound on the error of the last token's output for that row.
    pub fn output(&self, h: usize, row: usize) -> f64 {
        self.outputs[[h, row]] * ORACLE
    }

    /// What the row's error would be if the local errors, each as large as its bound, were independent: an indication, not a bound.
    pub fn scatter(&self, h: usize, row: usize) -> f64 {
        self.scatter[[h, row]]
    }
}
