import torch
import triton
import triton.language as tl


@triton.jit
def splitk_mm(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    pk = tl.program_id(2)
    m = pm * BM + tl.arange(0, BM)
    n = pn * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(pk * BK, K, BK * SPLIT):
        k = k0 + tl.arange(0, BK)
        x = tl.load(a + m[:, None].to(tl.int64) * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        y = tl.load(b + k[:, None].to(tl.int64) * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(x, y)
    out = c + m[:, None].to(tl.int64) * N + n[None, :]
    tl.store(out, acc, mask=(m[:, None] < M) & (n[None, :] < N))


def mm(a, b):
    a, b = a.contiguous(), b.contiguous()
    M, K = a.shape
    N = b.shape[1]
    assert 0 < N <= 65535 * 64
    c = torch.zeros((M, N), dtype=torch.float32, device=a.device)
    splitk_mm[(triton.cdiv(M, 64), triton.cdiv(N, 64), 4)](a, b, c, M, N, K, BM=64, BN=64, BK=32, SPLIT=4)
    return c
