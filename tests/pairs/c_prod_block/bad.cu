#include <cuda_runtime.h>

__global__ void product(const double* __restrict__ x, double* __restrict__ part, int n) {
    __shared__ double p[128];
    const int i = blockIdx.x * 128 + threadIdx.x;
    p[threadIdx.x] = (i < n) ? x[i] : 0.0;
    __syncthreads();
    for (int s = 64; s >= 1; s /= 2) {
        if (threadIdx.x < s) p[threadIdx.x] *= p[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) part[blockIdx.x] = p[0];
}

cudaError_t run_product(const double* x, double* part, int n, cudaStream_t s) {
    if (n <= 0) return cudaErrorInvalidValue;
    product<<<(n + 127) / 128, 128, 0, s>>>(x, part, n);
    return cudaGetLastError();
}
