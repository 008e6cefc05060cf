"""KL110 shared-array-overrun."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.sharing_extents import Overrun, array_overruns
from kernlint.finding import Confidence, Finding, Severity
from kernlint.ir.kernel import Framework, Kernel
from kernlint.ir.types import Space
from kernlint.rule import Context, Example, Rule

_KERNEL = """\
template <int THREADS, int ITEMS, int ROWS>
__global__ void count(const int* x, int* y) {
    __shared__ int hits[ROWS];
    BODY
    __syncthreads();
    if (threadIdx.x < ROWS) y[blockIdx.x * ROWS + threadIdx.x] = hits[threadIdx.x];
}
void launch(const int* x, int* y, int rows) { count<64, 4, 16><<<10, 64>>>(x, y); }
"""


def _kernel(*body: str) -> str:
    return _KERNEL.replace("BODY", "\n    ".join(body))


class SharedArrayOverrun(Rule):
    code = "KL110"
    name = "shared-array-overrun"
    kind = "oob-edge"
    frameworks = (Framework.CUDA,)
    severity = Severity.ERROR
    summary = "An index into a declared shared or local array leaves it."
    why = "Shared arrays lie next to each other: the store lands in another array, or past the block's allocation."
    advice = "Bound the index by the array's extent, or declare the array as large as the threads that index it."
    silent_when = (
        "a guard or the loop bound keeps the index inside",
        "block shape or compile-time parameters are not known",
        "the index depends on data",
    )
    references = ("https://github.com/bitsandbytes-foundation/bitsandbytes/pull/905",)
    flagged = (
        Example(
            "cleared by every thread, sized by rows",
            _kernel("for (int j = 0; j < ITEMS; ++j)", "    hits[threadIdx.x + j * THREADS] = 0;  //~ KL110"),
        ),
        Example(
            "local array one too short",
            _kernel(
                "if (threadIdx.x < ROWS) hits[threadIdx.x] = 0;",
                "int v[ITEMS];",
                "for (int j = 0; j <= ITEMS; ++j) v[j] = x[j];  //~ KL110",
                "if (threadIdx.x == 0) hits[0] = v[0];",
            ),
        ),
        Example(
            "local array one too short, in threads that have a row",
            _kernel(
                "int v[ITEMS], row = blockIdx.x * blockDim.x + threadIdx.x;",
                "if (threadIdx.x < ROWS) hits[threadIdx.x] = 0;",
                "if (row >= rows) return;",
                "for (int j = 0; j <= ITEMS; ++j) v[j] = x[j * rows + row];  //~ KL110",
                "hits[0] = v[0];",
            )
            .replace("int* y)", "int* y, int rows)")
            .replace("(x, y); }", "(x, y, rows); }"),
        ),
    )
    silent = (
        Example("bounded by a run-time count", _kernel("int v[ITEMS];", "for (int j = 0; j < y[0]; ++j) v[j] = 0;")),
        Example("bounded loop", _kernel("for (int r = threadIdx.x; r < ROWS; r += THREADS) hits[r] = 0;")),
        Example("guarded", _kernel("if (threadIdx.x < ROWS) hits[threadIdx.x] = 0;")),
        Example("data-dependent", _kernel("hits[x[threadIdx.x]] = 1;")),
    )

    def check_kernel(self, kernel: Kernel, context: Context) -> Iterator[Finding]:
        if kernel.framework is not Framework.CUDA:
            return
        reported: set[tuple[str, int]] = set()
        for overrun in array_overruns(kernel):
            place = (overrun.access.span.path, overrun.access.span.start)
            if place not in reported:
                reported.add(place)
                yield self._report(kernel, overrun)

    def _report(self, kernel: Kernel, found: Overrun) -> Finding:
        buffer, block = found.access.buffer, found.scenario.block
        assert buffer is not None
        who = f"Thread {block.show(found.thread)}" if buffer.space is Space.SHARED else "The loop"
        message = f"{who} reaches `{buffer.name}[{found.element}]`; it has {found.extent} elements."
        if found.free:
            message += f" Nothing bounds {', '.join(f'`{name}`' for name in found.free)}."
        related = [(buffer.span, f"`{buffer.name}` is declared here")]
        if found.scenario.launch is not None:
            related.append((found.scenario.launch.span, "with this launch"))
        return self.finding(
            found.access.span,
            message,
            related=related,
            confidence=Confidence.MEDIUM if found.free else Confidence.HIGH,
            kernel=kernel.name,
            evidence={"thread": block.show(found.thread), "element": found.element, "extent": found.extent},
        )
