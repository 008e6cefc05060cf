#include <algorithm>
#include <cuda_runtime.h>

__global__ void clip(float* __restrict__ g, long n, float lim) {
    for (long i = (long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (long)gridDim.x * blockDim.x)
        g[i] = fminf(fmaxf(g[i], -lim), lim);
}

cudaError_t clip_grad(float* g, long n, float lim, cudaStream_t stream) {
    if (n <= 0) return cudaSuccess;
    const int threads = 256;
    const long want = (n + threads - 1) / threads;
    const int blocks = static_cast<int>(std::min<long>(want, 4096));
    clip<<<blocks, threads, 0, stream>>>(g, n, lim);
    return cudaGetLastError();
}
