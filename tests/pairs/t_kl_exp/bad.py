import torch
import triton
import triton.language as tl


@triton.jit
def kl_kernel(logp, logq, out, V, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    total = 0.0
    for v in range(0, V, BLOCK):
        i = v + tl.arange(0, BLOCK)
        keep = i < V
        lp = tl.load(logp + row * stride + i, mask=keep, other=0.0).to(tl.float32)
        lq = tl.load(logq + row * stride + i, mask=keep, other=-1.0).to(tl.float32)
        total += tl.sum(tl.exp(lp) * (lp - lq))
    tl.store(out + row, total)


def kl(logp, logq):
    assert logp.is_contiguous() and logq.is_contiguous() and logp.shape == logq.shape
    n, V = logp.shape
    out = torch.empty(n, device=logp.device)
    kl_kernel[(n,)](logp, logq, out, V, logp.stride(0), BLOCK=2048)
    return out
