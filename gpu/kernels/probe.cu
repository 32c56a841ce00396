// How wrong the functions of a budget are: every thread walks a slice of the arguments and compares each result with its
// counterpart in double. Compiled behind reduce.cu and qk_norm_rope.cu, whose device functions it measures as they are.
//
// An argument is 32 bits: first + i*step. A result is off by |got - exact|, in units of the f32 binade that exact lies in
// (2^-149 below the smallest normal number). Infinity counts as 2^128, the next number above the largest; where exact rounds to
// infinity, infinity is right. A NaN is right where exact is NaN, and nowhere else.

#define PROBE_BLOCK 256
#define PROBE_RECORD 11  // doubles a block writes

#define PROBE_U 5.9604644775390625e-8  // 2^-24
#define PROBE_HALF_SUBNORMAL 7.00649232162408535e-46  // 2^-150
#define PROBE_OVERFLOW 3.40282356779733661637e38  // 2^128 - 2^103: from here on, f32 rounds to infinity
#define PROBE_INFINITY __longlong_as_double(0x7ff0000000000000LL)

// Largest errors in ulp that the budget grants.
struct probe_budget {
    double exp, log1p, div;
};

// A result, its counterpart, and how far a correct kernel may be from it; negative where only the distance in ulp is asked for.
struct probe_sample {
    float got;
    double exact, bound;
};

static __device__ bool probe_is_nan(double x) {
    return x != x;
}

static __device__ bool probe_is_finite(double x) {
    return fabs(x) < PROBE_INFINITY;
}

// |got - exact| as both are held.
static __device__ double probe_distance(float got, double exact) {
    if (probe_is_nan(exact) || got != got) {
        return probe_is_nan(exact) && got != got ? 0.0 : PROBE_INFINITY;
    }
    double held = got;
    if (!probe_is_finite(held)) {
        if ((got < 0.0f) != (exact < 0.0)) {
            return PROBE_INFINITY;
        }
        if (fabs(exact) >= PROBE_OVERFLOW) {
            return 0.0;
        }
        held = got < 0.0f ? -3.402823669209384634634e38 : 3.402823669209384634634e38;
    }
    return fabs(held - exact);
}

static __device__ double probe_ulps(const probe_sample& s) {
    if (s.bound == PROBE_INFINITY) {
        return 0.0;  // undetermined
    }
    const int exponent = ((__double2hiint(s.exact) >> 20) & 0x7ff) - 1023;
    const int place = exponent < -126 ? -126 : exponent > 127 ? 127 : exponent;
    // Times 2^(23 - place).
    return probe_distance(s.got, s.exact) * __hiloint2double((23 - place + 1023) << 20, 0);
}

// ---- The oracle's bounds: gdn_reference::scalar::Bounded, operation by operation. The host compares both at many arguments.

struct probe_bounded {
    double value, bound;
};

static __device__ probe_bounded probe_make(double value, double bound) {
    probe_bounded made = {value, bound};
    return made;
}

static __device__ bool probe_is_f32(double value) {
    return (double)(float)value == value;
}

static __device__ bool probe_is_zero(probe_bounded x) {
    return x.value == 0.0 && x.bound == 0.0;
}

static __device__ bool probe_is_known(probe_bounded x) {
    return probe_is_finite(x.value) && x.bound < PROBE_INFINITY;
}

static __device__ bool probe_may_be_zero(probe_bounded x) {
    return x.bound > 0.0 && fabs(x.value) <= x.bound;
}

static __device__ probe_bounded probe_out_of_range(double value, double spread) {
    if (probe_is_nan(value)) {
        return probe_make(value, 0.0);
    }
    if (fabs(value) - spread >= PROBE_OVERFLOW) {
        return probe_make(copysign(PROBE_INFINITY, value), 0.0);
    }
    return probe_make(value, PROBE_INFINITY);
}

static __device__ probe_bounded probe_special(probe_bounded a, probe_bounded b, double value) {
    if ((probe_is_nan(a.value) && a.bound == 0.0) || (probe_is_nan(b.value) && b.bound == 0.0)) {
        return probe_make(a.value + b.value, 0.0);
    }
    return probe_make(value, a.bound == PROBE_INFINITY || b.bound == PROBE_INFINITY ? PROBE_INFINITY : 0.0);
}

