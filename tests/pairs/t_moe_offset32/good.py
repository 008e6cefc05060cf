import torch
import triton
import triton.language as tl


@triton.jit
def moe_gather(x_ptr, w_ptr, ids_ptr, o_ptr, K, N, stride_we, stride_wk, BN: tl.constexpr, BK: tl.constexpr):
    tok = tl.program_id(0).to(tl.int64)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    e = tl.load(ids_ptr + tok).to(tl.int64)
    w = w_ptr + e * stride_we + n[None, :]
    acc = tl.zeros((BN,), dtype=tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        x = tl.load(x_ptr + tok * K + k, mask=k < K, other=0.0).to(tl.float32)
        ww = tl.load(w + k[:, None].to(tl.int64) * stride_wk, mask=(k[:, None] < K) & (n[None, :] < N), other=0.0).to(tl.float32)
        acc += tl.sum(x[:, None] * ww, axis=0)
    tl.store(o_ptr + tok * N + n, acc, mask=n < N)


def moe(x, w, ids):
    assert x.is_contiguous() and w.is_contiguous() and ids.dtype == torch.int32 and ids.is_contiguous()
    T, K = x.shape
    E, _, N = w.shape
    o = torch.empty((T, N), device=x.device, dtype=torch.float32)
    moe_gather[(T, triton.cdiv(N, 128))](x, w, ids, o, K, N, w.stride(0), w.stride(1), BN=128, BK=32)
    return o
