import torch
import triton
import triton.language as tl


@triton.jit
def bmm_vec(A, X, Y, N, K, BN: tl.constexpr, BK: tl.constexpr):
    b = tl.program_id(1).to(tl.int64)
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    acc = tl.zeros((BN,), tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        a = tl.load(A + (b * N + n[:, None]) * K + k[None, :], mask=(n[:, None] < N) & (k[None, :] < K), other=0.0).to(tl.float32)
        x = tl.load(X + b * K + k, mask=k < K, other=0.0).to(tl.float32)
        acc += tl.sum(a * x[None, :], 1)
    tl.store(Y + b * N + n, acc, mask=n < N)


def bmv(a, x):
    a, x = a.contiguous(), x.contiguous()
    B, N, K = a.shape
    y = torch.empty((B, N), device=a.device, dtype=torch.float32)
    bmm_vec[(triton.cdiv(N, 32), B)](a, x, y, N, K, BN=32, BK=64)
    return y