static __device__ probe_bounded probe_function(double value, double spread, double ulp, bool exact) {
    if (spread == 0.0 && exact && ulp <= 0.5 && probe_is_finite(value)) {
        return probe_make(value, 0.0);
    }
    const double magnitude = fabs(value) + spread;
    const double early = fmax(ulp - 0.5, 0.0) * 2.0 * PROBE_U * magnitude;
    if (magnitude + early < PROBE_OVERFLOW) {
        return probe_make(value, spread + ulp * fmax(2.0 * PROBE_U * magnitude, 2.0 * PROBE_HALF_SUBNORMAL));
    }
    return probe_out_of_range(value, spread + early);
}

static __device__ probe_bounded probe_add(probe_bounded a, probe_bounded b) {
    const double value = a.value + b.value;
    const double spread = a.bound + b.bound;
    if (probe_is_zero(a) || probe_is_zero(b)) {
        return probe_make(value, spread);
    }
    const double magnitude = fabs(value) + spread;
    if (magnitude < PROBE_OVERFLOW) {
        const double part = value - a.value;
        const double rest = (a.value - (value - part)) + (b.value - part);
        if (spread == 0.0 && probe_is_f32(value) && rest == 0.0) {
            return probe_make(value, 0.0);
        }
        return probe_make(value, spread + PROBE_U * magnitude);
    }
    if (probe_is_known(a) && probe_is_known(b)) {
        return probe_out_of_range(value, spread);
    }
    return probe_special(a, b, value);
}

static __device__ probe_bounded probe_mul(probe_bounded a, probe_bounded b) {
    const double value = a.value * b.value;
    const double spread = fabs(a.value) * b.bound + fabs(b.value) * a.bound + a.bound * b.bound;
    const double magnitude = fabs(value) + spread;
    if (magnitude < PROBE_OVERFLOW) {
        const bool exact = spread == 0.0 && probe_is_f32(value);
        return probe_make(value, exact ? 0.0 : spread + fmax(PROBE_U * magnitude, PROBE_HALF_SUBNORMAL));
    }
    if (probe_is_known(a) && probe_is_known(b)) {
        return probe_out_of_range(value, spread);
    }
    if (probe_may_be_zero(a) || probe_may_be_zero(b)) {
        return probe_make(value, PROBE_INFINITY);
    }
    return probe_special(a, b, value);
}

static __device__ probe_bounded probe_div(probe_bounded a, probe_bounded b, probe_budget budget) {
    const double value = a.value / b.value;
    if (!(probe_is_known(a) && probe_is_known(b))) {
        if (fabs(a.value) == PROBE_INFINITY && probe_may_be_zero(b)) {
            return probe_make(value, PROBE_INFINITY);
        }
        return probe_special(a, b, value);
    }
    const double nearest = fabs(b.value) - b.bound;
    if (nearest <= 0.0) {
        return probe_is_zero(b) && !probe_may_be_zero(a) ? probe_special(a, b, value) : probe_make(value, PROBE_INFINITY);
    }
    const double spread = (a.bound + fabs(value) * b.bound) / nearest;
    const bool exact = probe_is_f32(value) && value * b.value == a.value;
    return probe_function(value, spread, budget.div, exact);
}

static __device__ probe_bounded probe_exp(probe_bounded x, probe_budget budget) {
    const double value = exp(x.value);
    if (!probe_is_known(x)) {
        return probe_special(x, x, value);
    }
    const double spread = x.bound < 1.0 ? value * expm1(x.bound) : exp(x.value + x.bound) - value;
    if (probe_is_nan(spread)) {
        return probe_out_of_range(value, exp(x.value - x.bound));
    }
    return probe_function(value, spread, budget.exp, x.value == 0.0);
}

