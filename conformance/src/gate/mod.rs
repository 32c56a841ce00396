//! The gate: what is measured of the working kernels, beside what was accepted.
//!
//! Everything measured is a fact: a kernel, an aspect, a place and a value in words. A [`baseline`] is a file of facts, [`measure`]
//! takes them, [`compare`] says what each difference means, and [`speed`] times the accepted kernel beside the new one.

use std::collections::BTreeMap;

use crate::report::Aspect;

pub mod baseline;
pub mod compare;
pub mod measure;
mod ptxas;
pub mod speed;

/// Values by place: an output and a regime, a case, a resource, a term.
pub type Places = BTreeMap<String, String>;

/// What is known of a kernel.
pub type Facts = BTreeMap<Aspect, Places>;
