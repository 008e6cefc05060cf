#include <cuda_runtime.h>

__global__ void __launch_bounds__(512) l1_norm(const float* __restrict__ x, float* __restrict__ out, int n) {
    __shared__ float warp_part[16];
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    float s = 0.f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s += fabsf(x[(size_t)blockIdx.x * n + i]);
    for (int o = 16; o > 0; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
    if (lane == 0) warp_part[warp] = s;
    __syncthreads();
    if (threadIdx.x == 0) {
        float t = 0.f;
        for (int w = 0; w < 512 / 32; ++w) t += warp_part[w];
        out[blockIdx.x] = t;
    }
}

cudaError_t l1(const float* x, float* out, int rows, int n, cudaStream_t s) {
    if (rows <= 0) return cudaSuccess;
    l1_norm<<<rows, 512, 0, s>>>(x, out, n);
    return cudaGetLastError();
}
