#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void add_residual(__half* __restrict__ x, const __half* __restrict__ res, int rows, int hidden) {
    const int row = blockIdx.x;
    __half2* xr = (__half2*)(x + (size_t)row * hidden);
    const __half2* rr = (const __half2*)(res + (size_t)row * hidden);
    for (int i = threadIdx.x; i < hidden / 2; i += blockDim.x) xr[i] = __hadd2(xr[i], rr[i]);
    if (threadIdx.x == 0 && (hidden & 1)) {
        const size_t last = (size_t)row * hidden + hidden - 1;
        x[last] = __hadd(x[last], res[last]);
    }
}

cudaError_t add_residual_launch(__half* x, const __half* res, int rows, int hidden, cudaStream_t s) {
    if (rows <= 0) return cudaSuccess;
    if (hidden % 2 != 0) return cudaErrorInvalidValue;
    add_residual<<<rows, 256, 0, s>>>(x, res, rows, hidden);
    return cudaGetLastError();
}
