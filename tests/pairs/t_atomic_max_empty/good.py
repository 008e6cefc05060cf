import torch
import triton
import triton.language as tl


@triton.jit
def amax_kernel(x, amax, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
    tl.atomic_max(amax, tl.max(tl.abs(v), axis=0))


class Fp8Scale:
    def __init__(self, device):
        self.device = device

    def __call__(self, x):
        x = x.contiguous()
        n = x.numel()
        amax = torch.zeros((), dtype=torch.float32, device=self.device)
        amax_kernel[(triton.cdiv(n, 4096),)](x, amax, n, BLOCK=4096)
        return 448.0 / amax.clamp(min=1e-12)
