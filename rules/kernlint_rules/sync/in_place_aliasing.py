"""KL209 in-place-aliasing."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.host_memory import overwritten_inputs
from kernlint.finding import Finding, Severity
from kernlint.ir.kernel import Framework, Launch
from kernlint.rule import Context, Example, Rule

_SOURCE = """\
import torch, triton
import triton.language as tl

@triton.jit
def softplus_kernel(x_ptr, y_ptr, g_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    x = tl.load(x_ptr + i, mask=ok, other=0.0)
    tl.store(y_ptr + i, tl.log(1 + tl.exp(x)), mask=ok)
    tl.store(g_ptr + i, tl.sigmoid(x), mask=ok)

class Softplus(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        {grad}
        softplus_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, grad, x.numel(), BLOCK=1024){mark}
        ctx.save_for_backward(grad)
        return y
"""


class InPlaceAliasing(Rule):
    code = "KL209"
    name = "in-place-aliasing"
    kind = "alias-inplace"
    frameworks = (Framework.TRITON,)
    severity = Severity.WARNING
    summary = "A launch writes through an alias of the caller's tensor that autograd may still need."
    why = (
        "`.contiguous()` returns the very same tensor when it already is contiguous, so a buffer derived from it is "
        "the caller's own. Whatever produced that tensor and saved it for its backward pass now reads other numbers."
    )
    advice = "Allocate the output (`torch.empty_like`), or declare the overwrite with `ctx.mark_dirty`."
    silent_when = (
        "the output is a fresh allocation or a copy",
        "the function calls `ctx.mark_dirty`",
    )
    references = ("https://github.com/linkedin/Liger-Kernel/issues/272",)
    flagged = (
        Example("gradient kept in the input", _SOURCE.format(grad="grad = x", mark="  #~ KL209"), language="python"),
        Example("through a view", _SOURCE.format(grad="grad = x.view(-1)", mark="  #~ KL209"), language="python"),
    )
    silent = (
        Example("fresh buffer", _SOURCE.format(grad="grad = torch.empty_like(x)", mark=""), language="python"),
        Example("copy", _SOURCE.format(grad="grad = x.clone()", mark=""), language="python"),
        Example(
            "declared",
            _SOURCE.format(grad="grad = x\n        ctx.mark_dirty(x)", mark=""),
            language="python",
        ),
    )

    def check_launch(self, launch: Launch, context: Context) -> Iterator[Finding]:
        for found in overwritten_inputs(launch):
            source = found.tensor.alias_of
            yield self.finding(
                launch.span,
                f"`{found.param}` overwrites the caller's `{source}`, which is still read as `{found.read_as}`. The "
                f"alias `{found.tensor.name}` shares its storage, and autograd may have saved it for backward.",
                related=[(found.store.span, "written here")],
                kernel=launch.kernel_name,
                evidence={"input": source, "parameter": found.param},
            )
