"""KL106 zero-times-undefined."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.padding import cached_faults, first_per_origin
from kernlint.analysis.padding_judge import Fault, PaddingFault
from kernlint.analysis.padding_text import name_of, operation, where_padded
from kernlint.finding import Confidence, Finding, Severity
from kernlint.ir.kernel import Framework, Kernel
from kernlint.ir.types import Span
from kernlint.ir.value import Value
from kernlint.rule import Context, Example, Rule

_HEAD = "import triton\nimport triton.language as tl\n\n@triton.jit\n"


class ZeroTimesUndefined(Rule):
    code = "KL106"
    name = "zero-times-undefined"
    kind = "mask-other"
    frameworks = (Framework.TRITON,)
    severity = Severity.WARNING
    summary = "A weight of 0 in the masked lanes multiplies lanes that are undefined."
    why = (
        "0 times NaN is NaN, and 0 times infinity too. What an unfilled masked load leaves in a register may be "
        "either, so the zero weight does not protect the sum."
    )
    advice = "Give both loads `other=0.0`."
    silent_when = ("both operands are filled", "the product is only stored under the mask")
    references = ("https://github.com/triton-lang/triton/issues/10448",)
    flagged = (
        Example(
            "only one factor filled",
            _HEAD
            + """\
def weighted_sum(x_ptr, w_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    ok = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=ok)  #~ KL106
    w = tl.load(w_ptr + cols, mask=ok, other=0.0)
    tl.store(out_ptr + row, tl.sum(x * w, axis=0))
""",
            language="python",
        ),
        Example(
            "probabilities are 0, values are not filled",
            _HEAD
            + """\
def attend(q_ptr, k_ptr, v_ptr, o_ptr, n, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.arange(0, BM)
    d = tl.arange(0, D)
    t = tl.arange(0, BN)
    q = tl.load(q_ptr + m[:, None] * D + d[None, :])
    k = tl.load(k_ptr + t[None, :] * D + d[:, None], mask=t[None, :] < n, other=0.0)
    v = tl.load(v_ptr + t[:, None] * D + d[None, :], mask=t[:, None] < n)  #~ KL106
    s = tl.where(t[None, :] < n, tl.dot(q, k), -float("inf"))
    p = tl.exp(s - tl.max(s, axis=1)[:, None])
    o = tl.dot(p.to(v.dtype), v) / tl.sum(p, axis=1)[:, None]
    tl.store(o_ptr + m[:, None] * D + d[None, :], o)
""",
            language="python",
        ),
    )
    silent = (
        Example(
            "both filled",
            _HEAD
            + """\
def weighted_sum(x_ptr, w_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    ok = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=ok, other=0.0)
    w = tl.load(w_ptr + cols, mask=ok, other=0.0)
    tl.store(out_ptr + row, tl.sum(x * w, axis=0))
""",
            language="python",
            confidence=Confidence.MEDIUM,
        ),
        Example(
            "product only stored",
            _HEAD
            + """\
def scale(x_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = cols < n
    x = tl.load(x_ptr + cols, mask=ok)
    w = tl.load(w_ptr + cols, mask=ok, other=0.0)
    tl.store(y_ptr + cols, x * w, mask=ok)
""",
            language="python",
            confidence=Confidence.MEDIUM,
        ),
        Example(
            "where instead of a product",
            _HEAD
            + """\
def masked_sum(x_ptr, keep_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    ok = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=ok)
    keep = tl.load(keep_ptr + cols, mask=ok, other=0)
    tl.store(out_ptr + row, tl.sum(tl.where(keep != 0, x, 0.0), axis=0))
""",
            language="python",
            confidence=Confidence.MEDIUM,
        ),
    )

    def check_kernel(self, kernel: Kernel, context: Context) -> Iterator[Finding]:
        faults = cached_faults(kernel, context.cache)
        undefined = {id(fault.origin) for fault in faults if fault.kind is Fault.UNDEFINED}
        for fault in first_per_origin(faults, Fault.ZERO_TIMES_UNDEFINED):
            load = fault.origin
            if load is not None and load.span is not None and id(load) not in undefined:
                yield self._report(fault, load, load.span, kernel)

    def _report(self, fault: PaddingFault, load: Value, where: Span, kernel: Kernel) -> Finding:
        how = operation(fault)
        related = [(fault.sink.span, f"{how} adds the products of all lanes")] if fault.sink.span is not None else []
        return self.finding(
            where,
            f"{name_of(load, 'This load')} has no fill for its masked lanes; their weight of 0 does not help. "
            f"{where_padded(fault)} the lanes are undefined, and 0 times NaN or infinity is NaN in {how}.",
            related=related,
            confidence=fault.confidence,
            kernel=kernel.name,
            evidence={"condition": repr(fault.condition), "operation": fault.operation},
        )
