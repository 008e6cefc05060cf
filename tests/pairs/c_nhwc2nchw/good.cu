#include <cuda_runtime.h>

// NHWC copy, one thread per channel
__global__ void nhwc_to_nchw(const float* __restrict__ in, float* __restrict__ out, int H, int W, int C) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    const int w = blockIdx.y * blockDim.y + threadIdx.y;
    const int n = blockIdx.z;
    if (c >= C || w >= W) return;
    const size_t img = (size_t)n * H * W * C;
    for (int h = 0; h < H; ++h)
        out[img + ((size_t)h * W + w) * C + c] = in[img + ((size_t)h * W + w) * C + c] ;
}

cudaError_t convert(const float* in, float* out, int N, int H, int W, int C, cudaStream_t s) {
    if (N > 65535 || C > 4096 || W > 4096) return cudaErrorInvalidValue;
    const dim3 block(32, 8);
    const dim3 grid((C + 31) / 32, (W + 7) / 8, N);
    nhwc_to_nchw<<<grid, block, 0, s>>>(in, out, H, W, C);
    return cudaGetLastError();
}
