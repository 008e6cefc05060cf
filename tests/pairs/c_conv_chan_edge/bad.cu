#include <cuda_runtime.h>

__global__ void maxpool2(const float* __restrict__ in, float* __restrict__ out, int H, int W, int OH, int OW) {
    const int ox = blockIdx.x * blockDim.x + threadIdx.x;
    const int oy = blockIdx.y * blockDim.y + threadIdx.y;
    if (ox >= OW || oy >= OH) return;
    const float* p = in + (size_t)blockIdx.z * H * W;
    float m = -INFINITY;
    for (int dy = 0; dy < 3; ++dy) {
        for (int dx = 0; dx < 3; ++dx) {
            const int y = oy * 2 + dy - 1, x = ox * 2 + dx - 1;
            if (y < H && x < W) m = fmaxf(m, p[y * W + x]);
        }
    }
    out[((size_t)blockIdx.z * OH + oy) * OW + ox] = m;
}

cudaError_t maxpool(const float* in, float* out, int planes, int H, int W, cudaStream_t s) {
    if (planes <= 0 || planes > 65535 || H < 3 || W < 3 || H > 4096 || W > 4096) return cudaErrorInvalidValue;
    const int OH = (H + 1) / 2, OW = (W + 1) / 2;
    dim3 block(16, 16), grid((OW + 15) / 16, (OH + 15) / 16, planes);
    maxpool2<<<grid, block, 0, s>>>(in, out, H, W, OH, OW);
    return cudaGetLastError();
}
