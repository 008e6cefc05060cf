#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define FULL 0xffffffffu

__inline__ __device__ float warp_sum(float v) {
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(FULL, v, o, 32);
    return v;
}

__inline__ __device__ float block_sum(float v) {
    static __shared__ float shared[32];
    const int lane = threadIdx.x & 31;
    const int wid = threadIdx.x >> 5;
    v = warp_sum(v);
    __syncthreads();
    if (lane == 0) shared[wid] = v;
    __syncthreads();
    v = threadIdx.x < (blockDim.x >> 5) ? shared[lane] : 0.f;
    return warp_sum(v);
}

__global__ void layer_norm_rows(const float* __restrict__ in, const float* __restrict__ gamma,
                                const float* __restrict__ beta, float* __restrict__ out, int hidden) {
    __shared__ float s_mean, s_rstd;
    const float* x = in + (size_t)blockIdx.x * hidden;
    float a = 0.f;
    for (int i = threadIdx.x; i < hidden; i += blockDim.x) a += x[i];
    const float sum = block_sum(a);
    if (threadIdx.x == 0) s_mean = sum / hidden;
    float b = 0.f;
    const float approx = x[0];
    for (int i = threadIdx.x; i < hidden; i += blockDim.x) b += (x[i] - approx) * (x[i] - approx);
    const float sq = block_sum(b);
    if (threadIdx.x == 0) {
        const float d = s_mean - approx;
        s_rstd = rsqrtf(fmaxf(sq / hidden - d * d, 0.f) + 1e-5f);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < hidden; i += blockDim.x)
        out[(size_t)blockIdx.x * hidden + i] = (x[i] - s_mean) * s_rstd * gamma[i] + beta[i];
}

cudaError_t layer_norm(const float* in, const float* gamma, const float* beta, float* out, int rows,
                       int hidden, cudaStream_t stream) {
    layer_norm_rows<<<rows, 256, 0, stream>>>(in, gamma, beta, out, hidden);
    return cudaGetLastError();
}
