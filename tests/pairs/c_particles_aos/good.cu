#include <cuda_runtime.h>

struct Particles {
    float* pos;
    float* vel;
    float* force;
};

__global__ void integrate(Particles p, int n, float dt) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    p.vel[i] += p.force[i] * dt;
    p.pos[i] += p.vel[i] * dt;
}

cudaError_t step(const Particles& p, int n, float dt, cudaStream_t s) {
    if (n <= 0) return cudaSuccess;
    integrate<<<(n + 255) / 256, 256, 0, s>>>(p, n, dt);
    return cudaGetLastError();
}
