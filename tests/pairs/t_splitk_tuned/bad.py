import torch
import triton
import triton.language as tl


def get_configs():
    return [
        triton.Config({"BLOCK_N": bn, "BLOCK_K": bk, "SPLIT_K": sk}, num_warps=w)
        for bn in (32, 64) for bk in (64, 128) for sk in (1, 4) for w in (2, 4)
    ]


@triton.autotune(configs=get_configs(), key=["N", "K"])
@triton.jit
def gemv_splitk(W, X, Y, N, K, stride_wn, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SPLIT_K: tl.constexpr):
    rn = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.program_id(1) * BLOCK_K + tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_N,), dtype=tl.float32)
    for k in range(0, K, BLOCK_K * SPLIT_K):
        kk = k + rk
        x = tl.load(X + kk, mask=kk < K, other=0.0).to(tl.float32)
        w = tl.load(W + rn[:, None].to(tl.int64) * stride_wn + kk[None, :],
                    mask=(rn[:, None] < N) & (kk[None, :] < K), other=0.0).to(tl.float32)
        acc += tl.sum(w * x[None, :], axis=1)
    tl.atomic_add(Y + rn, acc, mask=rn < N)


def gemv(w: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    N, K = w.shape
    assert w.stride(1) == 1 and x.is_contiguous()
    y = torch.zeros(N, device=w.device, dtype=torch.float32)
    grid = lambda META: (triton.cdiv(N, META["BLOCK_N"]), META["SPLIT_K"])
    gemv_splitk[grid](w, x, y, N, K, w.stride(0))
    return y
