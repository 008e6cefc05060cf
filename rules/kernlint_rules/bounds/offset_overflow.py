"""KL109 offset-overflow."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.launches import LaunchView, views
from kernlint.analysis.overflow import (
    NarrowCounter,
    NarrowProduct,
    admitted_over_limit,
    bounded_below_limit,
    dimensions,
    handles_one_step,
    is_largest,
    is_row_offset,
    is_tensor_size,
    lanes_in,
    narrow_counters,
    narrow_products,
    narrows_a_factor,
    spans_a_tensor,
    widens_elsewhere,
)
from kernlint.finding import Confidence, Finding, Severity
from kernlint.ir.expr import brief
from kernlint.ir.kernel import Framework, Kernel
from kernlint.rule import Context, Example, Rule

_TRITON = """\
import torch, triton
import triton.language as tl

@triton.jit
def add_batches(x_ptr, y_ptr, stride_b, per, BLOCK: tl.constexpr):
    b = tl.program_id(1){wide}
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = b * stride_b + i{mark}
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=i < per), mask=i < per)

def run(x):
    y = torch.empty_like(x)
    {bound}
    per = x[0].numel()
    add_batches[(triton.cdiv(per, 1024), x.shape[0])](x, y, x.stride(0), per, BLOCK=1024)
"""
_CUDA = """\
__global__ void take(const float* table, const long long* ids, float* out, int width, long long total) {
    long long e = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= total) return;
    int row = (int)ids[e / width];
    %s
    out[e] = table[at];
}
"""


class OffsetOverflow(Rule):
    code = "KL109"
    name = "offset-overflow"
    kind = "int-overflow"
    frameworks = (Framework.CUDA, Framework.TRITON)
    severity = Severity.WARNING
    summary = "An element offset is computed in 32 bits and can pass 2^31 for sizes the code admits."
    why = (
        "Row number times row length is as large as the tensor. Past 2^31 - 1 elements a 32-bit product wraps to a "
        "negative offset, and the kernel reads and writes far outside the tensor; Triton narrows integer arguments to "
        "32 bits whenever their value fits."
    )
    advice = "Widen one factor before the product: `.to(tl.int64)`, `static_cast<int64_t>(row) * stride`."
    silent_when = (
        "a factor is 64 bits wide before the product",
        "an assert or the launch bounds both factors",
        "the product is a tile size times a program number (it is as large as the grid, not as the tensor)",
    )
    references = (
        "https://github.com/fla-org/flash-linear-attention/pull/1082",
        "https://github.com/triton-lang/triton/issues/832",
        "https://github.com/microsoft/onnxruntime/pull/28108",
    )
    flagged = (
        Example("batch stride", _TRITON.format(wide="", mark="  #~ KL109", bound=""), language="python"),
        Example("a 64-bit id is narrowed before the product", _CUDA % "int at = row * width;  //~ KL109"),
    )
    silent = (
        Example("widened", _TRITON.format(wide=".to(tl.int64)", mark="", bound=""), language="python"),
        Example(
            "bounded by an assert",
            _TRITON.format(wide="", mark="", bound="assert x.stride(0) <= 4096 and x.shape[0] <= 1024"),
            language="python",
        ),
        Example("widened product", _CUDA % "long long at = (long long)row * width;"),
    )

    def check_kernel(self, kernel: Kernel, context: Context) -> Iterator[Finding]:
        if kernel.attrs.get("helper"):
            return
        perspectives = views(kernel)
        found = [
            product
            for product in narrow_products(kernel)
            if not all(view.launch is not None and bounded_below_limit(product, view) for view in perspectives)
            and any(spans_a_tensor(product, view) for view in perspectives)
        ]
        if found:
            found.sort(key=_relevance)
            yield self._report(found, kernel, perspectives)

        for counter in narrow_counters(kernel):
            yield self._counter(counter, kernel)

    def _counter(self, found: NarrowCounter, kernel: Kernel) -> Finding:
        name, bound = found.loop.variable or "the counter", brief(found.bound.expr, 24)
        return self.finding(
            found.loop.span,
            f"`{name}` counts in 32 bits up to the 64-bit `{bound}`. Past 2^31 it wraps before it gets there.",
            confidence=Confidence.HIGH if found.strides_over_grid else Confidence.MEDIUM,
            help="Declare the counter with the type of its bound.",
            kernel=kernel.name,
            evidence={"counter": name, "bound": bound},
        )

    def _report(self, found: list[NarrowProduct], kernel: Kernel, perspectives: tuple[LaunchView, ...]) -> Finding:
        first = found[0]
        name = first.access.buffer.name if first.access.buffer else "memory"
        row = brief(first.row, 24)
        row = f"({row})" if len(first.row.terms) > 1 else row
        span = first.product.span or first.access.span
        others = [(p.product.span, "also here") for p in found[1:5] if p.product.span not in (None, span)]
        return self.finding(
            span,
            f"`{row} * {brief(first.stride, 20)}` is a 32-bit product and can overflow. As an offset into `{name}` it "
            f"passes 2^31 when the tensor has that many elements; widen `{row}` first.",
            related=[(first.access.span, "the access it addresses"), *[(s, t) for s, t in others if s is not None]],
            confidence=self._confidence(found, kernel, perspectives),
            kernel=kernel.name,
            evidence={"product": f"{first.row} * {first.stride}", "products": len(found)},
        )

    def _confidence(
        self, found: list[NarrowProduct], kernel: Kernel, perspectives: tuple[LaunchView, ...]
    ) -> Confidence:
        """HIGH for a row offset when the interface, the kernel or the launch shows that tensors may be large."""
        if any(product.widened_late or narrows_a_factor(product.product) for product in found):
            return Confidence.HIGH
        if any(admitted_over_limit(product, view) for product in found for view in perspectives):
            return Confidence.HIGH
        rows = [product for product in found if is_row_offset(product)]
        rows = [product for product in rows if any(is_largest(product, kernel, view) for view in perspectives)]
        if rows and widens_elsewhere(kernel):
            return Confidence.HIGH
        rows = [product for product in rows if not lanes_in(product.row)]
        if handles_one_step(kernel):
            return Confidence.MEDIUM
        if not rows:
            return Confidence.MEDIUM
        strides = [view.of(product.stride) for view in perspectives if view.launch is not None for product in rows]
        sized = any(is_tensor_size(atom) for stride in strides for atom in stride.deep_atoms)
        return Confidence.HIGH if sized else Confidence.MEDIUM


def _relevance(found: NarrowProduct) -> tuple[bool, bool, bool, int, int]:
    """What is widened too late first, then plain row offsets, then rows of tiles; larger ones before smaller."""
    at = found.product.span or found.access.span
    plain = not is_row_offset(found)
    return not found.widened_late, plain, bool(lanes_in(found.row)), -dimensions(found), at.start
