"""KL115 uninitialised-accumulator."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.host_memory import dirty_accumulations
from kernlint.finding import Finding, Severity
from kernlint.ir.kernel import Framework, Launch
from kernlint.rule import Context, Example, Rule

_SOURCE = """\
import torch, triton
import triton.language as tl

@triton.jit
def total_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0)
    {combine}

def total(x):
    n = x.numel()
    {allocate}
    total_kernel[(triton.cdiv(n, 1024),)](x, out, n, BLOCK=1024)
    return out
"""
_ADD = "tl.atomic_add(out_ptr, tl.sum(v, axis=0))"


class UninitialisedAccumulator(Rule):
    code = "KL115"
    name = "uninitialised-accumulator"
    kind = "uninit"
    frameworks = (Framework.CUDA, Framework.TRITON)
    severity = Severity.ERROR
    summary = "A kernel accumulates into memory that nothing initialised."
    why = (
        "`torch.empty` returns whatever the allocator had there. In a fresh process that is often zero, so tests pass; "
        "later the sum starts from somebody else's data."
    )
    advice = "Allocate the accumulator with zeros, or store the first contribution instead of adding it."
    silent_when = (
        "the buffer is zeroed by the host or written by an earlier launch",
        "the kernel stores to it as well",
    )
    references = ("https://github.com/ByteDance-Seed/Triton-distributed/pull/184",)
    flagged = (
        Example(
            "empty accumulator",
            _SOURCE.format(combine=_ADD, allocate="out = torch.empty(1, device=x.device)  #~ KL115"),
            language="python",
        ),
        Example(
            "empty_like",
            _SOURCE.format(combine=_ADD, allocate="out = torch.empty_like(x[:1])  #~ KL115"),
            language="python",
        ),
    )
    silent = (
        Example(
            "zeros",
            _SOURCE.format(combine=_ADD, allocate="out = torch.zeros(1, device=x.device)"),
            language="python",
        ),
        Example(
            "zeroed afterwards",
            _SOURCE.format(combine=_ADD, allocate="out = torch.empty(1, device=x.device)\n    out.zero_()"),
            language="python",
        ),
        Example(
            "plain store",
            _SOURCE.format(
                combine="tl.store(out_ptr + i, v, mask=i < n)", allocate="out = torch.empty(n, device=x.device)"
            ),
            language="python",
        ),
    )

    def check_launch(self, launch: Launch, context: Context) -> Iterator[Finding]:
        for found in dirty_accumulations(launch):
            tensor = found.tensor
            yield self.finding(
                tensor.span or launch.span,
                f"`{tensor.name}` is accumulated into but never initialised. `{launch.kernel_name}` adds to "
                f"`{found.param}` with an atomic, starting from whatever the allocation held.",
                related=[(found.access.span, "added to here"), (launch.span, "the launch")],
                kernel=launch.kernel_name,
                evidence={"tensor": tensor.name, "parameter": found.param},
            )
