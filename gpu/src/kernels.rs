//! The kernels' published sources: plain CUDA C++ that NVRTC and nvcc both take without a header.

use crate::contract::Source;
use crate::executor::{Code, Program};

/// `gdn_*` and `lgx_*`: the gated delta rule, the gated RMSNorm with its int8 epilogues, and the shared device functions.
pub const GDN_KERNELS: &str = concat!(
    include_str!("../kernels/reduce.cu"),
    include_str!("../kernels/quantize.cu"),
    include_str!("../kernels/delta_rule.cu"),
    include_str!("../kernels/gated_rms_norm.cu"),
    include_str!("../kernels/device_test.cu"),
);

/// `gk_*`: convolution, L2 norm, gates, q/k norm with `RoPE`, output gate.
pub const QWEN38_KERNELS: &str = concat!(
    include_str!("../kernels/reduce.cu"),
    include_str!("../kernels/causal_conv.cu"),
    include_str!("../kernels/l2_norm.cu"),
    include_str!("../kernels/gates.cu"),
    include_str!("../kernels/qk_norm_rope.cu"),
    include_str!("../kernels/output_gate.cu"),
);

/// What measures the functions of a budget, behind the shipped device functions that it measures; see [`crate::probe`].
pub const PROBE_KERNELS: &str = concat!(
    include_str!("../kernels/reduce.cu"),
    include_str!("../kernels/qk_norm_rope.cu"),
    include_str!("../kernels/probe.cu"),
);

/// The shipped program that holds a source's kernels.
pub fn program(source: Source) -> Program {
    Program { name: source.name().into(), code: Code::Cuda(source.text().into()) }
}
