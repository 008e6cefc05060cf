#include <cuda_runtime.h>

template <int N>
__device__ __forceinline__ float reduce(float v, float (&lanes)[N]) {
    for (int o = 16; o; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
    if ((threadIdx.x & 31) == 0) lanes[threadIdx.x >> 5] = v;
    __syncthreads();
    v = threadIdx.x < N ? lanes[threadIdx.x] : 0.f;
    if (threadIdx.x < 32)
        for (int o = 16; o; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
    return v;
}

__global__ void mse_partial(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ part, int n) {
    __shared__ float lanes[8];
    float s = 0.f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const float d = a[i] - b[i];
        s += d * d;
    }
    s = reduce<8>(s, lanes);
    if (threadIdx.x == 0) part[blockIdx.x] = s;
}

cudaError_t mse(const float* a, const float* b, float* part, int n, int blocks, cudaStream_t st) {
    if (blocks < 1) return cudaErrorInvalidValue;
    mse_partial<<<blocks, 256, 0, st>>>(a, b, part, n);
    return cudaGetLastError();
}
