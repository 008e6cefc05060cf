"""What a CUDA text declares, its own and that of its local includes."""

from __future__ import annotations

from kernlint.lift.cuda.includes import MAX_FILES
from kernlint.lift.cuda.module import lift_cuda
from kernlint.lift.cuda.prepare import parse_unit
from kernlint.lift.cuda.unit import TranslationUnit
from kernlint.source.file import NoResolver, SourceFile

FILE = "a.cu"


class Folder:
    """A resolver over a dictionary of names and texts."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = files

    def python_module(self, module: str, level: int, importer: str) -> SourceFile | None:
        return None

    def include(self, name: str, includer: str) -> SourceFile | None:
        text = self.files.get(name)
        return SourceFile(name, text.encode(), "cuda") if text is not None else None


def unit_of(text: str, **headers: str) -> TranslationUnit:
    folder = Folder({name.replace("_h", ".h"): body for name, body in headers.items()})
    unit = parse_unit(SourceFile(FILE, text.encode(), "cuda"), resolver=folder)
    assert unit is not None
    return unit


def test_parameters_and_template_parameters() -> None:
    unit = unit_of(
        "template <typename T, int N = 4, class U = float, typename... Ts>\n"
        "__global__ void __launch_bounds__(256, 2) k(const T* __restrict__ x, int n, float (&a)[4], Foo<T> const p,\n"
        "    int* const* q[], T&& z, const __grid_constant__ Map m, float w[8], int = 3) { }"
    )
    (kernel,) = unit.functions["k"]
    assert [(t.name, t.kind, t.pack) for t in kernel.template_parameters] == [
        ("T", "type", False),
        ("N", "value", False),
        ("U", "type", False),
        ("Ts", "type", True),
    ]
    defaults = [unit.text(t.default) if t.default is not None else "" for t in kernel.template_parameters]
    assert defaults == ["", "4", "float", ""]
    assert [(p.name, p.type_text, p.pointer_depth, p.is_reference) for p in kernel.parameters] == [
        ("x", "T", 1, False),
        ("n", "int", 0, False),
        ("a", "float", 0, True),
        ("p", "Foo<T>", 0, False),
        ("q", "int", 3, False),
        ("z", "T", 0, True),
        ("m", "Map", 0, False),
        ("w", "float", 1, False),
        ("", "int", 0, False),
    ]
    first = kernel.parameters[0]
    assert (first.const, first.restrict, first.is_pointer) == (True, True, True)
    assert kernel.parameters[6].grid_constant
    assert [unit.text(node) for node in kernel.launch_bounds] == ["256", "2"]


def test_scopes_classes_and_qualifiers() -> None:
    unit = unit_of(
        "namespace a { namespace b {\n"
        "struct S { template <int N> __device__ __forceinline__ static int get(int i) { return i; }\n"
        "  int x, *y, z[3]; };\n"
        "__host__ __device__ constexpr int both(int i) { return i; }\n"
        "} }\n"
        "template <> __global__ void a::b::k<float>(float* x) { }\n"
        'extern "C" { __global__ void c(int* p) { } }\n'
        "int host(void) { return 1; }\n"
    )
    (get,), (both,), (k,), (c,), (host,) = (unit.functions[n] for n in ("get", "both", "k", "c", "host"))
    assert get.scope == ("a", "b", "S")
    assert get.class_name == "S"
    assert get.qualifiers >= {"device", "forceinline", "static"}
    assert both.is_host
    assert both.is_device
    assert k.is_kernel
    assert k.specialization == "<float>"
    assert c.is_kernel
    assert host.is_host
    assert host.parameters == ()
    (struct,) = unit.structs["S"]
    assert [(f.name, f.pointer_depth, len(f.array_sizes)) for f in struct.fields] == [
        ("x", 0, 0),
        ("y", 1, 0),
        ("z", 0, 1),
    ]
    assert list(struct.methods) == ["get"]


def test_declarations_without_a_body_are_not_definitions() -> None:
    unit = unit_of("__global__ void k(int* p);\nstruct S;\nextern __device__ int f(int);\n__global__ void r(int* p) {}")
    assert list(unit.functions) == ["r"]


def test_constants_aliases_and_device_variables() -> None:
    unit = unit_of(
        "constexpr int A = 4, B = A * 2;\nstatic const unsigned C = 7u;\nint not_constant = 3;\n"
        "enum Mode { M0, M1 = 5, M2 };\nstruct T { static constexpr int K = 16; enum { E = 2 }; };\n"
        "using Vec = Pack<float, 4>;\ntypedef unsigned char byte_t;\n"
        "__constant__ float table[16];\n__device__ int counter;\n__device__ __align__(16) float buffer[8];\n"
    )
    assert {"A", "B", "C", "M0", "M1", "M2", "K", "E"} <= set(unit.constants)
    assert "not_constant" not in unit.constants
    (m2,) = unit.constants["M2"]
    assert m2.value is None
    assert m2.previous is not None
    assert m2.previous.name == "M1"
    assert unit.constants["K"][0].class_name == "T"
    assert unit.aliases == {"Vec": "Pack<float, 4>", "byte_t": "unsigned char"}
    assert {name: variable.space for name, variable in unit.variables.items()} == {
        "table": "constant",
        "counter": "device",
        "buffer": "device",
    }


def test_alignment_in_every_position() -> None:
    unit = unit_of(
        "struct __align__(16) A { int a; };\nstruct alignas(32) B { int a; };\n"
        "struct C { int a; } __attribute__((aligned(8)));\n"
        "template <typename T> struct __align__(sizeof(T) * 4) D { T v[4]; };\nstruct P { int a; };\n"
    )
    found = {name: structs[0].alignment for name, structs in unit.structs.items()}
    assert found == {"A": "16", "B": "32", "C": "8", "D": "sizeof(T) * 4", "P": ""}


def test_functions_of_both_branches_of_a_conditional_are_seen() -> None:
    unit = unit_of("#if X\n__device__ int f() { return 1; }\n#elif Y\n__device__ int g() { return 2; }\n#else\n"
                   "__device__ int h() { return 3; }\n#endif")  # fmt: skip
    assert sorted(unit.functions) == ["f", "g", "h"]


def test_includes_bring_their_declarations_and_keep_their_positions() -> None:
    header = (
        "#pragma once\n#define TILE 32\nconstexpr int W = TILE;\n__device__ inline int twice(int a) { return a * 2; }\n"
    )
    unit = unit_of('#include "x.h"\n#include <cuda.h>\n__global__ void k(int* p) { p[0] = twice(W); }', x_h=header)
    (twice,) = unit.functions["twice"]
    assert twice.span.path == "x.h"
    assert header[twice.span.start : twice.span.end] == "twice"
    assert [function.name for function in unit.own] == ["k"]
    assert "TILE" in unit.macros
    assert "W" in unit.constants
    assert unit.dependencies == ["x.h"]


def test_specifier_macros_of_an_include_are_understood() -> None:
    unit = unit_of('#include "x.h"\nDEV int f(int a) { return a; }', x_h="#define DEV __device__ __forceinline__\n")
    (f,) = unit.functions["f"]
    assert not f.parsed_with_errors
    assert "device" in f.qualifiers


def test_nearer_definitions_come_first() -> None:
    unit = unit_of('#include "x.h"\n__device__ int f() { return 1; }', x_h="__device__ int f() { return 2; }")
    assert [function.unit.path for function in unit.functions["f"]] == [FILE, "x.h"]


def test_include_cycles_missing_files_and_floods_end() -> None:
    cyclic = unit_of('#include "x.h"\n#include "gone.h"\n', x_h='#include "y.h"\nint a;', y_h='#include "x.h"\nint b;')
    assert sorted(cyclic.dependencies) == ["x.h", "y.h"]
    flood = Folder({f"{i}.h": f'#include "{i + 1}.h"\n#include "{i + 50}.h"\n' for i in range(500)})
    unit = parse_unit(SourceFile(FILE, b'#include "0.h"\n__device__ int x;', "cuda"), resolver=flood)
    assert unit is not None
    assert 0 < len(unit.dependencies) <= MAX_FILES


def test_module_lists_dependencies_and_skips_text_without_device_code() -> None:
    folder = Folder({"x.h": "int a;"})
    module = lift_cuda(SourceFile(FILE, b'#include "x.h"\n__global__ void k(int* p) { p[0] = 1; }', "cuda"), folder)
    assert module.dependencies == ("x.h",)
    plain = lift_cuda(SourceFile("a.h", b'#include "x.h"\nint f() { return 1; }', "cuda"), folder)
    assert plain.dependencies == ()
    assert not plain.kernels


def test_kernels_swallowed_by_a_broken_place_are_cut_out() -> None:
    text = (
        "namespace n { void broken( { }\n// __global__ void not_me() {}\n"
        "template <int N>\n__global__ void k(int* p) { p[N] = 1; }\n__global__ void declared(int* p);\n}"
    )
    module = lift_cuda(SourceFile(FILE, text.encode(), "cuda"), NoResolver())
    (kernel,) = module.kernels
    assert text[kernel.span.start : kernel.span.end] == "k"
    assert text[kernel.body_span.start : kernel.body_span.end] == "{ p[N] = 1; }"
    assert [param.name for param in kernel.params] == ["N", "p"]
