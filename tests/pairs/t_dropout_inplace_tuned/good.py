import torch
import triton
import triton.language as tl


configs = [triton.Config({"BLOCK": b}, num_warps=4) for b in [512, 1024, 2048]]


@triton.autotune(configs, ["numel"], restore_value=["hidden_ptr"])
@triton.jit
def residual_scale_(hidden_ptr, residual_ptr, alpha, numel, BLOCK: tl.constexpr):
    idx = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    live = idx < numel
    h_ptrs = hidden_ptr + idx
    h = tl.load(h_ptrs, mask=live)
    r = tl.load(residual_ptr + idx, mask=live)
    tl.store(h_ptrs, h * alpha + r, mask=live)


class ScaledResidual(torch.nn.Module):
    def __init__(self, alpha):
        super().__init__()
        self.alpha = alpha

    @torch.no_grad()
    def forward(self, hidden, residual):
        assert hidden.is_contiguous() and residual.is_contiguous()
        numel = hidden.numel()
        residual_scale_[lambda m: (triton.cdiv(numel, m["BLOCK"]),)](hidden, residual, self.alpha, numel)
        return hidden
