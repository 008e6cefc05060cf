"""KL108 uncovered-grid-tail."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.coverage import uncovered_tails
from kernlint.finding import Finding, Severity
from kernlint.ir.expr import brief
from kernlint.ir.kernel import Framework, Launch
from kernlint.rule import Context, Example, Rule

_KERNEL = """\
import torch, triton
import triton.language as tl

@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    tl.store(y_ptr + i, 2 * tl.load(x_ptr + i, mask=ok), mask=ok)

def run(x):
    n = x.numel()
    y = torch.empty_like(x)
"""


class UncoveredGridTail(Rule):
    code = "KL108"
    name = "uncovered-grid-tail"
    kind = "grid-coverage"
    frameworks = (Framework.CUDA, Framework.TRITON)
    severity = Severity.ERROR
    summary = "The grid is too small: the last, partial tile is never launched."
    why = (
        "Floor division drops the remainder, a literal grid covers only the sizes it was written for. The elements "
        "of the tail keep whatever the output buffer held, which is often an earlier right answer."
    )
    advice = "Use ceiling division (`triton.cdiv(n, BLOCK)`, `(n + B - 1) / B`) and guard the last tile."
    silent_when = (
        "the kernel strides over the grid in a loop",
        "the size is known to be a multiple of the tile",
    )
    references = (
        "https://github.com/triton-lang/triton/issues/7400",
        "https://github.com/pytorch/pytorch/issues/195546",
    )
    flagged = (
        Example(
            "floor division",
            _KERNEL + "    double[(n // 256,)](x, y, n, BLOCK=256)  #~ KL108\n    return y\n",
            language="python",
        ),
        Example(
            "floor division in CUDA",
            """\
__global__ void scale(float* data, int n, float k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= k;
}
void launch(float* data, int n, float k) {
    const int threads = 256;
    scale<<<n / threads, threads>>>(data, n, k);  //~ KL108
}
""",
        ),
    )
    silent = (
        Example(
            "ceiling division",
            _KERNEL + "    double[(triton.cdiv(n, 256),)](x, y, n, BLOCK=256)\n    return y\n",
            language="python",
        ),
        Example(
            "divisibility is checked",
            _KERNEL + "    assert n % 256 == 0\n    double[(n // 256,)](x, y, n, BLOCK=256)\n    return y\n",
            language="python",
        ),
        Example(
            "grid-stride loop",
            """\
__global__ void scale(float* data, int n, float k) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) data[i] *= k;
}
void launch(float* data, int n, float k) { scale<<<n / 256, 256>>>(data, n, k); }
""",
        ),
    )

    def check_launch(self, launch: Launch, context: Context) -> Iterator[Finding]:
        for tail in uncovered_tails(launch):
            written = tail.access.buffer.name if tail.access.buffer else "data"
            extent, tile = brief(tail.extent), brief(tail.tile)
            if tail.literal:
                text = (
                    f"The grid leaves the tail of `{written}` out: {brief(tail.tiles)} programs of {tile}. `{extent}` "
                    "elements need not fit, and the kernel does not stride over the grid."
                )
            else:
                text = (
                    f"`{extent} // {tile}` tiles leave the tail of `{written}` out. When `{extent}` is not a multiple "
                    f"of {tile}, its last elements are never processed."
                )
            yield self.finding(
                tail.dimension.span,
                text,
                related=[(tail.access.span, f"each program takes {tail.tile} elements here")],
                confidence=tail.confidence,
                kernel=launch.kernel_name,
                evidence={"extent": repr(tail.extent), "tile": repr(tail.tile), "grid": repr(tail.tiles)},
            )
