import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BM": 32, "BN": 64}, num_warps=2),
        triton.Config({"BM": 64, "BN": 64}, num_warps=4),
        triton.Config({"BM": 64, "BN": 128}, num_warps=8),
    ],
    key=["M", "N"],
)
@triton.jit
def accumulate_grad(dw_ptr, part_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    ok = (m[:, None] < M) & (n[None, :] < N)
    at = m[:, None].to(tl.int64) * N + n[None, :]
    old = tl.load(dw_ptr + at, mask=ok)
    new = tl.load(part_ptr + at, mask=ok)
    tl.store(dw_ptr + at, old + new, mask=ok)


def add_grad_(dw, part):
    assert dw.is_contiguous() and part.is_contiguous()
    M, N = dw.shape
    grid = lambda META: (triton.cdiv(M, META["BM"]), triton.cdiv(N, META["BN"]))
    accumulate_grad[grid](dw, part, M, N)
