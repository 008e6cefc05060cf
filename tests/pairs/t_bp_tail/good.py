import torch
import triton
import triton.language as tl


@triton.jit
def addmm_kernel(A, B, Bias, C, M, N, K, sam, sak, sbk, sbn, scm, scn,
                 BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    im = tl.program_id(0)
    jn = tl.program_id(1)
    a = tl.make_block_ptr(A, (M, K), (sam, sak), (im * BM, 0), (BM, BK), (1, 0))
    b = tl.make_block_ptr(B, (K, N), (sbk, sbn), (0, jn * BN), (BK, BN), (1, 0))
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(tl.cdiv(K, BK)):
        acc = tl.dot(tl.load(a, boundary_check=(0, 1), padding_option="zero"), tl.load(b, boundary_check=(0, 1), padding_option="zero"), acc)
        a = tl.advance(a, (0, BK))
        b = tl.advance(b, (BK, 0))
    c = tl.make_block_ptr(C, (M, N), (scm, scn), (im * BM, jn * BN), (BM, BN), (1, 0))
    cols = jn * BN + tl.arange(0, BN)
    bias = tl.load(Bias + cols, mask=cols < N, other=0.0)
    tl.store(c, (acc + bias[None, :]).to(C.dtype.element_ty), boundary_check=(0, 1))


def addmm(bias, a, b):
    assert bias.is_contiguous()
    M, K = a.shape
    _, N = b.shape
    c = a.new_empty((M, N))
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
    addmm_kernel[grid](a, b, bias, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), BM=64, BN=64, BK=32)
    return c
