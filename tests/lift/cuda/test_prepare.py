"""Blanking keeps offsets, loses no kernel, and remembers what it blanked."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernlint.lift.cuda.module import lift_cuda
from kernlint.lift.cuda.prepare import parse_unit
from kernlint.lift.cuda.unit import TranslationUnit
from kernlint.source.file import NoResolver, SourceFile

BODY = "{ if (threadIdx.x < n) x[threadIdx.x] = 1.0f; }"


def unit_of(text: str | bytes) -> TranslationUnit:
    data = text.encode() if isinstance(text, str) else text
    unit = parse_unit(SourceFile("a.cu", data, "cuda"))
    assert unit is not None
    return unit


@pytest.mark.parametrize(
    "text",
    [
        f"__global__ void k(float* x, int n) {BODY}",
        f"__global__ void __cluster_dims__(2, 1, 1) k(float* x, int n) {BODY}",
        f"__global__ __launch_bounds__(256) __maxnreg__(64) void k(float* x, int n) {BODY}",
        f'extern "C" __global__ void __block_size__((128, 1, 1), (2, 1, 1)) k(float* x, int n) {BODY}',
        f"__global__ void k(float* const __restrict__ x, int n) {BODY}",
        f"template <typename T> static __global__ void k(T* x, int n) {BODY}",
        f"#define HD __host__ __device__\nHD int f(int a) {{ return a; }}\n__global__ void k(float* x, int n) {BODY}",
        f"#define GLOBAL __global__ static\nGLOBAL void k(float* x, int n) {BODY}",
        f"#define KERNEL(n) __global__ __launch_bounds__(n)\nKERNEL(128) void k(float* x, int n) {BODY}",
        f"UNKNOWN_API __global__ void k(float* x, int n) {BODY}",
        f"__global__ UNKNOWN_INLINE void k(float* x, int n) {BODY}",
        f"C10_LAUNCH_BOUNDS_1(256)\n__global__ void k(float* x, int n) {BODY}",
        f"__attribute__((noinline)) __global__ void k(float* x, int n) {BODY}",
        f"template class Foo<int>;\ntemplate struct Bar<float>;\n__global__ void k(float* x, int n) {BODY}",
        f"REGISTER_THING(k, 3)\n__global__ void k(float* x, int n) {BODY}",
        f"BEGIN_NAMESPACE\n__global__ void k(float* x, int n) {BODY}\nEND_NAMESPACE",
        "__global__ void k(float* x,\n#ifdef HAS_EXTRA\n  float* y,\n#endif\n  int n) " + BODY,
        "#if A\n__global__ void k(float* x, int n) {\n#else\n__global__ void k(half* x, int n) {\n#endif\n x[0] = n; }",
        "__global__ void k(float* x, int n) { UNROLL_HINT for (int i = 0; i < n; ++i) x[i] = 1; }",
        '__global__ void k(float* x, int n) { _Pragma("unroll") for (int i = 0; i < n; ++i) x[i] = 1; }',
        "__global__ void k(float* x, int n) { SYNC_ALL()\n x[0] = 1; }",
        "__global__ void k(float* x, int n) { extern __shared__ __align__(1024) char s[]; x[0] = s[0]; }",
        "struct __align__(16) V { float v[4]; };\n__global__ void k(V* x, int n) { x[0].v[0] = 1; }",
        "void h(int n) { auto f = [=] __device__ (int i) { return i + n; }; }\n__global__ void k(float* x, int n) "
        + BODY,
        "#define RUN(T, N) go<T>(N)\nvoid h() { RUN(float, 3); }\n__global__ void k(float* x, int n) " + BODY,
    ],
)
def test_the_kernel_is_found_without_errors(text: str) -> None:
    unit = unit_of(text)
    (kernel,) = [function for function in unit.own if function.is_kernel]
    assert kernel.name == "k"
    assert not kernel.parsed_with_errors
    assert [parameter.name for parameter in kernel.parameters][0::1][-1] == "n"
    assert len(unit.data) == len(text.encode())


def test_spans_point_into_the_original_text() -> None:
    text = "struct __align__(16) V { int a; };\n__cluster_dims__(4) __global__ void kernel_name(int* p) { p[0] = 1; }"
    (kernel,) = [function for function in unit_of(text).own if function.is_kernel]
    assert text[kernel.span.start : kernel.span.end] == "kernel_name"
    assert text[kernel.body_span.start : kernel.body_span.end] == "{ p[0] = 1; }"


def test_blanked_annotations_are_recorded() -> None:
    unit = unit_of(
        "#define BOUNDS __launch_bounds__(kThreads, 2)\n"
        "struct __align__(16) V { int a; };\n"
        "__global__ void __cluster_dims__(2, 1, 1) k(V* p) { __shared__ __align__(32) float s[4]; p[0].a = s[0]; }\n"
        "__global__ BOUNDS LOUD_INLINE void q(V* p) { p[0].a = 1; }\n"
    )
    (struct,) = unit.structs["V"]
    assert struct.alignment == "16"
    kernels = {function.name: function for function in unit.own}
    assert kernels["k"].recorded["cluster_dims"] == ("2", "1", "1")
    body = kernels["k"].body
    assert [(r.name, r.arguments) for r in unit.recorded_in(body.start_byte, body.end_byte)] == [("__align__", ("32",))]
    assert kernels["q"].recorded["launch_bounds"] == ("kThreads", "2")


def test_comments_and_strings_are_not_touched() -> None:
    text = '// __align__(16)\nconst char* s = "__cluster_dims__(2)"; /* _Pragma("x") */\n__global__ void k() {}'
    assert unit_of(text).data == text.encode()


def test_specifier_macros_give_their_qualifiers() -> None:
    unit = unit_of(
        "#define HD __host__ __device__\nHD int f(int a) { return a; }\nSOME_DEVICE_INLINE int g(int a) { return a; }"
    )
    (f,), (g,) = unit.functions["f"], unit.functions["g"]
    assert {"host", "device"} <= f.qualifiers
    assert f.is_host
    assert "device" in g.qualifiers


def test_broken_kernels_are_reported_with_their_name() -> None:
    text = b"__global__ void k(float* x) { x[0] = ) 1; }\n__global__ void ok(int* p) { p[0] = 1; }"
    source = SourceFile("a.cu", text, "cuda")
    module = lift_cuda(source, NoResolver())
    by_name = {kernel.name: kernel for kernel in module.kernels}
    assert by_name["k"].parsed_with_errors
    assert not by_name["ok"].parsed_with_errors
    assert {region.kernel for region in module.unparsed} == {"k"}


@pytest.mark.parametrize("ending", ["\r\n", "\r", "\n"])
def test_line_ends_and_byte_order_mark(ending: str) -> None:
    text = "\ufeff" + ending.join(["// x", "__global__ void k(int* p) {", "  p[0] = 1;", "}", ""])
    if ending == "\r":
        text = text.replace("// x\r", "")
    module = lift_cuda(SourceFile("a.cu", text.encode(), "cuda"), NoResolver())
    assert [kernel.name for kernel in module.kernels] == ["k"]


HOSTILE = {
    "empty": b"",
    "binary": bytes(range(256)) * 20,
    "parentheses": b"__device__ int q() { return " + b"(" * 10_000 + b"1" + b")" * 10_000 + b"; }",
    "braces": b"__device__ void q() " + b"{" * 10_000,
    "comment": b"__global__ /* never closed",
    "string": b'__global__ void k() { const char* s = "never closed',
    "raw string": b'__global__ auto s = R"x(never closed',
    "half": b"__global__ void k(float* x, int n) { if (threadIdx.x <",
    "word": b"__global__",
    "chevrons": b"<<<>>> k<<<>>>(); void f() { k<<<>>>(); k<<<1>>>(); k<<<1, 2, 3, 4, 5>>>(x); }",
    "conditionals": b"#if A\n#else\n" * 500 + b"__global__",
    "directives": b'#define \n#define (\n#define X(\n#include ""\n#include "x\n__device__ int a;',
    "else if": b"__device__ void g(int n) { " + b"if (n) {} else " * 2_000 + b"{} }",
    "sum": b"__device__ int g(int n) { return " + b"n+" * 10_000 + b"n; }",
    "attributes": b"__align__(" * 300 + b"__global__",
    "nul": b"__global__ void k(float* x) { x\0[0] = 1; }",
    "utf-16": "__global__ void k(float* x) {}".encode("utf-16"),
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile_input_gives_a_module(name: str) -> None:
    data = HOSTILE[name]
    module = lift_cuda(SourceFile("a.cu", data, "cuda"), NoResolver())
    assert not any("internal" in region.reason for region in module.unparsed)
    assert all(0 <= region.span.start <= region.span.end <= len(data) for region in module.unparsed)


def test_too_deep_text_is_reported_not_parsed() -> None:
    module = lift_cuda(SourceFile("a.cu", HOSTILE["parentheses"], "cuda"), NoResolver())
    assert [region.reason for region in module.unparsed] == ["too large or nested too deep to parse"]


_PARTS = [
    "__global__ ", "void ", "k", "(", ")", "{", "}", "float* x", ", ", "int n", ";", "<<<", ">>>", "1", "// ", "\n",
    "#if A\n", "#else\n", "#endif\n", "HOST_DEVICE ", "x[threadIdx.x]", " = ", "template <int N> ", "return ", '"',
    "/*", "[=] __device__ (int i)", "CHECK(n > 0)", "*/", "struct ", "cudaLaunchKernelEx(&c, k, x)", "if (n) ",
    "for (;;) ", "__align__(16) ",
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(_PARTS), max_size=40))
def test_any_token_soup_is_survived(parts: list[str]) -> None:
    data = "".join(parts).encode()
    module = lift_cuda(SourceFile("a.cu", data, "cuda"), NoResolver())
    assert not [region.reason for region in module.unparsed if "internal" in region.reason]
