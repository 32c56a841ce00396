// RMSNorm of each head of the row at base + pos*stride over hd, times nw; then dims (i, i + rot/2), i < rot/2, are rotated by
// pos*rbase^(-2i/rot). Dims from rot on are normalized and not rotated. A block a head, in place.
//
// The angle is formed and reduced in double and rounded to float once: an f32 angle is off by 1e-2 rad at position 262143.

// The angle of pair i, reduced to [-pi, pi].
static __device__ float gk_rotary_angle(int pos, int i, int rot, float rbase) {
    const double frequency = exp2(-(2.0 * i / rot) * log2((double)rbase));
    const double angle = pos * frequency;
    const double turns = rint(angle * 0.15915494309189535);
    // 2*pi in two parts: the first has 33 bits, so its product with fewer than 2^20 turns is exact.
    const double rest = fma(-turns, 6.2831853069365025, angle);
    return (float)fma(-turns, 2.4308402e-10, rest);
}

extern "C" __global__ void __launch_bounds__(1024) gk_qk_norm_rope_part(
    float* base, const int* __restrict__ d_pos, int stride, const float* __restrict__ nw, int n_heads, int hd, int rot,
    float rbase, float eps) {
    __shared__ float normed[1024];
    const int i = threadIdx.x;
    const bool inside = i < hd && (int)blockIdx.x < n_heads;
    const int pos = *d_pos;
    float* head = base + (long long)pos * stride + (long long)blockIdx.x * hd;

    const float x = inside ? head[i] : 0.0f;
    const float r = rsqrtf(gdn_block_sum(x * x) / (float)hd + eps);
    if (inside) {
        normed[i] = x * r * nw[i];
    }
    __syncthreads();
    const int half = rot / 2;
    if (i < half && inside) {
        const float angle = gk_rotary_angle(pos, i, rot, rbase);
        const float sine = sinf(angle);
        const float cosine = cosf(angle);
        const float first = normed[i];
        const float second = normed[i + half];
        head[i] = first * cosine - second * sine;
        head[i + half] = second * cosine + first * sine;
    } else if (i >= rot && inside) {
        head[i] = normed[i];
    }
}
