//! Drives a probe over an executor, and holds the device's counterparts against the CPU's.

use std::time::Instant;

use super::{Fill, Limit, Probe, Through, registry};
use crate::contract::{Kind, Role, THREADS};
use crate::executor::{Argument, Buffer, Code, Error, Executor, Geometry, Launch, Module, Program};
use crate::{PROBE_KERNELS, contracts, program};

/// Most arguments of one launch, where no kernel says less: several launches, so that progress shows.
const MOST: u32 = 1 << 28;
/// Blocks of a large launch.
const BLOCKS: u32 = 4096;
/// Doubles that a block writes: the count, and error, index, result, counterpart and bound of the worst by ulp and by bound.
const RECORD: usize = 11;
/// Step of a sample: odd, so that no argument comes twice, and 2³² over the golden ratio, so that any part of them is spread evenly.
const STEP: u32 = 0x9e37_79b1;
/// Around these, a sample takes 256 neighbours: where functions and formats change their ways, with the sign of either side.
const EDGES: [f32; 12] = [
    0.0,
    f32::MIN_POSITIVE,
    1e-7,
    1.0,
    std::f32::consts::PI,
    16.64,
    20.0,
    87.34,
    88.73,
    103.98,
    f32::MAX,
    f32::INFINITY,
];
/// About how many of a probe's counterparts the CPU evaluates again.
const COMPARED: u64 = 8192;
/// How far, relatively, the device's counterpart of a function may be from the CPU's: both have an ulp or two, 2⁻⁵¹. 2⁻⁴⁵ is 2⁻²¹ ulp
/// of the f32 result.
const VALUES_AGREE: f64 = 1.0 / 35_184_372_088_832.0;
/// The same for what takes several steps: an exponent of up to 104 multiplies the relative error that it comes with, and a reduced
/// angle may be 2⁻²⁰ of the whole one. 2⁻⁴⁰.
const STEPS_AGREE: f64 = 1.0 / 1_099_511_627_776.0;
/// How far bounds may be apart: they are differences of counterparts, of which they are a millionth.
const BOUNDS_AGREE: f64 = 1.0 / 1_048_576.0;
/// Below this the CPU's and the device's counterparts need not agree: far below half the smallest f32.
const NOTHING: f64 = 1e-60;

/// How many arguments are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sweep {
    /// All there are.
    All,
    /// About this many, spread evenly, and the neighbourhoods of the edges. Rounded up to a power of two.
    Sample(u64),
}

/// The worst result by one measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worst {
    /// How far it is off.
    pub error: f64,
    /// Its argument.
    pub bits: u32,
    /// The result.
    pub got: f64,
    /// Its counterpart in double.
    pub exact: f64,
}

/// How well the CPU's counterparts agree with the device's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Agreement {
    /// How many were compared.
    pub compared: u64,
    /// Largest relative difference of a value.
    pub values: f64,
    /// Largest relative difference of a bound.
    pub bounds: f64,
}

impl Agreement {
    /// Whether the two agree, as far as f64 functions can.
    fn holds(&self, limit: Limit) -> bool {
        let values = if limit == Limit::Bound { STEPS_AGREE } else { VALUES_AGREE };
        self.compared > 0 && self.values <= values && self.bounds <= BOUNDS_AGREE
    }

    fn add(&mut self, probe: &Probe, bits: u32, record: &[f64]) {
        let (value, bound) = probe.expected(bits, record[2]);
        self.compared += 1;
        self.values = self.values.max(difference(record[3], value));
        if let Some(bound) = bound {
            self.bounds = self.bounds.max(difference(record[4], bound));
        }
    }
}

fn difference(found: f64, expected: f64) -> f64 {
    if found == expected || (found.is_nan() && expected.is_nan()) {
        0.0
    } else if found.is_finite() && expected.is_finite() {
        (found - expected).abs() / expected.abs().max(NOTHING / VALUES_AGREE)
    } else {
        f64::INFINITY
    }
}

/// What came of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All results are within the limit.
    Within,
    /// Some are not.
    Exceeds,
    /// A known-wrong function was seen to leave its limit.
    Caught,
    /// A known-wrong function was not: this probe proves nothing.
    Missed,
    /// The device's counterparts are not the CPU's: its errors mean nothing.
    Disagrees,
}

impl Verdict {
    /// Whether that is what should be.
    pub const fn passed(self) -> bool {
        matches!(self, Self::Within | Self::Caught)
    }

    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Within => "within",
            Self::Exceeds => "EXCEEDS",
            Self::Caught => "exceeds, as it must",
            Self::Missed => "MISSED",
            Self::Disagrees => "CPU DISAGREES",
        }
    }
}

