#include <cuda_runtime.h>

constexpr int N = 32;

// batched 32x32 triangular column scaling, one warp per matrix; column-wise walk
__global__ void col_prefix(const float* __restrict__ a, float* __restrict__ o) {
    __shared__ float s[N * N];
    const int t = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * N * N;
#pragma unroll 4
    for (int r = 0; r < N; ++r) s[r * N + t] = a[base + r * N + t];
    __syncwarp();
    float run = 0.f;
    for (int c = 0; c < N; ++c) {
        run += s[t * N + c];
        s[t * N + c] = run;
    }
    __syncwarp();
    for (int r = 0; r < N; ++r) o[base + r * N + t] = s[r * N + t];
}

cudaError_t prefix32(const float* a, float* o, int batch, cudaStream_t st) {
    if (batch <= 0) return cudaSuccess;
    col_prefix<<<batch, 32, 0, st>>>(a, o);
    return cudaGetLastError();
}
