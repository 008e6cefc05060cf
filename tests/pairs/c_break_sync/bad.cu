#include <cuda_runtime.h>

// each thread walks its own list of neighbours; frontier flags are exchanged through shared memory
__global__ void relax(const int* __restrict__ start, const int* __restrict__ nbr, const float* __restrict__ w,
                      float* __restrict__ dist, int nodes) {
    __shared__ int changed;
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    const int lo = v < nodes ? start[v] : 0;
    const int hi = v < nodes ? start[v + 1] : 0;
    float best = v < nodes ? dist[v] : 0.f;
    for (int e = lo; e < hi; ++e) {
        if (threadIdx.x == 0) changed = 0;
        __syncthreads();
        const float d = dist[nbr[e]] + w[e];
        if (d < best) {
            best = d;
            changed = 1;
        }
        __syncthreads();
        if (!changed) break;
    }
    if (v < nodes) dist[v] = best;
}

cudaError_t relax_once(const int* start, const int* nbr, const float* w, float* dist, int nodes, cudaStream_t s) {
    relax<<<(nodes + 127) / 128, 128, 0, s>>>(start, nbr, w, dist, nodes);
    return cudaGetLastError();
}
