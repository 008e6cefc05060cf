"""Indices, guards and types of accesses in lifted CUDA kernels."""

from __future__ import annotations

import pytest
from device_kernels import body, lifted, shown, source_text, stores

from kernlint.ir.kernel import AccessKind, ParamRole
from kernlint.ir.types import FLOAT16, FLOAT32, INT32, INT64, UINT32, Space
from kernlint.ir.value import Value, ancestors


def test_guarded_elementwise_kernel() -> None:
    text = """__global__ void scale(float* __restrict__ data, int n, float k) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) data[i] *= k;
    }"""
    kernel = lifted(text)
    assert shown(kernel) == [
        "load data[blockIdx.x*blockDim.x + threadIdx.x] if blockIdx.x*blockDim.x + threadIdx.x < n",
        "store data[blockIdx.x*blockDim.x + threadIdx.x] if blockIdx.x*blockDim.x + threadIdx.x < n",
    ]
    load, store = kernel.accesses
    assert (load.dtype, load.space, load.width) == (FLOAT32, Space.GLOBAL, 1)
    assert source_text(text, load) == "data[i]"
    assert store.value is not None
    assert store.value.op == "mul"
    assert [frame.arm for frame in store.path] == [True]
    buffer = store.buffer
    assert buffer is not None
    assert buffer.is_param
    assert buffer.restrict
    assert not buffer.readonly


def test_early_return_guards_what_follows() -> None:
    kernel = body("int i = threadIdx.x; if (i >= n) return; x[i] = 1.f;")
    (store,) = stores(kernel)
    assert repr(store.guard) == "threadIdx.x < n"
    assert store.path[-1].exit
    assert store.path[-1].branch is None


def test_else_if_chain_of_returns() -> None:
    kernel = body("int i = threadIdx.x; if (i >= n) { return; } else if (i >= m) return; x[i] = 1.f;")
    assert repr(stores(kernel)[0].guard) == "threadIdx.x < m and threadIdx.x < n"


def test_return_inside_a_nested_branch_guards_only_its_case() -> None:
    kernel = body("int i = threadIdx.x; if (i < n) { if (i >= m) return; x[i] = 1.f; } x[i + n] = 2.f;")
    inner, outer = stores(kernel)
    assert repr(inner.guard) == "threadIdx.x < m and threadIdx.x < n"
    assert repr(outer.guard) == "threadIdx.x < m or n <= threadIdx.x"


def test_short_circuit_guards_the_right_side() -> None:
    kernel = body("int i = threadIdx.x; if (i < n && y[i] > 0.f) x[i] = 1.f; if (i >= n || y[i + 1] > 0.f) x[0] = 2.f;")
    first, _, second, _ = kernel.accesses
    assert repr(first.guard) == "threadIdx.x < n"
    assert repr(second.guard) == "threadIdx.x < n"


def test_conditional_expression_guards_its_arms() -> None:
    kernel = body("int i = threadIdx.x; float v = i < n ? y[i] : 0.f; x[i] = v;")
    load, store = kernel.accesses
    assert repr(load.guard) == "threadIdx.x < n"
    assert repr(store.guard) == "true"
    assert store.value is not None
    assert store.value.op == "where"


def test_integer_types_follow_the_usual_conversions() -> None:
    kernel = body(
        """int a = n * m; long long b = n * m; size_t c = (size_t)n * m; unsigned d = blockIdx.x * 3;
           long e = n; auto f = e * n; x[a] = 0; x[b] = 0; x[c] = 0; x[d] = 0; x[f] = 0;"""
    )
    products = [_product(store.attrs["address"].args[1]) for store in stores(kernel)]
    assert [p.dtype.name for p in products if p.dtype is not None] == ["int32", "int32", "uint64", "uint32", "int64"]
    assert stores(kernel)[1].attrs["address"].args[1].dtype == INT64


def _product(value: Value) -> Value:
    return next(item for item in ancestors(value) if item.op == "mul")


def test_thread_and_block_indices_are_unsigned() -> None:
    kernel = body("x[threadIdx.x + blockIdx.y * gridDim.x] = 0;")
    index = stores(kernel)[0].attrs["address"].args[1]
    assert index.dtype == UINT32
    assert repr(index.expr) == "blockIdx.y*gridDim.x + threadIdx.x"


