#include <cuda_runtime.h>

#define NUM_BINS 256

__global__ void histogram_u8(const unsigned char* buf, unsigned int* global_bins, long size) {
    __shared__ unsigned int bins[NUM_BINS];
    if (threadIdx.x < NUM_BINS) bins[threadIdx.x] = 0u;
    __syncthreads();

    long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
    const long step = (long)blockDim.x * gridDim.x;
    while (i < size) {
        atomicAdd(&bins[buf[i]], 1u);
        i += step;
    }
    __syncthreads();
    if (threadIdx.x < NUM_BINS) atomicAdd(&global_bins[threadIdx.x], bins[threadIdx.x]);
}

cudaError_t histogram(const unsigned char* buf, unsigned int* out, long size, cudaStream_t st) {
    cudaError_t rc = cudaMemsetAsync(out, 0, NUM_BINS * sizeof(unsigned int), st);
    if (rc != cudaSuccess) return rc;
    histogram_u8<<<120, 256, 0, st>>>(buf, out, size);
    return cudaGetLastError();
}