/// A probe's measurement.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// The probe.
    pub probe: &'static Probe,
    /// How many arguments the device looked at, as it counted them.
    pub arguments: u64,
    /// The largest distance in ulp.
    pub ulp: Worst,
    /// The largest part of the bound, where there is one.
    pub utilization: Option<Worst>,
    /// How well the CPU agrees with the counterparts.
    pub agreement: Agreement,
    /// How long it took, without compilation and with the CPU's part.
    pub seconds: f64,
}

impl Measured {
    /// What came of it.
    pub fn verdict(&self) -> Verdict {
        let (error, limit) = match (self.probe.limit, self.utilization) {
            (Limit::Ulp(limit), _) => (self.ulp.error, limit),
            (Limit::Bound, Some(worst)) => (worst.error, 1.0),
            (Limit::Bound, None) => (f64::INFINITY, 1.0),
        };
        match (self.agreement.holds(self.probe.limit), error <= limit, self.probe.control) {
            (false, ..) => Verdict::Disagrees,
            (true, true, false) => Verdict::Within,
            (true, false, false) => Verdict::Exceeds,
            (true, false, true) => Verdict::Caught,
            (true, true, true) => Verdict::Missed,
        }
    }
}

/// Measures a probe; `progress` hears of each launch how many arguments it had.
///
/// # Errors
/// What the executor runs into.
pub fn measure(
    executor: &mut dyn Executor,
    probe: &'static Probe,
    sweep: Sweep,
    mut progress: impl FnMut(u64),
) -> Result<Measured, Error> {
    let mut bench = Bench { executor, probe, buffers: Vec::new() };
    let result = bench.measure(sweep, &mut progress);
    for buffer in bench.buffers {
        bench.executor.free(buffer);
    }
    result
}

/// The arguments of one launch: `first + i·step` for i below `count`, a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slice {
    first: u32,
    step: u32,
    count: u32,
}

impl Slice {
    fn argument(self, index: u32) -> u32 {
        self.first.wrapping_add(index.wrapping_mul(self.step))
    }

    /// Arguments of a block: 256 in small launches.
    fn each(self) -> u32 {
        (self.count / BLOCKS).max(256)
    }
}

/// The launches of a sweep.
fn slices(probe: &Probe, sweep: Sweep) -> Vec<Slice> {
    let (count, step) = match sweep {
        Sweep::All => (probe.arguments, 1),
        Sweep::Sample(count) => (count.next_power_of_two().clamp(256, probe.arguments), STEP),
    };
    let chunk = probe.through.map_or(MOST, |through| through.most).min(u32::try_from(count).unwrap_or(u32::MAX));
    let chunks = count / u64::from(chunk);
    let mut slices: Vec<Slice> = (0..chunks)
        .map(|at| Slice { first: (at as u32).wrapping_mul(chunk).wrapping_mul(step), step, count: chunk })
        .collect();
    if sweep != Sweep::All && probe.takes_floats() {
        let signed = EDGES.iter().flat_map(|&edge| [edge, -edge]);
        slices.extend(signed.map(|edge| Slice { first: edge.to_bits().wrapping_sub(128), step: 1, count: 256 }));
    }
    slices
}

/// A buffer of a shipped kernel, by its argument's name.
type Named = (&'static str, Buffer, usize);

struct Bench<'a> {
    executor: &'a mut dyn Executor,
    probe: &'static Probe,
    buffers: Vec<Buffer>,
}

