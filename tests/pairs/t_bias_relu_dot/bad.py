import torch
import triton
import triton.language as tl


@triton.jit
def mlp_tail(h, b1, w2, out, M, K, BM: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    acc = tl.zeros((BM,), tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        ok = (m[:, None] < M) & (k[None, :] < K)
        a = tl.load(h + m[:, None].to(tl.int64) * K + k[None, :], mask=ok, other=0.0).to(tl.float32)
        b = tl.load(b1 + k, mask=k < K, other=0.0).to(tl.float32)
        w = tl.load(w2 + k, mask=k < K).to(tl.float32)
        acc += tl.sum(tl.maximum(a + b[None, :], 0.0) * w[None, :], axis=1)
    tl.store(out + m, acc, mask=m < M)


def tail(h, b1, w2):
    h, b1, w2 = h.contiguous(), b1.contiguous(), w2.contiguous()
    M, K = h.shape
    out = torch.empty(M, device=h.device, dtype=torch.float32)
    mlp_tail[(triton.cdiv(M, 16),)](h, b1, w2, out, M, K, BM=16, BK=64)
    return out