static __device__ probe_bounded probe_log1p(probe_bounded x, probe_budget budget) {
    const double value = log1p(x.value);
    if (!probe_is_known(x)) {
        return probe_special(x, x, value);
    }
    const double relative = x.bound / (1.0 + x.value);
    if (relative >= 1.0) {
        return probe_make(value, PROBE_INFINITY);
    }
    return probe_function(value, -log1p(-relative), budget.log1p, x.value == 0.0);
}

static __device__ probe_bounded probe_or_form(probe_bounded x, probe_bounded form) {
    if (form.value == x.value || (probe_is_nan(form.value) && probe_is_nan(x.value))) {
        return probe_make(x.value, fmax(x.bound, form.bound));
    }
    if (!probe_is_finite(x.value) && !probe_is_finite(form.value)) {
        return probe_make(x.value - x.value, PROBE_INFINITY);
    }
    const double distance = fabs(form.value - x.value) + form.bound;
    return probe_make(x.value, fmax(x.bound, probe_is_nan(distance) ? PROBE_INFINITY : distance));
}

static __device__ probe_bounded probe_recip_one_plus_exp(probe_bounded x, probe_budget budget) {
    const probe_bounded one = probe_make(1.0, 0.0);
    const probe_bounded power = probe_exp(x, budget);
    const bool overflows = power.bound == PROBE_INFINITY || power.value == PROBE_INFINITY;
    if (!overflows || !probe_is_finite(x.value) || x.bound == PROBE_INFINITY) {
        return probe_div(one, probe_add(one, power), budget);
    }
    const double value = 1.0 / (1.0 + exp(x.value));
    const double largest = 1.0 / (1.0 + exp(x.value - x.bound));
    const double relative = 4.0 * PROBE_U * (budget.exp + 0.5 + budget.div);
    const double ulps = budget.div * 2.0 * PROBE_HALF_SUBNORMAL;
    return probe_make(value, fmax(value, largest * (1.0 + relative) - value + ulps));
}

static __device__ probe_bounded probe_sigmoid_bound(float x, probe_budget budget) {
    const probe_bounded form = probe_recip_one_plus_exp(probe_make(-(double)x, 0.0), budget);
    if (!(x < 0.0f)) {
        return form;
    }
    const probe_bounded power = probe_exp(probe_make(x, 0.0), budget);
    return probe_or_form(form, probe_div(power, probe_add(probe_make(1.0, 0.0), power), budget));
}

static __device__ probe_bounded probe_silu_bound(float x, probe_budget budget) {
    return probe_mul(probe_make(x, 0.0), probe_sigmoid_bound(x, budget));
}

static __device__ probe_bounded probe_softplus_bound(float u, probe_budget budget) {
    const probe_bounded positive = probe_make(fmax((double)u, 0.0), 0.0);
    const probe_bounded rest = probe_log1p(probe_exp(probe_make(-fabs((double)u), 0.0), budget), budget);
    const probe_bounded plain = u > 20.0f ? probe_make(u, 0.0)
                                          : probe_log1p(probe_exp(probe_make(u, 0.0), budget), budget);
    return probe_or_form(probe_add(positive, rest), plain);
}

static __device__ probe_bounded probe_decay_bound(float rate, float u, probe_budget budget) {
    return probe_exp(probe_mul(probe_make(rate, 0.0), probe_softplus_bound(u, budget)), budget);
}

// ---- The sweep.

// Error as a part of the bound, as Bounded::utilization has it.
static __device__ double probe_utilization(const probe_sample& s) {
    if (s.bound < 0.0) {
        return 0.0;
    }
    if (s.bound == PROBE_INFINITY && !probe_is_nan(s.exact)) {
        return 0.0;
    }
    const bool got_finite = probe_is_finite(s.got);
    if (s.bound == PROBE_INFINITY && !got_finite) {
        return 0.0;
    }
    if ((double)s.got == s.exact || (s.got != s.got && probe_is_nan(s.exact))) {
        return 0.0;
    }
    if (!got_finite || !probe_is_finite(s.exact) || s.bound == 0.0) {
        return PROBE_INFINITY;
    }
    return fabs((double)s.got - s.exact) / s.bound;
}

struct probe_worst {
    double error;
    unsigned index;
};

static __device__ probe_worst probe_worse(probe_worst a, probe_worst b) {
    return b.error > a.error || (b.error == a.error && b.index < a.index) ? b : a;
}

