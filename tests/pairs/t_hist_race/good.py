import torch
import triton
import triton.language as tl


@triton.jit
def bincount_kernel(ids, counts, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    b = tl.load(ids + i, mask=m, other=0)
    tl.atomic_add(counts + b, 1, mask=m)


def bincount(ids, bins):
    assert ids.is_contiguous()
    counts = torch.zeros(bins, dtype=torch.int32, device=ids.device)
    n = ids.numel()
    bincount_kernel[(triton.cdiv(n, 1024),)](ids, counts, n, BLOCK=1024)
    return counts
