//! A failure explains itself: where in an output the failing elements lie, what became of their values, and what feeds the worst.
//!
//! [`explain`] names the pattern in words. It reads nothing but the verdict's own material (outputs, wants, inputs) and the
//! output's [`Layout`], so that it serves a run, a replayed capsule and a kernel that somebody else brings alike. What is nearest
//! among the known-wrong kernels is for the caller to add, in [`Explanation::nearest`].

use std::fmt::Write as _;
use std::ops::Range;

use gdn_gpu::contract::{BufferSpec, Contract, Dim, Extent, Factor, Shape};
use gdn_gpu::run::{Tensor, Tensors};

use crate::family::Suite;
use crate::verdict::{Check, Want, values};

mod laws;
mod places;
mod ratios;
mod shuffles;

/// One axis of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// What it counts, in the singular: `head`, `row`, `channel`.
    pub name: &'static str,
    /// How many of them there are.
    pub size: usize,
}

/// How an output's flat indices read: row-major over `axes`, from element `offset` on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The first element that the axes count; what lies before and behind them is not the kernel's to write.
    pub offset: usize,
    /// The axes, outermost first.
    pub axes: Vec<Axis>,
}

impl Layout {
    /// A layout over the whole output.
    pub fn new(axes: &[(&'static str, usize)]) -> Self {
        Self { offset: 0, axes: axes.iter().map(|&(name, size)| Axis { name, size }).collect() }
    }

    /// What a contract says of a buffer: heads, rows, columns, elements.
    pub fn of(spec: &BufferSpec, shape: &Shape) -> Self {
        let Extent::Product(factors) = spec.extent else {
            return Self::new(&[("element", spec.extent.elements(shape))]);
        };
        let square = factors.iter().filter(|factor| **factor == Factor::Of(Dim::D)).count() == 2;
        let mut axes = Vec::new();
        for factor in factors {
            let name = match *factor {
                Factor::Groups(_) => "group",
                Factor::Of(dim) => axis_name(dim),
            };
            let named_before = axes.iter().any(|(before, _)| *before == "row");
            let name = match (name, square) {
                ("element", true) if named_before => "column",
                ("element", true) => "row",
                _ => name,
            };
            axes.push((name, factor.size(shape)));
        }
        Self::new(&axes)
    }

    /// Elements that the axes count.
    pub fn elements(&self) -> usize {
        self.axes.iter().map(|axis| axis.size).product()
    }

    /// The flat indices that the axes count.
    pub fn range(&self) -> Range<usize> {
        self.offset..self.offset + self.elements()
    }

    /// Distance in elements between neighbours along an axis.
    fn stride(&self, axis: usize) -> usize {
        self.axes[axis + 1..].iter().map(|axis| axis.size).product()
    }

    /// An index inside of the layout, along an axis.
    fn coordinate(&self, index: usize, axis: usize) -> usize {
        (index - self.offset) / self.stride(axis) % self.axes[axis].size
    }

    /// An index in words: `head 3, row 5`; nothing where one axis says no more than the flat index.
    fn place(&self, index: usize) -> Option<String> {
        if self.axes.len() < 2 || !self.range().contains(&index) {
            return None;
        }
        let parts: Vec<String> = (0..self.axes.len())
            .map(|axis| format!("{} {}", self.axes[axis].name, self.coordinate(index, axis)))
            .collect();
        Some(parts.join(", "))
    }
}

const fn axis_name(dim: Dim) -> &'static str {
    match dim {
        Dim::Hk | Dim::Hv | Dim::H => "head",
        Dim::C => "channel",
        Dim::T => "tap",
        Dim::Blocks => "block",
        Dim::Threads => "thread",
        _ => "element",
    }
}

/// What feeds an element: buffers, and the elements of each that it is computed from.
pub type Feeds = Vec<(&'static str, Range<usize>)>;

/// What a contract alone says of the elements that feed one: those at the same place of every other buffer that has such a place,
/// and the whole of what lies along an axis that the output does not have.
pub fn feeds(contract: &Contract, shape: &Shape, output: &str, index: usize) -> Feeds {
    let size = |factor: &Factor| factor.size(shape);
    let Some((_, spec)) = contract.buffers().find(|(name, _)| *name == output) else { return Feeds::new() };
    let mut rest = index;
    let mut coordinates = Vec::new();
    for factor in spec.extent.factors().iter().rev() {
        coordinates.push((*factor, rest % size(factor).max(1)));
        rest /= size(factor).max(1);
    }
    coordinates.reverse();
    let mut feeds = Feeds::new();
    for (name, spec) in contract.buffers().filter(|(_, spec)| spec.role != gdn_gpu::contract::Role::Output) {
        let mut known = coordinates.iter();
        let (mut start, mut width, mut fixed) = (0, 1, true);
        for factor in spec.extent.factors() {
            let at = known.clone().position(|(of, _)| of == factor).and_then(|skip| known.nth(skip));
            match at {
                Some((_, coordinate)) if fixed => start = start * size(factor) + coordinate,
                _ => {
                    fixed = false;
                    start *= size(factor);
                    width *= size(factor);
                }
            }
        }
        feeds.push((name, start..start + width));
    }
    feeds
}

/// What a failing output has to say for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// Where the failing elements lie, and what became of their values.
    pub pattern: String,
    /// What feeds the worst element.
    pub inputs: String,
    /// The known-wrong kernel that it looks like, where the caller has looked.
    pub nearest: Option<String>,
}

impl Explanation {
    /// The lines under a failure, without indentation.
    pub fn lines(&self) -> Vec<String> {
        let line = |name: &str, text: &str| (!text.is_empty()).then(|| format!("{name}: {text}"));
        let lines = [
            line("pattern", &self.pattern),
            line("inputs", &self.inputs),
            line("nearest", self.nearest.as_deref().unwrap_or_default()),
        ];
        lines.into_iter().flatten().collect()
    }
}

/// One output of one launch, with everything that it may be explained by.
pub struct Scene<'a> {
    /// The kernel.
    pub suite: &'a dyn Suite,
    /// The launch's sizes.
    pub shape: &'a Shape,
    /// What the launch was given.
    pub inputs: &'a Tensors,
    /// What it left.
    pub outputs: &'a Tensors,
}

