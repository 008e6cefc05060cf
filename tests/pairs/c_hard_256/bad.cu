#include <cuda_runtime.h>

__global__ void dequant_i8(const signed char* __restrict__ q, float* __restrict__ y, float s, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = q[i] * s;
}

cudaError_t dequant(const signed char* q, float* y, float s, int n, cudaStream_t st) {
    if (n <= 0) return cudaErrorInvalidValue;
    const dim3 threads(128);
    const dim3 blocks((n + 255) / 256);
    dequant_i8<<<blocks, threads, 0, st>>>(q, y, s, n);
    return cudaGetLastError();
}
