import torch
import triton
import triton.language as tl


@triton.jit
def _attn_fwd(Q, K, V, O, sm_scale, q_len, kv_len, stride_h, stride_kh,
              HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    start_m = tl.program_id(0)
    h = tl.program_id(1).to(tl.int64)
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, HEAD)
    q = tl.load(Q + h * stride_h + offs_m[:, None] * HEAD + offs_d[None, :], mask=offs_m[:, None] < q_len, other=0.0)
    m_i = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD], tl.float32)
    for start_n in range(0, kv_len, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        live = offs_n < kv_len
        k = tl.load(K + h * stride_kh + offs_n[None, :] * HEAD + offs_d[:, None], mask=live[None, :], other=0.0)
        v = tl.load(V + h * stride_kh + offs_n[:, None] * HEAD + offs_d[None, :], mask=live[:, None], other=0.0)
        qk = tl.dot(q, k) * sm_scale
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.exp(qk - m_new[:, None])
        alpha = tl.exp(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        m_i = m_new
    acc = acc / l_i[:, None]
    tl.store(O + h * stride_h + offs_m[:, None] * HEAD + offs_d[None, :], acc.to(O.dtype.element_ty), mask=offs_m[:, None] < q_len)


def attention(q, k, v):
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    B, H, S, D = q.shape
    KV = k.shape[2]
    assert D in (32, 64, 128) and B * H <= 65535
    o = torch.empty_like(q)
    _attn_fwd[(triton.cdiv(S, 64), B * H)](q, k, v, o, D ** -0.5, S, KV, q.stride(1), k.stride(1), HEAD=D, BLOCK_M=64, BLOCK_N=64)
    return o
