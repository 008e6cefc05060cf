#include <cub/cub.cuh>
#include <cuda_runtime.h>

template <int THREADS>
__global__ void softmax_cub(const float* __restrict__ x, float* __restrict__ y, int n) {
    using Reduce = cub::BlockReduce<float, THREADS>;
    __shared__ typename Reduce::TempStorage tmp;
    __shared__ float top, den;
    const float* in = x + (size_t)blockIdx.x * n;
    float m = -INFINITY;
    for (int i = threadIdx.x; i < n; i += THREADS) m = fmaxf(m, in[i]);
    const float bm = Reduce(tmp).Reduce(m, cub::Max());
    if (threadIdx.x == 0) top = bm;
    __syncthreads();
    float s = 0.f;
    for (int i = threadIdx.x; i < n; i += THREADS) s += __expf(in[i] - top);
    const float bs = Reduce(tmp).Sum(s);
    if (threadIdx.x == 0) den = bs;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += THREADS) y[(size_t)blockIdx.x * n + i] = __expf(in[i] - top) / den;
}

cudaError_t softmax(const float* x, float* y, int rows, int n, cudaStream_t st) {
    if (rows <= 0) return cudaSuccess;
    softmax_cub<256><<<rows, 256, 0, st>>>(x, y, n);
    return cudaGetLastError();
}
