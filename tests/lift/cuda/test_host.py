"""Launches in host code: what is launched, with which geometry, arguments and facts."""

from __future__ import annotations

import pytest

from kernlint.ir.arith import cdiv, maximum, minimum, select
from kernlint.ir.condition import Condition, at_most, equal, less
from kernlint.ir.expr import Expr, const, host
from kernlint.ir.host import Launch
from kernlint.lift.cuda.module import lift_cuda
from kernlint.source.file import NoResolver, SourceFile

PRELUDE = """
template <typename T, int VEC> __global__ void k(const T* x, T* y, int n, int64_t stride) { }
__global__ void plain(float* x, int n) { }
constexpr int kThreads = 256;
enum Sizes { kA = 3, kB };
struct Traits { static constexpr int kBlock = 64 * 2; };
#define CDIV(a, b) (((a) + (b) - 1) / (b))
#define LAUNCH(T, N) plain<<<CDIV(n, N), N>>>(x, n)
template <typename K> void configured(cudaLaunchConfig_t* config, K kernel, float* p, int count) {
  cudaLaunchKernelEx(config, kernel, p, count);
}
inline int64_t my_blocks(int64_t a, int64_t b = 128) { const int64_t sum = a + b - 1; return sum / b; }
"""
N = host("n")


def launches(body: str, signature: str = "void f(float* x, int n, int m, bool flag)") -> list[Launch]:
    text = PRELUDE + signature + " {\n" + body + "\n}\n"
    module = lift_cuda(SourceFile("a.cu", text.encode(), "cuda"), NoResolver())
    assert not [region.reason for region in module.unparsed if "internal" in region.reason]
    return [launch for launch in module.launches if launch.host is not None and launch.host.name == "f"]


def only(body: str, signature: str = "void f(float* x, int n, int m, bool flag)") -> Launch:
    (launch,) = launches(body, signature)
    return launch


def grid(launch: Launch) -> list[Expr | None]:
    return [dim.expr for dim in launch.grid or ()]


def block(launch: Launch) -> list[Expr | None]:
    return [dim.expr for dim in launch.block or ()]


GRIDS: dict[str, tuple[str, list[Expr]]] = {
    "number": ("7", [const(7)]),
    "ceiling division": ("(n + 255) / 256", [cdiv(N, const(256))]),
    "macro": ("CDIV(n, 64)", [cdiv(N, const(64))]),
    "helper with a default": ("my_blocks(n)", [cdiv(N, const(128))]),
    "well-known name": ("at::ceil_div(n, 32)", [cdiv(N, const(32))]),
    "floating ceil": ("(int)std::ceil((float)n / 256)", [cdiv(N, const(256))]),
    "floating ceil of a literal": ("static_cast<int>(ceilf(n / 256.0f))", [cdiv(N, const(256))]),
    "constant": ("kThreads * kB", [const(1024)]),
    "member constant": ("Traits::kBlock", [const(128)]),
    "conditional": ("n > 5 ? 2 : 3", [select(less(const(5), N), const(2), const(3))]),
    "conditional minimum": ("n < 512 ? n : 512", [minimum(N, const(512))]),
    "minimum": ("std::min<int>(n, 65535)", [minimum(N, const(65535))]),
    "maximum of a list": ("std::max({1, n, m})", [maximum(maximum(const(1), N), host("m"))]),
    "cast": ("static_cast<unsigned int>(n * 2)", [N * 2]),
    "constructor cast": ("int64_t(n) * int(3)", [N * 3]),
    "shift": ("n >> 5", [cdiv(N - 31, const(32))]),
    "sizeof": ("sizeof(float4) * n", [N * 16]),
    "dim3": ("dim3(n, m, 3)", [N, host("m"), const(3)]),
    "dim3 in braces": ("dim3{1, 2}", [const(1), const(2)]),
    "hexadecimal and separators": ("0x10 + 1'000u", [const(1016)]),
}


