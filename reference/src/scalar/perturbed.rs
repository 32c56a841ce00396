//! One correct f32 kernel among many: random summation trees, random contraction, and every function pushed to an end of its
//! budget. What it answers must stay within the bound of [`Bounded`](super::Bounded): that is how the bound is tested.

use std::cell::{Cell, RefCell};
use std::ops::{Add, Mul, Neg, Sub};

use super::{Angle, Budget, Reduction, Scalar};

/// The step of the generator's counter.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

thread_local! {
    static STATE: Cell<u64> = const { Cell::new(STEP) };
    static CHOICES: RefCell<Option<Choices>> = const { RefCell::new(None) };
}

/// What an evaluation draws, kept so that it can be repeated with single choices changed.
struct Choices {
    list: Vec<u8>,
    next: usize,
}

/// The output function of `SplitMix64` (G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", 2014).
fn mix(counter: u64) -> u64 {
    let mixed = (counter ^ (counter >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The next number of the thread's generator.
fn generate() -> u64 {
    STATE.with(|state| {
        let next = state.get().wrapping_add(STEP);
        state.set(next);
        mix(next)
    })
}

/// The next number: from the list of choices where one is being followed, else from the generator.
fn draw() -> u64 {
    CHOICES.with_borrow_mut(|choices| {
        let Some(Choices { list, next }) = choices else { return generate() };
        if *next == list.len() {
            list.push(generate() as u8);
        }
        *next += 1;
        mix(u64::from(list[*next - 1]).wrapping_add(1).wrapping_mul(STEP))
    })
}

fn below(n: usize) -> usize {
    (draw() % n as u64) as usize
}

fn coin() -> bool {
    draw() & 1 == 1
}

/// A number in [−1, 1], every other time one of the ends.
fn push() -> f64 {
    match draw() % 4 {
        0 => -1.0,
        1 => 1.0,
        _ => (draw() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0,
    }
}

/// An ulp of the f32 binade that holds a value.
fn ulp(value: f64) -> f64 {
    let exponent = ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    2f64.powi(exponent.max(-126) - 23)
}

/// An f32 within `ulps` of `value`, a function's result for `argument`, drawn from all that the budget allows; correctly rounded
/// for half an ulp.
///
/// What a function answers for an argument that is not finite is fixed by the CUDA Math API (`expf(-inf)` is +0, `rsqrtf(inf)` is
/// +0), and none crosses zero within its error: an exponential that underflows is zero, not negative.
fn perturb(value: f64, argument: f64, ulps: f64) -> f32 {
    let nearest = value as f32;
    if !argument.is_finite() || !value.is_finite() || !nearest.is_finite() || ulps <= 0.5 {
        return nearest;
    }
    let sign = if value.is_sign_negative() { -1.0 } else { 1.0 };
    (f64::from(perturb_freely(value, ulps)) * sign).max(0.0) as f32 * sign as f32
}

fn perturb_freely(value: f64, ulps: f64) -> f32 {
    let nearest = value as f32;
    let candidate = (value + push() * ulps * ulp(value)) as f32;
    if (f64::from(candidate) - value).abs() <= ulps * ulp(value) {
        return candidate;
    }
    let inward = if f64::from(candidate) > value { candidate.next_down() } else { candidate.next_up() };
    if (f64::from(inward) - value).abs() <= ulps * ulp(value) { inward } else { nearest }
}

/// An f32 value of a kernel that makes random use of its freedom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Perturbed(pub f32);

impl Perturbed {
    /// Runs `body` with this thread's generator seeded, so that what it draws can be repeated.
    pub fn with_seed<R>(seed: u64, body: impl FnOnce() -> R) -> R {
        let before = STATE.replace(seed);
        let result = body();
        STATE.set(before);
        result
    }

    /// Runs `body` with its choices taken from a list, one byte each, in the order in which it asks for them: the shape of each tree,
    /// each contraction, form and end of a budget. Where the list ends, choices are drawn and appended; what is not asked for is dropped.
    ///
    /// A change of one byte changes one choice, and shifts the later ones where that choice asks for more or fewer.
    pub fn with_choices<R>(choices: &mut Vec<u8>, body: impl FnOnce() -> R) -> R {
        let before = CHOICES.replace(Some(Choices { list: std::mem::take(choices), next: 0 }));
        let result = body();
        if let Some(mut followed) = CHOICES.replace(before) {
            followed.list.truncate(followed.next);
            *choices = followed.list;
        }
        result
    }
}

impl Add for Perturbed {
    type Output = Self;

    fn add(self, rhs: Self) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl Sub for Perturbed {
    type Output = Self;

    fn sub(self, rhs: Self) -> Self {
        Self(self.0 - rhs.0)
    }
}

impl Mul for Perturbed {
    type Output = Self;

    fn mul(self, rhs: Self) -> Self {
        Self(self.0 * rhs.0)
    }
}

impl Neg for Perturbed {
    type Output = Self;

    fn neg(self) -> Self {
        Self(-self.0)
    }
}

/// What a lane adds up: a value, or a product that it may fuse into the addition.
#[derive(Clone, Copy)]
struct Term(f32, f32);

impl Term {
    fn add_to(self, sum: f32) -> f32 {
        if coin() { self.0.mul_add(self.1, sum) } else { sum + self.0 * self.1 }
    }
}

/// Adds one after the other, from zero.
fn sequential(terms: &[Term]) -> f32 {
    terms.iter().fold(0.0, |sum, term| term.add_to(sum))
}

/// Adds in a tree of random pairs, halving the number of parts each round: depth ⌈log₂ n⌉.
fn pairwise(mut parts: Vec<f32>) -> f32 {
    while parts.len() > 1 {
        shuffle(&mut parts);
        parts = parts.chunks(2).map(|pair| pair.iter().sum()).collect();
    }
    parts.first().copied().unwrap_or(0.0)
}

/// Adds random pairs until one is left: a tree of any depth up to n − 1.
fn any_tree(mut parts: Vec<f32>) -> f32 {
    while parts.len() > 1 {
        let a = parts.swap_remove(below(parts.len()));
        let b = below(parts.len());
        parts[b] += a;
    }
    parts.first().copied().unwrap_or(0.0)
}

fn shuffle<T>(items: &mut [T]) {
    for i in (1..items.len()).rev() {
        items.swap(i, below(i + 1));
    }
}

fn reduce(mut terms: Vec<Term>, reduction: Reduction) -> f32 {
    shuffle(&mut terms);
    let products = |terms: &[Term]| terms.iter().map(|t| t.0 * t.1).collect::<Vec<_>>();
    match reduction {
        Reduction::AnyOrder if coin() => sequential(&terms),
        Reduction::AnyOrder => any_tree(products(&terms)),
        Reduction::Warp => {
            // Lane l takes every 32nd term: ⌈n/32⌉ of them at most, the first added to zero.
            let per_lane = terms.len().div_ceil(32).max(1);
            pairwise(terms.chunks(per_lane).map(sequential).collect())
        }
        Reduction::Block => {
            let warps = terms.chunks(32).map(|warp| pairwise(products(warp))).collect();
            pairwise(warps)
        }
    }
}

impl Scalar for Perturbed {
    type Row = Vec<Self>;

    const WEIGHS_FORMS: bool = true;

    fn exact(value: f64) -> Self {
        Self(value as f32)
    }

    fn value(self) -> f64 {
        f64::from(self.0)
    }

    fn div(self, rhs: Self, budget: &Budget) -> Self {
        let special = if self.value().is_finite() { rhs.value() } else { self.value() };
        Self(perturb(self.value() / rhs.value(), special, budget.div))
    }

    fn sqrt(self, budget: &Budget) -> Self {
        Self(perturb(self.value().sqrt(), self.value(), budget.sqrt))
    }

    fn rsqrt(self, budget: &Budget) -> Self {
        Self(perturb(1.0 / self.value().sqrt(), self.value(), budget.rsqrt))
    }

    fn exp(self, budget: &Budget) -> Self {
        Self(perturb(self.value().exp(), self.value(), budget.exp))
    }

    fn log1p(self, budget: &Budget) -> Self {
        Self(perturb(self.value().ln_1p(), self.value(), budget.log1p))
    }

    fn sin_cos(angle: Angle, budget: &Budget) -> (Self, Self) {
        // The frequency's error first, then the one rounding of the reduced angle, as `Angle::kernel_error` allows.
        let exact = angle.radians().to_f64();
        let spread = angle.kernel_error() - super::U * exact.abs();
        let held = (exact + push() * spread / (1.0 + super::U)) as f32;
        let (sin, cos) = f64::from(held).sin_cos();
        (Self(perturb_freely(sin, budget.sin_cos)), Self(perturb_freely(cos, budget.sin_cos)))
    }

    fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }

    fn abs(self) -> Self {
        Self(self.0.abs())
    }

    fn mul_add(self, a: Self, b: Self) -> Self {
        Self(Term(self.0, a.0).add_to(b.0))
    }

    fn sum<I>(terms: I, reduction: Reduction) -> Self
    where
        I: Iterator<Item = Self> + Clone,
    {
        Self(reduce(terms.map(|term| Term(term.0, 1.0)).collect(), reduction))
    }

    fn dot(a: &[Self], b: &[Self], reduction: Reduction) -> Self {
        Self(reduce(a.iter().zip(b).map(|(x, y)| Term(x.0, y.0)).collect(), reduction))
    }

    fn or_form(self, form: impl FnOnce() -> Self) -> Self {
        if coin() { self } else { form() }
    }

    fn or_covered_form(self, _: Option<f64>, form: impl FnOnce() -> Self) -> Self {
        self.or_form(form)
    }
}
