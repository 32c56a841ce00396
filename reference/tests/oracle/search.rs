//! How near correct evaluations come to their bounds. Random inputs rarely show it; a search does: it changes inputs and the
//! evaluation's choices (tree shapes, contractions, forms, ends of the functions' budgets) one by one and keeps what raises the
//! utilization. Nothing it finds may exceed 1, and for each output it must find much: a bound that nothing comes near is idle.
//!
//! What it found is kept in `golden/witnesses.txt`. Each test run evaluates those again, which takes no time and gives the reviewed
//! table, and searches for a few seconds from scratch. To search on from the witnesses and rewrite them:
//!
//! ```text
//! SEARCH_EFFORT=30 cargo test --release -p gdn-reference --test oracle -- search --ignored
//! ```

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use crate::common::Draw;
use crate::common::ops::{Buffer, Op};
use gdn_reference::{Bounded, Perturbed};

/// Where the search looks: small sizes, because a bound over many terms is reached only where all of them err alike.
const PLACES: [Op; 21] = [
    Op::CausalConv { channels: 1, taps: 1 },
    Op::CausalConv { channels: 1, taps: 2 },
    Op::CausalConv { channels: 1, taps: 4 },
    Op::L2Norm { heads: 1, d: 1 },
    Op::L2Norm { heads: 1, d: 2 },
    Op::L2Norm { heads: 1, d: 16 },
    Op::Gates { heads: 1 },
    Op::DeltaRule { hk: 1, hv: 1, d: 1 },
    Op::DeltaRule { hk: 1, hv: 1, d: 2 },
    Op::DeltaRule { hk: 1, hv: 1, d: 4 },
    Op::DeltaRule { hk: 1, hv: 2, d: 9 },
    Op::GatedRmsNorm { hv: 1, d: 1 },
    Op::GatedRmsNorm { hv: 1, d: 2 },
    Op::GatedRmsNorm { hv: 1, d: 16 },
    Op::QkNormRope { heads: 1, hd: 3, rot: 2, position: 1, base: 1e4 },
    Op::QkNormRope { heads: 1, hd: 5, rot: 4, position: 2047, base: 1e7 },
    Op::QkNormRope { heads: 1, hd: 5, rot: 4, position: 1_048_575, base: 1e7 },
    Op::QkNormRope { heads: 2, hd: 16, rot: 8, position: 131_071, base: 1e4 },
    Op::OutputGate { n: 1 },
    Op::Quantize { n: 1 },
    Op::Quantize { n: 3 },
];

/// Outputs that are moved and not computed: their bound is zero, and the precision test compares them.
const COPIES: [&str; 1] = ["ring"];

/// Which values count. At the ends of the range a bound is reached with ease: half the smallest subnormal is all that it consists of, or
/// zero is an accepted form of a tiny number. That says nothing of the roundings between, so those are searched for apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Range {
    /// Every value.
    All,
    /// Values of magnitude [`ORDINARY`] and more.
    Ordinary,
}

const RANGES: [Range; 2] = [Range::All, Range::Ordinary];

/// Far above what subnormal intermediates can move.
const ORDINARY: f64 = 1.0 / (1_u64 << 60) as f64;

impl Range {
    fn holds(self, value: f64) -> bool {
        self == Self::All || value.abs() >= ORDINARY
    }
}

/// What is searched for: an evaluation of an output at a place, with values of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Goal {
    op: Op,
    output: &'static str,
    range: Range,
}

/// Outputs that are whole numbers, in their range or not: how near they come to its ends says nothing.
const WHOLE: [&str; 1] = ["codes"];

/// One evaluation: the inputs, and the choices made on the way.
#[derive(Clone, Debug, Default, PartialEq)]
struct Evaluation {
    inputs: Vec<Vec<f32>>,
    choices: Vec<u8>,
}

/// The nearest that an evaluation of one output came to its bound.
#[derive(Clone, Debug)]
struct Witness {
    goal: Goal,
    utilization: f64,
    evaluation: Evaluation,
}

