#include <cuda_runtime.h>
#include <memory>
#include <stdexcept>
#include <string>

class GpuError : public std::runtime_error {
public:
    explicit GpuError(cudaError_t e) : std::runtime_error(cudaGetErrorString(e)) {}
};

inline void check(cudaError_t e) {
    if (e != cudaSuccess) throw GpuError(e);
}

__global__ void threshold(const float* __restrict__ in, unsigned char* __restrict__ mask, int n, float t) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) mask[i] = in[i] >= t;
}

void threshold_mask(const float* in, unsigned char* host_mask, int n, float t) {
    unsigned char* d = nullptr;
    check(cudaMalloc(&d, n));
    threshold<<<(n + 255) / 256, 256>>>(in, d, n, t);
    cudaMemcpy(host_mask, d, n, cudaMemcpyDeviceToHost);
    cudaFree(d);
}