impl Bench<'_> {
    fn measure(&mut self, sweep: Sweep, progress: &mut dyn FnMut(u64)) -> Result<Measured, Error> {
        let probe = self.probe;
        let module = self.executor.load(&Program { name: "probe".into(), code: Code::Cuda(PROBE_KERNELS.into()) })?;
        if let Some(through) = probe.through {
            self.executor.load(&program(contract(through)?.source))?;
        }
        let start = Instant::now();
        let slices = slices(probe, sweep);
        let largest = slices.iter().map(|slice| slice.count).max().unwrap_or(0);
        let most_blocks = slices.iter().map(|slice| slice.count / slice.each()).max().unwrap_or(0) as usize;
        let records = self.alloc(most_blocks * RECORD * 8)?;
        let table = self.upload(&registry::table())?;
        let kernel = match probe.through {
            Some(through) => self.kernel(through, largest)?,
            None => Vec::new(),
        };
        let blocks: u64 = slices.iter().map(|slice| u64::from(slice.count / slice.each())).sum();
        let stride = (blocks / COMPARED).max(1);

        let none = Worst { error: -1.0, bits: 0, got: f64::NAN, exact: f64::NAN };
        let (mut ulp, mut utilization, mut agreement) = (none, none, Agreement::default());
        let (mut arguments, mut at) = (0, 0);
        for slice in slices {
            let results = match probe.through {
                Some(through) => self.run_kernel(module, through, &kernel, slice)?,
                None => records,
            };
            let blocks = slice.count / slice.each();
            self.launch_probe(module, slice, [results, table, records])?;
            let mut bytes = vec![0; blocks as usize * RECORD * 8];
            self.executor.download(records, 0, &mut bytes)?;
            let (words, _) = bytes.as_chunks::<8>();
            let numbers: Vec<f64> = words.iter().map(|&word| f64::from_le_bytes(word)).collect();
            for record in numbers.chunks_exact(RECORD) {
                arguments += record[0] as u64;
                at += 1;
                if record[0] == 0.0 {
                    continue;
                }
                for (kept, found) in [(&mut ulp, &record[1..6]), (&mut utilization, &record[6..11])] {
                    let bits = slice.argument(found[1] as u32);
                    let worse = found[0] > kept.error;
                    if worse {
                        *kept = Worst { error: found[0], bits, got: found[2], exact: found[3] };
                    }
                    if worse || at % stride == 0 {
                        agreement.add(probe, bits, found);
                    }
                }
            }
            progress(slice.count.into());
        }
        let utilization = matches!(probe.limit, Limit::Bound).then_some(utilization);
        Ok(Measured { probe, arguments, ulp, utilization, agreement, seconds: start.elapsed().as_secs_f64() })
    }

    fn alloc(&mut self, bytes: usize) -> Result<Buffer, Error> {
        let buffer = self.executor.alloc(bytes)?;
        self.buffers.push(buffer);
        Ok(buffer)
    }

    fn upload(&mut self, numbers: &[f64]) -> Result<Buffer, Error> {
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        let buffer = self.alloc(bytes.len())?;
        self.executor.upload(buffer, 0, &bytes)?;
        Ok(buffer)
    }

    fn launch_probe(&mut self, module: Module, slice: Slice, buffers: [Buffer; 3]) -> Result<(), Error> {
        let budget = self.probe.budget();
        let words = [slice.first, slice.step, slice.each()].map(|word| Argument::I32(word as i32));
        let floats = [self.probe.parameter, self.probe.most, budget.exp as f32, budget.log1p as f32, budget.div as f32];
        let arguments = words
            .into_iter()
            .chain(floats.map(Argument::F32))
            .chain(buffers.map(|buffer| Argument::Pointer { buffer, offset: 0 }))
            .collect();
        let geometry = Geometry { grid: [slice.count / slice.each(), 1, 1], block: [THREADS as u32, 1, 1] };
        self.executor.launch(&Launch { module, entry: self.probe.entry.into(), geometry, arguments })
    }

    /// Buffers of a shipped kernel for `count` arguments.
    fn kernel(&mut self, through: Through, count: u32) -> Result<Vec<Named>, Error> {
        let shape = (through.shape)(count.into());
        let mut named = Vec::new();
        for (name, spec) in contract(through)?.buffers() {
            let elements = spec.extent.elements(&shape);
            named.push((name, self.alloc(elements * spec.dtype.bytes())?, elements));
        }
        Ok(named)
    }

    /// Fills the inputs, runs the kernel, and says where its results are.
    fn run_kernel(&mut self, module: Module, through: Through, named: &[Named], slice: Slice) -> Result<Buffer, Error> {
        let contract = contract(through)?;
        let shape = (through.shape)(slice.count.into());
        let mut arguments = Vec::new();
        let mut results = None;
        let mut buffers = named.iter();
        for arg in contract.args {
            arguments.push(match arg.kind {
                Kind::Buffer(spec) => {
                    let &(_, buffer, _) = buffers.next().ok_or_else(|| unfit(through, arg.name))?;
                    let fill = through.fills.iter().find(|(name, _)| *name == arg.name).map(|(_, fill)| *fill);
                    match fill {
                        Some(fill) => self.fill(module, buffer, fill, spec.extent.elements(&shape), slice)?,
                        None if spec.role == Role::Output => {}
                        None => return Err(unfit(through, arg.name)),
                    }
                    if arg.name == through.results {
                        results = Some(buffer);
                    }
                    Argument::Pointer { buffer, offset: 0 }
                }
                Kind::Size(dim) => Argument::I32(shape.get(dim) as i32),
                Kind::Scalar(param) => Argument::F32(shape.param(param).unwrap_or(f32::NAN)),
            });
        }
        let module = self.executor.load(&program(contract.source))?;
        let geometry = contract.grid.geometry(&shape);
        self.executor.launch(&Launch { module, entry: contract.kernel.into(), geometry, arguments })?;
        results.ok_or_else(|| unfit(through, through.results))
    }

    fn fill(&mut self, module: Module, buffer: Buffer, fill: Fill, elements: usize, slice: Slice) -> Result<(), Error> {
        let pointer = Argument::Pointer { buffer, offset: 0 };
        let count = Argument::I32(elements as i32);
        let (entry, arguments) = match fill {
            Fill::Arguments => {
                let [first, step] = [slice.first, slice.step].map(|word| Argument::I32(word as i32));
                ("probe_arguments", vec![pointer, first, step, count])
            }
            Fill::Parameter => ("probe_constant", vec![pointer, Argument::F32(self.probe.parameter), count]),
            Fill::Constant(value) => ("probe_constant", vec![pointer, Argument::F32(value), count]),
        };
        let geometry = Geometry { grid: [elements.div_ceil(THREADS) as u32, 1, 1], block: [THREADS as u32, 1, 1] };
        self.executor.launch(&Launch { module, entry: entry.into(), geometry, arguments })
    }
}