/// A failing element.
#[derive(Clone, Copy, Debug)]
struct Failing {
    index: usize,
    got: f32,
    /// The oracle's value.
    want: f64,
    /// The bound, or at least an ulp of the value.
    slack: f64,
}

/// The failing elements of an output, and where they could have failed.
struct Failures<'a> {
    layout: Layout,
    wants: &'a [Want],
    values: Vec<(f32, i32)>,
    failing: Vec<Failing>,
    /// Those that a law is tried on: all of them, or of very many an even part.
    sample: Vec<Failing>,
}

/// Most elements that a law is tried on.
const SAMPLE: usize = 1 << 14;

/// Picks about [`SAMPLE`] elements, by a hash of their index: an even stride would fall in step with the axes.
fn sample(failing: &[Failing]) -> Vec<Failing> {
    if failing.len() <= SAMPLE {
        return failing.to_vec();
    }
    let most = u64::MAX / failing.len() as u64 * SAMPLE as u64;
    let picked = |x: &&Failing| (x.index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) <= most;
    failing.iter().filter(picked).copied().collect()
}

impl<'a> Failures<'a> {
    fn new(layout: Layout, check: &'a Check, tensor: &Tensor) -> Option<Self> {
        let values = values(tensor);
        if values.len() != check.wants.len() || layout.range().end > values.len() {
            return None;
        }
        let failing: Vec<Failing> = check
            .wants
            .iter()
            .zip(&values)
            .enumerate()
            .filter(|(_, (want, (got, code)))| !want.admits(*got, *code))
            .map(|(index, (want, (got, _)))| {
                let (want, bound) = want.centre();
                let ulp = f64::from(f32::EPSILON) * want.abs().max(f64::from(f32::MIN_POSITIVE));
                Failing { index, got: *got, want, slack: bound.max(ulp) }
            })
            .collect();
        let sample = sample(&failing);
        (!sample.is_empty()).then_some(Self { layout, wants: &check.wants, values, failing, sample })
    }

