"""KL301 low-precision-accumulator."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.precision import low_precision_sums
from kernlint.analysis.precision_text import cost, what
from kernlint.finding import Finding, Severity
from kernlint.ir.kernel import Framework, Kernel
from kernlint.rule import Context, Example, Rule

_HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n@triton.jit\n"


class LowPrecisionAccumulator(Rule):
    code = "KL301"
    name = "low-precision-accumulator"
    kind = "accum-precision"
    frameworks = (Framework.CUDA, Framework.TRITON)
    severity = Severity.WARNING
    summary = "A running sum, dot product or reduction is kept in 16 bits or fewer."
    why = (
        "Every addition rounds to the accumulator's precision: the error grows like 0.30*sqrt(K)*u with the number "
        "K of terms, and a sum of same-sign terms stops growing after about 1/u of them (2048 in float16, 256 in "
        "bfloat16)."
    )
    advice = "Convert to float32 before adding and round once at the end."
    silent_when = (
        "the terms are widened before they are added",
        "at most 16 terms are added",
        "integers; maxima and minima, which do not round",
    )
    references = (
        "https://github.com/linkedin/Liger-Kernel/pull/950",
        "https://github.com/pytorch/pytorch/issues/2391",
        "https://github.com/pytorch/torchrec/pull/3730",
    )
    flagged = (
        Example(
            "half accumulator",
            """\
#include <cuda_fp16.h>

__global__ void column_total(const __half* x, __half* out, int rows, int cols) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= cols) return;
    __half acc = __float2half(0.0f);
    for (int r = 0; r < rows; ++r)
        acc = __hadd(acc, x[r * cols + c]);  //~ KL301
    out[c] = acc;
}
""",
        ),
        Example(
            "tile accumulated in float16",
            _HEAD
            + """\
def column_sum(x_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    c = tl.program_id(0) * BN + tl.arange(0, BN)
    acc = tl.zeros((BN,), dtype=tl.float16)
    for lo in range(0, M, BM):
        r = lo + tl.arange(0, BM)
        ok = (r[:, None] < M) & (c[None, :] < N)
        x = tl.load(x_ptr + r[:, None] * N + c[None, :], mask=ok, other=0.0).to(tl.float32)
        acc += tl.sum(x, axis=0).to(tl.float16)  #~ KL301
    tl.store(out_ptr + c, acc, mask=c < N)
""",
            language="python",
        ),
        Example(
            "reduction in the tensors' own bfloat16",
            _HEAD
            + """\
def row_dot(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    y = tl.load(y_ptr + row * n + c, mask=c < n, other=0.0)
    tl.store(out_ptr + row, tl.sum(x * y, axis=0))  #~ KL301


def rowdot(x, y):
    assert x.dtype == torch.bfloat16 and y.dtype == torch.bfloat16
    out = torch.empty(x.shape[0], device=x.device, dtype=torch.float32)
    row_dot[(x.shape[0],)](x, y, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out
""",
            language="python",
        ),
    )
    silent = (
        Example(
            "float accumulator",
            """\
#include <cuda_fp16.h>

__global__ void column_total(const __half* x, __half* out, int rows, int cols) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= cols) return;
    float acc = 0.0f;
    for (int r = 0; r < rows; ++r)
        acc += __half2float(x[r * cols + c]);
    out[c] = __float2half(acc);
}
""",
        ),
        Example(
            "widened before the sum",
            _HEAD
            + """\
def row_dot(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0).to(tl.float32)
    y = tl.load(y_ptr + row * n + c, mask=c < n, other=0.0)
    tl.store(out_ptr + row, tl.sum(x * y, axis=0).to(tl.bfloat16))
""",
            language="python",
        ),
        Example(
            "maximum of halves, and a count",
            """\
#include <cuda_fp16.h>

__global__ void stats(const __half* x, __half* top, int* count, int rows, int cols) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= cols) return;
    __half m = x[c];
    int n = 0;
    for (int r = 1; r < rows; ++r) {
        m = __hmax(m, x[r * cols + c]);
        n += __hgt(x[r * cols + c], __float2half(0.0f)) ? 1 : 0;
    }
    top[c] = m;
    count[c] = n;
}
""",
        ),
        Example(
            "a residual is one addition",
            _HEAD
            + """\
def add(x_ptr, r_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    r = tl.load(r_ptr + i, mask=i < n)
    tl.store(y_ptr + i, x + r, mask=i < n)
""",
            language="python",
        ),
    )

    def check_kernel(self, kernel: Kernel, context: Context) -> Iterator[Finding]:
        for found in low_precision_sums(kernel):
            if found.at.span is not None:
                yield self.finding(
                    found.at.span,
                    f"{what(found)}. {cost(found)}",
                    confidence=found.confidence,
                    kernel=kernel.name,
                    evidence={
                        "dtype": found.dtype.name if found.dtype is not None else "generic",
                        "terms": found.terms,
                        "kind": found.kind.value,
                    },
                )