fn outputs(op: Op) -> Vec<&'static str> {
    let zeros: Vec<Vec<f32>> = op.buffers().iter().map(|buffer| vec![0.0; buffer.len]).collect();
    let names = op.evaluate::<f64>(&zeros, &op.budget()).into_iter().map(|(name, _)| name);
    names.filter(|name| !COPIES.contains(name)).collect()
}

fn goals() -> Vec<Goal> {
    let of = |op: Op| {
        let outputs = outputs(op).into_iter();
        outputs.flat_map(move |output| RANGES.map(|range| Goal { op, output, range }))
    };
    PLACES.into_iter().flat_map(of).collect()
}

fn bounds(goal: Goal, inputs: &[Vec<f32>]) -> Vec<Bounded> {
    let results = goal.op.evaluate::<Bounded>(inputs, &goal.op.budget());
    results.into_iter().find(|(name, _)| *name == goal.output).map(|(_, values)| values).unwrap_or_default()
}

/// The highest utilization of an output's elements, following the evaluation's choices.
fn utilization(goal: Goal, bounds: &[Bounded], evaluation: &mut Evaluation) -> f64 {
    let Evaluation { inputs, choices } = evaluation;
    let results = Perturbed::with_choices(choices, || goal.op.evaluate::<Perturbed>(inputs, &goal.op.budget()));
    let values = results.iter().find(|(name, _)| *name == goal.output).map(|(_, values)| values.as_slice());
    let pairs = bounds.iter().zip(values.unwrap_or_default()).filter(|(bound, _)| goal.range.holds(bound.value));
    pairs.map(|(bound, got)| bound.utilization(got.0)).fold(0.0, f64::max)
}

/// A number of a magnitude that is itself random: mostly ordinary, sometimes anything.
fn draw_number(draw: &mut Draw, buffer: &Buffer) -> f32 {
    let x = match draw.bits() % 16 {
        0 => f32::from_bits(draw.bits() as u32),
        1 => [0.0, 1.0, -1.0, 0.5, 20.0, -88.5, -17.0, f32::MIN_POSITIVE][(draw.bits() % 8) as usize],
        2..5 => (draw.normal() * 10f64.powi((draw.bits() % 13) as i32 - 6)) as f32,
        _ => draw.normal() as f32,
    };
    (buffer.domain)(x)
}

/// Changes one input a little or a lot.
fn move_input(draw: &mut Draw, buffers: &[Buffer], inputs: &mut [Vec<f32>]) {
    // Buffers first, so that a large one does not take all the moves.
    let b = (draw.bits() % buffers.len() as u64) as usize;
    let i = (draw.bits() % buffers[b].len as u64) as usize;
    let x = inputs[b][i];
    let bits = x.to_bits();
    let moved = match draw.bits() % 10 {
        0..4 => {
            let step = 1 + (draw.bits() as u32 & ((1 << (draw.bits() % 22)) - 1));
            f32::from_bits(if draw.bits() & 1 == 0 { bits.wrapping_add(step) } else { bits.wrapping_sub(step) })
        }
        4 => f32::from_bits((bits & 0xff80_0000) | (draw.bits() as u32 & 0x007f_ffff)),
        // Just beside a power of two, where an ulp is the largest part of the number.
        5 => f32::from_bits((bits & 0xff80_0000) | (draw.bits() as u32 & 0x0000_000f)),
        6 => x * if draw.bits() & 1 == 0 { 2.0 } else { 0.5 },
        7 => -x,
        8 => inputs[b][(draw.bits() % buffers[b].len as u64) as usize],
        _ => draw_number(draw, &buffers[b]),
    };
    inputs[b][i] = (buffers[b].domain)(moved);
}

fn move_choice(draw: &mut Draw, choices: &mut [u8]) {
    if !choices.is_empty() {
        let i = (draw.bits() % choices.len() as u64) as usize;
        choices[i] = draw.bits() as u8;
    }
}

