//! Judges the tokens of a chain in both views.

use gdn_gpu::contract::Shape;
use gdn_gpu::run::{Tensor, Tensors};
use gdn_reference::ops::delta_rule::{self, Inputs};
use gdn_reference::{Bounded, Budget, ChainBound, HeadMap, ShapeError};
use ndarray::{Array2, Array3, ArrayView2, ArrayView3};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ChainPlan, KERNEL};
use crate::error::Error;
use crate::family::Suite;
use crate::verdict::{Check, Want};
use crate::view;

/// An error and what it may be. JSON has no infinity: a number beyond all bounds is `null`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reading {
    /// The token that it was read at, from 1.
    pub token: u32,
    /// The error; none where something was not finite that should be.
    pub error: Option<f64>,
    /// The bound; none where the range of f32 leaves the answer open.
    pub bound: Option<f64>,
    /// Error ÷ bound; none beyond all bounds.
    pub utilization: Option<f64>,
}

impl Reading {
    /// Written so that a NaN is as bad as can be, and so is a bound that leaves everything open: it would compare nothing.
    pub(crate) fn new(token: u32, error: f64, bound: f64) -> Self {
        let finite = |x: f64| x.is_finite().then_some(x);
        let utilization = if !bound.is_finite() {
            f64::INFINITY
        } else if error == 0.0 {
            0.0
        } else {
            error / bound
        };
        Self { token, error: finite(error), bound: finite(bound), utilization: finite(utilization) }
    }

    /// Utilization, infinite beyond all bounds: what the worst is chosen by.
    pub fn rank(self) -> f64 {
        self.utilization.unwrap_or(f64::INFINITY)
    }

    /// The worse of the two, the first of equals.
    fn or(self, other: Self) -> Self {
        if other.rank() > self.rank() { other } else { self }
    }
}

/// A stretch of a chain up to a token: each view's worst reading since the point before it, so that no worst is lost between points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChainPoint {
    /// The last token of the stretch, from 1.
    pub token: u32,
    /// Step by step: the worst element of state and output.
    pub step: Reading,
    /// Free running: the row of the state that is nearest to its norm-wise bound.
    pub state: Reading,
    /// Free running: the output that is nearest to its bound.
    pub output: Reading,
    /// Free running: the row that is furthest out of what independent rounding errors come to, which is no bound and decides nothing
    /// (see [`ChainBound::scatter`]).
    pub scatter: Reading,
    /// Norm of the state's error after the last token, relative to that of the state.
    pub relative: Option<f64>,
}

impl ChainPoint {
    /// Both stretches as one, the other being the later.
    #[must_use]
    pub fn or(self, next: Self) -> Self {
        Self {
            token: next.token,
            step: self.step.or(next.step),
            state: self.state.or(next.state),
            output: self.output.or(next.output),
            scatter: self.scatter.or(next.scatter),
            relative: next.relative,
        }
    }
}

/// Both views of a chain, token after token.
pub struct Views {
    plan: ChainPlan,
    suite: &'static dyn Suite,
    shape: Shape,
    free: Free,
}

impl Views {
    /// Before the first token, whose state is given.
    ///
    /// # Errors
    /// Where the plan is outside of the kernel's contract, or the state of another size.
    pub fn new(plan: &ChainPlan, state: &[f32]) -> Result<Self, Error> {
        let (suite, shape) = (crate::find(KERNEL)?, plan.shape());
        suite.contract().check(&shape)?;
        Ok(Self { free: Free::new(plan, state)?, plan: plan.clone(), suite, shape })
    }

    /// Judges one token: the kernel was given `given`, should have been given `truth`, and made `outputs`. The point that this makes,
    /// and the kernel's state.
    ///
    /// # Errors
    /// Where an output is missing or does not fit the shape.
    pub fn token(
        &mut self,
        token: u32,
        given: &Tensors,
        truth: &Tensors,
        mut outputs: Tensors,
    ) -> Result<(ChainPoint, Vec<f32>), ShapeError> {
        let checks = self.suite.expect(&self.shape, given, &outputs)?;
        let (state_bounds, output_bounds) = (bounds(&checks, "S")?, bounds(&checks, "o")?);
        let mut floats = |name: &'static str| match outputs.remove(name) {
            Some(Tensor::F32(data)) => Ok(data),
            _ => Err(ShapeError { argument: name, found: vec![], expected: vec![1] }),
        };
        let (state, o) = (floats("S")?, floats("o")?);
        let mut step = Reading::new(token, 0.0, 0.0);
        for (bound, &got) in state_bounds.iter().zip(&state).chain(output_bounds.iter().zip(&o)) {
            step = step.or(Reading::new(token, bound.error(got), bound.bound));
        }
        self.free.step(&Wide::new(truth).inputs(&self.plan)?, &state_bounds, &output_bounds)?;
        let ([state_reading, output, scatter], relative) = self.free.compare(token, &state, &o)?;
        let relative = relative.is_finite().then_some(relative);
        Ok((ChainPoint { token, step, state: state_reading, output, scatter, relative }, state))
    }
}