@pytest.mark.parametrize("name", list(GRIDS))
def test_grid_expressions(name: str) -> None:
    written, expected = GRIDS[name]
    assert grid(only(f"plain<<<{written}, 32>>>(x, n);")) == expected
    assert grid(only(f"auto g = {written}; plain<<<g, 32>>>(x, n);")) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("dim3 g(n, m); plain<<<g, 1>>>(x, n);", [N, host("m")]),
        ("dim3 g; g.x = n; g.y = 2; plain<<<g, 1>>>(x, n);", [N, const(2), const(1)]),
        ("dim3 g{(unsigned)n, 2u}; plain<<<g, 1>>>(x, n);", [N, const(2)]),
        ("dim3 g = {3, 4}; plain<<<g.y, 1>>>(x, n);", [const(4)]),
        ("int g = n; g += 1; g *= 2; ++g; plain<<<g, 1>>>(x, n);", [N * 2 + 3]),
        ("int g = 1; if (n > 4) g = 2; plain<<<g, 1>>>(x, n);", [select(less(const(4), N), const(2), const(1))]),
        ("int g = 1; { int g = 5; g += 1; } plain<<<g, 1>>>(x, n);", [const(1)]),
        ("auto g = [](int a) { return a / 2; }; plain<<<g(n), 1>>>(x, n);", [cdiv(N - 1, const(2))]),
        ("dim3 a(n, 2), b(a.y, a.x); plain<<<b, 1>>>(x, n);", [const(2), N]),
    ],
)
def test_grid_through_variables(body: str, expected: list[Expr]) -> None:
    assert grid(only(body)) == expected


@pytest.mark.parametrize(
    "body",
    [
        "int g = unknown(n); plain<<<g, 1>>>(x, n);",
        "int g = 1; fill(&g); plain<<<g, 1>>>(x, n);",
        "int g = 1; while (more()) g = g * 2; plain<<<g, 1>>>(x, n);",
        "int g = 3.7 * weight(); plain<<<g, 1>>>(x, n);",
    ],
)
def test_what_is_not_understood_is_opaque(body: str) -> None:
    (first,) = grid(only(body))
    assert first is None or first.is_opaque


def test_an_unknown_variable_of_unknown_type_may_be_a_dim3() -> None:
    assert only("auto g = geometry(n); plain<<<g, 1>>>(x, n);").grid is None


def test_equal_unknowns_of_different_definitions_differ() -> None:
    first, second = launches("int g = a(); plain<<<g, 1>>>(x, n); g = a(); plain<<<g, 1>>>(x, n);")
    assert grid(first) != grid(second)


def test_configuration_arguments_and_binding() -> None:
    launch = only("k<float, 4><<<dim3(1, 2), kThreads, 2 * sizeof(float), st>>>(x, x, n + 1, int64_t(m));")
    assert (launch.kernel_name, block(launch)) == ("k", [const(256)])
    assert launch.shared is not None
    assert launch.shared.expr == const(8)
    assert launch.kernel is not None
    assert launch.kernel.launches == [launch]
    assert launch.bindings == {"p:VEC": const(4), "p:n": N + 1, "p:stride": host("m")}
    assert sorted(launch.arguments) == ["T", "VEC", "n", "stride", "x", "y"]
    assert launch.host is not None
    assert launch.host.name == "f"


