import torch
import triton
import triton.language as tl


@triton.jit
def embed_grad(dy, ids, dw, n, D, BM: tl.constexpr, BD: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.program_id(1) * BD + tl.arange(0, BD)
    ok = (m < n)[:, None] & (d < D)[None, :]
    g = tl.load(dy + m[:, None].to(tl.int64) * D + d[None, :], mask=ok, other=0.0)
    r = tl.load(ids + m, mask=m < n, other=0).to(tl.int64)
    tl.atomic_add(dw + r[:, None] * D + d[None, :], g.to(dw.dtype.element_ty), mask=ok)


def embedding_backward(dy, ids, vocab):
    dy, ids = dy.contiguous(), ids.contiguous()
    assert dy.dtype == torch.bfloat16
    n, D = dy.shape
    dw = torch.zeros((vocab, D), dtype=torch.bfloat16, device=dy.device)
    embed_grad[(triton.cdiv(n, 16), triton.cdiv(D, 128))](dy, ids, dw, n, D, BM=16, BD=128)
    return dw.to(torch.bfloat16)
