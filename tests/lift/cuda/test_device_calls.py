"""Helpers, barriers, warp operations, asynchronous copies and hostile input in lifted CUDA kernels."""

from __future__ import annotations

import pytest
from device_kernels import body, lifted, shown, stores
from hypothesis import given, settings
from hypothesis import strategies as st

from kernlint.ir.kernel import AccessKind, BarrierKind
from kernlint.lift.cuda.evaluate import lift_kernel
from kernlint.lift.cuda.prepare import parse_unit
from kernlint.source.file import CUDA, SourceFile


def test_helper_is_inlined_with_its_call_site() -> None:
    kernel = lifted(
        """template <int N> __device__ __forceinline__ float dot(const float* a, int stride) {
            float s = 0.f;
            for (int i = 0; i < N; ++i) s += a[i * stride];
            return s;
        }
        __global__ void k(float* x, const float* y, int m) { x[threadIdx.x] = dot<4>(y + threadIdx.x, m); }"""
    )
    load, store = kernel.accesses
    assert repr(load.index) == "turn(i)*m + threadIdx.x"
    assert len(load.inlined_at) == 1
    assert store.inlined_at == ()
    assert store.value is not None
    assert store.value.op == "carry"


def test_reference_and_pointer_parameters_write_through() -> None:
    kernel = lifted(
        """__device__ void next(int& i, int* j, int by) { i += by; *j = i * 2; }
        __global__ void k(float* x, int n) { int i = 1, j = 0; next(i, &j, n); x[i] = 0; x[j] = 0; }"""
    )
    assert [repr(store.index) for store in stores(kernel)] == ["n + 1", "2*n + 2"]


def test_early_returns_of_helpers_merge() -> None:
    kernel = lifted(
        """__device__ int clampi(int i, int n) { if (i >= n) return n - 1; return i; }
        __global__ void k(float* x, int n) { x[clampi(threadIdx.x, n)] = 0; }"""
    )
    (store,) = stores(kernel)
    assert repr(store.index) == "min(n - 1, threadIdx.x)"
    assert repr(store.guard) == "true"


def test_lambdas_see_the_scope_they_were_made_in() -> None:
    kernel = body("auto at = [&](int r, int c) { return r * m + c; }; x[at(threadIdx.y, threadIdx.x)] = 0.f;")
    assert shown(kernel) == ["store x[threadIdx.y*m + threadIdx.x]"]


def test_methods_and_constructors() -> None:
    kernel = lifted(
        """struct View { float* p; int ld; __device__ View(float* q, int l) : p(q), ld(l) {}
                       __device__ float& at(int r, int c) { return p[r * ld + c]; }
                       __device__ void put(int r, float v) { p[r * ld] = v; } };
        __global__ void k(float* x, int m) { View v(x, m); v.put(threadIdx.x, 1.f); float f = v.at(1, 2); x[0] = f; }"""
    )
    assert shown(kernel) == ["store x[threadIdx.x*m]", "load x[m + 2]", "store x[0]"]


def test_recursion_ends_as_unknown() -> None:
    kernel = lifted(
        """__device__ int f(int i) { return i < 1 ? 0 : f(i - 1) + 1; }
        __global__ void k(float* x, int n) { x[f(n)] = 0; x[n] = 1; }"""
    )
    first, second = stores(kernel)
    assert not first.index_is_known
    assert second.index_is_known
    assert kernel.incomplete == ""


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("__syncthreads();", BarrierKind.BLOCK),
        ("__syncwarp();", BarrierKind.WARP),
        ("__threadfence();", BarrierKind.FENCE),
        ('asm volatile("bar.sync 0;");', BarrierKind.BLOCK),
        ('asm volatile("bar.sync %0, %1;" :: "r"(n), "r"(64));', BarrierKind.NAMED),
        ('asm volatile("cp.async.commit_group;\\n" ::);', BarrierKind.COMMIT),
        ('asm volatile("cp.async.wait_group %0;\\n" :: "n"(1));', BarrierKind.WAIT),
        ("__pipeline_wait_prior(0);", BarrierKind.WAIT),
        ("cg::this_thread_block().sync();", BarrierKind.BLOCK),
        ("cg::sync(cg::this_grid());", BarrierKind.GRID),
        ("auto t = cg::tiled_partition<32>(cg::this_thread_block()); t.sync();", BarrierKind.WARP),
    ],
)
def test_barriers(statement: str, kind: BarrierKind) -> None:
    kernel = body(statement)
    assert [barrier.kind for barrier in kernel.barriers] == [kind]


def test_barrier_epochs_and_guards() -> None:
    kernel = body("x[0] = 1.f; __syncthreads(); if (n > 2) { __syncthreads(); } x[1] = 2.f;")
    assert [store.epoch for store in stores(kernel)] == [0, 2]
    assert [repr(barrier.guard) for barrier in kernel.barriers] == ["true", "3 <= n"]


def test_block_votes_are_barriers_with_a_value() -> None:
    kernel = body("int c = __syncthreads_count(y[threadIdx.x] > 0.f); x[0] = c;")
    value = stores(kernel)[0].value
    assert kernel.barriers[0].kind is BarrierKind.BLOCK
    assert value is not None
    assert value.args[0].attrs["kind"] == "block_count"


