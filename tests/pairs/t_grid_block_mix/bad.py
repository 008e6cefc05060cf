import torch
import triton
import triton.language as tl


@triton.jit
def mish_kernel(x, y, n, BLOCK: tl.constexpr):
    o = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    k = o < n
    v = tl.load(x + o, mask=k).to(tl.float32)
    sp = tl.where(v > 20.0, v, tl.log(1.0 + tl.exp(v)))
    t = 1.0 - 2.0 / (1.0 + tl.exp(2.0 * sp))
    tl.store(y + o, (v * t), mask=k)


def mish(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    grid = (triton.cdiv(n, 1024),)
    mish_kernel[grid](x, y, n, BLOCK=512)
    return y
