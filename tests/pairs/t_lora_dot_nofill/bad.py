import torch
import triton
import triton.language as tl


@triton.jit
def lora_shrink(x_ptr, a_ptr, y_ptr, T, D, R, BT: tl.constexpr, BD: tl.constexpr, BR: tl.constexpr):
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    r = tl.arange(0, BR)
    d = tl.arange(0, BD)
    x_tile = x_ptr + t[:, None].to(tl.int64) * D + d[None, :]
    a_tile = a_ptr + r[None, :] * D + d[:, None]
    acc = tl.zeros([BT, BR], tl.float32)
    for k in range(0, D, BD):
        x = tl.load(x_tile + k, mask=(t[:, None] < T) & (d[None, :] + k < D))
        a = tl.load(a_tile + k, mask=(r[None, :] < R) & (d[:, None] + k < D))
        acc += tl.dot(x, a)
    tl.store(y_ptr + t[:, None] * R + r[None, :], acc, mask=(t[:, None] < T) & (r[None, :] < R))


def shrink(x, a):
    assert x.is_contiguous() and a.is_contiguous() and x.dtype == torch.float16 and a.dtype == torch.float16
    T, D = x.shape
    R = a.shape[0]
    y = torch.empty(T, R, dtype=torch.float32, device=x.device)
    lora_shrink[(triton.cdiv(T, 32),)](x, a, y, T, D, R, BT=32, BD=64, BR=max(16, triton.next_power_of_2(R)))
    return y
