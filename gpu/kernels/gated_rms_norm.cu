// RMSNorm of each head, then the silu gate: gn*o/sqrt(mean(o^2)+eps) * silu(z); a block a head, a thread an element.
//
// The two int8 epilogues quantize the f32 that is stored, in groups of 32 (a warp each): D is a multiple of 32, so that no
// group straddles heads, and all three kernels write the same bits to out.

// The value of this thread's element. Explicit roundings, so that no contraction differs between the three kernels.
static __device__ float gdn_gate_norm_value(float z, float gn, float o, int D, float eps) {
    const float mean = __fdiv_rn(gdn_block_sum(__fmul_rn(o, o)), (float)D);
    const float r = rsqrtf(__fadd_rn(mean, eps));
    const float silu = __fmul_rn(z, gdn_sigmoid(z));
    return __fmul_rn(__fmul_rn(gn, __fmul_rn(o, r)), silu);
}

extern "C" __global__ void __launch_bounds__(1024) gdn_gate_norm(
    const float* __restrict__ z, const float* __restrict__ gn, const float* __restrict__ o, float* __restrict__ out,
    int D, float eps) {
    const int i = threadIdx.x;
    const bool inside = i < D;
    const long long at = (long long)blockIdx.x * D + i;
    const float value = gdn_gate_norm_value(
        inside ? z[at] : 0.0f, inside ? gn[i] : 0.0f, inside ? o[at] : 0.0f, D, eps);
    if (inside) {
        out[at] = value;
    }
}

extern "C" __global__ void __launch_bounds__(1024) gdn_gate_norm_q(
    const float* __restrict__ z, const float* __restrict__ gn, const float* __restrict__ o, float* __restrict__ out,
    signed char* __restrict__ xq, float* __restrict__ xs, int D, float eps) {
    const int i = threadIdx.x;
    const long long at = (long long)blockIdx.x * D + i;
    const float value = gdn_gate_norm_value(z[at], gn[i], o[at], D, eps);
    float scale;
    const float t = gdn_group_units(value, &scale);
    out[at] = value;
    xq[at] = (signed char)rintf(t);
    if ((i & 31) == 0) {
        xs[at / 32] = scale;
    }
}

extern "C" __global__ void __launch_bounds__(1024) gdn_gate_norm_hl(
    const float* __restrict__ z, const float* __restrict__ gn, const float* __restrict__ o, float* __restrict__ out,
    signed char* __restrict__ xq, signed char* __restrict__ xl, float* __restrict__ xs, int D, float eps) {
    const int i = threadIdx.x;
    const long long at = (long long)blockIdx.x * D + i;
    const float value = gdn_gate_norm_value(z[at], gn[i], o[at], D, eps);
    float scale;
    const float t = gdn_group_units(value, &scale);
    out[at] = value;
    const long long head = (long long)blockIdx.x * D;
    lgx_q8hl(t, xq + head, xl + head, i);
    if ((i & 31) == 0) {
        xs[at / 32] = scale;
    }
}
