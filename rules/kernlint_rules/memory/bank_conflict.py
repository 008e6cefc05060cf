"""KL402 bank-conflict."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.banks import Conflict, is_certain, worst_conflict
from kernlint.analysis.coalescing_chunks import shifted, takes_neighbours
from kernlint.analysis.lanes_scenario import Scenario, scenarios
from kernlint.finding import Confidence, Finding
from kernlint.ir.kernel import Access, AccessKind, Framework, Kernel
from kernlint.ir.types import Space
from kernlint.rule import Context, Example, Rule

_TRANSPOSE = """\
__global__ void transpose(const float* in, float* out, int n) {
    __shared__ float tile[DECL];
    int x = threadIdx.x, y = threadIdx.y;
    tile[ROW] = in[(blockIdx.y * 32 + y) * n + blockIdx.x * 32 + x];
    __syncthreads();
    out[(blockIdx.x * 32 + y) * n + blockIdx.y * 32 + x] = tile[COLUMN];MARK
}
void launch(const float* in, float* out, int n) {
    transpose<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(in, out, n);
}
"""
_ENOUGH_WAYS = 4  # from here on the default persona reports


def _tile(declaration: str, row: str, column: str, mark: str = "") -> str:
    text = _TRANSPOSE.replace("DECL", declaration).replace("ROW", row)
    return text.replace("COLUMN", column).replace("MARK", mark)


class BankConflict(Rule):
    code = "KL402"
    name = "bank-conflict"
    kind = "bank-conflict"
    frameworks = (Framework.CUDA,)
    summary = "Lanes of a warp want different words of one shared-memory bank; the access is served in several passes."
    why = (
        "Shared memory has 32 banks of 4 bytes and each serves one word per pass. When n lanes want n words of one "
        "bank the access takes n passes, and the memory pipeline waits for all of them."
    )
    advice = (
        "Pad the row by one element (`tile[32][33]`), swizzle the column with XOR, or change which lane takes what."
    )
    silent_when = (
        "padding or a swizzle spreads the lanes over the banks",
        "lanes read the same word (broadcast)",
        "the index was not understood or depends on data",
    )
    references = (
        "CUDA C++ Programming Guide, Shared Memory, compute capability 5.x",
        "https://github.com/deepspeedai/DeepSpeed/pull/8055",
    )
    flagged = (
        Example("column of an unpadded tile", _tile("32 * 32", "y * 32 + x", "x * 32 + y", "  //~ KL402")),
        Example(
            "interleaved reduction",
            """\
__global__ void sum(const float* x, float* y) {
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        int i = 2 * d * t;
        if (i < 256) s[i] += s[i + d];  //~ KL402
        __syncthreads();
    }
    if (t == 0) y[0] = s[0];
}
void launch(const float* x, float* y) { sum<<<1, 256>>>(x, y); }
""",
        ),
    )
    silent = (
        Example("padded by one", _tile("32 * 33", "y * 33 + x", "x * 33 + y")),
        Example("swizzled", _tile("32 * 32", "y * 32 + (x ^ y)", "x * 32 + (y ^ x)")),
        Example("all lanes read one word", _tile("32 * 32", "y * 32 + x", "y * 32")),
    )

    def check_kernel(self, kernel: Kernel, context: Context) -> Iterator[Finding]:
        if kernel.framework is not Framework.CUDA:
            return
        seen: dict[tuple[object, ...], list[Access]] = {}
        for access in kernel.accesses:
            if access.space is not Space.SHARED or access.kind is AccessKind.ATOMIC:
                continue
            conflicts = [(found, s) for s in scenarios(kernel) if (found := worst_conflict(access, s)) is not None]
            if not conflicts:
                continue
            # Of several launches the mildest counts: the code may be written for the others.
            conflict, scenario = min(conflicts, key=lambda pair: pair[0].ways)
            alike = seen.setdefault((id(access.buffer), conflict.ways, *map(id, access.loops)), [])
            if conflict.ways > 1 and conflict.extra > 0 and not any(shifted(access, other) for other in alike):
                alike.append(access)
                yield self._report(kernel, access, conflict, scenario)

    def _report(self, kernel: Kernel, access: Access, conflict: Conflict, scenario: Scenario) -> Finding:
        mild = conflict.ways < _ENOUGH_WAYS and not scenario.block_known
        guessed = mild or any(atom.key in scenario.assumed for atom in access.index.deep_atoms)
        clear = conflict.ways >= _ENOUGH_WAYS
        if clear and takes_neighbours(access, kernel):
            joined = worst_conflict(access, scenario, joined=True)
            clear = joined is not None and joined.ways >= _ENOUGH_WAYS
        sure = clear and is_certain(access, scenario)
        name = access.buffer.name if access.buffer is not None else "?"
        doing = "store to" if access.writes else "load from"
        message = (
            f"{conflict.ways}-way bank conflict: this {doing} `{name}` takes {conflict.passes} passes. "
            f"{conflict.ideal} would do; {conflict.extra} are extra, for {conflict.lanes} active lanes of a warp."
        )
        block = scenario.block
        return self.finding(
            access.span,
            message,
            confidence=Confidence.LOW if guessed else Confidence.HIGH if sure else Confidence.MEDIUM,
            kernel=kernel.name,
            evidence={
                "ways": conflict.ways,
                "passes": conflict.passes,
                "ideal": conflict.ideal,
                "block": [block.x, block.y, block.z],
            },
        )
