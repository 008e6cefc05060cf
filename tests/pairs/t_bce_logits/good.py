import torch
import triton
import triton.language as tl


@triton.jit
def bce_kernel(logits, labels, part, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = pid.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    z = tl.load(logits + i, mask=m, other=0.0).to(tl.float32)
    t = tl.load(labels + i, mask=m, other=0.0).to(tl.float32)
    loss = tl.maximum(z, 0.0) - z * t + tl.log(1.0 + tl.exp(-tl.abs(z)))
    tl.store(part + pid, tl.sum(tl.where(m, loss, 0.0), axis=0))


def bce_with_logits(logits, labels):
    logits, labels = logits.contiguous(), labels.contiguous()
    n = logits.numel()
    blocks = triton.cdiv(n, 2048)
    part = torch.empty(blocks, device=logits.device, dtype=torch.float32)
    bce_kernel[(blocks,)](logits, labels, part, n, BLOCK=2048)
    return part.sum() / n