@pytest.mark.parametrize(
    "body",
    [
        "ns::inner::plain<<<1, 32>>>(x, n);",
        "auto kernel = plain; kernel<<<1, 32>>>(x, n);",
        "auto* kernel = &plain; (*kernel)<<<1, 32>>>(x, n);",
        "void (*kernel)(float*, int) = plain; kernel<<<1, 32>>>(x, n);",
        'AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f", [&] { plain<<<1, 32>>>(x, n); });',
        'AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f", ([&]() -> void { plain<<<1, 32>>>(x, n); }));',
        "DISPATCH_HEAD_DIM(n, HEAD_DIM, { plain<<<1, 32>>>(x, n); });",
        "DISPATCH_HEAD_DIM(n, HEAD_DIM, { plain<<<1, 32>>>(x, n); return true; })\n m = 1;",
        "LAUNCH(float, 32);",
        "auto go = [&](auto kernel, int t) { kernel<<<1, t>>>(x, n); }; go(plain, 32);",
        "std::thread worker([=] { plain<<<1, 32>>>(x, n); });",
        "switch (m) { case 1: plain<<<1, 32>>>(x, n); break; default: break; }",
        "try { plain<<<1, 32>>>(x, n); } catch (...) { }",
        "#ifdef FAST\n plain<<<1, 32>>>(x, n);\n#endif",
        "if constexpr (true) { plain<<<1, 32>>>(x, n); }",
        "void* args[] = {&x, (void*)&n}; cudaLaunchKernel((void*)plain, dim3(1), dim3(32), args, 0, 0);",
        "void* args[] = {&x, &n}; CHECK(cudaLaunchCooperativeKernel((const void*)&plain, 1, 32, args));",
        "cudaLaunchConfig_t c = {}; c.gridDim = 1; c.blockDim = dim3(32); cudaLaunchKernelEx(&c, plain, x, n);",
        "cudaLaunchConfig_t c{1, 32, 0, 0}; CHECK(cudaLaunchKernelEx(&c, plain, x, n));",
        "cudaLaunchConfig_t c = {.gridDim = dim3(1), .blockDim = 32}; cudaLaunchKernelEx(&c, &plain, x, n);",
        "cudaLaunchConfig_t c; if (m) { c.gridDim = 1; c.blockDim = 32; } if (m) cudaLaunchKernelEx(&c, plain, x, n);",
        "cudaLaunchConfig_t c; c.gridDim = 1; c.blockDim = 32; configured(&c, plain, x, n);",
    ],
)
def test_ways_to_launch(body: str) -> None:
    launch = only(body)
    assert launch.kernel_name == "plain"
    assert launch.kernel is not None
    assert block(launch) == [const(32)]
    assert launch.bindings == {"p:n": N}


def test_a_choice_of_kernels_is_a_launch_of_each() -> None:
    chosen = "auto kernel = n > 3 ? &k<float, 2> : &k<float, 1>; kernel<<<1, 32>>>(x, x, n, 1);"
    assigned = (
        "void* kernel; if (n > 3) kernel = &k<float, 2>; else kernel = &k<float, 1>; kernel<<<1, 32>>>(x, x, n, 1);"
    )
    for body in (chosen, assigned):
        assert sorted(launch.bindings["p:VEC"].constant or 0 for launch in launches(body)) == [1, 2]
    assert [launch.facts for launch in launches(chosen)] == [[less(const(3), N)], [at_most(N, const(3))]]


def test_launch_helpers_are_followed_with_their_kernel() -> None:
    text = PRELUDE + (
        "template <typename K, typename... A> void launch(K kernel, dim3 grid, int threads, A... args) {\n"
        "  kernel<<<grid, threads>>>(args...);\n}\n"
        "void f(float* x, int n) { launch(plain, dim3(n, 2), 64, x, n + 5); }"
    )
    module = lift_cuda(SourceFile("a.cu", text.encode(), "cuda"), NoResolver())
    (launch,) = [launch for launch in module.launches if launch.kernel is not None]
    assert launch.host is not None
    assert (launch.host.name, launch.bindings) == ("f", {"p:n": N + 5})
    assert (grid(launch), block(launch)) == ([N, const(2)], [const(64)])


