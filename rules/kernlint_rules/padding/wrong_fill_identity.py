"""KL104 wrong-fill-identity."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.padding import cached_faults, first_per_origin
from kernlint.analysis.padding_identity import needed_identity
from kernlint.analysis.padding_judge import Fault, PaddingFault, fits_another
from kernlint.analysis.padding_text import effect, name_of, number, operation, where_padded
from kernlint.finding import Finding, Severity
from kernlint.ir.condition import Connective
from kernlint.ir.kernel import Framework, Kernel
from kernlint.ir.types import Span
from kernlint.ir.value import Value
from kernlint.rule import Context, Example, Rule

_HEAD = "import triton\nimport triton.language as tl\n\n@triton.jit\n"


class WrongFillIdentity(Rule):
    code = "KL104"
    name = "wrong-fill-identity"
    kind = "mask-other"
    frameworks = (Framework.CUDA, Framework.TRITON)
    severity = Severity.ERROR
    summary = "Masked lanes are filled with a number that is not the identity of the reduction they reach."
    why = (
        "The reduction takes the fill for data. A maximum over a row padded with 0 is never negative, a product is 0, "
        "a softmax counts the padding. Short rows and all-negative rows are wrong; the sizes people test are not."
    )
    advice = "Fill with the identity: 0 for sums, 1 for products, -inf for maxima, +inf for minima; or re-mask."
    silent_when = (
        "the fill is the identity after the operations between (`exp(-inf)` is 0)",
        "the value cannot be negative, so 0 serves a maximum (`abs`, squares, `exp`, unsigned integers)",
        "the lanes are re-masked before the reduction",
    )
    references = (
        "https://github.com/triton-lang/triton/issues/3599",
        "https://github.com/vllm-project/vllm/pull/55009",
    )
    flagged = (
        Example(
            "softmax padded with 0",
            _HEAD
            + """\
def softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    ok = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=ok, other=0.0)  #~ KL104
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * n + cols, e / tl.sum(e, axis=0), mask=ok)
""",
            language="python",
        ),
        Example(
            "minimum over tiles",
            _HEAD
            + """\
def row_min(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    low = tl.full((BLOCK,), float("inf"), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)  #~ KL104
        low = tl.minimum(low, x)
    tl.store(out_ptr + row, tl.min(low, axis=0))
""",
            language="python",
        ),
        Example(
            "sum padded with -inf",
            _HEAD
            + """\
def mean(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf"))  #~ KL104
    tl.store(out_ptr + row, tl.sum(x, axis=0) / n)
""",
            language="python",
        ),
        Example(
            "one load for a maximum and a mean",
            _HEAD
            + """\
def smoothed(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=float("-inf")).to(tl.float32)
    top = tl.max(x, 0)
    lse = top + tl.log(tl.sum(tl.exp(x - top), 0))
    mean = tl.sum(x, 0) / n  #~ KL104
    tl.store(out_ptr + row, lse - mean)
""",
            language="python",
        ),
        Example(
            "block maximum, idle threads hold 0",
            """\
__global__ void row_max(const float* x, float* out, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    float v = t < n ? x[blockIdx.x * n + t] : 0.0f;  //~ KL104
    s[t] = v;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k >>= 1) {
        if (t < k) s[t] = fmaxf(s[t], s[t + k]);
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}
""",
        ),
    )
    silent = (
        Example(
            "block maximum of magnitudes",
            """\
__global__ void row_amax(const float* x, float* out, int n) {
    int t = threadIdx.x;
    float v = t < n ? fabsf(x[blockIdx.x * n + t]) : 0.0f;
    for (int k = 16; k > 0; k >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, k));
    if (t == 0) out[blockIdx.x] = v;
}
""",
        ),
        Example(
            "softmax padded with -inf",
            _HEAD
            + """\
def softmax(x_ptr, y_ptr, n, scale, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    ok = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=ok, other=-float("inf")) * scale
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * n + cols, e / tl.sum(e, axis=0), mask=ok)
""",
            language="python",
        ),
        Example(
            "largest magnitude",
            _HEAD
            + """\
def quantise(x_ptr, q_ptr, s_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    ok = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=ok, other=0.0).to(tl.float32)
    scale = tl.max(tl.abs(x), axis=0) / 127.0
    tl.store(q_ptr + row * n + cols, (x / scale).to(tl.int8), mask=ok)
    tl.store(s_ptr + row, scale)
""",
            language="python",
        ),
        Example(
            "-inf, then re-masked for the sum",
            _HEAD
            + """\
def smoothed(x_ptr, out_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=float("-inf"))
    top = tl.max(x, axis=0)
    total = tl.sum(tl.where(cols < n, -eps * x, 0.0), axis=0)
    tl.store(out_ptr + row, top + total)
""",
            language="python",
        ),
        Example(
            "a large negative number stands in for -inf",
            _HEAD
            + """\
def row_max(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-1e9)
    tl.store(out_ptr + row, tl.max(x, axis=0))
""",
            language="python",
        ),
    )

    def check_kernel(self, kernel: Kernel, context: Context) -> Iterator[Finding]:
        faults = cached_faults(kernel, context.cache)
        for fault in first_per_origin(faults, Fault.WRONG_IDENTITY):
            if fault.origin is not None and fault.origin.span is not None:
                # A fill that is right for one reduction is not to blame for the other.
                where = fault.sink.span if fits_another(fault, kernel) else None
                where = where or fault.origin.span
                yield self._report(fault, fault.origin, where, kernel)

    def _report(self, fault: PaddingFault, load: Value, where: Span, kernel: Kernel) -> Finding:
        how, needed = operation(fault), needed_identity(fault.operation) or "0"
        fill, held = number(fault.state.fill), number(fault.state.value)
        notes = ((fault.sink.span, f"{how} {effect(fault)}"), (load.span, f"filled with {fill} here"))
        related = [(span, text) for span, text in notes if span is not None and span != where]
        if fault.condition.op is Connective.TRUE:
            message = (
                f"{name_of(fault.operand, 'This running value')} starts at {fill}, which is not neutral in {how}. "
                f"Data all on the other side of {fill} never shows; start at {needed}."
            )
        else:
            between = "" if fill == held else f" (by then {held})"
            name = name_of(load, name_of(fault.operand, "This value"))
            message = (
                f"{name} is filled with {fill}, which is not neutral in {how}. "
                f"{where_padded(fault)} its lanes hold {fill}{between}, and {how} {effect(fault)}; "
                f"the identity there is {needed}."
            )
        return self.finding(
            where,
            message,
            related=related,
            confidence=fault.confidence,
            kernel=kernel.name,
            evidence={"fill": fill, "operation": fault.operation, "condition": repr(fault.condition)},
        )