/// Threshold accepting (G. Dueck, T. Scheuer, 1990): a move that loses less than a shrinking threshold is taken, and the best is kept.
fn search(goal: Goal, from: Option<&Evaluation>, seed: u64, steps: usize) -> Witness {
    let mut draw = Draw::new(seed);
    let buffers = goal.op.buffers();
    let start = from.cloned().unwrap_or_else(|| Evaluation {
        inputs: buffers.iter().map(|b| (0..b.len).map(|_| draw_number(&mut draw, b)).collect()).collect(),
        choices: Vec::new(),
    });
    Perturbed::with_seed(seed, || {
        let mut at = start;
        let mut at_bounds = bounds(goal, &at.inputs);
        let mut at_utilization = utilization(goal, &at_bounds, &mut at);
        let mut best = Witness { goal, utilization: at_utilization, evaluation: at.clone() };
        for step in 0..steps {
            let mut next = at.clone();
            let kind = draw.bits() % 8;
            for _ in 0..=(draw.bits() % 3) {
                if kind != 0 {
                    move_choice(&mut draw, &mut next.choices);
                }
                if kind < 4 {
                    move_input(&mut draw, &buffers, &mut next.inputs);
                }
            }
            let moved = (next.inputs != at.inputs).then(|| bounds(goal, &next.inputs));
            let found = utilization(goal, moved.as_ref().unwrap_or(&at_bounds), &mut next);
            let left = 1.0 - step as f64 / steps as f64;
            if found >= at_utilization - 0.1 * left * left {
                at_utilization = found;
                at = next;
                at_bounds = moved.unwrap_or(at_bounds);
            }
            if at_utilization > best.utilization {
                best.utilization = at_utilization;
                best.evaluation = at.clone();
            }
        }
        best
    })
}

/// The best of several searches in all places of an output, each with `steps` steps, over the machine's cores.
fn search_everywhere(rounds: u64, steps: usize, from: &[Witness]) -> Vec<Witness> {
    let mut jobs: Vec<(Goal, Option<&Evaluation>, u64)> = Vec::new();
    for (number, goal) in goals().into_iter().enumerate() {
        for round in 0..rounds {
            // Every other round goes on from what is known.
            let known = from.iter().find(|witness| round % 2 == 1 && witness.goal == goal);
            jobs.push((goal, known.map(|witness| &witness.evaluation), 1000 * number as u64 + round));
        }
    }
    let next = std::sync::atomic::AtomicUsize::new(0);
    let take = || jobs.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
    let work = || {
        let mut found = Vec::new();
        while let Some(&(goal, from, seed)) = take() {
            found.push(search(goal, from, seed, steps));
        }
        found
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut found: Vec<Witness> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a search does not panic")).collect()
    });
    found.extend_from_slice(from);
    best(found)
}

/// The best witness of each goal, in order.
fn best(found: Vec<Witness>) -> Vec<Witness> {
    let goals = goals();
    let mut best: BTreeMap<usize, Witness> = BTreeMap::new();
    for witness in found {
        let number = goals.iter().position(|goal| *goal == witness.goal).expect("nothing else is searched for");
        // Of equals the one with fewer choices, so that the order of the threads does not matter.
        let rank = |w: &Witness| (w.utilization, std::cmp::Reverse(w.evaluation.choices.clone()));
        match best.get(&number) {
            Some(kept) if rank(kept) >= rank(&witness) => {}
            _ => {
                best.insert(number, witness);
            }
        }
    }
    best.into_values().collect()
}

/// Operation × output × highest utilization over its places, of all values and of ordinary ones.
fn table(witnesses: &[Witness]) -> Vec<(&'static str, &'static str, [f64; 2])> {
    let mut table: Vec<(&'static str, &'static str, [f64; 2])> = Vec::new();
    for Witness { goal, utilization, .. } in witnesses {
        let place = table.iter().position(|row| (row.0, row.1) == (goal.op.name(), goal.output));
        let place = place.unwrap_or_else(|| {
            table.push((goal.op.name(), goal.output, [0.0; 2]));
            table.len() - 1
        });
        let kept = &mut table[place].2[goal.range as usize];
        *kept = kept.max(*utilization);
    }
    table
}

fn text(table: &[(&'static str, &'static str, [f64; 2])]) -> String {
    let head = "op               output    all  ordinary\n".to_owned();
    table.iter().fold(head, |mut text, (op, output, [all, ordinary])| {
        let _ = writeln!(text, "{op:<16} {output:<8} {all:.2}  {ordinary:.2}");
        text
    })
}

