#include <cuda_runtime.h>

__device__ __forceinline__ float warp_min(float v) {
    for (int o = 16; o > 0; o >>= 1) v = fminf(v, __shfl_xor_sync(0xffffffff, v, o));
    return v;
}

__global__ void row_min(const float* __restrict__ x, float* __restrict__ y, int n) {
    __shared__ float w[8];
    const float* row = x + (size_t)blockIdx.x * n;
    float v = 0.f;
    if (threadIdx.x < n) v = row[threadIdx.x];
    v = warp_min(v);
    if (threadIdx.x % 32 == 0) w[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int k = 1; k < 8; ++k) v = fminf(v, w[k]);
        y[blockIdx.x] = v;
    }
}

cudaError_t mins(const float* x, float* y, int rows, int n, cudaStream_t s) {
    if (rows <= 0 || n < 1 || n > 256) return cudaErrorInvalidValue;
    row_min<<<rows, 256, 0, s>>>(x, y, n);
    return cudaGetLastError();
}