    /// Whether the output is one of codes.
    fn holds_codes(&self) -> bool {
        self.wants.iter().any(|want| matches!(want, Want::Code(_)))
    }

    /// Whether an element of the output has the value that another place asks for.
    fn would_pass(&self, index: usize, at: usize) -> bool {
        let (got, code) = self.values[index];
        self.wants[at].admits(got, code)
    }
}

/// The pattern of a failed check and what feeds its worst element; nothing where there are no elements to look at.
pub fn explain(scene: &Scene<'_>, check: &Check, worst: usize) -> Option<Explanation> {
    let tensor = scene.outputs.get(check.output)?;
    let failures = Failures::new(scene.suite.layout(scene.shape, check.output), check, tensor)?;
    let place = failures.layout.place(worst).filter(|_| failures.failing.len() > 1);
    let mut pattern = places::describe(scene.inputs, &failures);
    let (law, explained) = laws::describe(scene, check.output, &failures);
    if let Some(heaviest) = places::heaviest(&failures).filter(|_| !explained) {
        let _ = write!(pattern, "; {heaviest}");
    }
    if !law.is_empty() {
        let _ = write!(pattern, "; {law}");
    }
    if let Some(place) = place {
        let _ = write!(pattern, "; worst at {place}");
    }
    Some(Explanation { pattern, inputs: inputs(scene, check.output, worst), nearest: None })
}

/// The failing tokens of a case, with the utilization at each, in words.
pub fn tokens(failed: &[(u32, f64)], of: u32) -> String {
    let (Some(&(first, least)), Some(&(last, most))) = (failed.first(), failed.last()) else { return String::new() };
    let count = failed.len() as u32;
    let when = if count == of {
        "at every token".to_owned()
    } else if count == 1 {
        format!("at token {first} of {of} only")
    } else if last + 1 == of && count == of - first {
        format!("from token {first} of {of} on")
    } else {
        format!("at {count} of {of} tokens, first at token {first}")
    };
    let grows = failed.windows(2).all(|pair| pair[0].1 < pair[1].1) && most >= 2.0 * least && most.is_finite();
    if grows { format!("{when}, utilization growing with the token from {least:.3} to {most:.3}") } else { when }
}

/// What feeds an element, with its values.
fn inputs(scene: &Scene<'_>, output: &str, index: usize) -> String {
    let text = |(name, range): (&'static str, Range<usize>)| {
        let tensor = scene.inputs.get(name).or_else(|| scene.outputs.get(name))?;
        let part: Vec<f32> = values(tensor).get(range.clone())?.iter().map(|(value, _)| *value).collect();
        Some(summary(name, &range, &part))
    };
    let fed: Vec<String> = scene.suite.feeds(scene.shape, output, index).into_iter().filter_map(text).collect();
    fed.join(", ")
}

/// Most values that are printed one by one.
const FEW: usize = 4;

fn summary(name: &str, range: &Range<usize>, part: &[f32]) -> String {
    match part {
        [] => format!("{name}: nothing"),
        [one] => format!("{name}[{}] = {one:e}", range.start),
        few if few.len() <= FEW => {
            let list: Vec<String> = few.iter().map(|x| format!("{x:e}")).collect();
            format!("{name}[{}..{}] = {}", range.start, range.end, list.join(" "))
        }
        many => {
            let finite: Vec<f64> = many.iter().copied().filter(|x| x.is_finite()).map(f64::from).collect();
            let of = |pick: fn(f64, f64) -> f64, from: f64| finite.iter().copied().fold(from, pick);
            let rms = (finite.iter().map(|x| x * x).sum::<f64>() / finite.len().max(1) as f64).sqrt();
            let mut text = format!("{name}[{}..{}]", range.start, range.end);
            if !finite.is_empty() {
                let (least, most) = (of(f64::min, f64::INFINITY), of(f64::max, f64::NEG_INFINITY));
                let _ = if least.to_bits() == most.to_bits() {
                    write!(text, " = {least:e} throughout")
                } else {
                    write!(text, " from {least:.3e} to {most:.3e}, rms {rms:.3e}")
                };
            }
            let odd = many.len() - finite.len();
            if odd > 0 {
                let _ = write!(text, " ({odd} not finite)");
            }
            text
        }
    }
}
