#include <cuda_runtime.h>

template <int K>
__global__ void topk_thread(const float* __restrict__ x, float* __restrict__ vals, int rows, int n) {
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float best[K];
#pragma unroll
    for (int k = 0; k < K; ++k) best[k] = -INFINITY;
    for (int c = 0; c < n; ++c) {
        const float v = x[(size_t)c * rows + r];
        if (v <= best[K - 1]) continue;
        int j = K - 1;
        while (j > 0 && best[j - 1] < v) {
            best[j] = best[j - 1];
            --j;
        }
        best[j] = v;
    }
    for (int k = 0; k < K; ++k) vals[(size_t)k * rows + r] = best[k];
}

cudaError_t topk4(const float* x, float* vals, int rows, int n, cudaStream_t s) {
    if (rows <= 0 || n < 4) return cudaErrorInvalidValue;
    topk_thread<4><<<(rows + 127) / 128, 128, 0, s>>>(x, vals, rows, n);
    return cudaGetLastError();
}