// Arguments blockIdx.x*each ... + each - 1 of the launch. Writes how many were looked at, and the worst by either measure: the
// first where several are equal. A finite `most` leaves out what is larger in magnitude, and NaN.
//
// The function stands in one place, so that its code is not repeated: pass 0 walks the slice, passes 1 and 2 evaluate the worst
// arguments again, for their records.
template <class Evaluate>
static __device__ void probe_sweep(Evaluate evaluate, unsigned first, unsigned step, int each, float most, double* out) {
    __shared__ probe_worst ulps[PROBE_BLOCK], uses[PROBE_BLOCK];
    __shared__ unsigned counts[PROBE_BLOCK];
    const int thread = threadIdx.x;
    const bool everything = !probe_is_finite(most);
    const unsigned start = blockIdx.x * (unsigned)each;
    probe_worst ulp = {-1.0, 0xffffffffu};
    probe_worst use = {-1.0, 0xffffffffu};
    unsigned count = 0;
#pragma unroll 1
    for (int pass = 0; pass < 3; ++pass) {
        const int end = pass == 0 ? each : count > 0 ? 1 : 0;
#pragma unroll 1
        for (int j = thread; j < end; j += blockDim.x) {
            const probe_worst worst = pass == 1 ? ulp : use;
            const unsigned index = pass == 0 ? start + (unsigned)j : worst.index;
            const unsigned bits = first + index * step;
            if (pass == 0 && !everything && !(fabsf(__uint_as_float(bits)) <= most)) {
                continue;
            }
            const probe_sample sample = evaluate(bits, index);
            if (pass == 0) {
                const probe_worst by_ulp = {probe_ulps(sample), index};
                const probe_worst by_use = {probe_utilization(sample), index};
                ulp = probe_worse(ulp, by_ulp);
                use = probe_worse(use, by_use);
                ++count;
            } else {
                double* record = out + (long long)blockIdx.x * PROBE_RECORD + (pass == 1 ? 1 : 6);
                record[0] = worst.error;
                record[1] = index;
                record[2] = sample.got;
                record[3] = sample.exact;
                record[4] = sample.bound;
            }
        }
        if (pass == 0) {
            ulps[thread] = ulp;
            uses[thread] = use;
            counts[thread] = count;
            __syncthreads();
            for (int half = blockDim.x / 2; half > 0; half /= 2) {
                if (thread < half) {
                    ulps[thread] = probe_worse(ulps[thread], ulps[thread + half]);
                    uses[thread] = probe_worse(uses[thread], uses[thread + half]);
                    counts[thread] += counts[thread + half];
                }
                __syncthreads();
            }
            // From here on in every thread: the block's.
            ulp = ulps[0];
            use = uses[0];
            count = counts[0];
        }
    }
    if (thread == 0) {
        out[(long long)blockIdx.x * PROBE_RECORD] = count;
    }
}

// All entry points take the same: the arguments of this launch; a parameter of the function and the largest magnitude of its
// argument; the budget; results of a shipped kernel, where those are judged; the table of rotary pairs; the records.
#define PROBE(name, body)                                                                                               \
    extern "C" __global__ void __launch_bounds__(PROBE_BLOCK) probe_##name(                                              \
        unsigned first, unsigned step, int each, float parameter, float most, float exp_ulp, float log1p_ulp,          \
        float div_ulp, const float* __restrict__ results, const double* __restrict__ table, double* __restrict__ out) { \
        const probe_budget budget = {exp_ulp, log1p_ulp, div_ulp};                                                      \
        (void)budget;                                                                                                   \
        probe_sweep(                                                                                                    \
            [=](unsigned bits, unsigned index) -> probe_sample {                                                        \
                const float x = __uint_as_float(bits);                                                                  \
                return body;                                                                                            \
            },                                                                                                          \
            first, step, each, most, out);                                                                              \
    }

static __device__ probe_sample probe_of(float got, double exact) {
    probe_sample sample = {got, exact, -1.0};
    return sample;
}

