"""The padding analysis on real source, where the front ends decide what it sees."""

from __future__ import annotations

import pytest

from kernlint.analysis.padding import padding_faults
from kernlint.analysis.padding_judge import Fault
from kernlint.finding import Confidence
from kernlint.lift import lift_module
from kernlint.source.file import CUDA, PYTHON, SourceFile

TRITON = "import torch\nimport triton\nimport triton.language as tl\n\n@triton.jit\n"


def faults(source: str, language: str = PYTHON) -> list[tuple[Fault, Confidence]]:
    name = "k.cu" if language == CUDA else "k.py"
    module = lift_module(SourceFile(name, source.encode(), language))
    return [(fault.kind, fault.confidence) for kernel in module.kernels for fault in padding_faults(kernel)]


BLOCK_SUM = """
__device__ float block_sum(float v) {
    __shared__ float part[32];
    for (int k = 16; k; k >>= 1) v += __shfl_down_sync(~0u, v, k);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    v = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0.0f;
    for (int k = 16; k; k >>= 1) v += __shfl_down_sync(~0u, v, k);
    return v;
}
__global__ void layer_norm(const float* x, float* y, int n) {
    __shared__ float mean, var;
    int t = threadIdx.x;
    float v = t < n ? x[blockIdx.x * n + t] : 0.0f;
    float s = block_sum(v);
    if (t == 0) mean = s / n;
    __syncthreads();
    float d = CENTRED;
    float q = block_sum(d * d);
    if (t == 0) var = q / n;
    __syncthreads();
    if (t < n) y[blockIdx.x * n + t] = d * rsqrtf(var + 1e-5f);
}
"""


def test_cuda_layer_norm_through_a_block_reduction() -> None:
    assert {kind for kind, _ in faults(BLOCK_SUM.replace("CENTRED", "v - mean"), CUDA)} == {Fault.MOVED}
    assert faults(BLOCK_SUM.replace("CENTRED", "t < n ? v - mean : 0.0f"), CUDA) == []


def cuda_max(fill: str, combine: str) -> list[tuple[Fault, Confidence]]:
    return faults(
        "#include <cfloat>\n__global__ void k(const float* x, float* out, int n) {\n    int t = threadIdx.x;\n"
        f"    float v = {fill};\n    if (t < n) v = x[t];\n    {combine}\n    if (t == 0) out[0] = v;\n}}\n",
        CUDA,
    )


SHUFFLES = "for (int k = 16; k; k >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, k));"
SHARED = (
    "__shared__ float s[256]; s[t] = v; __syncthreads();"
    " for (int k = 128; k; k >>= 1) { if (t < k) s[t] = fmaxf(s[t], s[t + k]); __syncthreads(); } v = s[0];"
)


@pytest.mark.parametrize("combine", [SHUFFLES, SHARED], ids=["shuffles", "shared memory"])
def test_threads_without_data_hold_the_start_value(combine: str) -> None:
    assert [kind for kind, _ in cuda_max("0.0f", combine)] == [Fault.WRONG_IDENTITY]
    assert cuda_max("-FLT_MAX", combine) == []


def test_a_store_that_only_valid_threads_make_brings_no_padding() -> None:
    guarded = SHARED.replace("s[t] = v;", "if (t < n) s[t] = v;")
    assert cuda_max("0.0f", guarded) == []


def test_softmax_padded_with_zero_underflows_even_when_masked_again() -> None:
    source = TRITON + (
        "def k(x_ptr, y_ptr, n, BLOCK: tl.constexpr):\n"
        "    c = tl.arange(0, BLOCK)\n"
        "    x = tl.load(x_ptr + c, mask=c < n, other=0.0)\n"
        "    e = tl.where(c < n, tl.exp(x - tl.max(x, axis=0)), 0.0)\n"
        "    tl.store(y_ptr + c, e / tl.sum(e, axis=0), mask=c < n)\n"
    )
    assert faults(source) == [(Fault.WRONG_IDENTITY, Confidence.HIGH)]


ROWS = TRITON + (
    "def k(x_ptr, out_ptr, n, BLOCK: tl.constexpr):\n"
    "    c = tl.arange(0, BLOCK)\n"
    "    x = tl.load(x_ptr + tl.program_id(0) * n + c, mask=c < n)\n"
    "    tl.store(out_ptr + tl.program_id(0), tl.sum(x.to(tl.float32), axis=0))\n\n\n"
    "def f(x):\n"
    "    out = torch.empty(8, device=x.device)\n"
    "    k[(8,)](x, out, %d, BLOCK=64)\n"
)


def test_a_launch_whose_tile_is_exactly_the_row_has_no_padding() -> None:
    assert faults(ROWS % 64) == []
    assert [kind for kind, _ in faults(ROWS % 63)] == [Fault.UNDEFINED]


