//! Measures the functions that a budget names on every f32 argument, and the shipped gates against the oracle's bounds.
//!
//! The device walks the arguments and compares each result with its counterpart in double (`gpu/kernels/probe.cu`); only the worst
//! of each block comes back. The CPU evaluates the counterparts of thousands of those again, with its own library and with the
//! oracle's own code, so that neither the device's double functions nor its copy of the bounds are taken on trust. Functions are
//! called as the kernels call them; a gate's values come from the shipped kernel itself.

use gdn_reference::scalar::Bounded;

mod drive;
mod registry;

pub use drive::{Agreement, Measured, Sweep, Verdict, Worst, measure};
pub use registry::{PROBES, find};

/// How far a result may be from its counterpart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// This many ulp.
    Ulp(f64),
    /// The oracle's bound of this very result.
    Bound,
}

/// What the CPU says of an argument.
#[derive(Clone, Copy, Debug)]
enum Oracle {
    /// The exact value, of the argument's bits.
    Exact(fn(u32) -> f64),
    /// Value and bound, of the argument and the probe's parameter.
    Bound(fn(f32, f32) -> Bounded),
    /// The angle of a position and a rotary pair.
    Rotary,
}

/// What a buffer of a shipped kernel is filled with.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fill {
    /// The arguments.
    Arguments,
    /// The probe's parameter.
    Parameter,
    /// A constant.
    Constant(f32),
}

/// A shipped kernel whose results are judged, one for each argument.
#[derive(Clone, Copy, Debug)]
struct Through {
    kernel: &'static str,
    /// What its inputs hold.
    fills: &'static [(&'static str, Fill)],
    /// The buffer that the results are in.
    results: &'static str,
    /// Sizes for this many arguments.
    shape: fn(i64) -> crate::contract::Shape,
    /// Most arguments of a launch, a power of two.
    most: u32,
}

/// A function to measure. An argument is 32 bits: an f32, or what [`Probe::argument`] makes of them.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// Its name in tables.
    pub name: &'static str,
    /// What its results are held against.
    pub limit: Limit,
    /// Whether it is known to be wrong: then it must be seen to leave its limit.
    pub control: bool,
    /// How many different arguments there are, a power of two.
    pub arguments: u64,
    entry: &'static str,
    parameter: f32,
    most: f32,
    through: Option<Through>,
    oracle: Oracle,
    words: fn(u32) -> String,
}

impl Probe {
    /// An argument in words.
    pub fn argument(&self, bits: u32) -> String {
        (self.words)(bits)
    }

    /// Whether arguments are f32 bit patterns.
    fn takes_floats(&self) -> bool {
        !matches!(self.entry, "probe_quotient" | "probe_two_step_quotient" | "probe_rotary_angle")
    }

    /// The budget that the device's copy of the bounds is given.
    fn budget(&self) -> gdn_reference::Budget {
        let contract = self.through.and_then(|through| crate::contracts::find(through.kernel));
        contract.map_or(gdn_reference::Budget::CUDA, |contract| contract.budget)
    }

    /// Value and bound by the CPU; no bound where only the distance in ulp is asked for. `got` decides between the two ends of half a
    /// turn.
    fn expected(&self, bits: u32, got: f64) -> (f64, Option<f64>) {
        match self.oracle {
            Oracle::Exact(value) => (value(bits), None),
            Oracle::Bound(oracle) => {
                let bounded = oracle(f32::from_bits(bits), self.parameter);
                (bounded.value, Some(bounded.bound))
            }
            Oracle::Rotary => {
                let angle = registry::rotary(bits);
                let exact = angle.radians().to_f64();
                let turns = ((got - exact) / std::f64::consts::TAU).round();
                (turns.mul_add(std::f64::consts::TAU, exact), Some(angle.kernel_error()))
            }
        }
    }
}
