"""KL503 grid-limit-exceeded."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.launch_limits import DimProblem, Size, empty_dims, grid_problems
from kernlint.finding import Confidence, Finding, Severity
from kernlint.ir.host import Launch
from kernlint.ir.kernel import Framework
from kernlint.rule import Context, Example, Rule
from kernlint.target.vendors import is_for_other_hardware

_ROWS = """\
__global__ void fill(float* out, int width, int rows) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    for (int r = blockIdx.y; r < rows; r += gridDim.y)
        if (c < width) out[(long long)r * width + c] = c;
}
void launch(float* out, int width, int rows) {
    if (width <= 0 || rows <= 0) return;
    LINES
}
"""
_TRITON = """\
import torch, triton
import triton.language as tl

@triton.jit
def fill(out, n, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + row.to(tl.int64) * n + c, 1.0, mask=c < n)

def run(x):
    rows, n = x.shape
    y = torch.empty((rows, n), device=x.device)
"""
_CONFIDENCE = {Size.LARGE: Confidence.HIGH, Size.MIDDLE: Confidence.MEDIUM, Size.SMALL: Confidence.LOW}


def _rows(*lines: str) -> str:
    return _ROWS.replace("LINES", "\n    ".join(lines))


class GridLimitExceeded(Rule):
    code = "KL503"
    name = "grid-limit-exceeded"
    kind = "launch-config"
    frameworks = (Framework.CUDA, Framework.TRITON)
    severity = Severity.ERROR
    summary = "A grid dimension can pass the hardware's limit (65535 in y and z), or be zero."
    why = (
        "Only x takes 2^31-1 blocks. A launch with more than 65535 in y or z fails with an invalid configuration "
        "error, and so does one with zero blocks, at sizes that small tests never reach."
    )
    advice = "Put the long dimension on x, or clamp it to 65535 and let the kernel stride over the rest."
    silent_when = (
        "the dimension is clamped, checked, or small by nature (heads, splits)",
        "it counts tiles, so that the limit is out of reach",
    )
    references = (
        "https://github.com/ml-explore/mlx/issues/2267",
        "CUDA C++ Programming Guide, Technical Specifications per Compute Capability",
    )
    flagged = (
        Example(
            "rows on y",
            _rows("dim3 grid((width + 255) / 256, rows);  //~ KL503", "fill<<<grid, 256>>>(out, width, rows);"),
        ),
        Example(
            "rows on y in Triton",
            _TRITON + "    fill[(triton.cdiv(n, 256), rows)](y, n, BLOCK=256)  #~ KL503\n    return y\n",
            language="python",
        ),
    )
    silent = (
        Example("rows on x", _rows("fill<<<dim3(rows, (width + 255) / 256), 256>>>(out, width, rows);")),
        Example(
            "clamped, the kernel strides",
            _rows(
                "int gy = rows < 65535 ? rows : 65535;",
                "fill<<<dim3((width + 255) / 256, gy), 256>>>(out, width, rows);",
            ),
        ),
        Example(
            "checked",
            _rows("if (rows > 65535) return;", "fill<<<dim3((width + 255) / 256, rows), 256>>>(out, width, rows);"),
        ),
        Example(
            "rows on x in Triton",
            _TRITON.replace("program_id(1)", "program_id(2)").replace("program_id(0)", "program_id(1)")
            + "    fill[(1, triton.cdiv(n, 256), 8)](y, n, BLOCK=256)\n    return y\n",
            language="python",
        ),
    )

    def check_launch(self, launch: Launch, context: Context) -> Iterator[Finding]:
        if is_for_other_hardware(launch.span.path):
            return
        for problem in grid_problems(launch):
            axis = "xyz"[problem.axis]
            if problem.size is None:
                message = f"Grid dimension {axis} is {problem.expr!r}, over the limit of {problem.limit}."
                yield self._report(launch, problem, message, Confidence.HIGH)
            else:
                message = (
                    f"Grid dimension {axis} can pass {problem.limit}: nothing bounds `{problem.expr!r}`. "
                    "The launch then fails with an invalid configuration error."
                )
                yield self._report(launch, problem, message, _CONFIDENCE[problem.size])
        for problem in empty_dims(launch):
            axis = "xyz"[problem.axis]
            if problem.size is None:
                yield self._report(launch, problem, f"Grid dimension {axis} is zero.", Confidence.HIGH)
                continue
            message = f"Grid dimension {axis} is zero for an empty input: `{problem.expr!r}` is never checked."
            yield self._report(launch, problem, message, Confidence.LOW)

    def _report(self, launch: Launch, problem: DimProblem, message: str, confidence: Confidence) -> Finding:
        return self.finding(
            problem.dim.span,
            message,
            related=[(launch.span, f"the launch of `{launch.kernel_name}`")],
            confidence=confidence,
            kernel=launch.kernel_name,
            evidence={"axis": problem.axis, "extent": repr(problem.expr), "limit": problem.limit},
        )
