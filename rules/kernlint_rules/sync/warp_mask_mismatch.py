"""KL204 warp-mask-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.barriers_warp import Missing, missing_lanes
from kernlint.finding import Confidence, Finding, Severity
from kernlint.ir.kernel import Framework, Kernel
from kernlint.rule import Context, Example, Rule

_KERNEL = """\
#define FULL 0xffffffffu
__device__ float warp_sum(float v) {
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(FULL, v, o);
    return v;
}
__global__ void sums(const float* x, float* y, int rows, int n) {
    int i = blockIdx.x * 128 + threadIdx.x, lane = threadIdx.x % 32;
    BODY
}
void launch(const float* x, float* y, int rows, int n) { sums<<<(n + 127) / 128, 128>>>(x, y, rows, n); }
"""


def _kernel(*body: str) -> str:
    return _KERNEL.replace("BODY", "\n    ".join(body))


class WarpMaskMismatch(Rule):
    code = "KL204"
    name = "warp-mask-mismatch"
    kind = "barrier-divergence"
    frameworks = (Framework.CUDA,)
    severity = Severity.ERROR
    summary = "A warp intrinsic with a full mask that only some lanes of a warp reach."
    why = (
        "`__shfl_down_sync(0xffffffff, ...)` promises that all 32 lanes take part. A lane that branched away or has "
        "returned does not, and what is read from it is undefined: the last warp's sum is wrong, or the warp hangs."
    )
    advice = "Let all lanes reach it, those past the end with a neutral value, or pass the mask of those that do."
    silent_when = (
        "whole warps take the branch",
        "the mask comes from `__activemask` or `__ballot_sync`, or names fewer lanes",
        "the other arm of the branch has warp intrinsics too",
        "the condition depends on data",
    )
    references = ("CUDA C++ Programming Guide, Warp Shuffle Functions",)
    flagged = (
        Example(
            "reduction by the lanes that have an element",
            _kernel(
                "if (i < n) {", "    float v = warp_sum(x[i]);  //~ KL204", "    if (lane == 0) y[i / 32] = v;", "}"
            ),
        ),
        Example(
            "lanes past the end have returned",
            _kernel("if (i >= n) return;", "float v = warp_sum(x[i]);  //~ KL204", "if (lane == 0) y[i / 32] = v;"),
        ),
    )
    silent = (
        Example(
            "a neutral value from lanes past the end",
            _kernel("float v = warp_sum(i < n ? x[i] : 0.0f);", "if (i < n && lane == 0) y[i / 32] = v;"),
        ),
        Example(
            "a row per warp",
            _kernel("int row = i / 32;", "if (row < rows) {", "    float v = warp_sum(x[i]);", "    y[row] = v;", "}"),
        ),
        Example("the first warp", _kernel("if (threadIdx.x < 32) y[lane] = warp_sum(x[lane]);")),
        Example(
            "the mask of those that take part",
            _kernel(
                "unsigned mask = __ballot_sync(FULL, i < n);",
                "if (i < n) y[i] = x[i] + __shfl_sync(mask, x[i], 0);",
            ),
        ),
    )

    def check_kernel(self, kernel: Kernel, context: Context) -> Iterator[Finding]:
        if kernel.framework is Framework.CUDA:
            for missing in missing_lanes(kernel):
                yield self._report(kernel, missing)

    def _report(self, kernel: Kernel, found: Missing) -> Finding:
        name = found.barrier.name
        kind = "exit" if found.frame.exit else "loop" if found.frame.loop is not None else "branch"
        message = (
            f"Only some lanes of a warp reach this `{name}`, whose mask names all 32: thread {found.present} is here, "
            f"thread {found.absent} is not."
        )
        if found.reads_absent:
            message += f" Thread {found.present} takes the value of thread {found.absent}, which is undefined."
        related = [(found.barrier.span, f"the `{name}`")] if found.barrier.span != found.span else []
        if found.frame.span is not None:
            related.append((found.frame.span, f"the {kind} where lanes part"))
        return self.finding(found.span, message, related=related, confidence=_confidence(found), kernel=kernel.name)


def _confidence(found: Missing) -> Confidence:
    if not found.certain:
        return Confidence.LOW
    if found.frame.loop is not None and not found.for_any_size:
        return Confidence.MEDIUM  # the last turn of a loop over a row, whose length may well be whole warps
    return Confidence.HIGH if found.reads_absent else Confidence.MEDIUM
