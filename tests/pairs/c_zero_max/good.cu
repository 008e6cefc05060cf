#include <cuda_runtime.h>

__global__ void softmax_rows(const float* __restrict__ x, float* __restrict__ y, int n) {
    __shared__ float red[256];
    const int t = threadIdx.x;
    const float* in = x + (size_t)blockIdx.x * n;
    const float v = t < n ? in[t] : -INFINITY;
    red[t] = v;
    __syncthreads();
    for (int h = 128; h > 0; h >>= 1) {
        if (t < h) red[t] = fmaxf(red[t], red[t + h]);
        __syncthreads();
    }
    const float top = red[0];
    __syncthreads();
    red[t] = expf(v - top);
    __syncthreads();
    for (int h = 128; h > 0; h >>= 1) {
        if (t < h) red[t] += red[t + h];
        __syncthreads();
    }
    if (t < n) y[(size_t)blockIdx.x * n + t] = expf(v - top) / red[0];
}

cudaError_t softmax(const float* x, float* y, int rows, int n, cudaStream_t st) {
    if (rows <= 0 || n <= 0 || n > 256) return cudaErrorInvalidValue;
    softmax_rows<<<rows, 256, 0, st>>>(x, y, n);
    return cudaGetLastError();
}
