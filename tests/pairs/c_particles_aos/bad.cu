#include <cuda_runtime.h>

struct Particle {
    float pos[4];
    float vel[4];
    float force[4];
    float pad[4];
};

__global__ void integrate(Particle* __restrict__ p, int n, float dt) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    p[i].vel[0] += p[i].force[0] * dt;
    p[i].pos[0] += p[i].vel[0] * dt;
}

cudaError_t step(Particle* p, int n, float dt, cudaStream_t s) {
    if (n <= 0) return cudaSuccess;
    integrate<<<(n + 255) / 256, 256, 0, s>>>(p, n, dt);
    return cudaGetLastError();
}
