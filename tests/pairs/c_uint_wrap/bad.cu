#include <cuda_runtime.h>

__global__ void pair_dist(const float* __restrict__ p, float* __restrict__ d, int n) {
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || j >= n) return;
    const float dx = p[3 * i] - p[3 * j];
    const float dy = p[3 * i + 1] - p[3 * j + 1];
    const float dz = p[3 * i + 2] - p[3 * j + 2];
    d[i * n + j] = sqrtf(dx * dx + dy * dy + dz * dz);
}

cudaError_t distances(const float* p, float* d, int n, cudaStream_t s) {
    if (n <= 0 || n > 1000000) return cudaErrorInvalidValue;
    const dim3 b(32, 8);
    pair_dist<<<dim3((n + 31) / 32, (n + 7) / 8 > 65535 ? 65535 : (n + 7) / 8), b, 0, s>>>(p, d, n);
    return cudaGetLastError();
}
