"""Narrow sums found in real source, and look-alikes."""

from __future__ import annotations

import pytest

from kernlint.analysis.precision import LowPrecisionSum, Sum, low_precision_sums
from kernlint.finding import Confidence
from kernlint.lift import lift_module
from kernlint.source.file import CUDA, PYTHON, SourceFile

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n"


def sums(source: str, language: str = CUDA) -> list[LowPrecisionSum]:
    name = "k.cu" if language == CUDA else "k.py"
    module = lift_module(SourceFile(name, source.encode(), language))
    return [found for kernel in module.kernels for found in low_precision_sums(kernel)]


def cuda(body: str, params: str = "const __half* x, __half* out, int n") -> list[LowPrecisionSum]:
    return sums(f"#include <cuda_fp16.h>\n__global__ void k({params}) {{\n{body}\n}}\n")


@pytest.mark.parametrize(
    "body",
    [
        "__half s = __float2half(0.f); for (int i = 0; i < n; ++i) s = __hadd(s, x[i]); out[0] = s;",
        "__half s = 0; for (int i = 0; i < n; ++i) s += x[i]; out[0] = s;",
        "__half s = 0; for (int i = 0; i < n; ++i) s = __hfma(x[i], x[i], s); out[0] = s;",
        "__half s[4]; for (int i = 0; i < n; ++i) for (int j = 0; j < 4; ++j) s[j] += x[i]; out[0] = s[0];",
    ],
)
def test_half_accumulators(body: str) -> None:
    (found,) = cuda(body)
    assert (found.kind, found.confidence) == (Sum.LOOP, Confidence.HIGH)
    assert found.dtype is not None
    assert found.dtype.name == "float16"


@pytest.mark.parametrize(
    "body",
    [
        "float s = 0; for (int i = 0; i < n; ++i) s += __half2float(x[i]); out[0] = __float2half(s);",
        "__half s = x[0]; for (int i = 1; i < n; ++i) s = __hmax(s, x[i]); out[0] = s;",
        "__half s = 0; for (int i = 0; i < 8; ++i) s += x[i]; out[0] = s;",
        "int s = 0; for (int i = 0; i < n; ++i) s += (x[i] > __half(0)); out[0] = __int2half_rn(s);",
        "out[threadIdx.x] = __hadd(x[threadIdx.x], x[threadIdx.x + n]);",
    ],
    ids=["float", "maximum", "eight terms", "count", "one addition"],
)
def test_cuda_look_alikes(body: str) -> None:
    assert cuda(body) == []


@pytest.mark.parametrize(
    ("target", "confidence"),
    [("out", Confidence.HIGH), ("out + where[threadIdx.x]", Confidence.HIGH), ("out + threadIdx.x", Confidence.MEDIUM)],
    ids=["one cell for all", "cells read from memory", "a cell per thread"],
)
def test_atomic_additions_into_half(target: str, confidence: Confidence) -> None:
    (found,) = cuda(f"atomicAdd({target}, x[threadIdx.x]);", "const __half* x, const int* where, __half* out, int n")
    assert (found.kind, found.confidence) == (Sum.ATOMIC, confidence)


def triton(body: str, host: str = "") -> list[LowPrecisionSum]:
    lines = "\n".join("    " + line for line in body.strip().splitlines())
    return sums(
        f"{HEAD}@triton.jit\ndef k(x_ptr, out_ptr, n, BLOCK: tl.constexpr):\n    c = tl.arange(0, BLOCK)\n"
        f"    x = tl.load(x_ptr + c, mask=c < n, other=0.0)\n{lines}\n\n{host}",
        PYTHON,
    )


LAUNCH = "def f(x):\n    assert x.dtype == torch.{dtype}\n    k[(1,)](x, torch.empty(1), x.numel(), BLOCK=1024)\n"
TOTAL = "tl.store(out_ptr, tl.sum(x, axis=0))"


@pytest.mark.parametrize(
    ("dtype", "expected"), [("float16", [Confidence.HIGH]), ("bfloat16", [Confidence.HIGH]), ("float32", [])]
)
def test_the_launch_decides_about_a_generic_sum(dtype: str, expected: list[Confidence]) -> None:
    assert [found.confidence for found in triton(TOTAL, LAUNCH.format(dtype=dtype))] == expected


def test_a_generic_sum_is_at_most_a_possibility() -> None:
    (found,) = triton(TOTAL)
    assert found.dtype is None
    assert found.confidence < Confidence.HIGH


@pytest.mark.parametrize(
    "body",
    [
        "tl.store(out_ptr, tl.sum(x.to(tl.float32), axis=0))",
        "tl.store(out_ptr, tl.sum(x, axis=0, dtype=tl.float32))",
        "tl.store(out_ptr, tl.max(x.to(tl.float16), axis=0))",
        "tl.store(out_ptr, tl.sum(tl.where(c == 3, x.to(tl.float16), 0.0), axis=0))",
        "tl.store(out_ptr, tl.sum((c < n).to(tl.int32), axis=0))",
    ],
    ids=["widened", "dtype argument", "maximum", "one lane picked", "count"],
)
def test_triton_look_alikes(body: str) -> None:
    assert triton(body) == []


