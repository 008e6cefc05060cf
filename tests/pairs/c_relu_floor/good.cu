#include <cuda_runtime.h>
#include <stdexcept>

namespace act {

__global__ void leaky(float* data, float slope, int count) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < count) {
        float v = data[i];
        data[i] = v > 0.f ? v : slope * v;
    }
}

void leaky_inplace(float* data, float slope, int count, cudaStream_t stream) {
    const int threads = 512;
    const int blocks = (count + threads - 1) / threads;
    leaky<<<blocks, threads, 0, stream>>>(data, slope, count);
    cudaError_t err = cudaGetLastError();
    if (err != cudaSuccess) throw std::runtime_error(cudaGetErrorString(err));
}

}  // namespace act
