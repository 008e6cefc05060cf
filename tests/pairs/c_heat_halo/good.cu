#include <cuda_runtime.h>

#define IDX(r, c) ((r) * nx + (c))

__global__ void heat_step(const double* __restrict__ u, double* __restrict__ un, int nx, int ny, double k) {
    const int c = blockDim.x * blockIdx.x + threadIdx.x;
    const int r = blockDim.y * blockIdx.y + threadIdx.y;
    if (c < 1 || r < 1 || c >= nx - 1 || r >= ny - 1) return;
    const double mid = u[IDX(r, c)];
    const double lap = u[IDX(r - 1, c)] + u[IDX(r + 1, c)] + u[IDX(r, c - 1)] + u[IDX(r, c + 1)] - 4.0 * mid;
    un[IDX(r, c)] = mid + k * lap;
}

cudaError_t heat(const double* u, double* un, int nx, int ny, double k, cudaStream_t stream) {
    if (nx > 8192 || ny > 8192 || nx < 3 || ny < 3) return cudaErrorInvalidValue;
    const dim3 tpb(32, 8);
    const dim3 nb((nx + tpb.x - 1) / tpb.x, (ny + tpb.y - 1) / tpb.y);
    heat_step<<<nb, tpb, 0, stream>>>(u, un, nx, ny, k);
    return cudaGetLastError();
}
