"""KL102 mask-bound-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.mask_bounds import MaskMismatch, Mismatch, comparison_span, condition_identity, mask_mismatches
from kernlint.finding import Finding, Severity
from kernlint.ir.expr import brief
from kernlint.ir.kernel import Framework, Kernel
from kernlint.rule import Context, Example, Rule


class MaskBoundMismatch(Rule):
    code = "KL102"
    name = "mask-bound-mismatch"
    kind = "oob-edge"
    frameworks = (Framework.CUDA, Framework.TRITON)
    severity = Severity.ERROR
    summary = "The mask tests something else than the index it guards."
    why = (
        "A mask on the tile-local index lets every tile but the first through unguarded; `<=` lets one element too "
        "many through; the bound of another dimension guards only square problems. All three look like a mask."
    )
    advice = "Compare the whole coordinate, tile offset included, with the extent of its own dimension, using `<`."
    silent_when = (
        "the two are provably equal",
        "the tile is at least as wide as the row, so that the tile-local index is the whole coordinate",
        "the bound already subtracts the tile's offset (`lane < n - pid*BLOCK`)",
    )
    references = ("https://github.com/NVIDIA/Megatron-LM/issues/7103",)
    flagged = (
        Example(
            "tile-local head index",
            """\
import triton
import triton.language as tl

@triton.jit
def scale_heads(x_ptr, n_heads, stride_h, BLOCK_H: tl.constexpr):
    hb = tl.program_id(0)
    h = tl.arange(0, BLOCK_H)
    ok = h < n_heads  #~ KL102
    x = tl.load(x_ptr + (hb * BLOCK_H + h) * stride_h, mask=ok, other=0.0)
    tl.store(x_ptr + (hb * BLOCK_H + h) * stride_h, 2 * x, mask=ok)

def run(x, block_h=8):
    t, heads, d = x.shape
    scale_heads[(triton.cdiv(heads, block_h),)](x, heads, x.stride(1), BLOCK_H=block_h)
""",
            language="python",
        ),
        Example(
            "inclusive bound",
            """\
__global__ void scale(float* data, int n, float k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) data[i] *= k;  //~ KL102
}
void launch(float* data, int n, float k) { scale<<<(n + 255) / 256, 256>>>(data, n, k); }
""",
        ),
    )
    silent = (
        Example(
            "one padded row per program",
            """\
import triton
import triton.language as tl

@triton.jit
def copy_rows(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * BLOCK + c, mask=c < n, other=0.0)
    tl.store(y_ptr + row * BLOCK + c, x, mask=c < n)

def run(x, y):
    rows, n = x.shape
    copy_rows[(rows,)](x, y, n, BLOCK=triton.next_power_of_2(n))
""",
            language="python",
        ),
        Example(
            "the bound subtracts the tile offset",
            """\
import triton
import triton.language as tl

@triton.jit
def double(x_ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    lane = tl.arange(0, BLOCK)
    ok = lane < n - first
    tl.store(x_ptr + first + lane, 2 * tl.load(x_ptr + first + lane, mask=ok), mask=ok)

def run(x):
    double[(triton.cdiv(x.numel(), 128),)](x, x.numel(), BLOCK=128)
""",
            language="python",
        ),
        Example(
            "whole coordinate",
            """\
__global__ void scale(float* data, int n, float k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= k;
}
void launch(float* data, int n, float k) { scale<<<(n + 255) / 256, 256>>>(data, n, k); }
""",
        ),
    )

    def check_kernel(self, kernel: Kernel, context: Context) -> Iterator[Finding]:
        if kernel.attrs.get("helper"):
            return
        reported: set[str] = set()
        for found in mask_mismatches(kernel):
            identity = condition_identity(found.condition)
            if identity not in reported:
                reported.add(identity)
                yield self._report(found, kernel)

    def _report(self, found: MaskMismatch, kernel: Kernel) -> Finding:
        access, coordinate = found.access, found.coordinate
        name = access.buffer.name if access.buffer else "memory"
        span = comparison_span(access, found.condition) or access.span
        index, bound, expected = brief(coordinate.expr), brief(found.bound), brief(found.expected)
        if found.kind is Mismatch.LOCAL:
            text = (
                f"The mask compares the tile-local `{coordinate.lane.name}` with `{bound}`. `{name}` is indexed by "
                f"`{index}`, which only the first tile keeps below `{bound}`."
            )
        elif found.kind is Mismatch.INCLUSIVE:
            text = (
                f"The mask admits index `{bound}`, one past the end. `{name}` has `{expected}` elements along "
                f"`{index}`, so the comparison must be `<`."
            )
        elif found.kind is Mismatch.OVERLAP:
            text = (
                f"The mask admits more elements than the rows of `{name}` are apart. Rows start `{expected}` apart, "
                f"the lane runs up to `{bound}`, so each program writes into the next row."
            )
        else:
            text = (
                f"The mask bounds `{index}` by `{bound}`, another dimension's extent. The grid covers `{expected}` "
                "along it."
            )
        return self.finding(
            span,
            text,
            related=([(access.span, "the access it guards")] if span != access.span else [])
            + ([(found.where, "the launch")] if found.where else []),
            confidence=found.confidence,
            kernel=kernel.name,
            evidence={
                "condition": repr(found.condition),
                "coordinate": repr(coordinate.expr),
                "case": found.kind.value,
            },
        )
