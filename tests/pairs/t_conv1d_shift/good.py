import torch
import triton
import triton.language as tl


@triton.jit
def token_shift_kernel(x, mix, y, T, D, BT: tl.constexpr, BD: tl.constexpr):
    b = tl.program_id(2).to(tl.int64)
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    d = tl.program_id(1) * BD + tl.arange(0, BD)
    m = (t < T)[:, None] & (d < D)[None, :]
    cur = x + b * T * D + t[:, None] * D + d[None, :]
    now = tl.load(cur, mask=m, other=0.0).to(tl.float32)
    prev = tl.load(cur - D, mask=m & (t > 0)[:, None], other=0.0).to(tl.float32)
    w = tl.load(mix + d, mask=d < D, other=0.0).to(tl.float32)[None, :]
    tl.store(y + b * T * D + t[:, None] * D + d[None, :], now * w + prev * (1.0 - w), mask=m)


def token_shift(x, mix):
    x, mix = x.contiguous(), mix.contiguous()
    B, T, D = x.shape
    assert 0 < B <= 1024 and 0 < T <= 65536 and 0 < D <= 16384
    y = torch.empty_like(x)
    token_shift_kernel[(triton.cdiv(T, 32), triton.cdiv(D, 64), B)](x, mix, y, T, D, BT=32, BD=64)
    return y
