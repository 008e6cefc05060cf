import torch
import triton
import triton.language as tl


@triton.jit
def rope_inplace(q, cos, sin, S, H, D, BH: tl.constexpr, BD: tl.constexpr):
    t = tl.program_id(0).to(tl.int64)
    h = tl.arange(0, BH)
    d = tl.arange(0, BD)
    ok = (h < H)[:, None] & (d < D // 2)[None, :]
    a = q + t * H * D + h[:, None] * D + d[None, :]
    c = tl.load(cos + (t % S) * (D // 2) + d, mask=d < D // 2, other=1.0)[None, :]
    s = tl.load(sin + (t % S) * (D // 2) + d, mask=d < D // 2, other=0.0)[None, :]
    x = tl.load(a, mask=ok, other=0.0).to(tl.float32)
    y = tl.load(a + D // 2, mask=ok, other=0.0).to(tl.float32)
    tl.store(a, x * c - y * s, mask=ok)
    tl.store(a + D // 2, y * c + x * s, mask=ok)


def rope(q, cos, sin):
    # q arrives as [B, H, S, D]
    q = q.transpose(1, 2)
    cos, sin = cos.contiguous(), sin.contiguous()
    B, S, H, D = q.shape
    rope_inplace[(B * S,)](q, cos, sin, S, H, D, BH=triton.next_power_of_2(H), BD=triton.next_power_of_2(D // 2))
    return q.transpose(1, 2)
