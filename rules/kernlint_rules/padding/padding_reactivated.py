"""KL105 padding-reactivated."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.padding import cached_faults
from kernlint.analysis.padding_judge import Fault, PaddingFault
from kernlint.analysis.padding_text import effect, name_of, number, operation, where_padded
from kernlint.finding import Finding, Severity
from kernlint.ir.kernel import Framework, Kernel
from kernlint.ir.types import Span
from kernlint.ir.value import Value
from kernlint.rule import Context, Example, Rule

_HEAD = "import triton\nimport triton.language as tl\n\n@triton.jit\n"


class PaddingReactivated(Rule):
    code = "KL105"
    name = "padding-reactivated"
    kind = "mask-other"
    frameworks = (Framework.CUDA, Framework.TRITON)
    severity = Severity.ERROR
    summary = "Padded lanes held the identity, then an operation moved them off it before they were reduced."
    why = (
        "`x - mean` turns the zeros behind the end of the row into `-mean`, and the sum of squares counts them. The "
        "error is (tile/n - 1)*mean**2: 83 % at 17 columns in a tile of 1024, nothing when n is a power of two, which "
        "is what tests use."
    )
    advice = (
        "Apply the mask again to what is reduced, after the last operation that moves its padded lanes: "
        "`tl.where(mask, x - mean, 0.0)`."
    )
    silent_when = (
        "`where` or a multiplication by the mask restores the identity before the reduction",
        "the operation keeps the identity (scaling, squaring, `abs`)",
        "the result is only stored under the mask",
    )
    references = (
        "https://github.com/triton-lang/triton/issues/9838",
        "https://github.com/linkedin/Liger-Kernel/issues/518",
        "https://github.com/unslothai/unsloth/pull/1867",
    )
    flagged = (
        Example(
            "variance of a layer norm",
            _HEAD
            + """\
def layer_norm(x_ptr, y_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    ok = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=ok, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n
    centred = x - mean  #~ KL105
    var = tl.sum(centred * centred, axis=0) / n
    tl.store(y_ptr + row * n + cols, centred * tl.rsqrt(var + eps), mask=ok)
""",
            language="python",
        ),
        Example(
            "sum of exponentials of zero-filled logits",
            _HEAD
            + """\
def logsumexp(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
    e = tl.exp(x)  #~ KL105
    tl.store(out_ptr + row, tl.log(tl.sum(e, axis=0)))
""",
            language="python",
        ),
        Example(
            "variance across a warp",
            """\
__global__ void variance(const float* x, float* out, int n) {
    int t = threadIdx.x;
    float v = t < n ? x[blockIdx.x * n + t] : 0.0f;
    float sum = v;
    for (int k = 16; k > 0; k >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, k);
    float d = v - sum / n;  //~ KL105
    float q = d * d;
    for (int k = 16; k > 0; k >>= 1) q += __shfl_xor_sync(0xffffffff, q, k);
    if (t == 0) out[blockIdx.x] = q / n;
}
""",
        ),
    )
    silent = (
        Example(
            "idle threads hold 0 again",
            """\
__global__ void variance(const float* x, float* out, int n) {
    int t = threadIdx.x;
    float v = t < n ? x[blockIdx.x * n + t] : 0.0f;
    float sum = v;
    for (int k = 16; k > 0; k >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, k);
    float d = t < n ? v - sum / n : 0.0f;
    float q = d * d;
    for (int k = 16; k > 0; k >>= 1) q += __shfl_xor_sync(0xffffffff, q, k);
    if (t == 0) out[blockIdx.x] = q / n;
}
""",
        ),
        Example(
            "mask applied again",
            _HEAD
            + """\
def layer_norm(x_ptr, y_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    ok = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=ok, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n
    centred = tl.where(ok, x - mean, 0.0)
    var = tl.sum(centred * centred, axis=0) / n
    tl.store(y_ptr + row * n + cols, centred * tl.rsqrt(var + eps), mask=ok)
""",
            language="python",
        ),
        Example(
            "root mean square: squares keep zeros",
            _HEAD
            + """\
def rms_norm(x_ptr, w_ptr, y_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    ok = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=ok, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=ok, other=0.0).to(tl.float32)
    rstd = tl.rsqrt(tl.sum(x * x, axis=0) / n + eps)
    tl.store(y_ptr + row * n + cols, x * rstd * (1.0 + w), mask=ok)
""",
            language="python",
        ),
        Example(
            "moved lanes meet a zero weight",
            _HEAD
            + """\
def backward(x_ptr, dy_ptr, dx_ptr, mean_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    ok = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=ok, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + row * n + cols, mask=ok, other=0.0).to(tl.float32)
    centred = x - tl.load(mean_ptr + row)
    c1 = tl.sum(centred * dy, axis=0) / n
    tl.store(dx_ptr + row * n + cols, dy - centred * c1, mask=ok)
""",
            language="python",
        ),
        Example(
            "mask as a factor",
            _HEAD
            + """\
def variance(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    ok = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=ok, other=0.0).to(tl.float32)
    centred = (x - tl.sum(x, axis=0) / n) * ok
    tl.store(out_ptr + row, tl.sum(centred * centred, axis=0) / n)
""",
            language="python",
        ),
    )

    def check_kernel(self, kernel: Kernel, context: Context) -> Iterator[Finding]:
        faults = cached_faults(kernel, context.cache)
        wrongly_filled = {id(fault.origin) for fault in faults if fault.kind is Fault.WRONG_IDENTITY}
        surest: dict[int, PaddingFault] = {}
        for fault in faults:
            mover = fault.state.mover
            if fault.kind is not Fault.MOVED or id(fault.origin) in wrongly_filled or mover is None:
                continue
            known = surest.get(id(mover))
            if known is None or fault.confidence > known.confidence:
                surest[id(mover)] = fault
        for fault in surest.values():
            mover = fault.state.mover
            if mover is not None and mover.span is not None:
                yield self._report(fault, mover, mover.span, kernel)

    def _report(self, fault: PaddingFault, mover: Value, where: Span, kernel: Kernel) -> Finding:
        load = fault.origin
        how, fill = operation(fault), number(fault.state.fill)
        related = []
        if fault.sink.span is not None:
            related.append((fault.sink.span, f"{how} {effect(fault)}"))
        if load is not None and load.span is not None:
            related.append((load.span, f"filled with {fill} here"))
        held = f"hold {number(fault.state.value)}" if fault.state.value is not None else f"no longer hold {fill}"
        return self.finding(
            where,
            f"The padded lanes of {name_of(mover, 'this value')} {held}, and {how} {effect(fault)}. "
            f"{where_padded(fault)} they were filled with {fill}; this operation moved them. "
            f"Mask the operand of {how} again.",
            related=related,
            confidence=fault.confidence,
            kernel=kernel.name,
            evidence={"fill": fill, "operation": fault.operation, "condition": repr(fault.condition)},
        )
