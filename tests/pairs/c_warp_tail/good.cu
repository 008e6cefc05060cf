#include <cuda_runtime.h>

__device__ void warp_reduce(float* s, int t) {
    float v = s[t] + s[t + 32];
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
    if (t == 0) s[0] = v;
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
