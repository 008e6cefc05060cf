#include <cuda_runtime.h>

__global__ void transpose_naive(const float* __restrict__ in, float* __restrict__ out, int rows, int cols) {
    __shared__ float tile[32][33];
    int c = blockIdx.x * 32 + threadIdx.x;
    int r = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (c < cols && r + j < rows) tile[threadIdx.y + j][threadIdx.x] = in[(size_t)(r + j) * cols + c];
    __syncthreads();
    c = blockIdx.y * 32 + threadIdx.x;
    r = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (c < cols && r + j < rows) out[(size_t)(r + j) * rows + c] = tile[threadIdx.x][threadIdx.y + j];
}

cudaError_t transpose(const float* in, float* out, int rows, int cols, cudaStream_t st) {
    if (rows <= 0 || cols <= 0 || rows > 65535 * 32) return cudaErrorInvalidValue;
    const dim3 grid((cols + 31) / 32, (rows + 31) / 32);
    transpose_naive<<<grid, dim3(32, 8), 0, st>>>(in, out, rows, cols);
    return cudaGetLastError();
}
