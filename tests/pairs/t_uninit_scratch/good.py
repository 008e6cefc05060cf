import torch
import triton
import triton.language as tl


@triton.jit
def segment_sum(x, seg, out, n, D, BLOCK: tl.constexpr, BD: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.program_id(1) * BD + tl.arange(0, BD)
    m = (i < n)[:, None] & (d < D)[None, :]
    s = tl.load(seg + i, mask=i < n, other=0).to(tl.int64)
    v = tl.load(x + i[:, None].to(tl.int64) * D + d[None, :], mask=m, other=0.0).to(tl.float32)
    tl.atomic_add(out + s[:, None] * D + d[None, :], v, mask=m)


def scatter_sum(x: torch.Tensor, seg: torch.Tensor, num_segments: int, out: torch.Tensor | None = None):
    x = x.contiguous()
    n, D = x.shape
    if out is None:
        out = torch.zeros((num_segments, D), device=x.device, dtype=torch.float32)
    segment_sum[(triton.cdiv(n, 32), triton.cdiv(D, 64))](x, seg, out, n, D, BLOCK=32, BD=64)
    return out