FACTS: dict[str, tuple[str, Condition]] = {
    "assert": ("assert(n > 4);", less(const(4), N)),
    "TORCH_CHECK": ('TORCH_CHECK(n <= m, "no");', at_most(N, host("m"))),
    "comparing check": ("CHECK_EQ(n, 4);", equal(N, const(4))),
    "streamed check": ('TVM_FFI_ICHECK(n > 4) << "no";', less(const(4), N)),
    "comparing streamed check": ('TVM_FFI_ICHECK_LE(n, 4) << "no";', at_most(N, const(4))),
    "early return": ("if (n <= 4) return;", less(const(4), N)),
    "throw": ('if (!(n > 4)) { throw std::runtime_error("no"); }', less(const(4), N)),
    "exit": ("if (n <= 4) { print(); exit(1); }", less(const(4), N)),
    "either of two": ("if (m < 1 || n <= 4) return;", less(const(4), N)),
    "checking macro": ("NEED(n > 4);", less(const(4), N)),
}


@pytest.mark.parametrize("name", list(FACTS))
def test_facts_before_the_launch(name: str) -> None:
    written, expected = FACTS[name]
    signature = "#define NEED(c) do { if (!(c)) { fail(); return; } } while (0)\nvoid f(float* x, int n, int m)"
    assert expected in only(f"{written} plain<<<1, 32>>>(x, n);", signature).facts


def test_facts_of_enclosing_branches_and_loops() -> None:
    inside, otherwise = launches("if (n > 4) { plain<<<1, 1>>>(x, n); } else plain<<<2, 1>>>(x, n);")
    assert inside.facts == [less(const(4), N)]
    assert otherwise.facts == [at_most(N, const(4))]
    loop = only("for (int i = 0; i < n; ++i) plain<<<i + 1, 1>>>(x, n);")
    assert loop.in_loop
    assert len(loop.facts) == 2
    assert not loop.facts[0].deep_atoms.isdisjoint((grid(loop)[0] or N).deep_atoms)


def test_facts_do_not_outlive_their_branch_or_a_change() -> None:
    assert only("if (n > 4) { m = 1; } plain<<<1, 1>>>(x, n);").facts == []
    changed = only("if (n <= 4) return; n = read(); plain<<<n, 1>>>(x, n);")
    assert changed.facts[0].deep_atoms.isdisjoint((grid(changed)[0] or N).deep_atoms)


def test_divisibility() -> None:
    launch = only('TORCH_CHECK(n % 32 == 0 && m > 0, "no"); plain<<<n / 32, 32>>>(x, n);')
    assert launch.divisible == [(N, const(32))]


def test_attributes_belong_to_one_instantiation() -> None:
    body = (
        "cudaFuncSetAttribute(k<float, 2>, cudaFuncAttributeMaxDynamicSharedMemorySize, 98304);"
        "k<float, 2><<<1, 1, 98304>>>(x, x, n, 1); k<float, 1><<<1, 1, 98304>>>(x, x, n, 1);"
    )
    first, second = launches(body)
    assert first.attributes["cudaFuncAttributeMaxDynamicSharedMemorySize"].expr == const(98304)
    assert second.attributes == {}


OPT_IN = "cudaFuncAttributeMaxDynamicSharedMemorySize, 98304"
ELSEWHERE: dict[str, tuple[str, str, bool]] = {
    "nowhere": ("", "", False),
    "here": ("", f"cudaFuncSetAttribute(plain, {OPT_IN});", False),
    "here, through a variable": ("", f"auto kernel = &plain; cudaFuncSetAttribute(kernel, {OPT_IN});", False),
    "here, for another kernel": ("", f"cudaFuncSetAttribute(k<float, 2>, {OPT_IN});", False),
    "another function": (f"void setup() {{ cudaFuncSetAttribute(plain, {OPT_IN}); }}", "", True),
    "another function, another kernel": (f"void setup() {{ cudaFuncSetAttribute(k<int, 2>, {OPT_IN}); }}", "", False),
    "helper": (f"template <class K> void allow(K kernel) {{ cudaFuncSetAttribute(kernel, {OPT_IN}); }}", "", True),
    "macro": (f"#define ALLOW(K) cudaFuncSetAttribute(K, {OPT_IN})\n", "", True),
    "comment": ("// cudaFuncAttributeMaxDynamicSharedMemorySize is not needed\n", "", False),
}


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
def test_opt_ins_elsewhere(name: str) -> None:
    before, body, expected = ELSEWHERE[name]
    text = f"{PRELUDE}{before}void f(float* x, int n) {{ {body} plain<<<1, 64, 98304>>>(x, n); }}\n"
    module = lift_cuda(SourceFile("a.cu", text.encode(), "cuda"), NoResolver())
    launch = module.launches[-1]
    assert launch.attrs.get("attribute_elsewhere", False) is expected


