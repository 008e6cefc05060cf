#include <cuda_runtime.h>

__global__ void tile_hist(const int* __restrict__ keys, int* __restrict__ out, int tiles, int n) {
    __shared__ int cnt[64];
    for (int k = blockIdx.x; k < tiles; k += gridDim.x) {
        const int i = k * 128 + threadIdx.x;
        if (threadIdx.x < 64) cnt[threadIdx.x] = 0;
        __syncthreads();
        if (i >= n) continue;
        atomicAdd(&cnt[keys[i] & 63], 1);
        __syncthreads();
        if (threadIdx.x < 64) out[k * 64 + threadIdx.x] = cnt[threadIdx.x];
        __syncthreads();
    }
}

cudaError_t hist(const int* keys, int* out, int n, cudaStream_t s) {
    if (n <= 0 || n > 1 << 24) return cudaErrorInvalidValue;
    tile_hist<<<256, 128, 0, s>>>(keys, out, (n + 127) / 128, n);
    return cudaGetLastError();
}