fn assert_sound_and_sharp(witnesses: &[Witness]) {
    let refused: Vec<_> = witnesses.iter().filter(|witness| witness.utilization > 1.0).map(line).collect();
    assert!(refused.is_empty(), "correct evaluations are refused:\n{}", refused.concat());
    for (op, output, utilization) in table(witnesses).into_iter().filter(|row| !WHOLE.contains(&row.1)) {
        for (range, utilization) in RANGES.into_iter().zip(utilization) {
            assert!(utilization > 0.25, "{op} {output} {range:?}: nothing comes nearer than {utilization}");
        }
    }
}

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../golden/witnesses.txt")
}

/// A line of the file: the place, the output, the inputs as hexadecimal bits, buffers apart, and the choices as bytes.
fn line(witness: &Witness) -> String {
    let buffer = |x: &Vec<f32>| x.iter().map(|x| format!("{:08x}", x.to_bits())).collect::<Vec<_>>().join(",");
    let inputs: Vec<String> = witness.evaluation.inputs.iter().map(buffer).collect();
    let choices = witness.evaluation.choices.iter().fold(String::new(), |mut text, choice| {
        let _ = write!(text, "{choice:02x}");
        text
    });
    let Goal { op, output, range } = witness.goal;
    format!("{op:?} | {output} | {range:?} | {} | {choices}\n", inputs.join(" "))
}

/// The witnesses on record.
fn witnesses() -> Vec<Witness> {
    read(&std::fs::read_to_string(file()).unwrap_or_default())
}

/// Reads witnesses, a line each, and evaluates them.
fn read(text: &str) -> Vec<Witness> {
    let goals = goals();
    let parse = |line: &str| {
        let (goal, evaluation) = line.rsplit_once(" | ").and_then(|(rest, choices)| {
            let (goal, inputs) = rest.rsplit_once(" | ")?;
            Some((goal, (inputs, choices)))
        })?;
        let goal = goals
            .iter()
            .copied()
            .find(|Goal { op, output, range }| format!("{op:?} | {output} | {range:?}") == goal)?;
        let (inputs, choices) = evaluation;
        let number = |x: &str| u32::from_str_radix(x, 16).ok().map(f32::from_bits);
        let inputs =
            inputs.split(' ').map(|buffer| buffer.split(',').map(number).collect()).collect::<Option<Vec<_>>>()?;
        let choices = choices.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
        let choices = choices.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect::<Option<Vec<_>>>()?;
        let mut evaluation = Evaluation { inputs, choices };
        let bounds = bounds(goal, &evaluation.inputs);
        let utilization = Perturbed::with_seed(1, || utilization(goal, &bounds, &mut evaluation));
        Some(Witness { goal, utilization, evaluation })
    };
    text.lines().map(|line| parse(line).unwrap_or_else(|| panic!("not a witness of any place: {line}"))).collect()
}

fn effort() -> usize {
    std::env::var("SEARCH_EFFORT").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

#[test]
fn nothing_that_a_search_finds_exceeds_its_bound_and_no_bound_is_idle() {
    let found = search_everywhere(2, 2000 * effort(), &[]);
    print!("{}", text(&table(&found)));
    assert_sound_and_sharp(&found);
}

#[test]
fn the_nearest_known_evaluations_come_as_near_to_their_bounds_as_accepted() {
    let known = witnesses();
    assert_sound_and_sharp(&known);
    let missing: Vec<_> = goals().into_iter().filter(|goal| !known.iter().any(|w| w.goal == *goal)).collect();
    assert!(missing.is_empty(), "no witness of {missing:?}: run the search as this file's head says");
    insta::with_settings!({snapshot_path => "../../../golden/snapshots", prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!("highest_utilization", text(&table(&known)));
    });
}

#[test]
#[ignore = "searches for minutes and rewrites golden/witnesses.txt"]
fn witnesses_are_searched_for() {
    let found = search_everywhere(6, 4000 * effort(), &witnesses());
    assert_sound_and_sharp(&found);
    print!("{}", text(&table(&found)));
    std::fs::write(file(), found.iter().map(line).collect::<String>()).expect("golden/ can be written");
}
