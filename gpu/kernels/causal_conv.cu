// Depthwise causal convolution of one token with a carried ring, then silu; a thread a channel.
//
// cs[T,C]: row t becomes row t + 1 and x the last, so the newest is last and pairs with the last tap. y = silu(sum_t wc*cs).

// One channel: shifts its ring and returns its silu.
static __device__ float gk_conv_channel(
    float x, const float* __restrict__ wc, float* __restrict__ cs, int c, int C, int T) {
    float sum = 0.0f;
    for (int t = 0; t < T; ++t) {
        const long long at = (long long)t * C + c;
        const float tap = t + 1 < T ? cs[at + C] : x;
        cs[at] = tap;
        sum += wc[at] * tap;
    }
    return sum * gdn_sigmoid(sum);
}

extern "C" __global__ void gk_conv_silu(
    const float* __restrict__ x, const float* __restrict__ wc, float* __restrict__ cs, float* __restrict__ y,
    int C, int T) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < C) {
        y[c] = gk_conv_channel(x[c], wc, cs, c, C, T);
    }
}

// A block a chunk of D = C/gridDim.x channels; the first nl2 chunks are L2-normalized after silu: y/sqrt(sum y^2 + eps).
extern "C" __global__ void __launch_bounds__(1024) gk_conv_silu_l2(
    const float* __restrict__ x, const float* __restrict__ wc, float* __restrict__ cs, float* __restrict__ y,
    int C, int T, int nl2, float eps) {
    const int D = C / gridDim.x;
    const int i = threadIdx.x;
    const int c = blockIdx.x * D + i;
    const bool inside = i < D;
    float value = inside ? gk_conv_channel(x[c], wc, cs, c, C, T) : 0.0f;
    if ((int)blockIdx.x < nl2) {  // the same for the whole block, so its barriers are met by all
        value *= rsqrtf(gdn_block_sum(value * value) + eps);
    }
    if (inside) {
        y[c] = value;
    }
}
