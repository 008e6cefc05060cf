#include <cuda_runtime.h>

__global__ void lut_map(const unsigned char* __restrict__ in, float* __restrict__ out, const float* __restrict__ table, int n) {
    extern __shared__ float lut[];
    for (int i = threadIdx.x; i < 64 * 256; i += blockDim.x) lut[i] = table[i];
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = lut[(i & 63) * 256 + in[i]];
}

struct Launcher {
    static constexpr size_t kBytes = 64 * 256 * sizeof(float);
    cudaStream_t stream = nullptr;

    cudaError_t operator()(const unsigned char* in, float* out, const float* table, int n) const {
        if (n <= 0) return cudaSuccess;
        lut_map<<<132, 512, kBytes, stream>>>(in, out, table, n);
        return cudaGetLastError();
    }
};
