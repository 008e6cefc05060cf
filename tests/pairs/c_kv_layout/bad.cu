#include <cuda_fp16.h>
#include <cuda_runtime.h>

// cache: [blocks, heads, dim, tokens]; one thread per dim writes its token's value
__global__ void write_cache(const __half* __restrict__ key, __half* __restrict__ cache, const int* __restrict__ slot,
                            int heads, int dim, int page) {
    const int tok = blockIdx.x, h = blockIdx.y;
    const long long s = slot[tok];
    const long long blk = s / page, off = s % page;
    for (int d = threadIdx.x; d < dim; d += blockDim.x) {
        const long long at = ((blk * heads + h) * dim + d) * page + off;
        cache[at] = key[((long long)tok * heads + h) * dim + d];
    }
}

cudaError_t append(const __half* key, __half* cache, const int* slot, int tokens, int heads, int dim, int page, cudaStream_t st) {
    if (tokens < 1 || heads < 1 || heads > 1024) return cudaErrorInvalidValue;
    write_cache<<<dim3(tokens, heads), 128, 0, st>>>(key, cache, slot, heads, dim, page);
    return cudaGetLastError();
}
