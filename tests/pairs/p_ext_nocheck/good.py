import torch
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

__global__ void hardswish(const float* x, float* y, int64_t n) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        y[i] = v * fminf(fmaxf(v + 3.f, 0.f), 6.f) / 6.f;
    }
}

torch::Tensor hardswish_cuda(torch::Tensor x) {
    TORCH_CHECK(x.is_contiguous() && x.scalar_type() == torch::kFloat);
    auto y = torch::empty_like(x);
    const int64_t n = x.numel();
    const int threads = 256;
    const auto stream = at::cuda::getCurrentCUDAStream();
    hardswish<<<(n + threads - 1) / threads, threads, 0, stream>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

mod = load_inline(name="hs", cpp_sources="torch::Tensor hardswish_cuda(torch::Tensor x);", cuda_sources=source,
                  functions=["hardswish_cuda"], verbose=False)


class ModelNew(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return mod.hardswish_cuda(x)
