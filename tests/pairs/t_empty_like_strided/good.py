import torch
import triton
import triton.language as tl


@triton.jit
def norm_kernel(x, y, sxr, syr, n, BLOCK: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    m = c < n
    v = tl.load(x + r * sxr + c, mask=m, other=0.0).to(tl.float32)
    d = tl.sqrt(tl.sum(v * v, axis=0)) + 1e-6
    tl.store(y + r * syr + c, v / d, mask=m)


def l2norm(x):
    assert x.dim() == 2 and x.stride(-1) == 1
    rows, n = x.shape
    y = torch.empty((rows, n), dtype=x.dtype, device=x.device)
    norm_kernel[(rows,)](x, y, x.stride(0), y.stride(0), n, BLOCK=triton.next_power_of_2(n))
    return y
