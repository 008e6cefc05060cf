#include <cuda_runtime.h>
#include <math.h>

// 8 rows per block, 32 x 8 threads; each row is reduced by one row of threads
__global__ void rms_rows(const float* x, const float* w, float* y, int rows, int n, float eps) {
    __shared__ float acc[8][33];
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    const bool live = row < rows;
    {
        float s = 0.f;
        for (int j = threadIdx.x; live && j < n; j += 32) {
            const float v = x[(size_t)row * n + j];
            s += v * v;
        }
        acc[threadIdx.y][threadIdx.x] = s;
        __syncthreads();
        if (threadIdx.x == 0) {
            float t = 0.f;
            for (int k = 0; k < 32; ++k) t += acc[threadIdx.y][k];
            acc[threadIdx.y][32] = rsqrtf(t / n + eps);
        }
        __syncthreads();
        const float r = acc[threadIdx.y][32];
        for (int j = threadIdx.x; live && j < n; j += 32) y[(size_t)row * n + j] = x[(size_t)row * n + j] * r * w[j];
    }
}

int rms_forward(const float* x, const float* w, float* y, int rows, int n, float eps) {
    dim3 block(32, 8);
    rms_rows<<<(rows + 7) / 8, block>>>(x, w, y, rows, n, eps);
    return cudaGetLastError() == cudaSuccess ? 0 : -1;
}
