"""KL510 assumed-contiguous."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.layout import borrowed_layouts
from kernlint.finding import Confidence, Finding, Severity
from kernlint.ir.kernel import Framework, Launch
from kernlint.rule import Context, Example, Rule

_SOURCE = """\
import torch, triton
import triton.language as tl

@triton.jit
def mul_kernel(dy_ptr, x_ptr, dx_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    ok = c < n
    dy = tl.load(dy_ptr + row * stride + c, mask=ok, other=0.0)
    x = tl.load(x_ptr + row * stride + c, mask=ok, other=0.0)
    tl.store(dx_ptr + row * stride + c, dy * x, mask=ok)

def mul_bwd(dy, x):
    {prepare}
    rows, n = x.shape
    dx = torch.empty_like(x)
    mul_kernel[(rows,)](dy, x, dx, x.stride(0), n, BLOCK=triton.next_power_of_2(n)){mark}
    return dx
"""


class AssumedContiguous(Rule):
    code = "KL510"
    name = "assumed-contiguous"
    kind = "stride-layout"
    frameworks = (Framework.TRITON,)
    severity = Severity.WARNING
    summary = "A tensor of unchecked layout is indexed by another tensor's strides."
    why = (
        "Gradients arrive expanded (stride 0) or transposed. A kernel that walks them by a sibling's row length then "
        "reads other elements, silently and inside the allocation, so no sanitizer objects."
    )
    advice = "Call `.contiguous()` on it as on its siblings, pass its own strides, or assert `is_contiguous()`."
    silent_when = (
        "the layout of every tensor is normalised or checked",
        "each tensor is indexed by its own strides",
    )
    references = (
        "https://github.com/flagos-ai/FlagGems/pull/1084",
        "https://github.com/ROCm/TransformerEngine/pull/623",
    )
    flagged = (
        Example(
            "only one input is made contiguous",
            _SOURCE.format(prepare="x = x.contiguous()", mark="  #~ KL510"),
            language="python",
        ),
        Example(
            "only one input is checked",
            _SOURCE.format(prepare="assert x.is_contiguous()", mark="  #~ KL510"),
            language="python",
        ),
        Example(
            "a flat walk over half the columns",
            """\
import torch, triton
import triton.language as tl

@triton.jit
def relu_kernel(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(x_ptr + i, tl.maximum(x, 0.0), mask=i < n)

def relu_left(x):
    left = x[:, : x.shape[1] // 2]
    relu_kernel[(triton.cdiv(left.numel(), 256),)](left, left.numel(), BLOCK=256)  #~ KL510
    return left
""",
            language="python",
        ),
    )
    silent = (
        Example(
            "a flat walk over a contiguous copy",
            """\
import torch, triton
import triton.language as tl

@triton.jit
def relu_kernel(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(x_ptr + i, tl.maximum(x, 0.0), mask=i < n)

def relu_left(x):
    left = x[:, : x.shape[1] // 2].contiguous()
    relu_kernel[(triton.cdiv(left.numel(), 256),)](left, left.numel(), BLOCK=256)
    return left
""",
            language="python",
        ),
        Example(
            "both",
            _SOURCE.format(prepare="x, dy = x.contiguous(), dy.contiguous()", mark=""),
            language="python",
        ),
        Example(
            "both checked",
            _SOURCE.format(prepare="assert x.is_contiguous() and dy.is_contiguous()", mark=""),
            language="python",
        ),
        Example(
            "own strides",
            _SOURCE.format(prepare="x = x.contiguous()", mark="")
            .replace("x_ptr, dx_ptr, stride,", "x_ptr, dx_ptr, stride_dy, stride,")
            .replace("dy_ptr + row * stride", "dy_ptr + row * stride_dy")
            .replace("dx, x.stride(0)", "dx, dy.stride(0), x.stride(0)"),
            language="python",
        ),
    )

    def check_launch(self, launch: Launch, context: Context) -> Iterator[Finding]:
        reported = context.cache.setdefault("KL510", set())
        for found in borrowed_layouts(launch):
            if (found.param, found.access.span) in reported:
                continue  # one access, several launches
            reported.add((found.param, found.access.span))
            name = found.tensor.name
            if found.owner is None:
                text = (
                    f"`{name}` is walked as one flat array, but it is not contiguous. It is a view with gaps or in "
                    f"another order; `{found.param}` reads its neighbours' elements."
                )
            elif found.tensor.init != "given":
                text = (
                    f"`{name}` is walked by the strides of `{found.owner.name}`, which nobody checks. It is dense; "
                    f"a sliced or transposed `{found.owner.name}` makes the kernel miss its rows."
                )
            else:
                text = (
                    f"`{name}` is read by the strides of `{found.owner.name}`, its own layout unchecked. "
                    f"`{found.owner.name}` is made contiguous here, `{name}` is not."
                )
            yield self.finding(
                launch.span,
                text,
                related=[(found.access.span, f"`{found.param}` is indexed here")],
                confidence=Confidence.MEDIUM if found.access.guard.flags else Confidence.HIGH,
                kernel=launch.kernel_name,
                evidence={"tensor": name, "owner": found.owner.name if found.owner else "", "parameter": found.param},
            )
