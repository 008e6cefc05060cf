#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void gemv_half(const __half2* __restrict__ w, const __half2* __restrict__ x, __half* __restrict__ y, int k2) {
    const __half2* row = w + (size_t)blockIdx.x * k2;
    float2 acc = make_float2(0.f, 0.f);
    for (int i = threadIdx.x; i < k2; i += 32) {
        const float2 a = __half22float2(row[i]), b = __half22float2(x[i]);
        acc.x = fmaf(a.x, b.x, acc.x);
        acc.y = fmaf(a.y, b.y, acc.y);
    }
    float s = acc.x + acc.y;
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(0xffffffff, s, o);
    if (threadIdx.x == 0) y[blockIdx.x] = __float2half(s);
}

cudaError_t gemv(const __half2* w, const __half2* x, __half* y, int rows, int k, cudaStream_t st) {
    if (rows <= 0 || k % 2 != 0) return cudaErrorInvalidValue;
    gemv_half<<<rows, 32, 0, st>>>(w, x, y, k / 2);
    return cudaGetLastError();
}