def test_warp_reduction() -> None:
    kernel = body(
        "float v = y[threadIdx.x]; for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(0xffffffff, v, o); x[0] = v;"
    )
    shuffles = [value for value in kernel.values if value.op == "shuffle"]
    assert [value.attrs["kind"] for value in shuffles] == ["down"]
    assert len(shuffles[0].args) == 2
    assert [barrier.name for barrier in kernel.barriers] == ["__shfl_down_sync"]


def test_warp_number_survives_the_uniformity_idiom() -> None:
    kernel = body("int w = __shfl_sync(0xffffffff, threadIdx.x / 32, 0); x[w] = 0.f;")
    assert shown(kernel) == ["store x[(threadIdx.x // 32)]"]


def test_cooperative_group_ranks() -> None:
    kernel = body(
        """cg::thread_block block = cg::this_thread_block();
           cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
           x[tile.thread_rank()] = 0.f; x[blockIdx.x * tile.size()] = 1.f;"""
    )
    first, second = stores(kernel)
    assert first.index_is_known
    assert "% 32" in repr(first.index)
    assert repr(second.index) == "32*blockIdx.x"


@pytest.mark.parametrize(
    ("statement", "op", "scope"),
    [
        ("atomicAdd(x + threadIdx.x, 1.f);", "add", "device"),
        ("atomicMax_block(&i[threadIdx.x], 3);", "max", "block"),
        ("atomicCAS(&i[threadIdx.x], 0, 1);", "cas", "device"),
        ("cuda::atomic_ref<int, cuda::thread_scope_block> r(i[threadIdx.x]); r.fetch_add(1);", "add", "block"),
        ('asm volatile("red.global.add.f32 [%0], %1;" :: "l"(x + threadIdx.x), "f"(1.f));', "add", "device"),
    ],
)
def test_atomics(statement: str, op: str, scope: str) -> None:
    kernel = body(statement, "float* x, int* i")
    atomic = next(access for access in kernel.accesses if access.kind is AccessKind.ATOMIC)
    assert (atomic.op, atomic.scope, repr(atomic.index)) == (op, scope, "threadIdx.x")


def test_async_copy_in_assembly() -> None:
    kernel = body(
        """__shared__ float s[256];
           unsigned d = static_cast<unsigned>(__cvta_generic_to_shared(&s[threadIdx.x * 4]));
           asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\\n" :: "r"(d), "l"(y + threadIdx.x * 4));"""
    )
    load, copy = kernel.accesses
    assert load.kind is AccessKind.LOAD
    assert repr(load.buffer) == "y"
    assert load.width == 4
    assert copy.kind is AccessKind.ASYNC_COPY
    assert repr(copy.buffer) == "s"
    assert repr(copy.index) == "threadIdx.x"


def test_pipeline_copy() -> None:
    kernel = body("__shared__ float s[256]; __pipeline_memcpy_async(&s[threadIdx.x], &y[threadIdx.x], sizeof(float));")
    assert [access.kind for access in kernel.accesses] == [AccessKind.LOAD, AccessKind.ASYNC_COPY]
    assert [repr(access.index) for access in kernel.accesses] == ["threadIdx.x", "threadIdx.x"]


def test_unknown_calls_leave_the_rest_alone() -> None:
    kernel = body("int j = mystery(n); x[j] = 0.f; x[n] = 1.f;")
    first, second = stores(kernel)
    assert not first.index_is_known
    assert second.index_is_known
    assert kernel.incomplete == ""


def test_passing_an_address_to_an_unknown_function_forgets_the_variable() -> None:
    kernel = body("int j = 3; mystery(&j); x[j] = 0.f;")
    assert not stores(kernel)[0].index_is_known


@pytest.mark.parametrize(
    ("functor", "op"),
    [
        ("cub::Max()", "max"),
        ("cuda::maximum<>{}", "max"),
        ("cub::Min()", "min"),
        ("cub::Sum()", "sum"),
        ("[](float a, float b) { return fmaxf(a, b); }", "max"),
        ("[](float a, float b) { return a < b ? a : b; }", "min"),
        ("Add()", "sum"),
        ("Odd()", "custom"),
    ],
)
def test_block_reduction_takes_its_operation_from_the_functor(functor: str, op: str) -> None:
    kernel = lifted(
        f"""struct Add {{ __device__ float operator()(float a, float b) const {{ return a + b; }} }};
        __global__ void k(float* x) {{
            using Reduce = cub::BlockReduce<float, 128>;
            __shared__ typename Reduce::TempStorage tmp;
            float v = Reduce(tmp).Reduce(x[threadIdx.x], {functor});
            x[0] = v;
        }}"""
    )
    assert [value.attrs["op"] for value in kernel.values if value.op == "reduce"] == [op]
    assert [barrier.kind for barrier in kernel.barriers] == [BarrierKind.BLOCK]


