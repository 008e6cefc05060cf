#include <cub/cub.cuh>
#include <cuda_runtime.h>

__global__ void var_rows(const float* __restrict__ x, float* __restrict__ out, int n) {
    typedef cub::BlockReduce<float, 512> BR;
    __shared__ BR::TempStorage ts;
    __shared__ float mu;
    const float v = threadIdx.x < n ? x[(size_t)blockIdx.x * n + threadIdx.x] : 0.f;
    const float s = BR(ts).Sum(v);
    if (threadIdx.x == 0) mu = s / n;
    __syncthreads();
    const float d = v - mu;
    const float q = BR(ts).Sum(d * d);
    if (threadIdx.x == 0) out[blockIdx.x] = q / n;
}

cudaError_t variance(const float* x, float* out, int rows, int n, cudaStream_t st) {
    if (rows <= 0 || n < 1 || n > 512) return cudaErrorInvalidValue;
    var_rows<<<rows, 512, 0, st>>>(x, out, n);
    return cudaGetLastError();
}
