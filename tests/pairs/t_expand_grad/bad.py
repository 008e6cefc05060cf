import torch
import triton
import triton.language as tl


@triton.jit
def geglu_bwd(dc, a, b, da, db, stride, n_cols: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    off = row * stride + cols
    g = tl.load(dc + off, mask=mask, other=0).to(tl.float32)
    x = tl.load(a + off, mask=mask, other=0).to(tl.float32)
    u = tl.load(b + off, mask=mask, other=0).to(tl.float32)
    phi = 0.5 * (1 + tl.erf(x * 0.70710678))
    pdf = 0.3989423 * tl.exp(-0.5 * x * x)
    tl.store(db + off, g * x * phi, mask=mask)
    tl.store(da + off, g * u * (phi + x * pdf), mask=mask)


class GegluFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        a, b = a.contiguous(), b.contiguous()
        ctx.save_for_backward(a, b)
        return torch.nn.functional.gelu(a) * b

    @staticmethod
    def backward(ctx, dc):
        a, b = ctx.saved_tensors
        a, b = a.contiguous(), b.contiguous()
        rows, n_cols = a.view(-1, a.shape[-1]).shape
        da, db = torch.empty_like(a), torch.empty_like(b)
        geglu_bwd[(rows,)](dc, a, b, da, db, a.stride(-2), n_cols=n_cols, BLOCK=triton.next_power_of_2(n_cols))
        return da, db
