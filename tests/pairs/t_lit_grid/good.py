import torch
import triton
import triton.language as tl


@triton.jit
def adamw_kernel(p, g, m, v, lr, b1, b2, eps, wd, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    k = i < n
    gi = tl.load(g + i, mask=k).to(tl.float32)
    mi = tl.load(m + i, mask=k) * b1 + (1 - b1) * gi
    vi = tl.load(v + i, mask=k) * b2 + (1 - b2) * gi * gi
    pi = tl.load(p + i, mask=k).to(tl.float32)
    pi = pi * (1 - lr * wd) - lr * mi / (tl.sqrt(vi) + eps)
    tl.store(m + i, mi, mask=k)
    tl.store(v + i, vi, mask=k)
    tl.store(p + i, pi, mask=k)


@torch.no_grad()
def adamw_step(p, g, m, v, lr, b1, b2, eps, wd):
    for t in (p, g, m, v):
        assert t.is_contiguous()
    adamw_kernel[(triton.cdiv(p.numel(), 1024),)](p, g, m, v, lr, b1, b2, eps, wd, p.numel(), BLOCK=1024)
