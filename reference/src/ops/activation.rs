//! Sigmoid, silu and softplus: the activations that the kernels share, each with the forms that kernels give it.

use crate::{Budget, Scalar};

/// The logistic function 1/(1 + e^(−x)).
///
/// Accepted forms: 1/(1 + e^(−x)) everywhere, and e^x/(1 + e^x) for negative x. The first overflows f32 inside below x = −88.7 and
/// answers 0, where the second may still answer a subnormal: both are accepted there, NaN is not. For positive x the second form
/// overflows to ∞/∞ and is a fault.
pub fn sigmoid<T: Scalar>(x: T, budget: &Budget) -> T {
    let main = (-x).recip_one_plus_exp(budget);
    if x.value() < 0.0 {
        main.or_form(|| {
            let exp = x.exp(budget);
            exp.div(T::exact(1.0) + exp, budget)
        })
    } else {
        main
    }
}

/// x·sigmoid(x).
///
/// The other accepted form, x/(1 + e^(−x)), is covered: it has the same roundings but one. Below x = −88.7 it answers −0, within
/// |x|·(bound of the sigmoid), which covers 0 there.
pub fn silu<T: Scalar>(x: T, budget: &Budget) -> T {
    (x * sigmoid(x, budget)).or_covered_form(None, || x.div(T::exact(1.0) + (-x).exp(budget), budget))
}

/// ln(1 + e^u), right for every finite u.
///
/// Accepted forms: max(u, 0) + ln1p(e^(−|u|)), and ln1p(e^u) with u itself above 20 (the threshold of the model's own
/// implementation; ln(1 + e^u) − u is 2e-9 there, a thousandth of an ulp).
pub fn softplus<T: Scalar>(u: T, budget: &Budget) -> T {
    let main = u.max(T::exact(0.0)) + (-u.abs()).exp(budget).log1p(budget);
    main.or_form(|| if u.value() > 20.0 { u } else { u.exp(budget).log1p(budget) })
}
