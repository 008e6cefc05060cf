"""Indices, masks, fills and shapes of accesses, in normal form."""

from __future__ import annotations

import pytest
from triton_lifting import body, guard, index, lift, mask, stored

from kernlint.ir.kernel import AccessKind, ParamRole


def test_a_masked_copy() -> None:
    kernel = body(
        "x_ptr, y_ptr, n, BLOCK: tl.constexpr",
        """
        offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        ok = offs < n
        x = tl.load(x_ptr + offs, mask=ok, other=0.0)
        tl.store(y_ptr + offs, x, ok)
        """,
    )
    load, store = kernel.accesses
    assert (load.kind, store.kind) == (AccessKind.LOAD, AccessKind.STORE)
    assert str(load.buffer) == "x_ptr"
    assert str(store.buffer) == "y_ptr"
    assert index(load) == index(store) == "program_id(0)*BLOCK + arange(BLOCK)"
    assert mask(load) == mask(store) == "program_id(0)*BLOCK + arange(BLOCK) < n"
    assert load.guard == load.mask
    assert load.other is not None
    assert load.other.attrs["value"] == 0.0
    assert store.other is None
    assert [repr(extent) for extent in load.shape] == ["BLOCK"]
    assert store.value is not None
    assert store.value.access is load
    assert [str(p.role.value) for p in kernel.params] == ["pointer", "pointer", "scalar", "constexpr"]


def test_a_mask_that_is_not_written_differs_from_one_that_is_always_on() -> None:
    kernel = body("p, q", "tl.store(q, tl.load(p, mask=None))\ntl.store(q, tl.load(p, mask=True))")
    assert [access.mask is None for access in kernel.accesses] == [True, True, False, True]


@pytest.mark.parametrize(
    "address",
    [
        "x_ptr + rows[:, None] * stride + cols[None, :]",
        "x_ptr + (cols[None, :] + rows[:, None] * stride)",
        "x_ptr + tl.expand_dims(rows, 1) * stride + tl.expand_dims(cols, 0)",
        "x_ptr + rows[:, None] * stride + cols",
        "(x_ptr + rows * stride)[:, None] + cols[None, :]",
        "tl.trans(x_ptr + rows[None, :] * stride + cols[:, None])",
        "x_ptr + tl.broadcast_to(rows[:, None], (M, N)) * stride + tl.reshape(cols, (1, N))",
        "x_ptr + rows.reshape(M, 1) * stride + cols[None]",
    ],
)
def test_every_way_to_address_a_tile_is_one_index(address: str) -> None:
    kernel = body(
        "x_ptr, stride, M: tl.constexpr, N: tl.constexpr",
        f"""
        rows = tl.arange(0, M)
        cols = tl.arange(0, N)
        v = tl.load({address})
        """,
    )
    (load,) = kernel.accesses
    assert index(load) == "arange(M)[:, None]*stride + arange(N)"
    assert [repr(extent) for extent in load.shape] == ["M", "N"]


def test_two_ranges_of_one_extent_are_two_lanes_in_a_square_tile() -> None:
    kernel = body("p, B: tl.constexpr", "i = tl.arange(0, B)\nv = tl.load(p + i[:, None] * B + i[None, :])")
    assert index(kernel.accesses[0]) == "arange(B)[:, None]*B + arange(B)"


def test_a_flat_reshape_keeps_the_index_known() -> None:
    kernel = body(
        "p, M: tl.constexpr, N: tl.constexpr",
        """
        tile = tl.arange(0, M)[:, None] * 100 + tl.arange(0, N)[None, :]
        v = tl.load(p + tl.ravel(tile))
        """,
    )
    assert index(kernel.accesses[0]) == "100*(arange(M*N) // N) + (arange(M*N) % N)"


def test_split_takes_the_last_dimension_apart() -> None:
    kernel = body(
        "p, B: tl.constexpr",
        """
        pairs = tl.arange(0, B)[:, None] * 2 + tl.arange(0, 2)[None, :]
        even, odd = tl.split(pairs)
        a = tl.load(p + even)
        b = tl.load(p + odd)
        """,
    )
    assert [index(access) for access in kernel.accesses] == ["2*arange(B)", "2*arange(B) + 1"]


def test_in_place_pointer_arithmetic() -> None:
    kernel = body(
        "x, out, n, B: tl.constexpr",
        """
        row = tl.program_id(0)
        x += row * n
        out = out + row * n
        c = tl.arange(0, B)
        tl.store(out + c, tl.load(x + c, mask=c < n), mask=c < n)
        """,
    )
    load, store = kernel.accesses
    assert str(load.buffer) == "x"
    assert str(store.buffer) == "out"
    assert index(load) == index(store) == "program_id(0)*n + arange(B)"


