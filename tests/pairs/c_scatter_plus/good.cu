#include <cuda_runtime.h>

__global__ void degree_kernel(const int* __restrict__ dst, float* __restrict__ deg, int edges) {
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e < edges) atomicAdd(&deg[dst[e]], 1.0f);
}

cudaError_t degrees(const int* dst, float* deg, int edges, int nodes, cudaStream_t s) {
    cudaError_t rc = cudaMemsetAsync(deg, 0, nodes * sizeof(float), s);
    if (rc != cudaSuccess || edges <= 0) return rc;
    degree_kernel<<<(edges + 255) / 256, 256, 0, s>>>(dst, deg, edges);
    return cudaGetLastError();
}
