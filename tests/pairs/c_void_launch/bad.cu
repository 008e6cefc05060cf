#include <cuda_runtime.h>
#include <vector>

struct DeviceBuffer {
    float* ptr = nullptr;
    int size = 0;
};

__global__ void axpy_kernel(int n, float a, const float* __restrict__ x, float* __restrict__ y) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = a * x[i] + y[i];
}

bool axpy(DeviceBuffer& y, const DeviceBuffer& x, float a, int block_threads) {
    if (x.size != y.size || x.size == 0) return false;
    const int blocks = (x.size + block_threads - 1) / block_threads;
    axpy_kernel<<<blocks, block_threads>>>(x.size, a, x.ptr, y.ptr);
    cudaDeviceSynchronize();
    return true;
}
