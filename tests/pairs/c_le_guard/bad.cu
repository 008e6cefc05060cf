#include <cuda_runtime.h>

__global__ void sgd_momentum(float* __restrict__ w, const float* __restrict__ g, float* __restrict__ buf, float lr,
                             float mu, size_t n) {
    const size_t tid = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (tid > n) {
        return;
    }
    const float v = mu * buf[tid] + g[tid];
    buf[tid] = v;
    w[tid] -= lr * v;
}

cudaError_t sgd(float* w, const float* g, float* buf, float lr, float mu, size_t n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    sgd_momentum<<<(n + 255) / 256, 256, 0, stream>>>(w, g, buf, lr, mu, n);
    return cudaGetLastError();
}