def test_pointers_are_told_from_scalars_by_use_not_by_name() -> None:
    kernel = body("data, count_ptr, n", "v = tl.load(n + count_ptr * data)")
    roles = {p.name: p.role for p in kernel.params}
    assert roles == {"data": ParamRole.SCALAR, "count_ptr": ParamRole.SCALAR, "n": ParamRole.POINTER}


def test_an_index_read_from_memory_is_known_and_moves_with_its_lanes() -> None:
    kernel = body(
        "ids, w, out, D, B: tl.constexpr, BD: tl.constexpr",
        """
        i = tl.arange(0, B)
        d = tl.arange(0, BD)
        row = tl.load(ids + i)
        v = tl.load(w + row[:, None] * D + d[None, :])
        """,
    )
    gather = kernel.accesses[1]
    assert gather.index_is_known
    assert index(gather) == "load(ids)*D + arange(BD)"
    (axis,) = [a for atom in gather.index.deep_atoms if (a := atom.axis) is not None and a.index == -2]
    assert repr(axis.extent) == "B"


def test_a_pointer_chosen_at_run_time_is_one_access_per_choice() -> None:
    kernel = body(
        "a, b, first, n",
        """
        if first > 0:
            p = a + 1
        else:
            p = b + n
        v = tl.load(p)
        """,
    )
    one, other = kernel.accesses
    assert (str(one.buffer), index(one), guard(one)) == ("a", "1", "0 < first")
    assert (str(other.buffer), index(other), guard(other)) == ("b", "n", "first <= 0")


def test_one_pointer_with_two_offsets_stays_one_access() -> None:
    kernel = body("a, first, n", "p = a + n\nif first > 0:\n    p = a + 1\nv = tl.load(p)")
    (load,) = kernel.accesses
    assert str(load.buffer) == "a"
    assert index(load) == "select(0 < first, 1, n)"


def test_a_pointer_read_from_a_table_is_a_known_unknown() -> None:
    kernel = body("table, i", "p = tl.load(table + i).to(tl.pointer_type(tl.float16))\nv = tl.load(p + 4)")
    load = kernel.accesses[1]
    assert load.buffer is None
    assert not load.index_is_known
    assert load.dtype is not None
    assert load.dtype.name == "float16"


def test_a_reinterpreted_pointer_counts_in_the_new_type() -> None:
    kernel = body("p", "q = p.to(tl.pointer_type(tl.int32))\nv = tl.load(q + 3)")
    (load,) = kernel.accesses
    assert str(load.buffer) == "p"
    assert index(load) == "3"
    assert load.dtype is not None
    assert load.dtype.name == "int32"


def test_block_pointers_give_coordinates_bounds_and_a_mask() -> None:
    kernel = body(
        "x, M, N, stride, BM: tl.constexpr, BN: tl.constexpr",
        """
        p = tl.make_block_ptr(x, shape=(M, N), strides=(stride, 1), offsets=(tl.program_id(0) * BM, 0),
                              block_shape=(BM, BN), order=(1, 0))
        a = tl.load(p, boundary_check=(0,), padding_option="zero")
        p = tl.advance(p, (0, BN))
        tl.store(p, a, boundary_check=(0, 1))
        """,
    )
    load, store = kernel.accesses
    assert index(load) == "program_id(0)*BM*stride + arange(BM)[:, None]*stride + arange(BN)"
    assert mask(load) == "program_id(0)*BM + arange(BM)[:, None] < M"
    assert load.boundary_check == (0,)
    assert load.other is not None
    assert load.other.attrs["value"] == 0
    assert [repr(bound) for bound in load.block_shape_bounds] == ["M", "N"]
    assert repr(store.block_offsets[1]) == "arange(BN) + BN"
    assert store.boundary_check == (0, 1)
    assert mask(store) == "arange(BN) + BN < N and program_id(0)*BM + arange(BM)[:, None] < M"


def test_a_boundary_check_without_padding_leaves_the_fill_undefined() -> None:
    kernel = body(
        "x, n, B: tl.constexpr",
        "p = tl.make_block_ptr(x, (n,), (1,), (0,), (B,), (0,))\nv = tl.load(p, boundary_check=(0,))",
    )
    assert kernel.accesses[0].other is None
    assert mask(kernel.accesses[0]) == "arange(B) < n"


