//! The suites: what each kernel's cases are, what their inputs hold, what their outputs must be, and what is wrong with those
//! that are not.
//!
//! One file a kernel family, and the registry that everything else reads. A [`case::Case`] is a line of text; [`draw::Draws`] are
//! its inputs, [`family::Suite::expect`] asks the oracle, [`verdict::judge`] compares, and [`localize::explain`] says why. What is
//! hot in a run is in here, and optimized in every profile.
#![forbid(unsafe_code)]

use gdn_gpu::contract::{Dim, Param, Shape};
use gdn_reference::ShapeError;
use ndarray::{ArrayView, ArrayViewMut, Dimension, ShapeBuilder, StrideShape};

use crate::case::default_param;
pub use crate::error::Error;
use crate::family::Suite;

pub mod case;
pub mod chains;
pub mod draw;
mod error;
pub mod family;
pub mod localize;
pub mod regime;
pub mod tokens;
pub mod verdict;

mod causal_conv;
mod delta_rule;
mod gated_rms_norm;
mod gates;
mod l2_norm;
mod output_gate;
mod qk_norm_rope;
mod quantize;
mod reduce;

/// The registry: every family's suites. Tests, command line, coverage and documentation are driven by it.
pub const FAMILIES: &[(&str, &[&dyn Suite])] = &[
    ("reduce", reduce::SUITES),
    ("quantize", quantize::SUITES),
    ("causal_conv", causal_conv::SUITES),
    ("l2_norm", l2_norm::SUITES),
    ("gates", gates::SUITES),
    ("delta_rule", delta_rule::SUITES),
    ("gated_rms_norm", gated_rms_norm::SUITES),
    ("qk_norm_rope", qk_norm_rope::SUITES),
    ("output_gate", output_gate::SUITES),
];

/// Every suite in order.
pub fn all() -> impl Iterator<Item = &'static dyn Suite> {
    FAMILIES.iter().flat_map(|(_, suites)| suites.iter().copied())
}

/// The suite of a kernel.
///
/// # Errors
/// [`Error::Unknown`] with the nearest kernel's name.
pub fn find(kernel: &str) -> Result<&'static dyn Suite, Error> {
    all()
        .find(|suite| suite.contract().kernel == kernel)
        .ok_or_else(|| Error::unknown("kernel", kernel, all().map(|suite| suite.contract().kernel)))
}

/// The head sizes of the design: every residue that a block, a warp or a register row can be wrong at.
const HEAD_SIZES: [i64; 19] = [1, 2, 3, 7, 8, 16, 24, 31, 32, 33, 48, 64, 80, 96, 127, 128, 192, 255, 256];

/// Element counts around block edges.
const COUNTS: [i64; 9] = [1, 31, 33, 127, 129, 255, 257, 4097, 8193];

/// A shape with the epsilon of the models.
fn with_eps(sizes: &[(Dim, i64)]) -> Shape {
    Shape::new(sizes).with(Param::Eps, default_param(Param::Eps))
}

/// A view of a flat buffer.
pub(crate) fn view<'a, T, D: Dimension, Sh>(
    name: &'static str,
    data: &'a [T],
    shape: Sh,
) -> Result<ArrayView<'a, T, D>, ShapeError>
where
    Sh: ShapeBuilder<Dim = D> + Into<StrideShape<D>>,
{
    let found = vec![data.len()];
    ArrayView::from_shape(shape, data).map_err(|_| ShapeError { argument: name, found, expected: vec![] })
}

/// A mutable view of a flat buffer.
fn view_mut<'a, T, D: Dimension, Sh>(
    name: &'static str,
    data: &'a mut [T],
    shape: Sh,
) -> Result<ArrayViewMut<'a, T, D>, ShapeError>
where
    Sh: ShapeBuilder<Dim = D> + Into<StrideShape<D>>,
{
    let found = vec![data.len()];
    ArrayViewMut::from_shape(shape, data).map_err(|_| ShapeError { argument: name, found, expected: vec![] })
}
