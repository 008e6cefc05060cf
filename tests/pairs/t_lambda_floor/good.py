import torch
import triton
import triton.language as tl


@triton.jit
def l1_kernel(a, b, part, n, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    i = p.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(a + i, mask=i < n, other=0.0).to(tl.float32)
    y = tl.load(b + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(part + p, tl.sum(tl.abs(x - y), axis=0))


def l1(a, b):
    a, b = a.contiguous(), b.contiguous()
    n = a.numel()
    part = torch.zeros(triton.cdiv(n, 1024), device=a.device)
    l1_kernel[lambda meta: (max(1, triton.cdiv(n, meta["BLOCK"])),)](a, b, part, n, BLOCK=1024)
    return part.sum() / n
