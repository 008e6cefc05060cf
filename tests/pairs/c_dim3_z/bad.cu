#include <cuda_runtime.h>

__global__ void permute_bhsd(const float* __restrict__ in, float* __restrict__ out, int S, int H, int D) {
    const int s = blockIdx.y;
    const size_t b = blockIdx.z;
    const int h = blockIdx.x;
    for (int d = threadIdx.x; d < D; d += blockDim.x)
        out[((b * H + h) * S + s) * D + d] = in[((b * S + s) * H + h) * D + d];
}

cudaError_t permute(const float* in, float* out, int B, int S, int H, int D, cudaStream_t st) {
    if (B < 1 || S < 1 || H < 1 || D < 1 || B > 65535) return cudaErrorInvalidValue;
    const dim3 grid(H, S, B);
    permute_bhsd<<<grid, 128, 0, st>>>(in, out, S, H, D);
    return cudaGetLastError();
}