/// A token's tensors as the oracle takes them.
struct Wide {
    q: Vec<f64>,
    k: Vec<f64>,
    v: Vec<f64>,
    beta: Vec<f64>,
    decay: Vec<f64>,
}

impl Wide {
    fn new(tensors: &Tensors) -> Self {
        let wide = |name| {
            let floats = tensors.get(name).and_then(Tensor::f32).unwrap_or_default();
            floats.iter().map(|&x| f64::from(x)).collect()
        };
        Self { q: wide("q"), k: wide("k"), v: wide("v"), beta: wide("beta"), decay: wide("decay") }
    }

    fn inputs(&self, plan: &ChainPlan) -> Result<Inputs<'_, f64>, ShapeError> {
        let (hk, hv, d) = (plan.hk, plan.hv, plan.d);
        Ok(Inputs {
            q: view("q", &self.q, (hk, d))?,
            k: view("k", &self.k, (hk, d))?,
            v: view("v", &self.v, (hv, d))?,
            beta: view("beta", &self.beta, hv)?,
            decay: view("decay", &self.decay, hv)?,
        })
    }
}

/// The free-running oracle: its state, its last output, and how far the kernel may be from them.
struct Free {
    state: Array3<f64>,
    output: Array2<f64>,
    bound: ChainBound,
}

impl Free {
    fn new(plan: &ChainPlan, state: &[f32]) -> Result<Self, ShapeError> {
        let (hv, d) = (plan.hv, plan.d);
        let state: ArrayView3<'_, f32> = view("S", state, (hv, d, d))?;
        Ok(Self { state: state.mapv(f64::from), output: Array2::zeros((hv, d)), bound: ChainBound::new(hv, d) })
    }

    /// One token on; `state` and `o` are the kernel's bounds for this token alone.
    fn step(&mut self, x: &Inputs<'_, f64>, state: &[Bounded], o: &[Bounded]) -> Result<(), ShapeError> {
        let (hv, d) = self.output.dim();
        let (state, o) = (view("S", state, (hv, d, d))?, view("o", o, (hv, d))?);
        self.bound.step(x, state, o, HeadMap::Tile)?;
        delta_rule::step(x, self.state.view_mut(), self.output.view_mut(), HeadMap::Tile, &Budget::CUDA)
    }

    /// The kernel's state and output against the oracle's: worst row, worst output, worst scatter, relative error.
    fn compare(&self, token: u32, state: &[f32], o: &[f32]) -> Result<([Reading; 3], f64), ShapeError> {
        let (hv, d) = self.output.dim();
        let own: ArrayView3<'_, f32> = view("S", state, (hv, d, d))?;
        let own_output: ArrayView2<'_, f32> = view("o", o, (hv, d))?;
        let mut readings = [Reading::new(token, 0.0, 0.0); 3];
        let (mut errors, mut norms) = (0.0, 0.0);
        for h in 0..hv {
            for row in 0..d {
                let elements = (0..d).map(|j| (f64::from(own[[h, row, j]]), self.state[[h, row, j]]));
                let (error, norm) = elements
                    .fold((0.0, 0.0), |(error, norm), (own, free)| (error + (own - free).powi(2), norm + free.powi(2)));
                errors += error;
                norms += norm;
                let error = error.sqrt();
                let output_error = (f64::from(own_output[[h, row]]) - self.output[[h, row]]).abs();
                let found = [
                    Reading::new(token, error, self.bound.state(h, row)),
                    Reading::new(token, output_error, self.bound.output(h, row)),
                    Reading::new(token, error, self.bound.scatter(h, row)),
                ];
                for (worst, found) in readings.iter_mut().zip(found) {
                    *worst = worst.or(found);
                }
            }
        }
        // A state that is and stays zero is not wrong.
        Ok((readings, if errors == 0.0 { 0.0 } else { (errors / norms).sqrt() }))
    }
}

/// The bounds of an output of one token.
fn bounds(checks: &[Check], output: &'static str) -> Result<Vec<Bounded>, ShapeError> {
    let wants = checks.iter().find(|check| check.output == output).map(|check| check.wants.iter());
    let near = |want: &Want| match want {
        Want::Near(bounded) => Some(*bounded),
        _ => None,
    };
    wants.and_then(|wants| wants.map(near).collect()).ok_or_else(|| ShapeError {
        argument: output,
        found: vec![],
        expected: vec![1],
    })
}
