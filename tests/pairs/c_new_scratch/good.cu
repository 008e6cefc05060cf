#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

__global__ void col_sum(const float* __restrict__ g, float* __restrict__ out, int rows, int cols, int chunk) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= cols) return;
    float s = 0.f;
    const int r0 = blockIdx.y * chunk;
    for (int r = r0; r < min(r0 + chunk, rows); ++r) s += g[(int64_t)r * cols + c];
    atomicAdd(out + c, s);
}

at::Tensor bias_grad(const at::Tensor& grad) {
    TORCH_CHECK(grad.is_cuda() && grad.is_contiguous() && grad.scalar_type() == at::kFloat && grad.dim() == 2);
    const int rows = grad.size(0), cols = grad.size(1);
    at::Tensor out = at::zeros({cols}, grad.options());
    if (rows == 0 || cols == 0) return out.zero_();
    const dim3 grid((cols + 127) / 128, 8);
    col_sum<<<grid, 128, 0, at::cuda::getCurrentCUDAStream()>>>(grad.data_ptr<float>(), out.data_ptr<float>(), rows, cols, (rows + 7) / 8);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
