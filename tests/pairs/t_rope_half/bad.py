import torch
import triton
import triton.language as tl


@triton.jit
def rope_kernel(q, cos, sin, q_row_stride, seq_len, head_dim, n_heads: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    head = tl.program_id(1)
    half = head_dim // 2
    cols = tl.arange(0, BLOCK)
    mask = cols < head_dim
    c = tl.load(cos + (row % seq_len) * half + cols, mask=mask, other=0)
    s = tl.load(sin + (row % seq_len) * half + cols, mask=mask, other=0)
    base = q + row.to(tl.int64) * q_row_stride + head * head_dim
    a = tl.load(base + cols, mask=mask, other=0).to(tl.float32)
    b = tl.load(base + half + cols, mask=mask, other=0).to(tl.float32)
    tl.store(base + cols, a * c - b * s, mask=mask)
    tl.store(base + half + cols, b * c + a * s, mask=mask)


def apply_rope_(q, cos, sin):
    bsz, seq, heads, dim = q.shape
    q = q.view(bsz * seq, heads * dim)
    assert q.is_contiguous() and cos.is_contiguous() and sin.is_contiguous()
    BLOCK = triton.next_power_of_2(dim // 2)
    rope_kernel[(bsz * seq, heads)](q, cos, sin, q.stride(0), seq, dim, heads, BLOCK)
    return q.view(bsz, seq, heads, dim)