MEMBERS = """
template <int W, int P = 2> struct Config {
  static constexpr int kWarps = W;
  static constexpr int kThreads = kWarps * 32 * P;
  enum { kDouble = W * 2 };
};
template <typename C> struct Wide : C { static constexpr int kBlock = C::kThreads * 2; };
using Narrow = Config<1, 1>;
template <int N> struct Loop { static constexpr int value = N * Loop<N - 1>::value; };
struct A; struct B { static constexpr int y = A::x; }; struct A { static constexpr int x = B::y; };
"""


@pytest.mark.parametrize(
    ("body", "member", "value"),
    [
        ("using C = Config<16, 4>;", "C::kThreads", 2048),
        ("typedef Config<16, 4> C;", "C::kThreads", 2048),
        ("", "Config<4>::kThreads", 256),
        ("", "ns::Config<4, 1>::kThreads", 128),
        ("", "Narrow::kThreads", 32),
        ("constexpr int w = kB;", "Config<w, kB>::kThreads", 4 * 32 * 4),
        ("using C = Config<8, 1>; using D = C;", "D::kThreads", 256),
        ("", "Wide<Config<2, 1>>::kBlock", 128),
        ("", "Wide<Config<2, 1>>::kWarps", 2),
        ("{ using C = Config<8, 1>; }", "C::kWarps", None),
        ("", "Config<unknown>::kThreads", None),
        ("", "Loop<5>::value", None),
        ("", "A::x", None),
    ],
)
def test_members_of_configurations(body: str, member: str, value: int | None) -> None:
    text = f"{PRELUDE}{MEMBERS}void f(float* x, int n) {{ {body} plain<<<1, {member}>>>(x, n); }}\n"
    module = lift_cuda(SourceFile("a.cu", text.encode(), "cuda"), NoResolver())
    assert not [region.reason for region in module.unparsed if "internal" in region.reason]
    found = block(module.launches[-1])[0]
    assert (found.constant if found is not None else None) == value


def test_tensors() -> None:
    launch = only(
        "TORCH_CHECK(x.is_contiguous()); auto y = torch::empty({x.size(0), 8}, x.options()); auto z = x.to(kHalf);"
        "k<float, 4><<<y.numel(), y.size(1)>>>(x.data_ptr<float>(), y.data_ptr<float>(), z.size(-1), x.stride(0));",
        "void f(const at::Tensor& x)",
    )
    rows = host("x.size(0)")
    assert (grid(launch), block(launch)) == ([rows * 8], [const(8)])
    assert (launch.bindings["p:n"], launch.bindings["p:stride"]) == (host("x.size(-1)"), host("x.stride(0)"))
    x, y = launch.arguments["x"].tensor, launch.arguments["y"].tensor
    assert x is not None
    assert y is not None
    assert (x.contiguous, x.dtype.name if x.dtype is not None else "", x.init) == (True, "float32", "given")
    assert (y.shape, y.init) == ((rows, const(8)), "empty")


def test_sizes_of_a_reassigned_tensor_are_not_those_of_the_old_one() -> None:
    first, second = launches(
        "plain<<<x.size(0), 1>>>(p, 1); x = other(x); plain<<<x.size(0), 1>>>(p, 1);", "void f(at::Tensor x, float* p)"
    )
    assert grid(first) != grid(second)


