import torch
import triton
import triton.language as tl


@triton.jit
def _swiglu_fwd_kernel(gate_ptr, up_ptr, out_ptr, n, BLOCK: tl.constexpr):
    off = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m = off < n
    g = tl.load(gate_ptr + off, mask=m, other=0.0).to(tl.float32)
    u = tl.load(up_ptr + off, mask=m, other=0.0).to(tl.float32)
    tl.store(out_ptr + off, g * tl.sigmoid(g) * u, mask=m)


def swiglu(gate_up: torch.Tensor) -> torch.Tensor:
    gate, up = gate_up.chunk(2, dim=-1)
    out = torch.empty(gate.shape, dtype=gate.dtype, device=gate.device)
    n = out.numel()
    _swiglu_fwd_kernel[(triton.cdiv(n, 1024),)](gate, up, out, n, BLOCK=1024)
    return out
