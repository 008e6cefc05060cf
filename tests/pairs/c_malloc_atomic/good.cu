#include <cuda_runtime.h>
#include <vector>

__global__ void count_above(const float* __restrict__ x, int n, float limit, unsigned* __restrict__ hits) {
    unsigned mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += x[i] > limit;
    if (mine) atomicAdd(hits, mine);
}

cudaError_t count_host(const float* d_x, int n, float limit, unsigned* result) {
    unsigned* d_hits = nullptr;
    cudaError_t err = cudaMalloc(&d_hits, sizeof(unsigned));
    if (err != cudaSuccess) return err;
    err = cudaMemset(d_hits, 0, sizeof(unsigned));
    if (err != cudaSuccess) {
        cudaFree(d_hits);
        return err;
    }
    count_above<<<80, 256>>>(d_x, n, limit, d_hits);
    err = cudaGetLastError();
    if (err == cudaSuccess) err = cudaMemcpy(result, d_hits, sizeof(unsigned), cudaMemcpyDeviceToHost);
    cudaFree(d_hits);
    return err;
}
