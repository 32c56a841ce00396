//! What a kernel family brings to the suite: shapes, regimes, inputs, and the operation evaluated over any scalar.

use std::collections::BTreeMap;

use gdn_gpu::contract::{Contract, Shape};
use gdn_gpu::run::{Tensor, Tensors};
use gdn_reference::ShapeError;
use gdn_reference::scalar::{Bounded, Perturbed, Scalar};

use crate::case::Case;
use crate::draw::Draws;
use crate::localize::{Feeds, Layout, feeds};
use crate::regime::Regime;
use crate::verdict::{Check, Want};

/// An operation's results by buffer name, row-major.
pub type Results<T> = BTreeMap<&'static str, Vec<T>>;

/// A shape to run, and for how many tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The shape.
    pub shape: Shape,
    /// Tokens.
    pub tokens: u32,
}

impl Plan {
    /// One token.
    pub fn once(shape: Shape) -> Self {
        Self { shape, tokens: 1 }
    }
}

/// A way out of a conditional branch that no input of the contract's domain takes, and everything behind it.
#[derive(Clone, Copy, Debug)]
pub struct Unreachable {
    /// What stands in the block that ends in the branch: the constant of its comparison.
    pub branch: &'static str,
    /// Whether it is the taken branch that is never seen, or its passing by.
    pub taken: bool,
    /// Why.
    pub reason: &'static str,
}

/// A kernel of a family, as its suite file describes it.
pub trait Family: Sync {
    /// The kernel's contract.
    fn contract(&self) -> &'static Contract;

    /// Regimes that mean something for this kernel.
    fn regimes(&self) -> &'static [Regime];

    /// The shapes of the default profile under a regime.
    fn plans(&self, regime: Regime) -> Vec<Plan>;

    /// All buffers but the outputs, for one token.
    fn draw(&self, case: &Case, draws: &Draws) -> Tensors;

    /// The operation: results of every output and replaced buffer that holds floats.
    ///
    /// # Errors
    /// Where inputs do not fit the shape.
    fn evaluate<T: Scalar>(&self, shape: &Shape, inputs: &Tensors) -> Result<Results<T>, ShapeError>;

    /// Whether an element of an output is only moved, never computed: compared bit for bit.
    fn is_copy(&self, _shape: &Shape, _output: &str, _index: usize) -> bool {
        false
    }

    /// Outputs that are fixed bit for bit by other outputs (codes and scales by the floats that they encode).
    fn derived(&self, _inputs: &Tensors, _outputs: &Tensors) -> Tensors {
        Tensors::new()
    }

    /// Where the oracle says that derived outputs may lie, whatever the kernel's own floats are.
    fn derived_bounds(&self, _results: &Results<Bounded>, _outputs: &Tensors) -> Vec<Check> {
        Vec::new()
    }

    /// Ways out of branches that no input inside of the contract takes.
    fn unreachable(&self) -> &'static [Unreachable] {
        &[]
    }

    /// How an output's flat indices read.
    fn layout(&self, shape: &Shape, output: &str) -> Layout {
        let found = Family::contract(self).buffers().find(|(name, _)| *name == output);
        found.map_or_else(|| Layout::new(&[]), |(_, spec)| Layout::of(&spec, shape))
    }

    /// What feeds an element of an output, the likeliest to matter first.
    fn feeds(&self, shape: &Shape, output: &str, index: usize) -> Feeds {
        feeds(Family::contract(self), shape, output, index)
    }
}

/// [`Family`] with the scalar chosen: what the registry holds.
pub trait Suite: Sync {
    /// The kernel's contract.
    fn contract(&self) -> &'static Contract;

    /// Regimes that mean something for this kernel.
    fn regimes(&self) -> &'static [Regime];

    /// The shapes of the default profile under a regime.
    fn plans(&self, regime: Regime) -> Vec<Plan>;

    /// All buffers but the outputs, for one token.
    fn draw(&self, case: &Case, draws: &Draws) -> Tensors;

