//! Sigmoid, silu and softplus in the forms that kernels use.

use crate::scalar::{Budget, Scalar};

/// Below this e⁻ˣ comes near the largest f32, e^88.72: half an ulp of the argument and the 2 ulp of the exponential stay
/// within the margin.
pub(super) const NEAR_OVERFLOW: f64 = -87.3;

/// 1/(1 + e⁻ˣ).
///
/// Forms: 1/(1 + e⁻ˣ), and eˣ/(1 + eˣ) for x < 0. Below −88.72 e⁻ˣ overflows and the first form gives exactly 0, where the
/// value is a subnormal number of at most 2.9e-39: from −87.3 on (where e⁻ˣ comes near the largest f32) both 0 and the value are accepted, and all between.
pub fn sigmoid<T: Scalar>(x: T, budget: &Budget) -> T {
    let one = T::exact(1.0);
    if x.value() < NEAR_OVERFLOW {
        let grown = x.exp(budget);
        return grown.div(one + grown, budget).or_form(|| T::exact(0.0));
    }
    let grown = (-x).exp(budget);
    let value = one.div(one + grown, budget);
    if x.value() >= 0.0 {
        return value;
    }
    value.or_form(|| {
        let grown = x.exp(budget);
        grown.div(one + grown, budget)
    })
}

/// x·sigmoid(x), as that product or as x/(1 + e⁻ˣ).
pub fn silu<T: Scalar>(x: T, budget: &Budget) -> T {
    (x * sigmoid(x, budget)).or_form(|| {
        if x.value() < NEAR_OVERFLOW || x.value().is_nan() || x.value().is_infinite() {
            return x * sigmoid(x, budget);
        }
        x.div(T::exact(1.0) + (-x).exp(budget), budget)
    })
}

/// ln(1 + eᵘ).
///
/// Forms: max(u, 0) + log1p(e^−|u|), right for every finite u; and log1p(eᵘ) with u itself above 20, where the two differ by
/// e⁻²⁰ = 2.1e-9 < u·2⁻²⁸, less than the rounding of u.
pub fn softplus<T: Scalar>(u: T, budget: &Budget) -> T {
    let value = u.max(T::exact(0.0)) + (-u.abs()).exp(budget).log1p(budget);
    value.or_form(|| if u.value() > 20.0 { u } else { u.exp(budget).log1p(budget) })
}
