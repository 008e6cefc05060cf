import torch
import triton
import triton.language as tl


@triton.jit
def top1_router(scores, idx_out, w_out, T, E, s_t, BT: tl.constexpr, BE: tl.constexpr):
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    e = tl.arange(0, BE)
    ok_t = t < T
    ok = ok_t[:, None] & (e[None, :] < E)
    s = tl.load(scores + t.to(tl.int64)[:, None] * s_t + e[None, :], mask=ok, other=-1e30).to(tl.float32)
    best = tl.argmax(s, axis=1)
    top = tl.max(s, axis=1)
    tl.store(idx_out + t, best, mask=ok_t)
    tl.store(w_out + t, tl.sigmoid(top), mask=ok_t)


def route(scores):
    assert scores.stride(-1) == 1
    T, E = scores.shape
    idx = torch.empty(T, dtype=torch.int32, device=scores.device)
    w = torch.empty(T, dtype=torch.float32, device=scores.device)
    top1_router[(triton.cdiv(T, 16),)](scores, idx, w, T, E, scores.stride(0), BT=16, BE=triton.next_power_of_2(E))
    return idx, w
