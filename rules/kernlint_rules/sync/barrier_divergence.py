"""KL203 barrier-divergence."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.barriers_divergence import Divergence, divergent_barriers
from kernlint.finding import Confidence, Finding, Severity
from kernlint.ir.kernel import Framework, Kernel
from kernlint.rule import Context, Example, Rule

_KERNEL = """\
__global__ void k(const float* x, float* y, int n) {
    __shared__ float s[128];
    int t = threadIdx.x;
    int i = blockIdx.x * 128 + t;
    BODY
}
void launch(const float* x, float* y, int n) { k<<<(n + 127) / 128, 128>>>(x, y, n); }
"""


def _kernel(body: str) -> str:
    return _KERNEL.replace("BODY", body.replace("\n", "\n    "))


class BarrierDivergence(Rule):
    code = "KL203"
    name = "barrier-divergence"
    kind = "barrier-divergence"
    frameworks = (Framework.CUDA,)
    severity = Severity.ERROR
    summary = "A block barrier that some threads of the block do not reach, or reach another number of times."
    why = (
        "`__syncthreads()` in code that threads of one block reach differently is undefined: it hangs, or lets "
        "threads through early, and what absent threads should have written to shared memory is not there."
    )
    advice = (
        "Let every thread reach the barrier: turn the early exit into a flag that guards the work, not the barrier."
    )
    silent_when = (
        "the condition is the same for all threads of the block",
        "both arms of the branch meet the same number of barriers",
        "sizes are known to fill every block",
    )
    references = (
        "https://github.com/pytorch/FBGEMM/pull/5857",
        "CUDA C++ Programming Guide, Synchronization Functions",
    )
    flagged = (
        Example(
            "threads past the end return before the barrier",
            _kernel("if (i >= n) return;  //~ KL203\ns[t] = x[i];\n__syncthreads();\ny[i] = s[127 - t];"),
        ),
        Example(
            "barrier in a branch on the thread number",
            _kernel("s[t] = x[i];\nif (t < 64) {\n    __syncthreads();  //~ KL203\n    y[i] = s[t + 64];\n}"),
        ),
        Example(
            "loop whose trip count differs from thread to thread",
            _kernel(
                "for (int c = t; c < n; c += 128) {\n    s[t] = x[c];\n    __syncthreads();  //~ KL203\n"
                "    y[c] = s[127 - t];\n    __syncthreads();\n}"
            ),
        ),
    )
    silent = (
        Example(
            "guarded work, unguarded barrier",
            _kernel("s[t] = i < n ? x[i] : 0.0f;\n__syncthreads();\nif (i < n) y[i] = s[127 - t];"),
        ),
        Example("whole blocks return", _kernel("if (blockIdx.x * 128 >= n) return;\ns[t] = 0.0f;\n__syncthreads();")),
        Example(
            "same number of turns for all",
            _kernel(
                "for (int base = 0; base < n; base += 128) {\n    int c = base + t;\n"
                "    s[t] = c < n ? x[c] : 0.0f;\n    __syncthreads();\n    y[c] = s[127 - t];\n    __syncthreads();\n}"
            ),
        ),
        Example(
            "exit after the last barrier",
            _kernel("s[t] = x[0];\n__syncthreads();\nif (t >= 32) return;\ny[t] = s[t + 32];"),
        ),
    )

    def check_kernel(self, kernel: Kernel, context: Context) -> Iterator[Finding]:
        if kernel.framework is Framework.CUDA:
            for divergence in divergent_barriers(kernel):
                yield self._report(kernel, divergence)

    def _report(self, kernel: Kernel, found: Divergence) -> Finding:
        barrier = f"`{found.barriers[0].name or '__syncthreads'}()`"
        what = {
            "exit": f"Threads leave here and miss the {barrier} that others wait at.",
            "branch": f"Only some threads of the block reach this {barrier}.",
            "loop": f"Threads reach this {barrier} different numbers of times.",
        }[found.kind]
        if found.threads is not None:
            turning = "turns once more" if found.kind == "loop" else "goes on to it"
            what += f" Thread {found.threads[0]} {turning}, thread {found.threads[1]} does not."
        else:
            what += " The condition depends on per-thread data."
        # An exit is at fault itself; a branch or a loop is fine but for the barrier inside.
        barriers = [(b.span, "a barrier") for b in found.barriers[:4]]
        where, related = found.span, barriers
        if found.kind != "exit":
            where = found.places[0]
            parting = (found.span, f"the {found.kind} where threads part")
            related = [parting, *(pair for pair in barriers if pair[0] is not where)]
        return self.finding(
            where,
            what,
            related=related,
            confidence=Confidence.HIGH if found.certain else Confidence.MEDIUM,
            kernel=kernel.name,
            evidence={"kind": found.kind, "threads": list(found.threads or ())},
        )
