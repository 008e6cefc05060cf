#include <cuda_bf16.h>
#include <cuda_runtime.h>

using bf16 = __nv_bfloat16;

__device__ inline bf16 warp_sum(bf16 v) {
    for (int m = 16; m > 0; m >>= 1) v = __hadd(v, __shfl_xor_sync(0xffffffffu, v, m));
    return v;
}

// grad of rms weight: one warp per column chunk of 1, lanes over rows
__global__ void dweight(const bf16* __restrict__ dy, const bf16* __restrict__ xn, bf16* __restrict__ dw, int rows, int cols) {
    const int c = blockIdx.x;
    bf16 s = __float2bfloat16(0.f);
    for (int r = threadIdx.x; r < rows; r += 32) s = __hadd(s, __hmul(dy[(size_t)c * rows + r], xn[(size_t)c * rows + r]));
    s = warp_sum(s);
    if (threadIdx.x == 0) dw[c] = s;
}

cudaError_t dw(const bf16* dy, const bf16* xn, bf16* out, int rows, int cols, cudaStream_t st) {
    if (cols <= 0) return cudaSuccess;
    dweight<<<cols, 32, 0, st>>>(dy, xn, out, rows, cols);
    return cudaGetLastError();
}
