#include <cuda_runtime.h>

__global__ void warp_prefix(const int* __restrict__ in, int* __restrict__ out, int n) {
    __shared__ int buf[4][64];
    const int lane = threadIdx.x % 32, w = threadIdx.x / 32;
    const int i = blockIdx.x * 128 + threadIdx.x;
    int* p = buf[w];
    p[lane] = 0;
    p[lane + 32] = i < n ? in[i] : 0;
    for (int d = 1; d < 32; d *= 2) {
        const int v = p[lane + 32 - d];
        p[lane + 32] += v;
    }
    if (i < n) out[i] = p[lane + 32];
}

cudaError_t prefix(const int* in, int* out, int n, cudaStream_t s) {
    if (n <= 0) return cudaSuccess;
    warp_prefix<<<(n + 127) / 128, 128, 0, s>>>(in, out, n);
    return cudaGetLastError();
}
