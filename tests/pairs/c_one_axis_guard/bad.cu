#include <cuda_runtime.h>

typedef unsigned char u8;

__global__ void rgb_to_gray(const uchar3* __restrict__ rgb, u8* __restrict__ gray, int width, int height) {
    int x = blockIdx.x * 16 + threadIdx.x;
    int y = blockIdx.y * 16 + threadIdx.y;
    if (x < width) {
        uchar3 p = rgb[y * width + x];
        gray[y * width + x] = (u8)(0.299f * p.x + 0.587f * p.y + 0.114f * p.z);
    }
}

int convert(const uchar3* rgb, u8* gray, int width, int height) {
    if (width <= 0 || height <= 0 || width > 16384 || height > 16384) return 1;
    dim3 grid((width + 15) / 16, (height + 15) / 16, 1);
    rgb_to_gray<<<grid, dim3(16, 16, 1)>>>(rgb, gray, width, height);
    return cudaGetLastError();
}
