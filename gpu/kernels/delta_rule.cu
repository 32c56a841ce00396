// The gated delta rule, one token: delta = beta*(v - decay*S*k); S <- decay*S + delta k^T; o = S*q/sqrt(D).
//
// Grid (HV, ceil(D/4)), block 128: one warp a row of a head's state (row = value index). Value head h reads key head h % HK.
// A lane holds elements lane, lane + 32, ... of its row in registers: the loop has a constant count, so that nothing is
// indexed at run time and nothing goes to local memory. The prediction uses the decayed state.

#define GDN_STEP_MOST 8  // 256/32 elements a lane

extern "C" __global__ void __launch_bounds__(128) gdn_step(
    const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ v,
    const float* __restrict__ beta, const float* __restrict__ decay, float* __restrict__ S, float* __restrict__ o,
    int D, int HK) {
    const int h = blockIdx.x;
    const int row = blockIdx.y * 4 + (threadIdx.x >> 5);
    const int lane = threadIdx.x & 31;
    if (row >= D) {
        return;  // a whole warp, and no barrier follows
    }
    const long long key = (long long)(h % HK) * D;
    const long long value = (long long)h * D + row;
    float* state = S + value * D;
    const float alpha = decay[h];

    float s[GDN_STEP_MOST], kr[GDN_STEP_MOST];
    float prediction = 0.0f;
#pragma unroll
    for (int i = 0; i < GDN_STEP_MOST; ++i) {
        const int j = lane + 32 * i;
        const bool inside = j < D;
        s[i] = inside ? alpha * state[j] : 0.0f;
        kr[i] = inside ? k[key + j] : 0.0f;
        prediction += s[i] * kr[i];
    }
    const float delta = beta[h] * (v[value] - gdn_warp_sum(prediction));

    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < GDN_STEP_MOST; ++i) {
        const int j = lane + 32 * i;
        if (j < D) {
            s[i] += delta * kr[i];
            state[j] = s[i];
            sum += s[i] * q[key + j];
        }
    }
    sum = gdn_warp_sum(sum);
    if (lane == 0) {
        o[value] = sum * (1.0f / sqrtf((float)D));
    }
}