def test_a_block_pointer_without_padding_is_undefined_by_the_letter_only() -> None:
    source = TRITON + (
        "def k(x_ptr, out_ptr, m, n, BM: tl.constexpr, BN: tl.constexpr):\n"
        "    p = tl.make_block_ptr(x_ptr, (m, n), (n, 1), (tl.program_id(0) * BM, 0), (BM, BN), (1, 0))\n"
        "    x = tl.load(p, boundary_check=(0, 1)%s)\n"
        "    tl.store(out_ptr + tl.arange(0, BM), tl.sum(x.to(tl.float32), axis=1))\n"
    )
    assert {confidence for _, confidence in faults(source % "")} == {Confidence.LOW}
    assert faults(source % ', padding_option="zero"') == []


def test_rows_of_a_division_rounded_up_stay_zero() -> None:
    source = TRITON + (
        "def k(x_ptr, out_ptr, n, BLOCK: tl.constexpr, TILE: tl.constexpr):\n"
        "    c = tl.arange(0, BLOCK)\n"
        "    count = tl.load(x_ptr + c, mask=c < n, other=0)\n"
        "    tiles = (count + TILE - 1) // TILE\n"
        "    tl.store(out_ptr, tl.sum(tiles, axis=0))\n"
    )
    assert faults(source) == []


TREE = "for (int k = 128; k; k >>= 1) { if (t < k) s[t] = COMBINED; __syncthreads(); }"


@pytest.mark.parametrize(("fill", "expected"), [("0.0f", Fault.WRONG_IDENTITY), ("-FLT_MAX", None)])
def test_one_array_for_two_reductions(fill: str, expected: Fault | None) -> None:
    source = (
        "#include <cfloat>\n__global__ void k(const float* x, float* out, int n) {\n"
        "    __shared__ float s[256]; int t = threadIdx.x;\n"
        f"    float v = t < n ? x[t] : {fill}; s[t] = v; __syncthreads();\n"
        + TREE.replace("COMBINED", "fmaxf(s[t], s[t + k])")
        + "    float top = s[0]; __syncthreads();\n"
        "    s[t] = t < n ? expf(v - top) : 0.0f; __syncthreads();\n"
        + TREE.replace("COMBINED", "s[t] + s[t + k]")
        + "    if (t == 0) out[0] = s[0];\n}\n"
    )
    assert [kind for kind, _ in faults(source, CUDA)] == ([expected] if expected is not None else [])


@pytest.mark.parametrize(
    ("guard", "found"), [("t + k < 256 && i + k < n", []), ("t + k < 256", [Fault.WRONG_IDENTITY])]
)
def test_elements_read_only_where_their_own_thread_had_data(guard: str, found: list[Fault]) -> None:
    source = (
        "__global__ void k(const float* x, float* y, int n, int w) {\n"
        "    __shared__ float s[256]; int t = threadIdx.x; int i = blockIdx.x * blockDim.x + t;\n"
        "    s[t] = i < n ? x[i] : 0.0f; __syncthreads();\n"
        "    if (i >= n) return;\n"
        "    float m = s[t];\n"
        f"    for (int k = 1; k < w; ++k) if ({guard}) m = fmaxf(m, s[t + k]);\n"
        "    y[i] = m;\n}\n"
    )
    assert [kind for kind, _ in faults(source, CUDA)] == found


def test_an_unfilled_factor_counts_whatever_the_other_factor_holds() -> None:
    source = TRITON + (
        "def k(x_ptr, w_ptr, out_ptr, n, BLOCK: tl.constexpr):\n"
        "    c = tl.arange(0, BLOCK)\n"
        "    x = tl.load(x_ptr + c, mask=c < n, other=0.0).to(tl.float32)\n"
        "    w = tl.load(w_ptr + c, mask=c < n).to(tl.float32)\n"
        "    tl.store(out_ptr, tl.sum(x * %s, axis=0))\n"
    )
    assert faults(source % "w") == [(Fault.ZERO_TIMES_UNDEFINED, Confidence.HIGH)]
    assert faults(source % "tl.exp(w)") == [(Fault.ZERO_TIMES_UNDEFINED, Confidence.MEDIUM)]


def test_a_compiler_that_fills_with_zeros_makes_sums_right_and_maxima_not() -> None:
    def kinds(path: str, operation: str) -> list[Fault]:
        source = (ROWS % 63).replace("tl.sum", operation)
        module = lift_module(SourceFile(path, source.encode(), PYTHON))
        return [fault.kind for kernel in module.kernels for fault in padding_faults(kernel)]

    assert kinds("backend/_cambricon/ops/k.py", "tl.sum") == []
    assert kinds("backend/_cambricon/ops/k.py", "tl.max") == [Fault.UNDEFINED]
    assert kinds("backend/_ascend/ops/k.py", "tl.sum") == [Fault.UNDEFINED]
