"""Loops, carried variables and their closed forms in lifted CUDA kernels."""

from __future__ import annotations

from device_kernels import body, lifted, shown, stores

from kernlint.ir.expr import AtomKind
from kernlint.ir.kernel import Exit


def test_counted_loop() -> None:
    kernel = body("for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = 0.f;")
    (loop,) = kernel.loops
    assert (repr(loop.start), repr(loop.stop), repr(loop.step)) == ("threadIdx.x", "n", "blockDim.x")
    assert loop.variable == "i"
    assert loop.trip_count is not None
    assert shown(kernel) == ["store x[turn(i)*blockDim.x + threadIdx.x] if turn(i)*blockDim.x + threadIdx.x < n"]
    assert stores(kernel)[0].loops == (loop,)


def test_downward_loop() -> None:
    kernel = body("for (int i = n - 1; i >= 0; --i) x[i] = 0.f;")
    (loop,) = kernel.loops
    assert repr(loop.trip_count) == "n"
    assert repr(loop.stop) == "-1"
    assert repr(stores(kernel)[0].index) == "-turn(i) + n - 1"


def test_pointer_increment_and_subscript_are_one_thing() -> None:
    moving = body("const float* p = y; for (int k = 0; k < n; ++k) { x[k] = *p; p += m; }")
    indexed = body("for (int k = 0; k < n; ++k) { x[k] = y[k * m]; }")
    assert [access.index for access in moving.accesses] == [access.index for access in indexed.accesses]


def test_counter_beside_the_loop_variable() -> None:
    kernel = body("int j = 5; for (int k = 0; k < n; ++k) { x[j] = 0.f; j += 2; } x[j] = 1.f;")
    inside, after = stores(kernel)
    assert repr(inside.index) == "2*turn(k) + 5"
    assert repr(after.index) == "2*max(0, n) + 5"


def test_nested_increments() -> None:
    kernel = body(
        "const float* p = y; for (int a = 0; a < n; ++a) { for (int b = 0; b < 4; ++b) { x[b] = *p; ++p; } p += m; }"
    )
    assert repr(kernel.accesses[0].index) == "turn(a)*m + 4*turn(a) + turn(b)"


def test_halving_variable_stays_one_carried_atom() -> None:
    kernel = body(
        "for (int half = 128; half > 0; half >>= 1) { if (threadIdx.x < half) x[threadIdx.x] = y[threadIdx.x + half]; }"
    )
    (loop,) = kernel.loops
    (carry,) = loop.carries
    assert carry.expr is not None
    assert carry.expr.single_atom is not None
    atom = carry.expr.single_atom
    assert atom.kind is AtomKind.OPAQUE
    assert atom.key.startswith("?:carry:")
    init, following = carry.args
    assert init.expr is not None
    assert init.expr.constant == 128
    assert following.expr is not None
    assert atom in following.expr.deep_atoms
    assert atom in kernel.accesses[0].index.deep_atoms
    assert atom in kernel.accesses[0].guard.deep_atoms
    assert loop.condition is not None
    assert loop.condition.cond is not None


def test_accumulator_is_a_carry() -> None:
    kernel = body("float s = 0.f; for (int k = 0; k < n; ++k) s += y[k]; x[0] = s;")
    value = stores(kernel)[0].value
    assert value is not None
    assert value.op == "carry"
    assert [argument.op for argument in value.args] == ["const", "add"]


def test_variable_set_in_a_branch_is_joined() -> None:
    kernel = body("int j = 0; if (n > 3) j = m; else j = 2 * m; x[j] = 0.f;")
    assert repr(stores(kernel)[0].index) == "select(4 <= n, m, 2*m)"


def test_continue_and_break_guard_and_are_recorded() -> None:
    kernel = body("for (int i = 0; i < n; ++i) { if (i == m) continue; if (y[i] > 1.f) break; x[i] = 0.f; }")
    kinds = [item.kind for item in kernel.body.walk() if isinstance(item, Exit)]
    assert kinds == ["continue", "break"]
    guard = repr(stores(kernel)[0].guard)
    assert "not (turn(i) == m)" in guard or "not (m == turn(i))" in guard
    assert len(kernel.loops[0].breaks) == 1
    assert kernel.loops[0].trip_count is None
    assert repr(kernel.loops[0].axis.extent) == "n"


