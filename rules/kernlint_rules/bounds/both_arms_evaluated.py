"""KL107 both-arms-evaluated."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.speculation import SpeculatedAccess, speculated_accesses
from kernlint.finding import Finding, Severity
from kernlint.ir.expr import brief
from kernlint.ir.kernel import Framework, Kernel
from kernlint.rule import Context, Example, Rule


class BothArmsEvaluated(Rule):
    code = "KL107"
    name = "both-arms-evaluated"
    kind = "oob-edge"
    frameworks = (Framework.TRITON,)
    severity = Severity.ERROR
    summary = "`where` is used to guard an access, but both of its arms are evaluated."
    why = (
        "`tl.where(cond, tl.load(p), 0)` loads first and selects afterwards. Where the condition is false the address "
        "is outside the data, and it is read all the same."
    )
    advice = "Give the load the condition as its mask: `tl.load(p, mask=cond, other=0)`."
    silent_when = ("the load has a mask that implies the condition", "the index is valid whatever the condition says")
    references = ("https://triton-lang.org/main/python-api/generated/triton.language.where.html",)
    flagged = (
        Example(
            "left neighbour",
            """\
import triton
import triton.language as tl

@triton.jit
def diff(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    x = tl.load(x_ptr + i, mask=ok, other=0.0)
    left = tl.where(i > 0, tl.load(x_ptr + i - 1), 0.0)  #~ KL107
    tl.store(y_ptr + i, x - left, mask=ok)
""",
            language="python",
        ),
        Example(
            "upper bound",
            """\
import triton
import triton.language as tl

@triton.jit
def shift(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    right = tl.load(x_ptr + i + 1)  #~ KL107
    tl.store(y_ptr + i, tl.where(i + 1 < n, right, 0.0), mask=i < n)
""",
            language="python",
        ),
    )
    silent = (
        Example(
            "masked load, then where",
            """\
import triton
import triton.language as tl

@triton.jit
def shift(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    right = tl.load(x_ptr + i + 1, mask=i + 1 < n, other=0.0)
    tl.store(y_ptr + i, tl.where(i + 1 < n, right, 1.0), mask=i < n)
""",
            language="python",
        ),
        Example(
            "the condition is about values",
            """\
import triton
import triton.language as tl

@triton.jit
def relu(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, tl.where(x > 0, x, 0.0), mask=i < n)
""",
            language="python",
        ),
        Example(
            "the index is valid for every lane",
            """\
import triton
import triton.language as tl

@triton.jit
def pick(x_ptr, y_ptr, limit, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, tl.where(i % 2 == 0, x, 0.0))
""",
            language="python",
        ),
    )

    def check_kernel(self, kernel: Kernel, context: Context) -> Iterator[Finding]:
        for found in speculated_accesses(kernel):
            yield self._report(found, kernel)

    def _report(self, found: SpeculatedAccess, kernel: Kernel) -> Finding:
        access = found.access
        name = access.buffer.name if access.buffer else "memory"
        return self.finding(
            access.span,
            f"`{name}` is read before `where` selects, also where `{found.condition}` fails. "
            f"The index `{brief(access.index)}` is only valid under that condition.",
            related=[(found.where, "both arms of this are evaluated")],
            confidence=found.confidence,
            kernel=kernel.name,
            evidence={"condition": repr(found.condition), "index": repr(access.index)},
        )
