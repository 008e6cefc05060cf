import torch
import triton
import triton.language as tl


@triton.jit
def asym_quant_kernel(x_ptr, q_ptr, scale_ptr, zero_ptr, group, BLOCK: tl.constexpr):
    g = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    m = i < group
    x = tl.load(x_ptr + g * group + i, mask=m, other=0.0).to(tl.float32)
    lo = tl.min(tl.where(m, x, float('inf')), axis=0)
    hi = tl.max(tl.where(m, x, float('-inf')), axis=0)
    scale = tl.maximum((hi - lo) / 255.0, 1e-8)
    q = tl.floor((x - lo) / scale + 0.5)
    tl.store(q_ptr + g * group + i, q.to(tl.uint8), mask=m)
    tl.store(scale_ptr + g, scale)
    tl.store(zero_ptr + g, lo)


def quantize(x, group):
    x = x.contiguous()
    n = x.numel() // group
    q = torch.empty(x.shape, dtype=torch.uint8, device=x.device)
    scale = torch.empty(n, device=x.device)
    zero = torch.empty(n, device=x.device)
    asym_quant_kernel[(n,)](x, q, scale, zero, group, BLOCK=triton.next_power_of_2(group))
    return q, scale, zero
