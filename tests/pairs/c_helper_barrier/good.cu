#include <cuda_runtime.h>

__device__ float block_max(float v, float* scratch) {
    scratch[threadIdx.x] = v;
    __syncthreads();
    for (int h = blockDim.x / 2; h > 0; h >>= 1) {
        if (threadIdx.x < h) scratch[threadIdx.x] = fmaxf(scratch[threadIdx.x], scratch[threadIdx.x + h]);
        __syncthreads();
    }
    const float r = scratch[0];
    __syncthreads();
    return r;
}

__global__ void quant_blocks(const float* __restrict__ x, signed char* __restrict__ q, float* __restrict__ scale, int n) {
    __shared__ float scratch[256];
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float v = i < n ? x[i] : 0.f;
    const float m = block_max(fabsf(v), scratch);
    if (i < n) {
        const float s = fmaxf(m / 127.f, 1e-12f);
        q[i] = (signed char)rintf(v / s);
        if (threadIdx.x == 0) scale[blockIdx.x] = s;
    }
}

cudaError_t quantize(const float* x, signed char* q, float* scale, int n, cudaStream_t st) {
    if (n <= 0) return cudaSuccess;
    quant_blocks<<<(n + 255) / 256, 256, 0, st>>>(x, q, scale, n);
    return cudaGetLastError();
}
