"""KL101 unguarded-edge-tile."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.extents import Escape, escapes
from kernlint.analysis.halo import Stray, strays
from kernlint.finding import Finding, Severity
from kernlint.ir.expr import brief
from kernlint.ir.kernel import AccessKind, Framework, Kernel
from kernlint.rule import Context, Example, Rule

_HOW = {
    "sibling": "guarded by it here",
    "loop": "the loop runs up to it in whole tiles",
    "launch": "the grid covers it in whole tiles",
    "tile": "the tile is the next power of two of it",
    "block pointer": "the tensor's shape",
}


class UnguardedEdgeTile(Rule):
    code = "KL101"
    name = "unguarded-edge-tile"
    kind = "oob-edge"
    frameworks = (Framework.CUDA, Framework.TRITON)
    severity = Severity.ERROR
    summary = "An access reaches past the extent of its data in the last tile, and nothing guards it."
    why = (
        "When a size is not a multiple of the tile, the last tile sticks out. Without a mask its lanes read or write "
        "whatever lies behind the tensor: a neighbour's data, an unmapped page, another program's output. Tests on "
        "round sizes never run that tile."
    )
    advice = "Guard the access with the same bound as its siblings, or assert that the size is a multiple of the tile."
    silent_when = (
        "the host asserts or checks divisibility, or the launch guarantees it",
        "a compile-time switch such as EVEN_N selects the unmasked form",
        "the dimension is in `boundary_check`, or the index wraps with `%`",
        "every lane is provably inside",
    )
    references = (
        "https://github.com/triton-lang/triton/issues/630",
        "https://github.com/flagos-ai/FlagGems/pull/413",
    )
    flagged = (
        Example(
            "per-row statistics are read without the row mask",
            """\
import torch, triton
import triton.language as tl

@triton.jit
def scale_rows(x_ptr, s_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.arange(0, BN)
    s = tl.load(s_ptr + r)  #~ KL101
    ok = (r < M)[:, None] & (c < N)[None, :]
    x = tl.load(x_ptr + r[:, None] * N + c[None, :], mask=ok, other=0.0)
    tl.store(y_ptr + r[:, None] * N + c[None, :], x * s[:, None], mask=ok)
""",
            language="python",
        ),
        Example(
            "the grid rounds up, the kernel does not check",
            """\
__global__ void scale(float* data, int n, float k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] *= k;  //~ KL101
}
cudaError_t launch(float* data, int n, float k) {
    scale<<<(n + 255) / 256, 256>>>(data, n, k);
    return cudaGetLastError();
}
""",
        ),
        Example(
            "a stencil reads its left neighbour",
            """\
__global__ void smooth(const float* u, float* v, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) v[i] = 0.5f * (u[i - 1] + u[i]);  //~ KL101
}
""",
        ),
    )
    silent = (
        Example(
            "the host checks divisibility",
            """\
import torch, triton
import triton.language as tl

@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, 2 * tl.load(x_ptr + i))

def run(x):
    n = x.numel()
    assert n % 1024 == 0
    y = torch.empty_like(x)
    double[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
    return y
""",
            language="python",
        ),
        Example(
            "an EVEN switch chooses the unmasked form",
            """\
import triton
import triton.language as tl

@triton.heuristics({"EVEN_N": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr, EVEN_N: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN_N:
        x = tl.load(x_ptr + i)
    else:
        x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, 2 * x, mask=i < n)
""",
            language="python",
        ),
        Example(
            "a stencil that leaves the border out",
            """\
__global__ void smooth(const float* u, float* v, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1) v[i] = (u[i - 1] + u[i] + u[i + 1]) / 3.0f;
}
""",
        ),
        Example(
            "row offsets have one entry more than rows",
            """\
__global__ void degrees(const int* start, int* out, int rows) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) out[r] = start[r + 1] - start[r];
}
""",
        ),
        Example(
            "early exit",
            """\
__global__ void scale(float* data, int n, float k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    data[i] *= k;
}
void launch(float* data, int n, float k) { scale<<<(n + 255) / 256, 256>>>(data, n, k); }
""",
        ),
    )

    def check_kernel(self, kernel: Kernel, context: Context) -> Iterator[Finding]:
        if kernel.attrs.get("helper"):
            return
        groups: dict[tuple[str, str], list[Escape]] = {}
        for escape in escapes(kernel):
            groups.setdefault((escape.coordinate.lane.key, escape.extent.key), []).append(escape)
        for group in groups.values():
            yield self._report(group, kernel)
        for stray in strays(kernel):
            yield self._stray(stray, kernel)

    def _stray(self, found: Stray, kernel: Kernel) -> Finding:
        access = found.access
        name, index = access.buffer.name if access.buffer else "memory", brief(found.index, 30)
        verb = "written" if access.kind is AccessKind.STORE else "read"
        text = {
            "below": f"`{name}` is {verb} before its first element, at `{index}`. The guard holds for lane 0 of the "
            "first block, where the index is negative.",
            "above": f"`{name}` is {verb} behind its last element, at `{index}`. The guard bounds the centre by "
            f"`{brief(found.extent)}`, not this neighbour.",
            "vector": f"The last vector of `{name}` reaches past `{brief(found.extent)}`. The guard tests its first "
            f"element, and `{brief(found.extent)}` need not be a multiple of the vector's length.",
        }[found.kind]
        return self.finding(
            access.span,
            text,
            confidence=found.confidence,
            help="Guard the element that is accessed, not its neighbour.",
            kernel=kernel.name,
            evidence={"buffers": [name], "index": repr(found.index), "evidence": found.kind},
        )

    def _report(self, group: list[Escape], kernel: Kernel) -> Finding:
        first = max(group, key=lambda escape: (escape.confidence, -escape.access.ordinal))
        access, extent, where = first.access, first.extent, first.where
        verb = "written" if access.kind is AccessKind.STORE else "read"
        names = {escape.access.buffer.name: escape.access.span for escape in group if escape.access.buffer}
        name = access.buffer.name if access.buffer else "memory"
        size, at = brief(extent), brief(first.coordinate.expr)
        related = [(where, f"`{size}`: {_HOW[first.evidence]}")] if where and where != access.span else []
        related += [(span, f"`{other}` as well") for other, span in names.items() if other != name]
        return self.finding(
            access.span,
            f"`{name}` is {verb} past `{size}` in the last tile. The coordinate `{at}` is not "
            f"guarded here, and `{size}` need not be a multiple of the tile `{brief(first.coordinate.lane.extent)}`.",
            related=related[:6],
            confidence=first.confidence,
            kernel=kernel.name,
            evidence={
                "buffers": sorted(names),
                "coordinate": repr(first.coordinate.expr),
                "extent": repr(extent),
                "evidence": first.evidence,
            },
        )
