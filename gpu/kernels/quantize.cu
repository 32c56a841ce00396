// int8 quantization in groups of 32, one warp a group.
//
// scale = amax/127. A scale that would be zero or subnormal is 0, with codes 0; a NaN or an infinity in the group makes the
// scale NaN, with codes 0. Codes are rounded half to even and never -128.
#ifndef GDN_QUANTIZE_CU
#define GDN_QUANTIZE_CU

// t in two words, |t| <= 127: t = qh + ql/127 to within 1/254. t - rint(t) is exact.
extern "C" __device__ void lgx_q8hl(float t, signed char* qh, signed char* ql, int i) {
    const float high = rintf(t);
    qh[i] = (signed char)high;
    ql[i] = (signed char)rintf((t - high) * 127.0f);
}

// The scale of this warp's group, and x in units of it. All lanes call it.
static __device__ float gdn_group_units(float x, float* scale) {
    // Not fmaxf: it drops a NaN.
    const bool finite = fabsf(x) <= 3.402823466e38f;
    const bool whole = __all_sync(GDN_FULL_MASK, finite);
    float amax = fabsf(x);
    for (int offset = 16; offset > 0; offset >>= 1) {
        amax = fmaxf(amax, __shfl_xor_sync(GDN_FULL_MASK, amax, offset));
    }
    const float s = __fdiv_rn(amax, 127.0f);
    if (!whole) {
        *scale = __int_as_float(0x7fc00000);
        return 0.0f;
    }
    if (s < 1.17549435e-38f) {
        *scale = 0.0f;
        return 0.0f;
    }
    *scale = s;
    return fminf(fmaxf(__fdiv_rn(x, s), -127.0f), 127.0f);
}

#endif
