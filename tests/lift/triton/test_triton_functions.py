"""Helpers, imports, methods, nested functions, recursion."""

from __future__ import annotations

from triton_lifting import HEADER, Project, guard, index, lift, lift_all, stored

SCALE = """
@triton.jit
def scale(x, by=2.0, SQUARE: tl.constexpr = False):
    if SQUARE:
        return x * x * by
    return x * by


@triton.jit
def kernel(p, n):
    i = tl.program_id(0)
    if i < n:
        tl.store(p + i, scale(tl.load(p + i), SQUARE=True))
"""


def test_a_helper_is_inlined_and_still_lifted_on_its_own() -> None:
    helper, kernel = lift_all(SCALE)
    assert helper.attrs["helper"]
    assert "helper" not in kernel.attrs
    value = stored(kernel)
    assert (value.op, value.args[0].op, value.args[1].attrs["value"]) == ("mul", "mul", 2.0)
    assert value.args[0].args[0] is value.args[0].args[1]


def test_a_function_that_returns_a_value_is_a_helper_even_when_nobody_calls_it() -> None:
    (kernel,) = lift_all("@triton.jit\ndef f(a, b):\n    return a + b\n")
    assert kernel.attrs["helper"]


def test_accesses_in_helpers_know_their_call_site_and_guard() -> None:
    kernel = lift(
        """
        @triton.jit
        def put(p, at, v):
            tl.store(p + at, v)

        @triton.jit
        def kernel(x, n):
            if tl.program_id(0) < n:
                put(x, 3, 1)
        """
    )
    (store,) = kernel.accesses
    assert (str(store.buffer), index(store), guard(store)) == ("x", "3", "program_id(0) < n")
    assert len(store.inlined_at) == 1


def test_early_returns_become_one_value() -> None:
    kernel = lift(
        """
        @triton.jit
        def pick(a, n):
            if n > 4:
                return a, 1
            if n > 2:
                return a + 1, 2
            return a + 2, 3

        @triton.jit
        def kernel(p, n):
            at, which = pick(n, n)
            tl.store(p + at, which)
        """
    )
    (store,) = kernel.accesses
    assert index(store) == "n + select(5 <= n, 0, select(3 <= n, 1, 2))"
    assert guard(store) == "true"


def test_helpers_of_other_files_are_followed_through_imports_and_re_exports() -> None:
    helper = HEADER + "@triton.jit\ndef row(p, n):\n    return p + tl.program_id(0) * n\n"
    project = Project(lib__ops=helper, lib="from lib.ops import row\n")
    kernel = lift(
        """
        from lib import row as start
        from lib import ops

        @triton.jit
        def kernel(x, y, n):
            tl.store(start(y, n), tl.load(ops.row(x, n)))
        """,
        project,
    )
    load, store = kernel.accesses
    assert (str(load.buffer), index(load)) == ("x", "program_id(0)*n")
    assert (str(store.buffer), index(store)) == ("y", "program_id(0)*n")
    assert kernel.attrs["inlined"] == ["lib.ops.py"]


def test_an_unresolved_import_is_known_by_its_name_or_a_pure_call() -> None:
    kernel = lift(
        """
        from somewhere import ext as tle
        from somewhere import mystery

        @triton.jit
        def kernel(x, y, n):
            i = tle.program_id(0)
            tl.store(y + i, mystery(tl.load(x + i)))
        """
    )
    load, store = kernel.accesses
    assert index(load) == index(store) == "program_id(0)"
    assert store.value is not None
    assert (store.value.op, store.value.attrs["name"]) == ("call", "mystery")


def test_recursion_ends_in_an_opaque_value() -> None:
    kernels = lift_all("@triton.jit\ndef f(p, n):\n    tl.store(p, n)\n    f(p, n - 1)\n")
    assert kernels[0].opaque_reasons == {"recursive or too deep calls": 1}
    assert len(kernels[0].accesses) == 1


def test_mutual_recursion_and_deep_chains_end() -> None:
    chain = "\n".join(f"@triton.jit\ndef f{i}(p):\n    f{i + 1}(p)\n    f{i + 1}(p)\n" for i in range(40))
    kernels = lift_all(chain + "\n@triton.jit\ndef f40(p):\n    tl.store(p, 0)\n")
    assert len(kernels) == 41
    assert len(kernels[-2].accesses) == 2


def test_methods_and_nested_functions() -> None:
    kernels = lift_all(
        """
        class Op:
            @staticmethod
            @triton.jit
            def forward(p):
                tl.store(p, 0)

        def make():
            @triton.jit
            def inner(q):
                tl.store(q, 1)
            return inner
        """
    )
    assert [(k.name, len(k.accesses)) for k in kernels] == [("forward", 1), ("inner", 1)]
    assert kernels[0].attrs["class"] == "Op"


def test_functions_wrapped_by_hand() -> None:
    kernels = lift_all(
        "def raw(p):\n    tl.store(p, 0)\n\nkernel = triton.autotune(configs=[], key=[])(triton.jit(raw))\n"
    )
    assert [k.name for k in kernels] == ["raw"]


def test_other_jit_decorators_are_not_ours() -> None:
    assert lift_all("import numba\n\n@numba.jit\ndef f(x):\n    return x\n") == []


def test_functions_handed_to_a_reduction_are_helpers() -> None:
    kernels = lift_all(
        """
        @triton.jit
        def combine(a, b):
            return a + b

        @triton.jit
        def kernel(p, B: tl.constexpr):
            tl.store(p, tl.reduce(tl.load(p + tl.arange(0, B)), 0, combine))
        """
    )
    assert [bool(k.attrs.get("helper")) for k in kernels] == [True, False]


def test_a_stand_in_for_a_missing_function_is_not_taken_at_its_word() -> None:
    kernel = lift(
        """
        if hasattr(tl, "make_tensor_descriptor"):
            make_tensor_descriptor = tl.make_tensor_descriptor
        else:
            @triton.jit
            def make_tensor_descriptor(base, shape, strides, block_shape):
                return None

        @triton.jit
        def kernel(x, n, B: tl.constexpr):
            d = make_tensor_descriptor(x, [n], [1], [B])
            v = d.load([0])
        """
    )
    assert index(kernel.accesses[0]) == "arange(B)"
    assert str(kernel.accesses[0].buffer) == "x"


def test_a_kernel_inside_a_function_sees_its_siblings_and_constants() -> None:
    kernel = lift(
        """
        def make(n):
            import triton.language as tl
            WIDTH = 32
            other = n + 1

            @triton.jit
            def start(p):
                return p + tl.program_id(0) * WIDTH

            @triton.jit
            def kernel(p):
                tl.store(start(p) + other, 0)
        """
    )
    (store,) = kernel.accesses
    assert str(store.buffer) == "p"
    assert index(store) == "32*program_id(0) + n + 1"
    assert kernel.opaque_reasons == {}
