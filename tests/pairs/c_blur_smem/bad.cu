#include <cuda_runtime.h>

constexpr int R = 3;
constexpr int BLOCK = 128;

__constant__ float taps[2 * R + 1];

__global__ void blur1d(const float* __restrict__ in, float* __restrict__ out, int n) {
    __shared__ float s[BLOCK + R];
    const int g = blockIdx.x * BLOCK + threadIdx.x;
    const int l = threadIdx.x + R;
    s[l] = g < n ? in[g] : 0.f;
    if (threadIdx.x < R) {
        s[threadIdx.x] = g >= R ? in[g - R] : 0.f;
        s[l + BLOCK] = g + BLOCK < n ? in[g + BLOCK] : 0.f;
    }
    __syncthreads();
    if (g >= n) return;
    float a = 0.f;
#pragma unroll
    for (int k = -R; k <= R; ++k) a += taps[k + R] * s[l + k];
    out[g] = a;
}

cudaError_t blur(const float* in, float* out, int n, cudaStream_t st) {
    if (n <= 0) return cudaErrorInvalidValue;
    blur1d<<<(n + BLOCK - 1) / BLOCK, BLOCK, 0, st>>>(in, out, n);
    return cudaGetLastError();
}
