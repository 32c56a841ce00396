// The attention layer's output gate, in place: ctx*sigmoid(g); a thread an element.

extern "C" __global__ void gk_gate_mul(float* ctx, const float* __restrict__ g, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        ctx[i] *= gdn_sigmoid(g[i]);
    }
}
