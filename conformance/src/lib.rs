//! Numerical conformance of gated-delta-rule GPU kernels: cases, verdicts, reports and the command line.
#![forbid(unsafe_code)]
