#include <cuda_runtime.h>

__global__ void clip_rows(float* __restrict__ x, int rows, int n, float limit) {
    __shared__ float ssq[128];
    __shared__ float factor;
    const int t = threadIdx.x;
    float* row = x + (size_t)blockIdx.x * n;
    float s = 0.f;
    for (int i = t; i < n; i += 128) s += row[i] * row[i];
    ssq[t] = s;
    __syncthreads();
    for (int h = 64; h > 0; h >>= 1) {
        if (t < h) ssq[t] += ssq[t + h];
        __syncthreads();
    }
    if (t == 0) {
        const float norm = sqrtf(ssq[0]);
        factor = norm > limit ? limit / norm : 1.0f;
    }
    __syncthreads();
    for (int i = t; i < n; i += 128) row[i] *= factor;
}

cudaError_t clip(float* x, int rows, int n, float limit, cudaStream_t s) {
    if (rows <= 0) return cudaSuccess;
    clip_rows<<<rows, 128, 0, s>>>(x, rows, n, limit);
    return cudaGetLastError();
}
