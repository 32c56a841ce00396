//! Speed: the accepted kernel beside the new one, interleaved in one process on one device.
//!
//! A batch of launches is timed as a whole, long enough that events and launches weigh little; accepted and new batches take turns,
//! each pair the other way round than the one before, and only neighbours are compared, so that clocks and heat that drift meet both
//! alike. The answer is the median of the ratios and an interval for it that assumes nothing of how they are distributed.

use std::time::Duration;

use gdn_gpu::contract::{Contract, Dim, Shape};
use gdn_gpu::executor::{Buffer, Launch, Module, Program, Work};
use gdn_gpu::{Executor, run};

use crate::case::Case;
use crate::draw::Draws;
use crate::error::Error;
use crate::regime::Regime;
use crate::report::Speed;
use crate::suites;

/// Pairs of batches.
const PAIRS: usize = 61;

/// Ratios on either side that lie outside of the interval. The median is beyond it with 2 · P(X ≤ 14) = 2.7·10⁻⁵, X of [`PAIRS`] fair
/// coins: over thirteen kernels less than one run in two thousand, even were nothing but the interval between a kernel and an alarm.
const OUTSIDE: usize = 14;

/// How long a batch takes at least: hundreds of times an event's resolution of half a microsecond.
const BATCH: Duration = Duration::from_micros(300);

/// Bytes that a timed launch moves at least, about: larger than an H200's second-level cache of 50 MB, so that what is timed is what a
/// model of many sequences sees.
const BYTES: i64 = 96 << 20;

/// The case that a kernel is timed on: the sizes of Qwen3-Next's layers, and as many heads, channels or elements as make some 100 MB.
pub fn case(contract: &'static Contract) -> Case {
    let typical = |dim: Dim| match dim {
        Dim::D | Dim::Threads => 128,
        Dim::Hk => 16,
        Dim::Hd | Dim::Stride => 256,
        Dim::Rot => 64,
        Dim::T => 4,
        Dim::Nl2 => 32,
        Dim::Pos => 40_000,
        _ => 1,
    };
    let mut shape = Shape::default();
    for dim in contract.dims() {
        shape.set(dim, typical(dim));
    }
    for param in contract.params() {
        shape = shape.with(param, crate::case::default_param(param));
    }
    // Counts of what is repeated, each to be a multiple of what the contract has it share.
    let (count, multiple) = if contract.dims().contains(&Dim::Hv) && contract.dims().contains(&Dim::Hk) {
        (Dim::Hv, 16)
    } else if contract.dims().contains(&Dim::C) {
        (Dim::C, 128 * 32)
    } else {
        let counts = [Dim::Hv, Dim::H, Dim::N, Dim::Blocks];
        (counts.into_iter().find(|dim| contract.dims().contains(dim)).unwrap_or(Dim::N), 1)
    };
    let bytes = |shape: &Shape| -> i64 {
        contract.buffers().map(|(_, spec)| (spec.extent.elements(shape) * spec.dtype.bytes()) as i64).sum()
    };
    let sized = |shape: &mut Shape, of: i64| {
        shape.set(count, of);
        if contract.dims().contains(&Dim::Stride) {
            // The heads of a token lie one after the other.
            shape.set(Dim::Stride, of * typical(Dim::Hd));
        }
        bytes(shape)
    };
    let each = (sized(&mut shape, 2 * multiple) - sized(&mut shape, multiple)).max(1);
    // Several contracts end at 65,535 heads or blocks.
    for most in [i64::MAX, 65_535] {
        sized(&mut shape, (multiple * (BYTES / each).max(1)).min(most));
        if contract.check(&shape).is_ok() {
            break;
        }
    }
    Case { contract, shape, tokens: 1, regime: Regime::Gaussian, scale: 0, seed: 0x51 }
}

/// Times a kernel in two programs on an executor.
///
/// # Errors
/// What the executor ran into.
pub fn measure(
    executor: &mut dyn Executor,
    accepted: &Program,
    new: &Program,
    contract: &'static Contract,
) -> Result<Speed, Error> {
    let mut speeds = measure_all(executor, accepted, std::slice::from_ref(new), contract)?;
    Ok(speeds.remove(0))
}

/// Times a kernel in several programs on an executor, each beside the accepted one, on the same inputs.
///
/// # Errors
/// What the executor ran into.
pub fn measure_all(
    executor: &mut dyn Executor,
    accepted: &Program,
    new: &[Program],
    contract: &'static Contract,
) -> Result<Vec<Speed>, Error> {
    let case = case(contract);
    let suite = suites::find(contract.kernel)?;
    let regime = if suite.regimes().contains(&Regime::Gaussian) { Regime::Gaussian } else { suite.regimes()[0] };
    let case = Case { regime, ..case };
    let inputs = suite.draw(&case, &Draws::new(&case, 0));
    let module = executor.load(accepted)?;
    let others = new.iter().map(|program| executor.load(program)).collect::<Result<Vec<Module>, _>>()?;
    let prepared = run::prepare(executor, module, contract, &case.shape, &inputs)?;
    let half = prepared.bytes / 2;
    let result = copies(executor, half).and_then(|(from, to)| {
        let first = prepared.launch.clone();
        let times = others.into_iter().map(|module| {
            let other = Launch { module, ..first.clone() };
            pairs(executor, [Work::Launch(&first), Work::Launch(&other)])
        });
        let times = times.collect::<Result<Vec<_>, Error>>()?;
        let copy = Work::Copy { from, to, bytes: half };
        let count = batch(executor, copy)?;
        let copies: Result<Vec<f64>, Error> = (0..9).map(|_| each(executor, copy, count)).collect();
        executor.free(from);
        executor.free(to);
        Ok((times, median(&copies?)))
    });
    let bytes = prepared.bytes as u64;
    prepared.free(executor);
    let (times, copy_ns) = result?;
    let speeds = times.iter().map(|times| {
        let ratios: Vec<f64> = times.iter().map(|[accepted, new]| new / accepted).collect();
        let (low, ratio, high) = interval(&ratios);
        let of = |which: usize| median(&times.iter().map(|pair| pair[which]).collect::<Vec<_>>());
        Speed {
            kernel: contract.kernel.into(),
            case: case.to_string(),
            accepted_ns: of(0),
            ns: of(1),
            ratio,
            low,
            high,
            bytes,
            copy_ns,
        }
    });
    Ok(speeds.collect())
}