def test_continue_joins_what_it_skipped() -> None:
    kernel = body("int j = 0; for (int i = 0; i < n; ++i) { if (i > m) continue; j = j + 1; } x[j] = 0.f;")
    assert not stores(kernel)[0].index_is_known


def test_while_loop_with_counter() -> None:
    kernel = body("int i = threadIdx.x; while (i < n) { x[i] = 0.f; i += 32; }")
    assert shown(kernel) == ["store x[32*turn(i) + threadIdx.x] if 32*turn(i) + threadIdx.x < n"]


def test_compound_conditions_bound_the_axis_but_give_no_trip_count() -> None:
    kernel = body("for (int r = 0; r < 16 && blockIdx.x * 16 + r < n; ++r) x[r] = 0.f;")
    (loop,) = kernel.loops
    assert loop.trip_count is None
    assert loop.axis.extent is not None
    assert loop.axis.extent.constant == 16
    assert repr(stores(kernel)[0].guard) == "16*blockIdx.x + turn(r) < n and turn(r) <= 15"


def test_switch_cases_are_guarded() -> None:
    kernel = body(
        "int j = 0; switch (n) { case 1: j = 4; break; case 2: case 3: x[1] = 0.f; default: x[2] = 0.f; } x[j] = 0.f;"
    )
    first, second, last = stores(kernel)
    assert repr(first.guard) == "2 == n or 3 == n"
    assert "not (1 == n)" in repr(second.guard)
    assert repr(last.index) == "select(1 == n, 4, 0)"


def test_local_arrays_forward_constant_contents() -> None:
    kernel = body("int off[2] = {3, 7}; off[1] = n; x[off[0]] = 0.f; x[off[1]] = 0.f;")
    assert [repr(store.index) for store in stores(kernel) if store.buffer is not None and store.buffer.name == "x"] == [
        "3",
        "n",
    ]


def test_range_for_over_a_local_array() -> None:
    kernel = body("float a[8]; for (auto& e : a) e = 0.f;")
    assert shown(kernel) == ["store a[k0]"]
    assert repr(kernel.loops[0].trip_count) == "8"


def test_counted_while_loop_has_bounds_and_its_loads_are_data() -> None:
    kernel = body(
        "long i = threadIdx.x; while (i < n) { atomicAdd(&x[ids[i]], 1.f); i += blockDim.x; }",
        "float* x, const unsigned char* ids, int n",
    )
    (loop,) = kernel.loops
    assert (loop.variable, repr(loop.start), repr(loop.stop), repr(loop.step)) == (
        "i",
        "threadIdx.x",
        "n",
        "blockDim.x",
    )
    assert all(access.index_is_known for access in kernel.accesses)


def test_loop_axes_are_named_after_their_variable_and_keyed_by_number() -> None:
    kernel = body("for (int row = 0; row < n; ++row) x[row] = 0.f; while (y[0] > 0.f) {}")
    assert [(loop.axis.key, loop.axis.name) for loop in kernel.loops] == [("k0", "turn(row)"), ("k1", "k1")]


def test_loop_headers_written_by_a_macro() -> None:
    kernel = lifted(
        """#define CUDA_1D_KERNEL_LOOP(i, n) \\
            for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        __global__ void k(float* x, float* y, int n) {
            CUDA_1D_KERNEL_LOOP(j, n / 4) { int i = j * 4; x[i] = 0.f; }
            CUDA_1D_KERNEL_LOOP(j, n) y[j] = 0.f;
        }"""
    )
    first, second = kernel.loops
    assert (first.variable, repr(first.stop), repr(second.stop)) == ("j", "(n // 4)", "n")
    assert all(access.index_is_known and len(access.loops) == 1 for access in kernel.accesses)
