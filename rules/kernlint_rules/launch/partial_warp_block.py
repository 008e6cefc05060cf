"""KL502 partial-warp-block."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.launch_limits import block_threads
from kernlint.finding import Confidence, Finding
from kernlint.ir.host import Launch
from kernlint.ir.kernel import Framework
from kernlint.rule import Context, Example, Rule
from kernlint.target.limits import MAX_THREADS_PER_BLOCK, WARP_SIZE

_KERNEL = """\
__global__ void add(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 1.0f;
}
void launch(float* x, int n) {
    LINE
}
"""


class PartialWarpBlock(Rule):
    code = "KL502"
    name = "partial-warp-block"
    kind = "launch-config"
    frameworks = (Framework.CUDA,)
    default_confidence = Confidence.MEDIUM
    summary = "The block's thread count is not a multiple of the warp size."
    why = (
        "The last warp of every block runs with idle lanes, and full-mask warp intrinsics such as `__shfl_sync` name "
        "lanes that do not exist."
    )
    advice = "Round the block up to a multiple of 32 and guard the surplus threads."
    silent_when = ("the block has one thread", "the size is chosen at run time")
    references = ("CUDA C++ Best Practices Guide, Thread and Block Heuristics",)
    flagged = (
        Example(
            "100 threads",
            _KERNEL.replace("LINE", "add<<<(n + 99) / 100, 100>>>(x, n);  //~ KL502"),
            confidence=Confidence.MEDIUM,
        ),
        Example(
            "10 by 10",
            _KERNEL.replace("LINE", "add<<<n / 100, dim3(10, 10)>>>(x, n);  //~ KL502"),
            confidence=Confidence.MEDIUM,
        ),
    )
    silent = (
        Example("multiple of 32", _KERNEL.replace("LINE", "add<<<n / 96, 96>>>(x, n);"), confidence=Confidence.MEDIUM),
        Example("one thread", _KERNEL.replace("LINE", "add<<<1, 1>>>(x, n);"), confidence=Confidence.MEDIUM),
        Example("8 by 16", _KERNEL.replace("LINE", "add<<<1, dim3(8, 16)>>>(x, n);"), confidence=Confidence.MEDIUM),
    )

    def check_launch(self, launch: Launch, context: Context) -> Iterator[Finding]:
        total = block_threads(launch)
        threads = total.constant if total is not None else None
        if threads is None or not 1 < threads <= MAX_THREADS_PER_BLOCK or threads % WARP_SIZE == 0:
            return
        idle = -threads % WARP_SIZE
        message = f"A block of {threads} threads leaves {idle} lanes of its last warp idle."
        yield self.finding(launch.span, message, kernel=launch.kernel_name, evidence={"threads": threads})
