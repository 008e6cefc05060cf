#include <cuda_runtime.h>

template <int TILE>
__global__ void sgemm_tiled(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M,
                            int N, int K) {
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int col = blockIdx.x * TILE + tx;
    float acc = 0.0f;
    const int steps = (K + TILE - 1) / TILE;
    for (int t = 0; t < steps; ++t) {
        const int ak = t * TILE + tx, bk = t * TILE + ty;
        As[ty][tx] = (row < M && ak < K) ? A[(size_t)row * K + ak] : 0.0f;
        Bs[ty][tx] = (bk < K && col < N) ? B[(size_t)bk * N + col] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; ++k) acc += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    if (row < M && col < N) C[(size_t)row * N + col] = acc;
}

cudaError_t sgemm(const float* A, const float* B, float* C, int M, int N, int K, cudaStream_t st) {
    if (M <= 0 || N <= 0 || M > 65535 * 16) return cudaErrorInvalidValue;
    sgemm_tiled<16><<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16), 0, st>>>(A, B, C, M, N, K);
    return cudaGetLastError();
}
