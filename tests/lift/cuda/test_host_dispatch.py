"""The element types that template arguments of launches stand for."""

from __future__ import annotations

import pytest

from kernlint.lift.cuda.module import lift_cuda
from kernlint.source.file import NoResolver, SourceFile

KERNEL = "template <typename T> __global__ void k(const T* x, int n) { }\n"


def types(code: str) -> dict[str, list[str]]:
    module = lift_cuda(SourceFile("a.cu", (KERNEL + code).encode(), "cuda"), NoResolver())
    (launch,) = module.launches
    return {name: [one.name for one in found] for name, found in launch.attrs.get("types", {}).items()}


HALVES = ["bfloat16", "float16"]
MACROS = [
    ("AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), ", ["float32", "float64"]),
    ("AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), ", ["float16", "float32", "float64"]),
    ("AT_DISPATCH_FLOATING_TYPES_AND(at::kHalf, x.scalar_type(), ", ["float16", "float32", "float64"]),
    ("AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.type(), ", [*HALVES, "float32", "float64"]),
    ("AT_DISPATCH_REDUCED_FLOATING_TYPES(x.scalar_type(), ", HALVES),
    ("AT_DISPATCH_INTEGRAL_TYPES(x.scalar_type(), ", ["int8", "uint8", "int16", "int32", "int64"]),
    ("AT_DISPATCH_SWITCH(x.scalar_type(), ", []),
    ("AT_DISPATCH_CASE(at::ScalarType::BFloat16, ", ["bfloat16"]),
    ("DISPATCH_FLOAT_AND_HALF(x.scalar_type(), ", ["float16", "float32"]),
    ("OTHER_MACRO(at::kHalf, ", []),
]


@pytest.mark.parametrize(("macro", "expected"), MACROS)
def test_dispatch_macros(macro: str, expected: list[str]) -> None:
    body = f'{macro}"name", [&] {{ k<scalar_t><<<1, 64>>>(x.data_ptr<scalar_t>(), n); }});'
    found = types(f"void f(at::Tensor x, int n) {{ {body} }}\n")
    assert found == ({"scalar_t": expected} if expected else {})


def test_types_end_with_the_dispatch() -> None:
    before = 'AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "name", [&] { g<scalar_t>(x); });'
    assert types(f"void f(at::Tensor x, int n) {{ {before} k<scalar_t><<<1, 64>>>(x.data_ptr(), n); }}\n") == {}


def test_levels_of_nested_dispatches() -> None:
    body = 'DISPATCH_FLOAT_AND_HALF(x.scalar_type(), 0, "name", k<scalar_t_0><<<1, 64>>>(x.data_ptr(), n));'
    assert types(f"void f(at::Tensor x, int n) {{ {body} }}\n") == {"scalar_t_0": ["float16", "float32"]}


def test_version_2() -> None:
    body = (
        'AT_DISPATCH_V2(x.scalar_type(), "name", AT_WRAP([&] { k<scalar_t><<<1, 64>>>(x.data_ptr(), n); }), '
        "AT_EXPAND(AT_FLOATING_TYPES), at::kHalf);"
    )
    assert types(f"void f(at::Tensor x, int n) {{ {body} }}\n") == {"scalar_t": ["float16", "float32", "float64"]}


def test_explicit_instantiations() -> None:
    function = "template <typename T> int run(const T* x, int n) { k<T><<<1, 64>>>(x, n); return 0; }\n"
    instantiations = "template int run<float>(const float*, int);\ntemplate int run<__half>(const __half*, int);\n"
    assert types(function + instantiations) == {"T": ["float16", "float32"]}
    assert types(function + instantiations.replace("run", "other")) == {}
