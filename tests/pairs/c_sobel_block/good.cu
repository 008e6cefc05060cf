#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define TILE_X 64
#define TILE_Y 16
#define CHECK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { fprintf(stderr, "%s\n", cudaGetErrorString(e_)); exit(1); } } while (0)

__global__ void sobel(const unsigned char* src, unsigned char* dst, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
    const unsigned char* p = src + y * w + x;
    int gx = p[-w + 1] + 2 * p[1] + p[w + 1] - p[-w - 1] - 2 * p[-1] - p[w - 1];
    int gy = p[w - 1] + 2 * p[w] + p[w + 1] - p[-w - 1] - 2 * p[-w] - p[-w + 1];
    int g = abs(gx) + abs(gy);
    dst[y * w + x] = g > 255 ? 255 : g;
}

void run_sobel(const unsigned char* d_src, unsigned char* d_dst, int w, int h) {
    if (w > 16384 || h > 16384) return;
    dim3 threads(TILE_X, TILE_Y);
    dim3 blocks((w + TILE_X - 1) / TILE_X, (h + TILE_Y - 1) / TILE_Y);
    sobel<<<blocks, threads>>>(d_src, d_dst, w, h);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
}