def test_overloads_are_told_apart_by_their_arguments() -> None:
    text = "__global__ void k(int* a) {}\n__global__ void k(int* a, int n) {}\nvoid f(int* a) { k<<<1, 1>>>(a, 3); }"
    (launch,) = lift_cuda(SourceFile("a.cu", text.encode(), "cuda"), NoResolver()).launches
    assert launch.bindings == {"p:n": const(3)}


@pytest.mark.parametrize(
    ("launch", "expected"),
    [("k<float><<<1, 1>>>(a, 3);", "f"), ("k<half><<<1, 1>>>(b, 3);", "h"), ("k<int><<<1, 1>>>(c, 3);", "p")],
)
def test_specialisations_are_told_apart_by_template_arguments(launch: str, expected: str) -> None:
    text = (
        "template <typename T> __global__ void k(T* p, int n) {}\n"
        "template <> __global__ void k<half>(half* h, int n) {}\n"
        "template <> __global__ void k<float>(float* f, int n) {}\n"
    )
    text += f"void run(float* a, half* b, int* c) {{ {launch} }}"
    (found,) = lift_cuda(SourceFile("a.cu", text.encode(), "cuda"), NoResolver()).launches
    assert expected in found.arguments


@pytest.mark.parametrize(("argument", "expected"), [("a", "f"), ("b", "h")])
def test_overloads_of_equal_length_are_told_apart_by_pointer_types(argument: str, expected: str) -> None:
    text = "__global__ void k(half* h, int n) {}\n__global__ void k(float* f, int n) {}\n"
    text += f"void run(float* a, half* b) {{ k<<<1, 1>>>({argument}, 3); }}"
    (found,) = lift_cuda(SourceFile("a.cu", text.encode(), "cuda"), NoResolver()).launches
    assert expected in found.arguments


def test_a_kernel_named_by_a_macro_has_the_name_it_stands_for() -> None:
    text = "#define NAME kernel_17\n__global__ void NAME(int* a) {}\nvoid f(int* a) { NAME<<<1, 1>>>(a); }"
    module = lift_cuda(SourceFile("a.cu", text.encode(), "cuda"), NoResolver())
    assert [kernel.name for kernel in module.kernels] == ["kernel_17"]
    assert [launch.kernel for launch in module.launches] == module.kernels


def test_spans_cover_name_and_configuration() -> None:
    text = "__global__ void k(int* a) {}\nvoid f(int* a) { k<<<1, 2>>>(a); }"
    (launch,) = lift_cuda(SourceFile("a.cu", text.encode(), "cuda"), NoResolver()).launches
    assert text[launch.span.start : launch.span.end] == "k<<<1, 2>>>"
    assert launch.block is not None
    (dim,) = launch.block
    assert text[dim.span.start : dim.span.end] == "2"


@pytest.mark.parametrize(
    "body",
    [
        "int q = n; " + "if (n > q) q = n * 3 + q; else q = q / n;" * 200 + " plain<<<q, 1>>>(x, n);",
        "int q = n + 1; " + "q = q * q + n;" * 100 + " plain<<<q, 1>>>(x, n);",
        "plain<<<" + "n ? 1 : " * 2000 + "2, 1>>>(x, n);",
        "auto a = [&](int i) { a(i); a(i); a(i); plain<<<i, 1>>>(x, n); }; a(n);",
        "plain<<<" + "-" * 300 + "n, 1>>>(x, n);",
    ],
)
def test_work_is_bounded(body: str) -> None:
    assert only(body).kernel_name == "plain"


def test_constants_defined_by_each_other_have_no_value() -> None:
    signature = "constexpr int P = Q + Q; constexpr int Q = P + P;\nvoid f(float* x, int n)"
    (value,) = grid(only("plain<<<P, 1>>>(x, n);", signature))
    assert value is not None
    assert value.constant is None
