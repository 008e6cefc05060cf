#include <cuda_runtime.h>

constexpr int D = 64;
constexpr int BC = 32;

// scores for one query row block: lane <-> key
__global__ void qk_scores(const float* __restrict__ Q, const float* __restrict__ K, float* __restrict__ S, int seq) {
    __shared__ float Ks[BC][D];
    __shared__ float Qs[8][D];
    const int lane = threadIdx.x, wy = threadIdx.y;
    const int q0 = blockIdx.y * 8, k0 = blockIdx.x * BC;
    for (int r = wy; r < BC; r += 8)
        for (int d = lane; d < D; d += 32)
            Ks[r][d] = k0 + r < seq ? K[(size_t)(k0 + r) * D + d] : 0.f;
    for (int d = lane; d < D; d += 32) Qs[wy][d] = q0 + wy < seq ? Q[(size_t)(q0 + wy) * D + d] : 0.f;
    __syncthreads();
    float s = 0.f;
#pragma unroll
    for (int d = 0; d < D; ++d) s += Qs[wy][d] * Ks[lane][d];
    if (q0 + wy < seq && k0 + lane < seq) S[(size_t)(q0 + wy) * seq + k0 + lane] = s * 0.125f;
}

bool launch_scores(const float* Q, const float* K, float* S, int seq, cudaStream_t st) {
    if (seq <= 0 || seq > 65535 * 8) return false;
    dim3 grid((seq + BC - 1) / BC, (seq + 7) / 8), block(32, 8);
    qk_scores<<<grid, block, 0, st>>>(Q, K, S, seq);
    return cudaGetLastError() == cudaSuccess;
}
