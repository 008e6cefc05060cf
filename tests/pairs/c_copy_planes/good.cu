#include <cstdint>
#include <cuda_runtime.h>

// dst[n][c][:] = src[n][c][:] * gain[c]
template <typename T>
__global__ void scale_planes(const T* __restrict__ src, const T* __restrict__ gain, T* __restrict__ dst,
                             int channels, int plane) {
    const int n = blockIdx.z;
    const int c = blockIdx.y;
    const int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p < plane) {
        int64_t offset = (static_cast<int64_t>(n) * channels + c) * plane + p;
        dst[offset] = src[offset] * gain[c];
    }
}

template <typename T>
cudaError_t run_scale_planes(const T* src, const T* gain, T* dst, int batch, int channels, int plane,
                             cudaStream_t s) {
    if (batch > 65535 || channels > 65535 || batch < 1 || channels < 1 || plane < 1) return cudaErrorInvalidValue;
    dim3 grid((plane + 255) / 256, channels, batch);
    scale_planes<T><<<grid, 256, 0, s>>>(src, gain, dst, channels, plane);
    return cudaGetLastError();
}

template cudaError_t run_scale_planes<float>(const float*, const float*, float*, int, int, int, cudaStream_t);
