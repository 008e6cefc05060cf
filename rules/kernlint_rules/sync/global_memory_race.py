"""KL202 global-memory-race."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.ownership import SharedStore, lost_updates, shared_stores
from kernlint.finding import Confidence, Finding, Severity
from kernlint.ir.expr import brief
from kernlint.ir.kernel import Framework, Kernel
from kernlint.rule import Context, Example, Rule

_KERNEL = """\
import torch, triton
import triton.language as tl

@triton.jit
def square(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    {store}

def run(x):
    rows, n = x.shape
    y = torch.empty_like(x)
    square[(rows,)](x, y, n, BLOCK=triton.next_power_of_2(n))
    return y
"""


class GlobalMemoryRace(Rule):
    code = "KL202"
    name = "global-memory-race"
    kind = "race"
    frameworks = (Framework.CUDA, Framework.TRITON)
    severity = Severity.ERROR
    summary = "Several programs or blocks write the same element without atomics."
    why = (
        "An output pointer without the program's offset makes all programs write one tile; the last one wins, in an "
        "order that changes from run to run. With one row, as in many tests, the result is right."
    )
    advice = "Add the program's offset to the pointer, or combine with an atomic."
    silent_when = (
        "the index or a guard depends on the program number",
        "the index comes from memory and the element is not read back (a scatter through a permutation)",
        "the grid has one program along that axis",
        "every program stores the same value (reported with `--pedantic`)",
    )
    references = ("https://github.com/ByteDance-Seed/Triton-distributed/pull/185",)
    flagged = (
        Example(
            "row offset forgotten on the output",
            _KERNEL.format(store="tl.store(y_ptr + c, x * x, mask=c < n)  #~ KL202"),
            language="python",
        ),
        Example(
            "block offset forgotten",
            """\
__global__ void row_scale(const float* x, float* y, int n) {
    int row = blockIdx.x;
    for (int c = threadIdx.x; c < n; c += blockDim.x)
        y[c] = 2.0f * x[row * n + c];  //~ KL202
}
void launch(const float* x, float* y, int rows, int n) { row_scale<<<rows, 128>>>(x, y, n); }
""",
        ),
        Example(
            "a histogram without atomics",
            """\
__global__ void histogram(const int* bin, int* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) count[bin[i]] += 1;  //~ KL202
}
""",
        ),
    )
    silent = (
        Example(
            "own row",
            _KERNEL.format(store="tl.store(y_ptr + row * n + c, x * x, mask=c < n)"),
            language="python",
        ),
        Example(
            "one program writes",
            _KERNEL.format(store="tl.store(y_ptr + c, x * x, mask=(c < n) & (row == 0))"),
            language="python",
        ),
        Example(
            "atomic",
            _KERNEL.format(store="tl.atomic_add(y_ptr + c, x * x, mask=c < n)"),
            language="python",
        ),
    )

    def check_kernel(self, kernel: Kernel, context: Context) -> Iterator[Finding]:
        if kernel.attrs.get("helper"):
            return
        groups: dict[tuple[str, bool], list[SharedStore]] = {}
        for found in shared_stores(kernel):
            groups.setdefault((found.axis.key, found.value_differs), []).append(found)
        for group in groups.values():
            yield self._report(group, kernel)
        for update in lost_updates(kernel):
            name = update.store.buffer.name if update.store.buffer else "memory"
            yield self.finding(
                update.store.span,
                f"Updates of `{name}` get lost when two lanes share an index. The element is read, changed and written "
                f"back, and its index `{brief(update.store.index)}` comes from memory: use an atomic.",
                related=[(update.load.span, "read here")] if update.load.span != update.store.span else [],
                kernel=kernel.name,
                evidence={"index": repr(update.store.index)},
            )

    def _report(self, group: list[SharedStore], kernel: Kernel) -> Finding:
        found = max(group, key=lambda store: (store.confidence, -store.access.ordinal))
        name = found.access.buffer.name if found.access.buffer else "memory"
        same = "" if found.value_differs else " with the same value"
        also = {store.access.span: store.access for store in group if store.access.span != found.access.span}
        return self.finding(
            found.access.span,
            f"All programs along `{found.axis.name}` write `{name}`{same}. There are `{found.programs}` of them, and "
            f"the index `{brief(found.access.index)}` does not depend on `{found.axis.name}`: the last one wins.",
            related=[(found.where, "the launch"), *[(span, "here as well") for span in list(also)[:5]]],
            confidence=found.confidence if found.value_differs else min(found.confidence, Confidence.MEDIUM),
            kernel=kernel.name,
            evidence={"axis": found.axis.name, "programs": found.programs, "index": repr(found.access.index)},
        )
