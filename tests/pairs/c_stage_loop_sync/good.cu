#include <cuda_runtime.h>

// y[i] = sum_j exp(-(x[i]-c[j])^2): centres are staged through shared memory
__global__ void rbf_sum(const float* __restrict__ x, const float* __restrict__ c, float* __restrict__ y, int n,
                        int m) {
    extern __shared__ float tile[];
    for (int first = blockIdx.x * blockDim.x; first < n; first += gridDim.x * blockDim.x) {
        const int i = first + threadIdx.x;
        const float xi = i < n ? x[i] : 0.0f;
        float acc = 0.0f;
        for (int base = 0; base < m; base += blockDim.x) {
            const int j = base + threadIdx.x;
            tile[threadIdx.x] = j < m ? c[j] : 1e30f;
            __syncthreads();
            for (int k = 0; k < blockDim.x && base + k < m; ++k) {
                const float d = xi - tile[k];
                acc += __expf(-d * d);
            }
            __syncthreads();
        }
        if (i < n) y[i] = acc;
    }
}

extern "C" cudaError_t rbf(const float* x, const float* c, float* y, int n, int m, cudaStream_t stream) {
    const int tpb = 128;
    int blocks = (n + tpb - 1) / tpb;
    if (blocks > 1024) blocks = 1024;
    rbf_sum<<<blocks, tpb, tpb * sizeof(float), stream>>>(x, c, y, n, m);
    return cudaGetLastError();
}
