import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def bias_gelu_kernel(x_ptr, bias_ptr, out_ptr, n_elements, width, BLOCK: tl.constexpr):
    pid = tl.program_id(axis=0)
    block_start = pid.to(tl.int64) * BLOCK
    offsets = block_start + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    b = tl.load(bias_ptr + offsets % width)
    z = x + b
    y = 0.5 * z * (1.0 + tl.erf(z * 0.7071067811865476))
    tl.store(out_ptr + offsets, y)


def bias_gelu(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    x = x.contiguous()
    bias = bias.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    bias_gelu_kernel[grid](x, bias, out, n, bias.numel(), BLOCK=BLOCK)
    return out
