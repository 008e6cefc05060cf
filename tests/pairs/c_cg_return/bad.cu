#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

__global__ void window_max(const float* __restrict__ x, float* __restrict__ y, int n, int win) {
    extern __shared__ float buf[];
    cg::thread_block block = cg::this_thread_block();
    const int i = block.group_index().x * block.group_dim().x + block.thread_rank();
    if (i >= n) return;
    buf[block.thread_rank()] = x[i];
    block.sync();
    float m = buf[block.thread_rank()];
    for (int k = 1; k < win; ++k) {
        const unsigned at = block.thread_rank() + k;
        if (at < block.size() && i + k < n) m = fmaxf(m, buf[at]);
        else if (i + k < n) m = fmaxf(m, x[i + k]);
    }
    y[i] = m;
}

cudaError_t run_window_max(const float* x, float* y, int n, int win, cudaStream_t s) {
    if (n <= 0 || win < 1) return cudaErrorInvalidValue;
    window_max<<<(n + 127) / 128, 128, 128 * sizeof(float), s>>>(x, y, n, win);
    return cudaGetLastError();
}
