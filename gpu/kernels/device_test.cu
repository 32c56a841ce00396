// Entry points that test the shared device functions: every thread writes what it was given.

extern "C" __global__ void gdn_warp_sum_test(const float* v, float* out) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = gdn_warp_sum(v[i]);
}

extern "C" __global__ void gdn_block_sum3_test(
    const float* a, const float* b, const float* c, float* oa, float* ob, float* oc) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    gdn_block_sum3(a[i], b[i], c[i], oa + i, ob + i, oc + i);
}

extern "C" __global__ void lgx_q8hl_test(const float* t, signed char* qh, signed char* ql, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        lgx_q8hl(t[i], qh, ql, i);
    }
}