static __device__ probe_sample probe_of(float got, probe_bounded oracle) {
    probe_sample sample = {got, oracle.value, oracle.bound};
    return sample;
}

// An f32 of 16 bits: sign, 5 bits of exponent spread over the whole range, and a mantissa whose ends and, where it is odd, middle vary.
static __device__ float probe_structured(unsigned h) {
    const unsigned m = h & 1023u;
    const unsigned middle = (m & 1u) ? ((m * 2654435761u) >> 12 & 0x1fffu) << 5 : 0u;
    const unsigned exponent = (h >> 10 & 31u) * 255u / 31u;
    return __uint_as_float((h >> 15 & 1u) << 31 | exponent << 23 | (m >> 5) << 18 | middle | (m & 31u));
}

PROBE(expf, probe_of(expf(x), exp((double)x)))
PROBE(log1pf, probe_of(log1pf(x), log1p((double)x)))
PROBE(sqrtf, probe_of(sqrtf(x), sqrt((double)x)))
PROBE(rsqrtf, probe_of(rsqrtf(x), 1.0 / sqrt((double)x)))
PROBE(sinf, probe_of(sinf(x), sin((double)x)))
PROBE(cosf, probe_of(cosf(x), cos((double)x)))
PROBE(reciprocal, probe_of(1.0f / x, 1.0 / (double)x))
PROBE(quotient, probe_of(probe_structured(bits >> 16) / probe_structured(bits),
                         (double)probe_structured(bits >> 16) / (double)probe_structured(bits)))

PROBE(sigmoid, probe_of(results[index], probe_sigmoid_bound(x, budget)))
PROBE(silu, probe_of(results[index], probe_silu_bound(x, budget)))
PROBE(gate, probe_of(results[index], probe_mul(probe_make(parameter, 0.0), probe_sigmoid_bound(x, budget))))
PROBE(decay, probe_of(results[index], probe_decay_bound(parameter, x, budget)))

// The angle of position bits % 2^20 and of a pair of the table (frequency in two doubles, pair, rot, base), against position
// times frequency in double-double. The bound is that of gdn_reference's Angle::kernel_error.
static __device__ probe_sample probe_rotary(unsigned bits, const double* table) {
    const double position = bits & 0xfffffu;
    const double* row = table + 5 * (bits >> 20 & 255u);
    const float got = gk_rotary_angle((int)(bits & 0xfffffu), (int)row[2], (int)row[3], (float)row[4]);
    const double high = __dmul_rn(position, row[0]);
    const double low = fma(position, row[0], -high) + position * row[1];
    const double turns = rint(high * 0.15915494309189535);
    const double whole = __dmul_rn(turns, 6.283185307179586477);
    const double lost = fma(turns, 6.283185307179586477, -whole) + turns * 2.4492935982947064e-16;
    double exact = __dadd_rn(high, -whole) + (low - lost);
    // At half a turn, either end is right.
    const double off = (double)got - exact;
    exact += off > 3.0 ? 6.283185307179586477 : off < -3.0 ? -6.283185307179586477 : 0.0;
    const double before = high * 3.5527136788005009e-15;  // 2^-48
    probe_sample sample = {got, exact, before + PROBE_U * (fabs(exact) + before)};
    return sample;
}

PROBE(rotary_angle, probe_rotary(bits, table))

// Known-wrong functions: a probe that does not see them sees nothing.
PROBE(fast_exp, probe_of(__expf(x), exp((double)x)))
PROBE(two_step_quotient, probe_of(probe_structured(bits >> 16) * (1.0f / probe_structured(bits)),
                                  (double)probe_structured(bits >> 16) / (double)probe_structured(bits)))
PROBE(fast_sigmoid, probe_of(1.0f / (1.0f + __expf(-x)), probe_sigmoid_bound(x, budget)))

// x[i] = argument first + i*step.
extern "C" __global__ void probe_arguments(unsigned* __restrict__ x, unsigned first, unsigned step, int n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (unsigned)n) {
        x[i] = first + i * step;
    }
}

// x[i] = value.
extern "C" __global__ void probe_constant(float* __restrict__ x, float value, int n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (unsigned)n) {
        x[i] = value;
    }
}
