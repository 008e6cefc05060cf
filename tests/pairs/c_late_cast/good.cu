#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void gather_embed(const __nv_bfloat16* __restrict__ table, const int* __restrict__ tokens,
                             __nv_bfloat16* __restrict__ out, int hidden) {
    const int tok = tokens[blockIdx.x];
    const __nv_bfloat16* src = table + (size_t)tok * hidden;
    __nv_bfloat16* dst = out + (size_t)blockIdx.x * hidden;
    for (int h = threadIdx.x; h < hidden; h += blockDim.x) dst[h] = src[h];
}

cudaError_t embed(const __nv_bfloat16* table, const int* tokens, __nv_bfloat16* out, int n, int hidden, cudaStream_t st) {
    if (n <= 0) return cudaSuccess;
    gather_embed<<<n, 256, 0, st>>>(table, tokens, out, hidden);
    return cudaGetLastError();
}
