#include <cuda_runtime.h>

// packed records: [id, x0..x(n-1)] per row
__global__ void norm_sq(const float* __restrict__ packed, float* __restrict__ out, int quads) {
    const float* row = packed + (size_t)blockIdx.x * (4 * quads + 1);
    const float4* v = reinterpret_cast<const float4*>(row + 1);
    float s = 0.f;
    for (int i = threadIdx.x; i < quads; i += 32) {
        const float4 a = v[i];
        s += a.x * a.x + a.y * a.y + a.z * a.z + a.w * a.w;
    }
    for (int o = 16; o > 0; o /= 2) s += __shfl_down_sync(0xffffffff, s, o);
    if (threadIdx.x == 0) out[blockIdx.x] = s;
}

cudaError_t norms(const float* packed, float* out, int rows, int quads, cudaStream_t st) {
    if (rows <= 0) return cudaSuccess;
    norm_sq<<<rows, 32, 0, st>>>(packed, out, quads);
    return cudaGetLastError();
}
