import torch
import triton
import triton.language as tl


@triton.jit
def _mul(a, b):
    return a * b


@triton.jit
def prod_dim_kernel(inp, out, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    rmask = rows < M
    acc = tl.full((BLOCK_M, BLOCK_N), value=1.0, dtype=tl.float32)
    for off in range(0, N, BLOCK_N):
        cols = off + tl.arange(0, BLOCK_N)[None, :]
        mask = rmask & (cols < N)
        a = tl.load(inp + rows.to(tl.int64) * N + cols, mask=mask, other=1.0).to(tl.float32)
        acc *= a
    res = tl.reduce(acc, axis=1, combine_fn=_mul)[:, None]
    tl.store(out + rows, res, mask=rmask)


def prod(x):
    x = x.contiguous()
    M, N = x.shape
    out = torch.empty((M, 1), dtype=torch.float32, device=x.device)
    prod_dim_kernel[(triton.cdiv(M, 8),)](x, out, M, N, BLOCK_M=8, BLOCK_N=256)
    return out.squeeze(1)
