import torch
import triton
import triton.language as tl


@triton.jit
def _bias_grad(dy, db, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    g = tl.load(dy + rm[:, None].to(tl.int64) * N + rn[None, :], mask=mask, other=0.0).to(tl.float32)
    tl.atomic_add(db + rn, tl.sum(g, axis=0), mask=rn < N)


class BiasAdd(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bias):
        ctx.has_bias = bias is not None
        return x + bias

    @staticmethod
    def backward(ctx, grad_out):
        grad_out = grad_out.contiguous()
        flat = grad_out.view(-1, grad_out.shape[-1])
        M, N = flat.shape
        db = flat.new_zeros((N,), dtype=torch.float32)
        grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
        _bias_grad[grid](flat, db, M, N, BM=64, BN=64)
        return grad_out, db.to(grad_out.dtype)
