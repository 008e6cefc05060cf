#include <cuda_runtime.h>

#define TRY(x) do { cudaError_t e = (x); if (e != cudaSuccess) return e; } while (0)

__global__ void peak(const int* __restrict__ x, int n, int* __restrict__ best) {
    int m = -2147483647 - 1;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) m = max(m, x[i]);
    atomicMax(best, m);
}

cudaError_t find_peak(const int* x, int n, int* out) {
    int* best;
    TRY(cudaMallocManaged(&best, sizeof(int)));
    peak<<<32, 256>>>(x, n, best);
    TRY(cudaGetLastError());
    TRY(cudaDeviceSynchronize());
    *out = *best;
    return cudaFree(best);
}
