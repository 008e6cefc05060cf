#include <cuda_runtime.h>

// inclusive Hillis-Steele scan of one block's worth of counters
__global__ void scan_block(const int* in, int* out, int n) {
    extern __shared__ int temp[];
    const int t = threadIdx.x;
    temp[t] = t < n ? in[t] : 0;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d <<= 1) {
        const int add = t >= d ? temp[t - d] : 0;
        __syncthreads();
        temp[t] += add;
        __syncthreads();
    }
    if (t < n) out[t] = temp[t];
}

cudaError_t scan(const int* in, int* out, int n, cudaStream_t st) {
    if (n < 1 || n > 1024) return cudaErrorInvalidValue;
    scan_block<<<1, 1024, 1024 * sizeof(int), st>>>(in, out, n);
    return cudaGetLastError();
}
