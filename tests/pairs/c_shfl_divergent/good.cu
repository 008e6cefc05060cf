#include <cuda_runtime.h>

__global__ void row_sums(const float* __restrict__ x, float* __restrict__ y, int rows, int n) {
    extern __shared__ float part[];
    const int t = threadIdx.x;
    for (int r = blockIdx.x; r < rows; r += gridDim.x) {
        float s = 0.f;
        for (int i = t; i < n; i += blockDim.x) s += x[(size_t)r * n + i];
        part[t] = s;
        for (int h = blockDim.x / 2; h > 0; h >>= 1) {
            __syncthreads();
            if (t < h) part[t] += part[t + h];
        }
        if (t == 0) y[r] = part[0];
        __syncthreads();
    }
}

cudaError_t run(const float* x, float* y, int rows, int n, cudaStream_t s) {
    if (rows <= 0 || n <= 0) return cudaErrorInvalidValue;
    row_sums<<<rows < 256 ? rows : 256, 128, 128 * sizeof(float), s>>>(x, y, rows, n);
    return cudaGetLastError();
}