    /// What the outputs must be, given the inputs and, for derived outputs, the outputs themselves.
    ///
    /// # Errors
    /// Where inputs do not fit the shape.
    fn expect(&self, shape: &Shape, inputs: &Tensors, outputs: &Tensors) -> Result<Vec<Check>, ShapeError>;

    /// A correct f32 kernel in a random order of operations: what runs where nothing else can.
    ///
    /// # Errors
    /// Where inputs do not fit the shape.
    fn model(&self, shape: &Shape, inputs: &Tensors, seed: u64) -> Result<Tensors, ShapeError>;

    /// Ways out of branches that no input inside of the contract takes.
    fn unreachable(&self) -> &'static [Unreachable];

    /// How an output's flat indices read.
    fn layout(&self, shape: &Shape, output: &str) -> Layout;

    /// What feeds an element of an output, the likeliest to matter first.
    fn feeds(&self, shape: &Shape, output: &str, index: usize) -> Feeds;
}

impl<F: Family> Suite for F {
    fn contract(&self) -> &'static Contract {
        Family::contract(self)
    }

    fn regimes(&self) -> &'static [Regime] {
        Family::regimes(self)
    }

    fn plans(&self, regime: Regime) -> Vec<Plan> {
        Family::plans(self, regime)
    }

    fn draw(&self, case: &Case, draws: &Draws) -> Tensors {
        Family::draw(self, case, draws)
    }

    fn expect(&self, shape: &Shape, inputs: &Tensors, outputs: &Tensors) -> Result<Vec<Check>, ShapeError> {
        let results = self.evaluate::<Bounded>(shape, inputs)?;
        let mut checks: Vec<Check> = results
            .iter()
            .map(|(&output, values)| Check {
                output,
                aspect: "",
                wants: values
                    .iter()
                    .enumerate()
                    .map(|(i, &x)| {
                        if self.is_copy(shape, output, i) {
                            Want::Bits((x.value as f32).to_bits())
                        } else {
                            Want::Near(x)
                        }
                    })
                    .collect(),
            })
            .collect();
        for (output, tensor) in self.derived(inputs, outputs) {
            let wants = match tensor {
                Tensor::F32(scales) => scales.iter().map(|x| Want::Bits(x.to_bits())).collect(),
                Tensor::I8(codes) => codes.iter().map(|&x| Want::Code(i32::from(x)..=i32::from(x))).collect(),
                Tensor::I32(_) => Vec::new(),
            };
            checks.push(Check { output, aspect: "recomputed", wants });
        }
        checks.extend(self.derived_bounds(&results, outputs));
        Ok(checks)
    }

    fn model(&self, shape: &Shape, inputs: &Tensors, seed: u64) -> Result<Tensors, ShapeError> {
        let results = Perturbed::with_seed(seed, || self.evaluate::<Perturbed>(shape, inputs))?;
        let mut outputs: Tensors = results
            .into_iter()
            .map(|(name, values)| (name, Tensor::F32(values.iter().map(|x| x.value() as f32).collect())))
            .collect();
        let derived = self.derived(inputs, &outputs);
        outputs.extend(derived);
        Ok(outputs)
    }

    fn unreachable(&self) -> &'static [Unreachable] {
        Family::unreachable(self)
    }

    fn layout(&self, shape: &Shape, output: &str) -> Layout {
        Family::layout(self, shape, output)
    }

    fn feeds(&self, shape: &Shape, output: &str, index: usize) -> Feeds {
        Family::feeds(self, shape, output, index)
    }
}

/// The scalars of a float buffer that the contract promises.
///
/// # Errors
/// Where the buffer is missing or holds something else.
pub fn scalars<T: Scalar>(inputs: &Tensors, name: &'static str) -> Result<Vec<T>, ShapeError> {
    inputs
        .get(name)
        .and_then(Tensor::f32)
        .map(|data| data.iter().map(|&x| T::exact(f64::from(x))).collect())
        .ok_or_else(|| ShapeError { argument: name, found: vec![], expected: vec![1] })
}