def test_row_pointer_and_multi_dimensional_shared_array() -> None:
    kernel = body(
        """__shared__ float tile[16][17];
           const float* row = y + static_cast<size_t>(blockIdx.x) * m;
           tile[threadIdx.y][threadIdx.x] = row[threadIdx.x];"""
    )
    load, store = kernel.accesses
    assert repr(load.index) == "blockIdx.x*m + threadIdx.x"
    assert store.space is Space.SHARED
    assert repr(store.index) == "threadIdx.x + 17*threadIdx.y"
    assert [repr(index) for index in store.pointer.indices] == ["threadIdx.y", "threadIdx.x"]
    assert store.buffer is not None
    assert store.buffer.extents is not None
    assert [extent.constant for extent in store.buffer.extents] == [16, 17]


def test_dynamic_shared_memory_carved_up_is_one_buffer() -> None:
    kernel = body(
        "extern __shared__ float s[]; float* a = s; float* b = s + n; a[threadIdx.x] = 0; b[threadIdx.x] = 1;"
    )
    first, second = stores(kernel)
    assert first.buffer is second.buffer
    assert first.buffer is not None
    assert first.buffer.dynamic
    assert repr(second.index) == "threadIdx.x + n"


def test_vector_pointers_count_vectors_and_keep_the_cast() -> None:
    kernel = body(
        "const float4* v = reinterpret_cast<const float4*>(y + blockIdx.x * n); float4 q = v[threadIdx.x]; x[0] = q.y;"
    )
    load, store = kernel.accesses
    assert repr(load.index) == "threadIdx.x + ((4*blockIdx.x*n) // 16)"
    assert (load.width, load.dtype) == (4, FLOAT32)
    assert [cast.name for cast in load.pointer.casts] == ["float32"]
    assert store.value is not None
    assert store.value.op == "split_lanes"
    assert store.value.args[0].op == "load"


def test_component_of_a_vector_in_memory_is_one_scalar() -> None:
    kernel = body("float4* v = reinterpret_cast<float4*>(x); v[threadIdx.x].z = 1.f;")
    (store,) = stores(kernel)
    assert repr(store.index) == "4*threadIdx.x + 2"
    assert store.width == 1


def test_fields_of_struct_parameters_are_parameters() -> None:
    kernel = lifted(
        """struct P { const float* in; float* out; int stride; };
        __global__ void k(P p) { p.out[threadIdx.x * p.stride] = p.in[threadIdx.x]; }"""
    )
    assert shown(kernel) == ["load p.in[threadIdx.x]", "store p.out[threadIdx.x*p.stride]"]
    assert kernel.accesses[0].dtype == FLOAT32
    assert kernel.accesses[0].buffer is not None


def test_template_parameters_stay_symbolic() -> None:
    kernel = lifted(
        "template <typename T, int D> __global__ void k(T* x) { __shared__ T s[D]; s[threadIdx.x % D] = x[D]; }"
    )
    load, store = kernel.accesses
    assert [param.role for param in kernel.params] == [ParamRole.TYPE, ParamRole.CONSTEXPR, ParamRole.POINTER]
    assert repr(load.index) == "D"
    assert load.dtype is None
    assert repr(store.index) == "(threadIdx.x % D)"


def test_traits_constants_are_symbols() -> None:
    kernel = lifted("template <class Traits> __global__ void k(float* x) { x[threadIdx.x * Traits::kStride] = 0; }")
    assert shown(kernel) == ["store x[threadIdx.x*Traits::kStride]"]


def test_loaded_indices_are_data() -> None:
    kernel = body(
        "int j = ids[threadIdx.x]; x[j * m] = y[ids[threadIdx.x]];", "float* x, const float* y, const int* ids, int m"
    )
    _, _, load, store = kernel.accesses
    assert load.index_is_known
    assert store.index_is_known
    assert repr(store.index) == "ids[threadIdx.x]*m"
    assert load.index == kernel.accesses[0].value.expr  # type: ignore[union-attr]  # read-only: the same integer


def test_pointer_increments_of_expressions() -> None:
    kernel = body("float* p = x; *p++ = 1.f; *p = 2.f; *++p = 3.f; p -= 2; p[1] = 4.f; (&x[n])[2] = 5.f;")
    assert [repr(store.index) for store in stores(kernel)] == ["0", "1", "2", "1", "n + 2"]


def test_choice_between_two_buffers_becomes_two_guarded_accesses() -> None:
    kernel = body("const float* p = n > 3 ? y : x; float v = p[threadIdx.x]; x[0] = v;")
    first, second, _ = kernel.accesses
    assert (repr(first.buffer), repr(second.buffer)) == ("y", "x")
    assert (repr(first.guard), repr(second.guard)) == ("4 <= n", "n <= 3")