def test_descriptors_are_always_bounded_and_filled_with_zero() -> None:
    kernel = body(
        "x, desc, M, N, B: tl.constexpr",
        """
        made = tl.make_tensor_descriptor(x, shape=[M, N], strides=[N, 1], block_shape=[B, B])
        a = made.load([tl.program_id(0) * B, 0])
        b = desc.load([0, 8])
        desc.store([0, 0], a)
        """,
    )
    first, second, third = kernel.accesses
    assert index(first) == "program_id(0)*B*N + arange(B)[:, None]*N + arange(B)"
    assert mask(first) == "arange(B) < N and program_id(0)*B + arange(B)[:, None] < M"
    assert first.other is not None
    assert first.other.attrs["value"] == 0
    assert str(second.buffer) == "desc"
    assert repr(second.block_shape_bounds[0]) == "desc.shape[0]"
    assert third.kind is AccessKind.STORE
    param = kernel.param("desc")
    assert param is not None
    assert param.role is ParamRole.DESCRIPTOR


def test_atomics_know_their_operation_scope_and_mask() -> None:
    kernel = body(
        "p, n, B: tl.constexpr",
        """
        i = tl.arange(0, B)
        old = tl.atomic_add(p + i, 1.0, mask=i < n, sem="relaxed")
        tl.atomic_cas(p, 0, 1, scope="sys")
        """,
    )
    add, cas = kernel.accesses
    assert (add.kind, add.op, add.order, add.scope) == (AccessKind.ATOMIC, "add", "relaxed", "device")
    assert mask(add) == "arange(B) < n"
    assert (cas.op, cas.scope) == ("cas", "system")


def test_clamped_and_wrapped_indices() -> None:
    kernel = body(
        "p, n, B: tl.constexpr",
        """
        i = tl.program_id(0) * B + tl.arange(0, B)
        a = tl.load(p + i % n)
        b = tl.load(p + tl.minimum(i, n - 1))
        c = tl.load(p + tl.where(i < n, i, 0))
        """,
    )
    shown = [index(access) for access in kernel.accesses]
    assert shown[0] == "((program_id(0)*B + arange(B)) % n)"
    assert shown[1] == "min(n - 1, program_id(0)*B + arange(B))"
    assert shown[2] == "select(program_id(0)*B + arange(B) < n, program_id(0)*B + arange(B), 0)"


def test_the_address_is_kept_with_its_arithmetic() -> None:
    kernel = body("p, s", "v = tl.load(p + tl.program_id(0) * s)")
    address = kernel.accesses[0].attrs["address"]
    assert address.op == "add"
    assert address.pointer is not None
    product = address.args[1]
    assert product.op == "mul"
    assert product.dtype.name == "int32"


def test_alternative_names_of_the_language_are_followed() -> None:
    kernel = lift(
        """
        from triton import jit
        import triton.language.core as core
        from triton.language import program_id as pid, load as fetch

        @jit
        def kernel(p, q):
            tl.store(q + pid(1), fetch(p + core.program_id(2)))
        """
    )
    assert [index(access) for access in kernel.accesses] == ["program_id(2)", "program_id(1)"]


def test_module_constants_are_their_values() -> None:
    kernel = lift(
        """
        WIDTH = 4 * 32
        TILE: tl.constexpr = tl.constexpr(WIDTH)

        @triton.jit
        def kernel(p):
            v = tl.load(p + tl.arange(0, TILE) * WIDTH)
        """
    )
    assert index(kernel.accesses[0]) == "128*arange(128)"
    assert kernel.accesses[0].shape[0].constant == 128


def test_an_unreadable_module_constant_is_one_symbol() -> None:
    kernel = lift(
        """
        import os
        FAST = os.environ.get("FAST") == "1"

        @triton.jit
        def kernel(p, q):
            if FAST:
                tl.store(q, tl.load(p))
        """
    )
    assert guard(kernel.accesses[0]) == guard(kernel.accesses[1]) == "FAST"


def test_stored_constants_are_values() -> None:
    assert stored(body("p", "tl.store(p, 3)")).attrs["value"] == 3


def test_a_pointer_that_moved_by_data_still_points_into_its_buffer() -> None:
    kernel = body("out, counts, n", "for i in range(n):\n    out += tl.load(counts + i)\ntl.store(out, 0)")
    assert str(kernel.accesses[1].buffer) == "out"
    assert kernel.accesses[1].index_is_known


def test_an_alternative_that_the_guard_excludes_is_no_access() -> None:
    kernel = body(
        "x, n, HAS: tl.constexpr", "p = x + n if HAS else 0\nif HAS:\n    tl.store(p, tl.load(p + (1 if HAS else 2)))"
    )
    assert [(str(access.buffer), index(access)) for access in kernel.accesses] == [("x", "n + 1"), ("x", "n")]
