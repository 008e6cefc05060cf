import torch
import triton
import triton.language as tl


@triton.jit
def liger_like_ce(X_ptr, X_stride, Y_ptr, loss_ptr, n_cols, ignore_index, BLOCK_SIZE: tl.constexpr):
    program_id = tl.program_id(0).to(tl.int64)
    y = tl.load(Y_ptr + program_id)
    X_ptr += program_id * X_stride
    if y == ignore_index:
        tl.store(loss_ptr + program_id, 0.0)
        return
    m = float("-inf")
    d = 0.0
    for i in range(0, n_cols, BLOCK_SIZE):
        off = i + tl.arange(0, BLOCK_SIZE)
        x = tl.load(X_ptr + off, mask=off < n_cols, other=float("-inf")).to(tl.float32)
        block_max = tl.max(x)
        m_new = tl.maximum(m, block_max)
        d = d * tl.exp(m - m_new) + tl.sum(tl.exp(x - m_new))
        m = m_new
    xy = tl.load(X_ptr + y).to(tl.float32)
    tl.store(loss_ptr + program_id, m + tl.log(d) - xy)


def ce(logits, target, ignore_index=-100):
    BT, V = logits.shape
    loss = torch.zeros(BT, dtype=torch.float32, device=logits.device)
    if logits.stride(-1) != 1:
        logits = logits.contiguous()
    if target.stride(-1) != 1:
        target = target.contiguous()
    liger_like_ce[(BT,)](logits, logits.stride(-2), target, loss, V, ignore_index, BLOCK_SIZE=min(65536 // 2, triton.next_power_of_2(V)), num_warps=32)
    return loss