def test_half_and_integer_conversions() -> None:
    kernel = body(
        "h[0] = __float2half(y[0]); float f = __half2float(h[1]); i[(int)f] = static_cast<int>(l[2]);",
        "__half* h, const float* y, int* i, const long long* l",
    )
    assert [access.dtype for access in kernel.accesses][:3] == [FLOAT32, FLOAT16, FLOAT16]
    store = kernel.accesses[-1]
    assert store.dtype == INT32
    assert store.value is not None
    assert store.value.op == "cast"
    assert store.index_is_known  # made from loaded data


def test_constants_enumerators_macros_and_sizeof() -> None:
    kernel = lifted(
        """#define TILE 8
        #define IDX(i, j) ((i) * TILE + (j))
        constexpr int W = TILE * 4;
        enum { A = 3, B };
        __global__ void k(float* x) { x[IDX(threadIdx.x, 1)] = 0; x[W + B] = 0; x[16 / sizeof(float)] = 0; }"""
    )
    assert [repr(store.index) for store in stores(kernel)] == ["8*threadIdx.x + 1", "36", "4"]


def test_addresses_carry_their_values() -> None:
    kernel = body("atomicAdd(&x[n * m], 1.f);")
    (access,) = kernel.accesses
    assert access.kind is AccessKind.ATOMIC
    assert access.op == "add"
    assert any(item.op == "mul" and item.dtype == INT32 for item in ancestors(access.attrs["address"]))


def test_assertions_become_facts() -> None:
    kernel = body(
        'assert(n % 4 == 0); static_assert(sizeof(int) == 4, ""); __builtin_assume(m > 0); if (n > 2) assert(m < n);'
    )
    assert [repr(fact) for fact in kernel.facts] == ["(n % 4) == 0", "0 < m", "m < n or n <= 2"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("n & 7", "(n % 8)"),
        ("n & ~7", "-(n % 8) + n"),
        ("n >> 5", "(n // 32)"),
        ("n << 3", "8*n"),
        ("min(n, m)", "min(m, n)"),
        ("n < m ? n : m", "min(m, n)"),
        ("std::max<int>(n, 4)", "max(n, 4)"),
        ("(n + 31) / 32 * 32", "32*((n + 31) // 32)"),
        ("-n + m", "m - n"),
        ("~n", "-n - 1"),
        ("(n > 3) * 4", "4*select(4 <= n, 1, 0)"),
    ],
)
def test_integer_expressions(expression: str, expected: str) -> None:
    (store,) = stores(body(f"x[{expression}] = 0.f;"))
    assert repr(store.index) == expected


PACKS = {
    "plain": ("struct alignas(16) Pack { half v[8]; };", "Pack", 8),
    "cuda spelling": ("struct __align__(8) Pack { float x, y; };", "Pack", 2),
    "template": ("template <typename T, int N> struct alignas(sizeof(T) * N) Pack { T v[N]; };", "Pack<float, 4>", 4),
    "vectors inside": ("struct alignas(16) Pack { float2 a, b; };", "Pack", 4),
}


@pytest.mark.parametrize("name", sorted(PACKS))
def test_structs_that_stand_for_vector_types(name: str) -> None:
    definition, pack, lanes = PACKS[name]
    kernel = lifted(
        f"{definition}\n__global__ void k(const char* x, char* y, int n) {{\n"
        f"  const {pack}* from = reinterpret_cast<const {pack}*>(x);\n"
        f"  {pack}* to = reinterpret_cast<{pack}*>(y);\n"
        "  to[threadIdx.x] = from[threadIdx.x];\n}"
    )
    assert shown(kernel) == ["load x[threadIdx.x]", "store y[threadIdx.x]"]
    assert [access.width for access in kernel.accesses] == [lanes, lanes]


def test_structs_without_stated_alignment_are_no_vectors() -> None:
    kernel = lifted(
        "struct Four { float v[4]; };\n__global__ void k(const float* x, float* y, int n) {\n"
        "  reinterpret_cast<Four*>(y)[n] = reinterpret_cast<const Four*>(x)[n];\n}"
    )
    assert all(access.width == 1 for access in kernel.accesses)


def test_members_of_a_packed_struct_are_read_one_by_one() -> None:
    kernel = lifted(
        "struct alignas(16) Pack { float v[4]; };\n__global__ void k(const float* x, float* y, int n) {\n"
        "  const Pack* p = reinterpret_cast<const Pack*>(x);\n  y[n] = p[n].v[1];\n}"
    )
    assert shown(kernel) == ["load x[4*n + 1]", "store y[n]"]
    assert kernel.accesses[0].width == 1
