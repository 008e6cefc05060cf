"""KL501 invalid-block-shape."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.launch_limits import block_threads, is_data_size, launch_facts, may_exceed, resolved
from kernlint.finding import Confidence, Finding, Severity
from kernlint.ir.host import Launch
from kernlint.ir.kernel import Framework
from kernlint.rule import Context, Example, Rule
from kernlint.target.limits import MAX_BLOCK_DIM, MAX_THREADS_PER_BLOCK

_KERNEL = """\
__global__ void add(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 1.0f;
}
void launch(float* x, int rows, int n) {
    LINES
}
"""


def _launch(*lines: str) -> str:
    return _KERNEL.replace("LINES", "\n    ".join(lines))


class InvalidBlockShape(Rule):
    code = "KL501"
    name = "invalid-block-shape"
    kind = "launch-config"
    frameworks = (Framework.CUDA,)
    severity = Severity.ERROR
    summary = "A block of more than 1024 threads, more than 64 in z, or none; or a run-time size nobody bounds."
    why = "The launch fails with an invalid configuration error and the kernel does not run."
    advice = "Choose a fixed block size and let each thread loop, or clamp and round the run-time size."
    silent_when = (
        "the product is a constant within the limits",
        "the run-time size is clamped or checked",
        "the block size is the caller's to choose (a `threads` parameter): shown with `--audit` only",
    )
    references = ("CUDA C++ Programming Guide, Technical Specifications per Compute Capability",)
    flagged = (
        Example("two large dimensions", _launch("add<<<rows, dim3(64, 32)>>>(x, n);  //~ KL501")),
        Example("one thread per element of a run-time row", _launch("add<<<rows, n>>>(x, n);  //~ KL501")),
        Example("too deep", _launch("dim3 block(4, 1, 128);", "add<<<rows, block>>>(x, n);  //~ KL501")),
    )
    silent = (
        Example("constant", _launch("add<<<(n + 255) / 256, 256>>>(x, n);")),
        Example("clamped", _launch("int t = n < 1024 ? n : 1024;", "if (n < 1) return;", "add<<<rows, t>>>(x, n);")),
        Example("checked", _launch("if (n > 1024 || n < 1) return;", "add<<<rows, n>>>(x, n);")),
        Example("full block", _launch("add<<<rows, dim3(32, 8, 4)>>>(x, n);")),
    )

    def check_launch(self, launch: Launch, context: Context) -> Iterator[Finding]:
        total = block_threads(launch)
        if total is None:
            return
        for axis, expr in enumerate(resolved(launch.block, launch)[:3]):
            value = expr.constant if expr is not None else None
            if value is not None and not 0 < value <= MAX_BLOCK_DIM[axis]:
                message = f"Block dimension {'xyz'[axis]} is {value}; it must be 1 to {MAX_BLOCK_DIM[axis]}."
                yield self._report(launch, message, Confidence.HIGH)
                return
        threads = total.constant
        if threads is not None:
            if threads > MAX_THREADS_PER_BLOCK:
                message = f"A block of {threads} threads cannot run; the limit is {MAX_THREADS_PER_BLOCK}."
                yield self._report(launch, message, Confidence.HIGH)
        elif may_exceed(total, MAX_THREADS_PER_BLOCK, launch_facts(launch)) and not total.is_opaque:
            data = is_data_size(total, launch) and all(not atom.args for atom in total.deep_atoms)
            message = (
                f"The block has `{total!r}` threads, which nothing bounds by {MAX_THREADS_PER_BLOCK}. "
                "Larger sizes fail to launch."
            )
            yield self._report(launch, message, Confidence.HIGH if data else Confidence.LOW)

    def _report(self, launch: Launch, message: str, confidence: Confidence) -> Finding:
        return self.finding(
            launch.span,
            message,
            related=[(dim.span, "the block's shape") for dim in (launch.block or ())[:1]],
            confidence=confidence,
            kernel=launch.kernel_name,
        )
