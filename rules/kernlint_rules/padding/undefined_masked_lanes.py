"""KL103 undefined-masked-lanes."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.block_totals import is_block_total_of_scan, is_unused_beside_others
from kernlint.analysis.padding import cached_faults, first_per_origin
from kernlint.analysis.padding_judge import Fault, PaddingFault
from kernlint.analysis.padding_text import effect, name_of, operation, where_padded
from kernlint.finding import Confidence, Finding, Severity
from kernlint.ir.kernel import Framework, Kernel
from kernlint.ir.types import Span
from kernlint.ir.value import Value
from kernlint.rule import Context, Example, Rule

_HEAD = "import triton\nimport triton.language as tl\n\n@triton.jit\n"


class UndefinedMaskedLanes(Rule):
    code = "KL103"
    name = "undefined-masked-lanes"
    kind = "mask-other"
    frameworks = (Framework.TRITON,)
    severity = Severity.ERROR
    summary = "A masked load without `other` reaches a reduction, a dot product or another use across lanes."
    why = (
        "Without `other` the masked lanes of a load are unspecified: some backends happen to give zeros, others leave "
        "what was there. A reduction reads every lane of the tile, so the result depends on the backend, the tile size "
        "and the last kernel that ran; it is often right on the author's machine."
    )
    advice = (
        "Pass the reduction's identity as `other` (0.0 for sums and dots, -inf for maxima), or re-mask with `tl.where`."
    )
    silent_when = (
        "every use ends in stores under the same or a stronger mask",
        "`tl.where` puts the identity into the masked lanes before the reduction",
        "the mask concerns another dimension than the one reduced",
        "no lane can fail the mask",
    )
    references = (
        "https://triton-lang.org/main/python-api/generated/triton.language.load.html",
        "https://github.com/triton-lang/triton/issues/737",
        "https://github.com/flagos-ai/FlagGems/issues/3716",
    )
    flagged = (
        Example(
            "row sum",
            _HEAD
            + """\
def row_sum(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n)  #~ KL103
    tl.store(out_ptr + row, tl.sum(x.to(tl.float32), axis=0))
""",
            language="python",
        ),
        Example(
            "running sum over ragged tiles",
            _HEAD
            + """\
def dot_rows(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        ok = cols < n
        x = tl.load(x_ptr + row * n + cols, mask=ok)  #~ KL103
        y = tl.load(y_ptr + row * n + cols, mask=ok)
        acc += x * y
    tl.store(out_ptr + row, tl.sum(acc))
""",
            language="python",
        ),
        Example(
            "contraction of a matrix product",
            _HEAD
            + """\
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        left = K - k * BK
        a = tl.load(a_ptr + rm[:, None] * K + (k * BK + rk)[None, :], mask=rk[None, :] < left)  #~ KL103
        b = tl.load(b_ptr + (k * BK + rk)[:, None] * N + rn[None, :], mask=rk[:, None] < left, other=1.0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))
""",
            language="python",
        ),
    )
    silent = (
        Example(
            "elementwise, stored under the same mask",
            _HEAD
            + """\
def scale(x_ptr, y_ptr, n, s, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    x = tl.load(x_ptr + i, mask=ok)
    tl.store(y_ptr + i, tl.exp(x * s), mask=ok)
""",
            language="python",
        ),
        Example(
            "re-masked before the sum",
            _HEAD
            + """\
def row_sum(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    ok = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=ok).to(tl.float32)
    x = tl.where(ok, x * x, 0.0)
    tl.store(out_ptr + row, tl.sum(x, axis=0))
""",
            language="python",
        ),
        Example(
            "only the rows are masked, the columns are reduced",
            _HEAD
            + """\
def row_sums(x_ptr, out_ptr, rows, BM: tl.constexpr, N: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.arange(0, N)
    ok = r < rows
    x = tl.load(x_ptr + r[:, None] * N + c[None, :], mask=ok[:, None])
    tl.store(out_ptr + r, tl.sum(x.to(tl.float32), axis=1), mask=ok)
""",
            language="python",
        ),
        Example(
            "weights of a gathered row, masked as a whole",
            _HEAD
            + """\
def softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    ok = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=ok, other=-float("inf"))
    bias = tl.load(x_ptr + cols, mask=ok)
    top = tl.max(x, axis=0)
    e = tl.exp(x - top)
    y = e / tl.sum(e, axis=0) + bias
    tl.store(y_ptr + row * n + cols, y, mask=ok)
""",
            language="python",
        ),
    )

    def check_kernel(self, kernel: Kernel, context: Context) -> Iterator[Finding]:
        for fault in first_per_origin(cached_faults(kernel, context.cache), Fault.UNDEFINED):
            if fault.origin is None or fault.origin.span is None:
                continue
            found = self._report(fault, fault.origin, fault.origin.span, kernel)
            unread = is_block_total_of_scan(fault.sink, fault.origin, kernel)
            if unread or is_unused_beside_others(kernel, context.module):
                found = found.lowered(Confidence.MEDIUM)
            yield found

    def _report(self, fault: PaddingFault, load: Value, where: Span, kernel: Kernel) -> Finding:
        how = operation(fault)
        related = [(fault.sink.span, f"{how} {effect(fault)}")] if fault.sink.span is not None else []
        padded = "the out-of-bounds lanes of a block pointer without `padding_option`" if fault.state.soft else "they"
        return self.finding(
            where,
            f"{name_of(load, 'This load')} has no fill for its masked lanes, and {how} reads them. "
            f"{where_padded(fault)} {padded} are undefined; {how} {effect(fault)}.",
            related=related,
            confidence=fault.confidence,
            kernel=kernel.name,
            evidence={"condition": repr(fault.condition), "operation": fault.operation},
        )
