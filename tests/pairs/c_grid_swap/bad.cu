#include <cuda_runtime.h>

#define BX 32
#define BY 8

__global__ void mask_fill(float* __restrict__ m, int rows, int cols, float value) {
    const int c = blockIdx.x * BX + threadIdx.x;
    const int r = blockIdx.y * BY + threadIdx.y;
    if (r < rows && c < cols && c > r) m[(size_t)r * cols + c] = value;
}

cudaError_t causal_fill(float* m, int rows, int cols, float value, cudaStream_t st) {
    if (rows < 1 || cols < 1 || rows > 65535 * 8) return cudaErrorInvalidValue;
    const dim3 block(BX, BY);
    const dim3 grid(cols / BX, (rows + BY - 1) / BY);
    mask_fill<<<grid, block, 0, st>>>(m, rows, cols, value);
    return cudaGetLastError();
}
