// L2 norm of each head in place: x/sqrt(sum x^2 + eps), eps inside the root and added to the sum; a block a head.
//
// A zero head gives zeros, and so does one whose sum of squares overflows (norm above 1.8e19): x * rsqrt(inf).

extern "C" __global__ void __launch_bounds__(1024) gk_l2norm_heads(float* x, int D, float eps) {
    const int i = threadIdx.x;
    const bool inside = i < D;
    float* head = x + (long long)blockIdx.x * D;
    const float value = inside ? head[i] : 0.0f;
    const float r = rsqrtf(gdn_block_sum(value * value) + eps);
    if (inside) {
        head[i] = value * r;
    }
}
