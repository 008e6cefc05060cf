#include <cuda_fp16.h>
#include <cuda_runtime.h>

constexpr int ROWS = 64;
constexpr int DIM = 128;

__global__ void rowwise_gram(const __half* __restrict__ x, float* __restrict__ g) {
    extern __shared__ float xs[];
    for (int i = threadIdx.x; i < ROWS * DIM; i += blockDim.x) xs[i] = __half2float(x[(size_t)blockIdx.x * ROWS * DIM + i]);
    __syncthreads();
    for (int p = threadIdx.x; p < ROWS * ROWS; p += blockDim.x) {
        const int a = p / ROWS, b = p % ROWS;
        float s = 0.f;
        for (int k = 0; k < DIM; ++k) s += xs[a * DIM + k] * xs[b * DIM + k];
        g[(size_t)blockIdx.x * ROWS * ROWS + p] = s;
    }
}

cudaError_t gram(const __half* x, float* g, int batches, cudaStream_t s) {
    const size_t smem = ROWS * DIM * sizeof(float);
    rowwise_gram<<<batches, 256, smem, s>>>(x, g);
    return cudaGetLastError();
}
