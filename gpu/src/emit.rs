//! Writes one self-contained CUDA program that runs the gated delta rule and the gated norm on baked-in inputs.

use std::fmt::Write as _;

use crate::contract::{Dim, DomainError, Shape};
use crate::{GDN_KERNELS, contracts};

/// The norm's eps in the emitted program, that of the models.
const EPS: f32 = 1e-6;

/// Why no program can be emitted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EmitError {
    /// A size outside of the kernels' domain.
    #[error(transparent)]
    Domain(#[from] DomainError),
    /// An array that has another length than the sizes ask for; an empty one too.
    #[error("{argument} has {found} elements, {expected} are needed ({shape})")]
    Length {
        /// The array.
        argument: &'static str,
        /// Its length.
        found: usize,
        /// The length that the sizes ask for.
        expected: usize,
        /// Its shape in the sizes' names.
        shape: &'static str,
    },
    /// A value that is no finite f32.
    #[error("{argument}[{index}] = {value:e} is not a finite f32; give finite values of at most 3.4e38 in magnitude")]
    NotFinite {
        /// The array.
        argument: &'static str,
        /// The element.
        index: usize,
        /// Its value.
        value: f64,
    },
}

/// One self-contained CUDA C++ program for nvcc that runs `gdn_step`, then `gdn_gate_norm` (eps 1e-6), once, and prints the
/// output \[HV, D\], then the state \[HV, D, D\], one number a line with nine significant digits.
///
/// `q`, `k` \[HK, D\], `v`, `z` \[HV, D\], `beta`, `alpha` (the decay) \[HV\], `s0` \[HV, D, D\] with rows of value indices, `gn` \[D\]; all
/// row-major, rounded to f32. Value head h reads key head h % HK. The program checks every CUDA call, and exits with 1 and
/// the call's place if one fails.
///
/// # Errors
/// Sizes outside of the kernels' domain, arrays of another length than they ask for (empty ones too), values that are no
/// finite f32. Nothing is emitted then.
#[expect(clippy::too_many_arguments, reason = "the signature is fixed: engines call it")]
pub fn emit_gated_delta_forward(
    q: &[f64],
    k: &[f64],
    v: &[f64],
    z: &[f64],
    beta: &[f64],
    alpha: &[f64],
    s0: &[f64],
    gn: &[f64],
    hv: usize,
    hk: usize,
    d: usize,
) -> Result<String, EmitError> {
    let size = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    let shape = Shape::new(&[(Dim::D, size(d)), (Dim::Hk, size(hk)), (Dim::Hv, size(hv))]);
    if let Some(step) = contracts::find("gdn_step") {
        step.check(&shape)?;
    }
    let arrays: [(&'static str, &[f64], usize, &'static str); 8] = [
        ("q", q, hk * d, "hk·d"),
        ("k", k, hk * d, "hk·d"),
        ("v", v, hv * d, "hv·d"),
        ("z", z, hv * d, "hv·d"),
        ("beta", beta, hv, "hv"),
        ("alpha", alpha, hv, "hv"),
        ("s0", s0, hv * d * d, "hv·d·d"),
        ("gn", gn, d, "d"),
    ];
    for (argument, data, expected, shape) in arrays {
        if data.len() != expected {
            return Err(EmitError::Length { argument, found: data.len(), expected, shape });
        }
        if let Some(index) = data.iter().position(|&x| !(x as f32).is_finite()) {
            return Err(EmitError::NotFinite { argument, index, value: data[index] });
        }
    }

    let mut program = String::new();
    program.push_str(HEAD);
    program.push_str(GDN_KERNELS);
    let _ = writeln!(
        program,
        "\nconstexpr int HV = {hv}, HK = {hk}, D = {d};\nconstexpr float EPS = {};\n",
        literal(f64::from(EPS))
    );
    for (name, data, ..) in arrays {
        let _ = writeln!(program, "static const float {name}_data[] = {{");
        for line in data.chunks(8) {
            let numbers: Vec<String> = line.iter().map(|&x| literal(x)).collect();
            let _ = writeln!(program, "    {},", numbers.join(", "));
        }
        program.push_str("};\n");
    }
    program.push_str(MAIN);
    Ok(program)
}

/// An f32 as a C++ literal that reads back to the same bits: Rust prints the shortest digits that do.
fn literal(x: f64) -> String {
    format!("{:e}f", x as f32)
}

const HEAD: &str = r#"// Emitted by gdn-gpu: the gated delta rule and the gated RMSNorm, once, on the inputs below.
// Build and run: nvcc -o forward forward.cu && ./forward
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

"#;

const MAIN: &str = r#"
template <size_t N>
static float* upload(const float (&data)[N]) {
    float* device = nullptr;
    CHECK(cudaMalloc(&device, sizeof data));
    CHECK(cudaMemcpy(device, data, sizeof data, cudaMemcpyHostToDevice));
    return device;
}

static void print(const float* device, size_t count) {
    float* host = static_cast<float*>(std::malloc(count * sizeof(float)));
    if (host == nullptr) {
        std::fprintf(stderr, "no memory for %zu numbers\n", count);
        std::exit(1);
    }
    CHECK(cudaMemcpy(host, device, count * sizeof(float), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < count; ++i) {
        std::printf("%.9g\n", host[i]);
    }
    std::free(host);
}

int main() {
    float* q = upload(q_data);
    float* k = upload(k_data);
    float* v = upload(v_data);
    float* z = upload(z_data);
    float* beta = upload(beta_data);
    float* alpha = upload(alpha_data);
    float* state = upload(s0_data);
    float* gn = upload(gn_data);
    float* o = nullptr;
    float* out = nullptr;
    CHECK(cudaMalloc(&o, sizeof(float) * HV * D));
    CHECK(cudaMalloc(&out, sizeof(float) * HV * D));

    gdn_step<<<dim3(HV, (D + 3) / 4), 128>>>(q, k, v, beta, alpha, state, o, D, HK);
    CHECK(cudaGetLastError());
    gdn_gate_norm<<<HV, (D + 31) / 32 * 32>>>(z, gn, o, out, D, EPS);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    print(out, size_t(HV) * D);
    print(state, size_t(HV) * D * D);
    for (float* device : {q, k, v, z, beta, alpha, state, gn, o, out}) {
        CHECK(cudaFree(device));
    }
    return 0;
}
"#;
