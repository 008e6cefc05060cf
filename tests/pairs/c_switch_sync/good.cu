#include <cuda_runtime.h>

enum Role { LOADER = 0, WORKER = 1 };

__global__ void staged_square(const float* __restrict__ x, float* __restrict__ y, int tiles) {
    __shared__ float stage[96];
    const int role = threadIdx.x < 32 ? LOADER : WORKER;
    for (int k = 0; k < tiles; ++k) {
        const size_t base = ((size_t)blockIdx.x * tiles + k) * 96;
        if (role == LOADER)
            for (int j = threadIdx.x; j < 96; j += 32) stage[j] = x[base + j];
        __syncthreads();
        switch (role) {
            case LOADER:
                break;
            default:
                y[base + threadIdx.x - 32] = stage[threadIdx.x - 32] * stage[threadIdx.x - 32];
                break;
        }
        __syncthreads();
    }
}

cudaError_t square(const float* x, float* y, int blocks, int tiles, cudaStream_t s) {
    if (blocks <= 0) return cudaSuccess;
    staged_square<<<blocks, 128, 0, s>>>(x, y, tiles);
    return cudaGetLastError();
}
