// The two gates of the delta rule: beta = sigmoid(br), decay = exp(rate*softplus(ar + dt)); a thread a head.
//
// rate is -exp(A_log) already. softplus(u) = max(u, 0) + log1p(exp(-|u|)) neither overflows above 88.7 nor loses its digits
// below -16.6, so the decay is right for every finite u, and rate 0 meets no infinity.

extern "C" __global__ void gk_gdn_gates(
    const float* __restrict__ br, const float* __restrict__ ar, const float* __restrict__ dt,
    const float* __restrict__ rate, float* __restrict__ beta, float* __restrict__ decay, int HV) {
    const int h = blockIdx.x * blockDim.x + threadIdx.x;
    if (h >= HV) {
        return;
    }
    beta[h] = gdn_sigmoid(br[h]);
    const float u = ar[h] + dt[h];
    // Not fmaxf: it would turn a NaN into 0.
    const float positive = u < 0.0f ? 0.0f : u;
    decay[h] = expf(rate[h] * (positive + log1pf(expf(-fabsf(u)))));
}
