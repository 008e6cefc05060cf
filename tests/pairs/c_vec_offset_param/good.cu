#include <cuda_runtime.h>

__device__ __forceinline__ float4 ld4(const float* p) {
    return *reinterpret_cast<const float4*>(p);
}

__global__ void conv_rows(const float* __restrict__ x, float* __restrict__ y, int width, int taps) {
    const int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (4 * q + 4 + taps > width) return;
    const float* row = x + (size_t)blockIdx.y * width;
    float4 acc = make_float4(0.f, 0.f, 0.f, 0.f);
    for (int k = 0; k < taps; ++k) {
        const float4 v = make_float4(row[4 * q + k], row[4 * q + k + 1], row[4 * q + k + 2], row[4 * q + k + 3]);
        acc.x += v.x;
        acc.y += v.y;
        acc.z += v.z;
        acc.w += v.w;
    }
    float* o = y + (size_t)blockIdx.y * width + 4 * q;
    o[0] = acc.x;
    o[1] = acc.y;
    o[2] = acc.z;
    o[3] = acc.w;
}

cudaError_t conv(const float* x, float* y, int rows, int width, int taps, cudaStream_t s) {
    if (rows < 1 || rows > 65535 || width < 8 || width % 4 != 0) return cudaErrorInvalidValue;
    conv_rows<<<dim3((width / 4 + 127) / 128, rows), 128, 0, s>>>(x, y, width, taps);
    return cudaGetLastError();
}