def test_an_explicitly_narrow_reduction_is_certain() -> None:
    (found,) = triton("y = (x.to(tl.float32) * 2).to(tl.bfloat16)\ntl.store(out_ptr, tl.sum(y, axis=0))")
    assert (found.kind, found.confidence) == (Sum.REDUCE, Confidence.HIGH)


def test_a_dot_with_a_narrow_accumulator() -> None:
    body = (
        "a = tl.load(x_ptr + c[:, None] * n + c[None, :]).to(tl.float16)\n"
        "tl.store(out_ptr + c[:, None] * n + c[None, :], tl.dot(a, a, out_dtype=tl.float16))"
    )
    (found,) = triton(body)
    assert found.kind is Sum.DOT


MEAN = (
    HEAD
    + """\
@triton.jit
def k(x_ptr, o_ptr, S, D, BLOCK: tl.constexpr):
    d = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), dtype=x_ptr.dtype.element_ty)
    for s in range(S):
        acc += tl.load(x_ptr + s * D + d, mask=d < D, other=0.0)
    tl.store(o_ptr + d, acc, mask=d < D)


def f(x):
    x = x.to(torch.DTYPE)
    out = torch.empty(x.shape[1], dtype=x.dtype, device=x.device)
    k[(1,)](x, out, x.shape[0], x.shape[1], BLOCK=256)
"""
)


def test_an_accumulator_typed_like_a_tensor_has_the_type_the_launch_gives() -> None:
    (found,) = sums(MEAN.replace("DTYPE", "bfloat16"), PYTHON)
    assert (found.kind, found.confidence) == (Sum.LOOP, Confidence.HIGH)
    assert sums(MEAN.replace("DTYPE", "float32"), PYTHON) == []


STATE = (
    HEAD
    + """\
@triton.jit
def k(x_ptr, o_ptr, S, BLOCK: tl.constexpr):
    d = tl.arange(0, BLOCK)
    state = tl.zeros((BLOCK,), dtype=tl.float32)
    for s in range(S):
        x = tl.load(x_ptr + s * BLOCK + d).to(tl.float32)
        state = UPDATE
    tl.store(o_ptr + d, state)
"""
)


@pytest.mark.parametrize(
    ("update", "narrow"),
    [
        ("(state + x).to(tl.bfloat16).to(tl.float32)", True),
        ("state.to(tl.float16).to(tl.float32) + x", True),
        ("state + x.to(tl.bfloat16).to(tl.float32)", False),
        ("state + x", False),
    ],
)
def test_a_wide_sum_rounded_in_every_turn_is_narrow(update: str, narrow: bool) -> None:
    assert [found.kind for found in sums(STATE.replace("UPDATE", update), PYTHON)] == ([Sum.LOOP] if narrow else [])


def test_the_launch_says_how_many_terms_there_are() -> None:
    source = HEAD + (
        "@triton.jit\n"
        "def k(x_ptr, o_ptr, BLOCK: tl.constexpr):\n"
        "    x = tl.load(x_ptr + tl.arange(0, BLOCK)).to(tl.float16)\n"
        "    tl.store(o_ptr, tl.sum(x, axis=0))\n\n\n"
        "def f(x, o):\n"
        "    k[(1,)](x, o, BLOCK=%d)\n"
    )
    (found,) = sums(source % 512, PYTHON)
    assert found.terms == 512
    assert sums(source % 16, PYTHON) == []


@pytest.mark.parametrize(
    ("macro", "accumulator", "narrow"),
    [
        ("AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), ", "scalar_t", "bfloat16"),
        ("AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), ", "scalar_t", "float16"),
        ("AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), ", "scalar_t", None),
        ("AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), ", "float", None),
    ],
)
def test_a_dispatch_instantiates_a_template_with_narrow_types(macro: str, accumulator: str, narrow: str | None) -> None:
    source = (
        "template <typename scalar_t> __global__ void k(const scalar_t* x, scalar_t* out, int n) {\n"
        f"    {accumulator} sum = 0;\n    for (int i = 0; i < n; ++i) sum += x[i];\n    out[0] = sum;\n}}\n"
        "void f(const at::Tensor& x, at::Tensor& out) {\n"
        f'    {macro}"f", [&] {{\n'
        "        k<scalar_t><<<1, 1>>>(x.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), x.numel());\n    });\n}\n"
    )
    sure = [found.dtype for found in sums(source) if found.confidence is Confidence.HIGH]
    assert [dtype.name for dtype in sure if dtype is not None] == ([narrow] if narrow is not None else [])
