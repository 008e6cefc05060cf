"""KL303 nondeterministic-accumulation."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.host_memory import racing_additions
from kernlint.finding import Confidence, Finding, Severity
from kernlint.ir.kernel import Framework, Kernel
from kernlint.rule import Context, Example, Rule

_CUDA = """\
__global__ void gemv(const float* w, const float* x, float* y, int depth, int width, int chunk) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= width) return;
    float s = 0.0f;
    for (int k = blockIdx.y * chunk; k < min((blockIdx.y + 1) * chunk, depth); ++k) s += x[k] * w[k * width + n];
    %s
}
"""


class NondeterministicAccumulation(Rule):
    code = "KL303"
    name = "nondeterministic-accumulation"
    kind = "nondeterminism"
    frameworks = (Framework.CUDA, Framework.TRITON)
    severity = Severity.INFO
    default_confidence = Confidence.MEDIUM
    summary = "Several programs add floating-point numbers to one element with atomics."
    why = (
        "Floating-point addition is not associative and the order of atomics is not fixed, so the result differs from "
        "run to run in its last bits. Comparisons for equality, replay and regression tests then fail now and then."
    )
    advice = (
        "Write partial sums to their own slots and add them in a fixed order in a second pass, or accept it openly."
    )
    silent_when = ("the additions are integers", "each program owns its element")
    references = ("https://github.com/turboderp/exllama/issues/153",)
    flagged = (
        Example("split-K", _CUDA % "atomicAdd(&y[n], s);  //~ KL303", confidence=Confidence.MEDIUM),
        Example(
            "column sums over row tiles",
            """\
__global__ void colsum(const float* x, float* out, int rows, int cols) {
    int c = threadIdx.x;
    int r = blockIdx.x;
    if (c < cols && r < rows) atomicAdd(out + c, x[r * cols + c]);  //~ KL303
}
""",
            confidence=Confidence.MEDIUM,
        ),
    )
    silent = (
        Example("own slice", _CUDA % "y[blockIdx.y * width + n] = s;", confidence=Confidence.MEDIUM),
        Example("own element", _CUDA % "atomicAdd(&y[blockIdx.y * width + n], s);", confidence=Confidence.MEDIUM),
        Example(
            "integers",
            """\
__global__ void count(const int* x, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&out[0], x[i]);
}
""",
            confidence=Confidence.MEDIUM,
        ),
    )

    def check_kernel(self, kernel: Kernel, context: Context) -> Iterator[Finding]:
        for found in racing_additions(kernel):
            name = found.access.buffer.name if found.access.buffer else "memory"
            yield self.finding(
                found.access.span,
                f"`{name}` is summed by atomics in an order that varies. Every program along `{found.axis.name}` adds "
                "to the same element, so results differ from run to run in the last bits.",
                kernel=kernel.name,
                evidence={"axis": found.axis.name, "index": repr(found.access.index)},
            )