fn copies(executor: &mut dyn Executor, bytes: usize) -> Result<(Buffer, Buffer), Error> {
    let (from, to) = (executor.alloc(bytes)?, executor.alloc(bytes)?);
    executor.upload(from, 0, &vec![0; bytes])?;
    Ok((from, to))
}

/// Repeats that a batch needs, after some that warm up.
fn batch(executor: &mut dyn Executor, work: Work<'_>) -> Result<usize, Error> {
    executor.time_batch(work, 3)?;
    let once = executor.time_batch(work, 10)?.as_secs_f64() / 10.0;
    Ok((BATCH.as_secs_f64() / once).ceil().clamp(1.0, 1000.0) as usize)
}

/// Nanoseconds of one of a batch.
fn each(executor: &mut dyn Executor, work: Work<'_>, count: usize) -> Result<f64, Error> {
    Ok(executor.time_batch(work, count)?.as_secs_f64() * 1e9 / count as f64)
}

/// Times of neighbouring batches in nanoseconds, the accepted kernel's first.
fn pairs(executor: &mut dyn Executor, works: [Work<'_>; 2]) -> Result<Vec<[f64; 2]>, Error> {
    let count = batch(executor, works[0])?.max(batch(executor, works[1])?);
    let mut times = Vec::with_capacity(PAIRS);
    for pair in 0..PAIRS {
        let mut both = [0.0; 2];
        for turn in 0..2 {
            let which = (pair + turn) % 2;
            both[which] = each(executor, works[which], count)?;
        }
        times.push(both);
    }
    Ok(times)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

fn median(values: &[f64]) -> f64 {
    let values = sorted(values);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The median of ratios and the interval that it lies in: order statistics, [`OUTSIDE`] ratios beyond either end.
fn interval(ratios: &[f64]) -> (f64, f64, f64) {
    let ratios = sorted(ratios);
    let at = |index: usize| ratios.get(index).copied().unwrap_or(f64::NAN);
    (at(OUTSIDE), at(ratios.len() / 2), at(ratios.len().saturating_sub(1 + OUTSIDE)))
}

#[cfg(test)]
mod tests {
    use gdn_gpu::contracts;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt as _, SeedableRng as _};

    use super::*;
    use crate::gate::compare;

    #[test]
    fn every_kernel_has_a_case_to_be_timed_on() {
        for contract in contracts::all() {
            let case = case(contract);
            contract.check(&case.shape).unwrap_or_else(|error| panic!("{case}: {error}"));
            let bytes: usize =
                contract.buffers().map(|(_, spec)| spec.extent.elements(&case.shape) * spec.dtype.bytes()).sum();
            assert!(bytes as i64 > BYTES / 2 && (bytes as i64) < BYTES * 3 / 2, "{case}: {bytes}");
        }
    }

    #[test]
    fn the_interval_is_as_wide_as_it_says() {
        // 2 · P(X ≤ 14) of 61 fair coins.
        let mut choose = 1.0_f64;
        let mut tail = 0.0;
        for k in 0..OUTSIDE {
            tail += choose;
            choose *= (PAIRS - k) as f64 / (k + 1) as f64;
        }
        tail += choose;
        let outside = 2.0 * tail / 2f64.powi(PAIRS as i32);
        assert!((outside - 2.719e-5).abs() < 1e-8, "{outside}");
    }

    fn verdict(slower: f64, noise: f64, seed: u64) -> bool {
        let mut draws = ChaCha8Rng::seed_from_u64(seed);
        let ratios: Vec<f64> = (0..PAIRS).map(|_| slower * (1.0 + noise * draws.random_range(-1.0..1.0))).collect();
        let (low, ratio, high) = interval(&ratios);
        let speed = Speed {
            kernel: "k".into(),
            case: "k()".into(),
            accepted_ns: 1.0,
            ns: ratio,
            ratio,
            low,
            high,
            bytes: 1,
            copy_ns: 1.0,
        };
        compare::speed(&speed).is_some()
    }

    #[test]
    fn noise_is_no_change_and_a_tenth_slower_is() {
        for seed in 0..200 {
            assert!(!verdict(1.0, 0.05, seed) && !verdict(1.0, 0.2, seed), "seed {seed}");
            assert!(verdict(1.1, 0.05, seed), "seed {seed}");
        }
    }
}