fn contract(through: Through) -> Result<&'static crate::contract::Contract, Error> {
    contracts::find(through.kernel).ok_or_else(|| unfit(through, through.kernel))
}

/// A probe that does not fit its kernel's contract.
fn unfit(through: Through, name: &str) -> Error {
    Error::NoEntry { program: format!("the probe of {}", through.kernel), entry: name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::PROBES;

    #[test]
    fn all_means_every_argument_once() {
        for probe in PROBES {
            let slices = slices(probe, Sweep::All);
            let mut next = 0_u64;
            for slice in slices {
                assert_eq!((u64::from(slice.first), slice.step), (next, 1), "{}", probe.name);
                assert_eq!(slice.count % slice.each(), 0, "{}", probe.name);
                next += u64::from(slice.count);
            }
            assert_eq!(next, probe.arguments, "{}", probe.name);
        }
    }

    #[test]
    fn a_sample_is_what_was_asked_for_and_the_edges() {
        let probe = PROBES[0];
        let slices = slices(&probe, Sweep::Sample(1000));
        assert_eq!(slices[0], Slice { first: 0, step: STEP, count: 1024 });
        assert_eq!(slices.len(), 1 + 2 * EDGES.len());
        let reached =
            |x: f32| slices[1..].iter().any(|slice| (0..slice.count).any(|index| slice.argument(index) == x.to_bits()));
        assert!([0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, -1.0, f32::MAX].into_iter().all(reached));
    }

    #[test]
    fn a_counterpart_that_the_cpu_does_not_have_voids_the_measurement() {
        let probe = &PROBES[0];
        let found = |exact: f64| {
            let mut agreement = Agreement::default();
            agreement.add(probe, 1f32.to_bits(), &[0.5, 0.0, exact, exact, -1.0]);
            let ulp = Worst { error: 0.5, bits: 1f32.to_bits(), got: exact, exact };
            Measured { probe, arguments: 1, ulp, utilization: None, agreement, seconds: 0.0 }
        };
        assert_eq!(found(1f64.exp()).verdict(), Verdict::Within);
        assert_eq!(found(1f64.exp() * (1.0 + 1e-12)).verdict(), Verdict::Disagrees);
        assert_eq!(found(f64::NAN).verdict(), Verdict::Disagrees);
    }

    #[test]
    fn counterparts_that_differ_are_seen() {
        assert_eq!(difference(f64::NAN, f64::NAN), 0.0);
        assert_eq!(difference(f64::INFINITY, f64::INFINITY), 0.0);
        assert_eq!(difference(f64::INFINITY, 1.0), f64::INFINITY);
        assert_eq!(difference(f64::NAN, 1.0), f64::INFINITY);
        assert!(difference(1.0 + 1e-13, 1.0) > VALUES_AGREE);
        assert!(difference(1.0 + 1e-15, 1.0) < VALUES_AGREE);
        assert!(difference(1e-310, 0.0) < VALUES_AGREE && difference(1e-44, 0.0) > VALUES_AGREE);
    }
}
