import torch
import triton
import triton.language as tl


@triton.jit
def _chunk_lse(ptr, base, lo, n, CHUNK: tl.constexpr):
    idx = lo + tl.arange(0, CHUNK)
    vals = tl.load(ptr + base + idx, mask=idx < n)
    vals = vals.to(tl.float32)
    hi = tl.max(vals, 0)
    return hi, tl.sum(tl.exp(vals - hi), 0)


@triton.jit
def lse_kernel(logits, out, stride, n, CHUNK: tl.constexpr):
    r = tl.program_id(0)
    base = r.to(tl.int64) * stride
    best = -float("inf")
    total = 0.0
    for lo in range(0, n, CHUNK):
        hi, s = _chunk_lse(logits, base, lo, n, CHUNK)
        new = tl.maximum(best, hi)
        total = total * tl.exp(best - new) + s * tl.exp(hi - new)
        best = new
    tl.store(out + r, best + tl.log(total))


def logsumexp(logits: torch.Tensor) -> torch.Tensor:
    assert logits.dim() == 2 and logits.stride(1) == 1
    out = torch.empty(logits.size(0), device=logits.device, dtype=torch.float32)
    lse_kernel[(logits.size(0),)](logits, out, logits.stride(0), logits.size(1), CHUNK=4096)
    return out
