#include <cuda_runtime.h>

constexpr int T = 64;

// moving window over a long signal; the next chunk is prefetched while the present one is used
__global__ void fir(const float* __restrict__ x, const float* __restrict__ h, float* __restrict__ y, int chunks) {
    __shared__ float buf[2][T];
    __shared__ float taps[T];
    const int t = threadIdx.x;
    const float* src = x + (size_t)blockIdx.x * chunks * T;
    taps[t] = h[t];
    buf[0][t] = src[t];
    __syncthreads();
    float acc = 0.f;
    for (int c = 0; c < chunks; ++c) {
        const int cur = c & 1;
        if (c + 1 < chunks) buf[cur ^ 1][t] = src[(c + 1) * T + t];
        for (int k = 0; k < T; ++k) acc += buf[cur][(t + k) % T] * taps[k];
        __syncthreads();
    }
    y[(size_t)blockIdx.x * T + t] = acc;
}

cudaError_t run_fir(const float* x, const float* h, float* y, int rows, int chunks, cudaStream_t s) {
    if (rows <= 0 || chunks <= 0) return cudaErrorInvalidValue;
    fir<<<rows, T, 0, s>>>(x, h, y, chunks);
    return cudaGetLastError();
}
