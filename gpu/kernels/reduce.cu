// Sums over a warp and over a block, shared by the kernels. Every lane and every thread gets the result.
//
// A full-mask shuffle that names a lane which does not exist is undefined: blocks are whole warps, and threads past the data
// bring zeros.
#ifndef GDN_REDUCE_CU
#define GDN_REDUCE_CU

#define GDN_FULL_MASK 0xffffffffu

// Sum of v over the warp: a butterfly of 5 levels, after which all lanes hold the same bits.
extern "C" __device__ float gdn_warp_sum(float v) {
    for (int offset = 16; offset > 0; offset >>= 1) {
        v += __shfl_xor_sync(GDN_FULL_MASK, v, offset);
    }
    return v;
}

// Three sums over the block in one pass: 5 levels in each warp, then a tree over the warps.
// Safe to call again in the same kernel: the last barrier is passed only when all have read the scratch.
extern "C" __device__ void gdn_block_sum3(float a, float b, float c, float* oa, float* ob, float* oc) {
    __shared__ float scratch[3][32];
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;
    const int warps = blockDim.x >> 5;
    a = gdn_warp_sum(a);
    b = gdn_warp_sum(b);
    c = gdn_warp_sum(c);
    if (lane == 0) {
        scratch[0][warp] = a;
        scratch[1][warp] = b;
        scratch[2][warp] = c;
    }
    __syncthreads();
    *oa = gdn_warp_sum(lane < warps ? scratch[0][lane] : 0.0f);
    *ob = gdn_warp_sum(lane < warps ? scratch[1][lane] : 0.0f);
    *oc = gdn_warp_sum(lane < warps ? scratch[2][lane] : 0.0f);
    __syncthreads();
}

// Sum of v over the block.
static __device__ float gdn_block_sum(float v) {
    float sum, unused_b, unused_c;
    gdn_block_sum3(v, 0.0f, 0.0f, &sum, &unused_b, &unused_c);
    return sum;
}

// 1/(1 + e^-x) without overflow: the exponential of a number that is not positive.
static __device__ float gdn_sigmoid(float x) {
    const float e = expf(-fabsf(x));
    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

#endif
