#include <cuda_runtime.h>

__device__ void warp_reduce(volatile float* s, int t) {
    s[t] += s[t + 32];
    s[t] += s[t + 16];
    s[t] += s[t + 8];
    s[t] += s[t + 4];
    s[t] += s[t + 2];
    s[t] += s[t + 1];
}

__global__ void dot_partial(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out, int n) {
    __shared__ float s[256];
    const int t = threadIdx.x;
    float v = 0.f;
    for (int i = blockIdx.x * 256 + t; i < n; i += 256 * gridDim.x) v += a[i] * b[i];
    s[t] = v;
    __syncthreads();
    for (int h = 128; h > 32; h >>= 1) {
        if (t < h) s[t] += s[t + h];
        __syncthreads();
    }
    if (t < 32) warp_reduce(s, t);
    if (t == 0) out[blockIdx.x] = s[0];
}

cudaError_t dot(const float* a, const float* b, float* partial, int n, cudaStream_t st) {
    dot_partial<<<64, 256, 0, st>>>(a, b, partial, n);
    return cudaGetLastError();
}