def test_members_of_an_array_of_structs_know_their_stride() -> None:
    kernel = lifted("struct P { float x, y, z, w; }; __global__ void k(P* p, int n) { p[threadIdx.x].z = 1.f; }")
    (store,) = stores(kernel)
    assert repr(store.index) == "threadIdx.x"
    assert store.attrs["element_stride"] == 16


NASTY = [
    "x[",
    "for (;;) {",
    "for (int i = 0; i < n; i += 0) x[i] = 0;",
    "goto l; l: x[0] = 1;",
    "int a[-3]; a[1 / 0] = 2 % 0;",
    "x[" + "(" * 300 + "n" + ")" * 300 + "] = 0;",
    "x[" + " + ".join(["n"] * 3000) + "] = 0;",
    "x[n" + " * n" * 400 + "] = 0;",
    "if (n) " * 300 + "x[0] = 0;",
    "int i = i; auto j = j; x[i + j] = 0;",
    'asm(""); asm volatile("ld.global.f32 %0, [%9];" : "=f"(x[0]));',
    "switch (n) { x[0] = 1; case 1 ... 3: break; default: case 4: x[1] = 2; }",
    "struct S { S* s; } s; s.s->s->s = &s; x[s.s == 0] = 1;",
    "auto f = [&](auto g) { return g(g); }; f(f);",
    "while (n--) while (m--) do { x[n * m] += y[--n]; } while (n ^= 1);",
    "\0\xff template <typename> operator,();",
    "x[threadIdx] = blockIdx; y->z.w[&x] = *&*&x; new int[n]; delete x; throw 1;",
]


@pytest.mark.parametrize("statements", NASTY)
def test_hostile_statements_are_survived(statements: str) -> None:
    text = f"__global__ void k(float* x, float* y, int n, int m) {{ {statements} x[n] = 7.f; }}"
    unit = parse_unit(SourceFile("t.cu", text.encode("utf-8", "replace"), CUDA))
    if unit is None:
        return
    for function in unit.own:
        assert not lift_kernel(function, unit).incomplete.startswith("internal error")


_TOKENS = st.sampled_from(
    [
        "x",
        "y",
        "n",
        "m",
        "i",
        "[",
        "]",
        "(",
        ")",
        "{",
        "}",
        ";",
        ",",
        "=",
        "+=",
        "++",
        "--",
        "*",
        "&",
        "<",
        ">",
        "<=",
        "&&",
        "||",
        "?",
        ":",
        "if",
        "else",
        "for",
        "while",
        "return",
        "break",
        "int",
        "float",
        "0",
        "1",
        "threadIdx.x",
        "__syncthreads()",
        "__shared__",
        "auto",
        "->",
        ".",
        "[&]",
        "atomicAdd",
        "template",
        "<int>",
        "sizeof",
        "struct",
        "const",
        "T",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(_TOKENS, max_size=40))
def test_random_tokens_are_survived(tokens: list[str]) -> None:
    text = f"__global__ void k(float* x, float* y, int n, int m) {{ {' '.join(tokens)} }}"
    unit = parse_unit(SourceFile("t.cu", text.encode(), CUDA))
    assert unit is not None
    for function in unit.own:
        assert not lift_kernel(function, unit).incomplete.startswith("internal error")


def test_array_members_of_structs_in_memory_keep_the_struct_index() -> None:
    kernel = lifted(
        """struct P { float pos[4]; int id; float vel[3]; };
        __global__ void k(P* p) { p[threadIdx.x].vel[1] = p[threadIdx.x].pos[2]; }"""
    )
    load, store = kernel.accesses
    assert (repr(load.buffer), repr(load.index)) == ("p", "8*threadIdx.x + 2")
    assert (repr(store.buffer), repr(store.index)) == ("p", "8*threadIdx.x + 6")


def test_shared_memory_of_another_block_is_a_buffer_apart() -> None:
    kernel = body(
        """__shared__ float s[64]; auto cluster = cg::this_cluster();
           float* other = cluster.map_shared_rank(&s[0], 1); other[threadIdx.x] = s[threadIdx.x];"""
    )
    load, store = kernel.accesses
    assert (repr(load.buffer), repr(store.buffer)) == ("s", "s@cluster")
    assert repr(store.index) == "threadIdx.x"


def test_cast_to_a_pointer_to_an_array() -> None:
    kernel = body("auto rows = reinterpret_cast<float (*)[16]>(x); rows[threadIdx.y][threadIdx.x] = 0.f;")
    assert shown(kernel) == ["store x[threadIdx.x + 16*threadIdx.y]"]


def test_full_specialisations_are_told_apart_by_what_they_return() -> None:
    kernel = lifted(
        """template <typename TO, typename FROM> __device__ TO to(FROM v) { return to(v); }
        template <> __device__ float to(__half v) { return __half2float(v); }
        template <> __device__ __half to(float v) { return __float2half(v); }
        __global__ void k(float* x, __half* h) { x[0] = to<float>(h[0]); h[1] = to<__half>(x[1]); }"""
    )
    first, second = stores(kernel)
    assert first.value is not None
    assert (first.value.op, first.value.args[0].op) == ("cast", "load")
    assert second.value is not None
    assert (second.value.op, second.value.dtype) == ("cast", second.dtype)
