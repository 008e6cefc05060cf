#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void pool_graph(const float* __restrict__ feat, const int* __restrict__ graph, float* __restrict__ out, int nodes, int dim) {
    const int d = threadIdx.x;
    if (d >= dim) return;
    for (int v = blockIdx.x; v < nodes; v += gridDim.x)
        atomicAdd(&out[(size_t)graph[v] * dim + d], feat[(size_t)v * dim + d]);
}

cudaError_t pool(const float* feat, const int* graph, float* out, int nodes, int graphs, int dim, cudaStream_t s) {
    if (nodes <= 0 || dim < 1 || dim > 1024) return cudaErrorInvalidValue;
    cudaError_t e = cudaMemsetAsync(out, 0, (size_t)graphs * dim * sizeof(float), s);  //~
    if (e != cudaSuccess) return e;
    pool_graph<<<512, 1024, 0, s>>>(feat, graph, out, nodes, dim);
    return cudaGetLastError();
}
