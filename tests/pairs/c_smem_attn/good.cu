#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <torch/extension.h>

constexpr int Br = 64, Bc = 64;

template <int D>
__global__ void attn_fwd(const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ v,
                         float* __restrict__ o, int n, float scale) {
    extern __shared__ float sm[];
    float* Kt = sm;
    float* Vt = Kt + Bc * D;
    const float* kb = k + (size_t)blockIdx.y * n * D;
    const float* vb = v + (size_t)blockIdx.y * n * D;
    const int row = blockIdx.x * Br + threadIdx.x;
    float qr[D], acc[D];
    float mx = -INFINITY, den = 0.f;
    for (int d = 0; d < D; ++d) {
        qr[d] = row < n ? q[(size_t)blockIdx.y * n * D + (size_t)row * D + d] : 0.f;
        acc[d] = 0.f;
    }
    for (int j0 = 0; j0 < n; j0 += Bc) {
        for (int i = threadIdx.x; i < Bc * D; i += Br) {
            Kt[i] = j0 + i / D < n ? kb[(size_t)j0 * D + i] : 0.f;
            Vt[i] = j0 + i / D < n ? vb[(size_t)j0 * D + i] : 0.f;
        }
        __syncthreads();
        for (int j = 0; j < Bc && j0 + j < n; ++j) {
            float s = 0.f;
            for (int d = 0; d < D; ++d) s += qr[d] * Kt[j * D + d];
            s *= scale;
            const float nm = fmaxf(mx, s), c = __expf(mx - nm), p = __expf(s - nm);
            den = den * c + p;
            for (int d = 0; d < D; ++d) acc[d] = acc[d] * c + p * Vt[j * D + d];
            mx = nm;
        }
        __syncthreads();
    }
    if (row < n)
        for (int d = 0; d < D; ++d) o[(size_t)blockIdx.y * n * D + (size_t)row * D + d] = acc[d] / den;
}

torch::Tensor attention(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
    TORCH_CHECK(q.is_contiguous() && k.is_contiguous() && v.is_contiguous() && q.dtype() == torch::kFloat32);
    TORCH_CHECK(q.dim() == 3 && q.size(2) == 128 && q.size(0) <= 65535);
    auto o = torch::empty_like(q);
    const int n = q.size(1);
    const int smem = 2 * Bc * 128 * sizeof(float);
    C10_CUDA_CHECK(cudaFuncSetAttribute(attn_fwd<128>, cudaFuncAttributeMaxDynamicSharedMemorySize, smem));
    auto stream = at::cuda::getCurrentCUDAStream();
    attn_fwd<128><<<dim3((n + Br - 1) / Br, q.size(0)), Br, smem, stream>>>(
        q.data_ptr<float>(), k.data_ptr<float>(), v.data_ptr<float>(), o.data_ptr<float>(), n, 0.0883883f);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return o;
}
