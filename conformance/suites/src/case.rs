//! The case line: kernel × shape × regime × seed, as text that is the test's name, the filter and the replay argument.

use std::fmt;
use std::str::FromStr;

use gdn_gpu::contract::{Contract, Dim, Param, Shape};
use gdn_gpu::contracts;

use crate::error::Error;
use crate::regime::Regime;

/// One case. Printed and parsed as
/// `gdn_step(d=128,hk=16,hv=48,tokens=4,regime=warm,scale=2^-7,seed=0x51)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The kernel's contract.
    pub contract: &'static Contract,
    /// Sizes and parameters.
    pub shape: Shape,
    /// Tokens, one launch each; more than one only where a state is carried.
    pub tokens: u32,
    /// How inputs are drawn.
    pub regime: Regime,
    /// Scale of the data, as a power of two.
    pub scale: i32,
    /// Seed of everything drawn.
    pub seed: u64,
}

/// A valid line, for messages.
pub const EXAMPLE: &str = "gdn_step(d=128,hk=16,hv=48,tokens=4,regime=warm,scale=2^-7,seed=0x51)";

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.contract.kernel)?;
        for (dim, value) in self.shape.sizes() {
            write!(f, "{dim}={value},")?;
        }
        for (param, value) in self.shape.params() {
            write!(f, "{param}={value:?},")?;
        }
        if self.contract.carries_state() {
            write!(f, "tokens={},", self.tokens)?;
        }
        write!(f, "regime={},scale=2^{},seed={:#x})", self.regime, self.scale, self.seed)
    }
}

impl FromStr for Case {
    type Err = Error;

    /// Parses a case line and checks it against the kernel's contract.
    fn from_str(line: &str) -> Result<Self, Error> {
        let line = line.trim();
        let malformed =
            |problem: String| Error::CaseLine { line: line.to_owned(), problem, example: EXAMPLE.to_owned() };
        let (kernel, rest) = line.split_once('(').ok_or_else(|| malformed("there is no `(`".into()))?;
        let body = rest.strip_suffix(')').ok_or_else(|| malformed("it does not end in `)`".into()))?;
        let contract = contracts::find(kernel)
            .ok_or_else(|| Error::unknown("kernel", kernel, contracts::all().map(|contract| contract.kernel)))?;
        let (dims, params) = (contract.dims(), contract.params());
        let mut keys: Vec<&str> = dims.iter().map(|dim| dim.name()).chain(params.iter().map(|p| p.name())).collect();
        keys.extend(contract.carries_state().then_some("tokens"));
        keys.extend(["regime", "scale", "seed"]);

        let mut shape = Shape::default();
        let (mut tokens, mut regime, mut scale, mut seed) = (1, Regime::Gaussian, 0, 0);
        let mut seen: Vec<&str> = Vec::new();
        for field in body.split(',').filter(|field| !field.trim().is_empty()) {
            let (key, value) =
                field.split_once('=').ok_or_else(|| malformed(format!("`{field}` is not `key=value`")))?;
            let (key, value) = (key.trim(), value.trim());
            let not_a = |what: &str| malformed(format!("`{key}={value}`: not {what}"));
            if seen.contains(&key) {
                return Err(malformed(format!("`{key}` stands twice")));
            }
            if let Some(&dim) = dims.iter().find(|dim| dim.name() == key) {
                shape.set(dim, value.parse().map_err(|_| not_a("an integer"))?);
            } else if let Some(&param) = params.iter().find(|param| param.name() == key) {
                shape = shape.with(param, value.parse().map_err(|_| not_a("a number"))?);
            } else {
                match key {
                    "tokens" if contract.carries_state() => {
                        tokens = value.parse().ok().filter(|&n| n >= 1).ok_or_else(|| not_a("a count of 1 or more"))?;
                    }
                    "regime" => regime = value.parse()?,
                    "scale" => {
                        scale = value
                            .strip_prefix("2^")
                            .and_then(|exponent| exponent.parse().ok())
                            .filter(|exponent| (-120..=120).contains(exponent))
                            .ok_or_else(|| not_a("a power of two from 2^-120 to 2^120"))?;
                    }
                    "seed" => {
                        let digits = value.strip_prefix("0x").ok_or_else(|| not_a("a hexadecimal number 0x…"))?;
                        seed = u64::from_str_radix(digits, 16).map_err(|_| not_a("a hexadecimal number 0x…"))?;
                    }
                    _ => return Err(Error::unknown("key of a case line", key, keys.iter().copied())),
                }
            }
            seen.push(key);
        }
        for name in params.iter().filter(|param| !seen.contains(&param.name())) {
            shape = shape.with(*name, default_param(*name));
        }
        let case = Self { contract, shape, tokens, regime, scale, seed };
        if let Some(missing) = dims.iter().find(|dim| !seen.contains(&dim.name())) {
            return Err(malformed(format!("`{missing}` is missing")));
        }
        contract.check(&case.shape)?;
        Ok(case)
    }
}

/// What a parameter is where the line does not say: the values of the Qwen3-Next and Qwen3.5 configurations.
pub const fn default_param(param: Param) -> f32 {
    match param {
        Param::Eps => 1e-6,
        Param::Rbase => 1e7,
    }
}

impl Case {
    /// The size `dim`.
    ///
    /// # Panics
    /// If the kernel has no such size.
    pub fn get(&self, dim: Dim) -> usize {
        self.shape.get(dim)
    }
}
