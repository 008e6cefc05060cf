"""A small fixed report that has what formats find hard: tabs, wide characters, several lines, other files."""

from __future__ import annotations

from typing import ClassVar

from kernlint.finding import Confidence, Finding, Related, Severity
from kernlint.ir.kernel import Framework
from kernlint.ir.types import Span
from kernlint.report_data import Notification, Report
from kernlint.rule import Example, Rule
from kernlint.source.file import CUDA, PYTHON, SourceFile


class UnguardedEdgeTile(Rule):
    code = "KL101"
    name = "unguarded-edge-tile"
    kind = "oob-edge"
    frameworks: ClassVar[tuple[Framework, ...]] = (Framework.CUDA, Framework.TRITON)
    severity = Severity.ERROR
    summary = (
        "An access can leave the extent that the kernel itself knows, and nothing guards it. Lanes past the end do it."
    )
    why = """The last tile is seldom full.  Its lanes past the end read or write whatever lies behind the array.

    On most sizes in most tests the array ends on a tile."""
    advice = "Compare the index with the extent before the access."
    silent_when = ("the size is asserted to be a multiple of the tile", "the access has a mask")
    references = ("CUDA C++ Programming Guide, 2.2",)
    flagged = (
        Example(
            "one thread per element, no test",
            "__global__ void f(float* x, int n) {\n    x[blockIdx.x * 256 + threadIdx.x] = 0.f;  //~ KL101\n}\n",
        ),
    )
    silent = (
        Example(
            "the same with its test",
            "@triton.jit\ndef f(x, n, B: tl.constexpr):\n    pass\n",
            language=PYTHON,
        ),
    )


class UndefinedMaskedLanes(UnguardedEdgeTile):
    code = "KL103"
    name = "undefined-masked-lanes"
    kind = "mask-other"
    frameworks = (Framework.TRITON,)
    severity = Severity.WARNING
    summary = "A masked load without `other` reaches a reduction."


class BankConflict(UnguardedEdgeTile):
    code = "KL402"
    name = "bank-conflict"
    kind = "bank-conflict"
    severity = Severity.INFO
    summary = "A warp's shared accesses fall into few banks."


RULES = (UnguardedEdgeTile, UndefinedMaskedLanes, BankConflict)

SCALE_CU = SourceFile(
    "kernels/scale.cu",
    """\
// 行ごとの倍率
__global__ void scale(float* out, const float* x, int n) {
\tint i = blockIdx.x * blockDim.x + threadIdx.x;
\t/* 幅 */ out[i] = x[i] * 2.f;
}

void launch(float* out, const float* x, int n) {
    scale<<<(n + 255) / 256,
            256>>>(
        out, x, n);
}
""".encode(),
    CUDA,
)
LONG_LINE = "    total = " + " + ".join(f"tl.load(x_ptr + {i} * stride)" for i in range(12)) + "\n"
SUM_PY = SourceFile(
    "kernels/row sum.py",
    (
        "import triton\r\n\r\n\r\n@triton.jit\r\ndef row_sum(x_ptr, out_ptr, n, stride, BLOCK: tl.constexpr):\r\n"
        + LONG_LINE.replace("\n", "\r\n")
        + "    tl.store(out_ptr, total)\r\n"
    ).encode(),
    PYTHON,
)


def span_of(source: SourceFile, text: str, after: str = "") -> Span:
    """The span of the first `text` after `after`."""
    at = source.data.index(text.encode(), source.data.index(after.encode()) if after else 0)
    return Span(source.path, at, at + len(text.encode()))


def sample_findings() -> tuple[Finding, ...]:
    long_target = "tl.load(x_ptr + 9 * stride)"
    return (
        Finding(
            "KL103",
            "undefined-masked-lanes",
            "mask-other",
            Severity.WARNING,
            Confidence.MEDIUM,
            span_of(SUM_PY, long_target),
            "Masked lanes of `x` reach the sum undefined. They hold whatever was there before",
            help="Give `tl.load` an `other`.",
            kernel="row_sum",
            evidence={"reduction": "sum", "length": 1.5, "bad": float("nan"), "axes": ["l-1", None]},
        ),
        Finding(
            "KL101",
            "unguarded-edge-tile",
            "oob-edge",
            Severity.ERROR,
            Confidence.HIGH,
            span_of(SCALE_CU, "out[i]"),
            "`out[i]` is written past `n`. The launch rounds the grid up: 100% of sizes, but 256's multiples",
            related=(
                Related(span_of(SCALE_CU, "(n + 255) / 256"), "the grid is rounded up here"),
                Related(span_of(SCALE_CU, "x[i]"), "`x[i]` is read likewise"),
                Related(span_of(SUM_PY, "row_sum"), "the Triton twin has it too"),
                Related(Span("gone.cu", 5, 9), "declared here"),
            ),
            help=UnguardedEdgeTile.advice,
            kernel="scale",
        ),
        Finding(
            "KL402",
            "bank-conflict",
            "bank-conflict",
            Severity.INFO,
            Confidence.HIGH,
            span_of(SCALE_CU, "scale<<<(n + 255) / 256,\n            256>>>(\n        out, x, n)"),
            "The launch `kernel[grid](x)` of {0} is odd",
        ),
        Finding(
            "KL005",
            "unreadable-file",
            "linter",
            Severity.ERROR,
            Confidence.HIGH,
            Span("kernels/secret.cu", 0, 0),
            "The file cannot be read: permission denied.",
        ),
    )


def sample_report() -> Report:
    return Report(
        findings=sample_findings(),
        sources={SCALE_CU.path: SCALE_CU, SUM_PY.path: SUM_PY},
        rules=RULES,
        notifications=(
            Notification("error", "rule raised ValueError: x, y: z", "kernels/scale.cu", "KL103"),
            Notification("note", "the cache could not be written"),
        ),
        hidden={"needs --pedantic": 3, "suppressed in the source": 1, "in the baseline": 0},
        statistics=True,
        files=7,
        kernels=2,
        version="0.1.0",
        sarif_category="static",
        execution_successful=False,
        stale_baseline=("kernels/old.cu: KL101 unguarded-edge-tile in `old`",),
    )
