"""Coordinates of tiles: what belongs to a lane's dimension, and which conditions bound it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kernlint.analysis.tiles import coordinate_of, implied_bounds, tile_extent
from kernlint.ir.arith import cdiv, floordiv, mod
from kernlint.ir.condition import less
from kernlint.ir.expr import Axis, AxisKind, Expr, axis_expr, const, param

BLOCK, N, STRIDE = param("BLOCK"), param("n"), param("stride")
PID = Axis(AxisKind.GRID, "g0", "pid", None)
LANE = Axis(AxisKind.LANE, "l-1:BLOCK", "lane", BLOCK)
pid, lane = axis_expr(PID), axis_expr(LANE)


def test_whole_tiles_belong_to_the_coordinate_and_row_offsets_do_not() -> None:
    found = coordinate_of(param("base") + param("row") * N + (pid * BLOCK + lane) * STRIDE, LANE)
    assert found is not None
    assert found.expr == pid * BLOCK + lane
    assert found.stride == STRIDE
    assert found.tiles == (PID,)


def test_a_row_as_long_as_n_is_not_a_tile() -> None:
    found = coordinate_of(pid * N + lane, LANE)
    assert found is not None
    assert found.expr == lane
    assert not found.is_tiled


def test_constant_offsets_are_shifts() -> None:
    found = coordinate_of(pid * BLOCK + lane - 1, LANE)
    assert found is not None
    assert found.shift == -1


def test_a_wrapped_lane_has_no_coordinate() -> None:
    assert coordinate_of(mod(pid * BLOCK + lane, N) * STRIDE, LANE) is None


def test_a_mask_on_the_whole_coordinate_gives_its_extent() -> None:
    found = coordinate_of(pid * BLOCK + lane, LANE)
    assert found is not None
    (bound,) = implied_bounds(found, [less(pid * BLOCK + lane, N)])
    assert bound.extent == N
    assert bound.foreign == ()


def test_a_mask_on_the_tile_local_index_leaves_the_program_over() -> None:
    found = coordinate_of(pid * BLOCK + lane, LANE)
    assert found is not None
    (bound,) = implied_bounds(found, [less(lane, N)])
    assert bound.foreign == (PID,)


def test_a_bound_that_subtracts_the_offset_is_the_same_mask() -> None:
    found = coordinate_of(pid * BLOCK + lane, LANE)
    assert found is not None
    (bound,) = implied_bounds(found, [less(lane, N - pid * BLOCK)])
    assert (bound.extent, bound.foreign) == (N, ())


def test_a_bound_on_a_multiple_says_so() -> None:
    found = coordinate_of(pid * BLOCK + lane, LANE)
    assert found is not None
    (bound,) = implied_bounds(found, [less((pid * BLOCK + lane) * 4, N)])
    assert bound.scale == 4


def test_tile_counts() -> None:
    assert tile_extent(cdiv(N, BLOCK), BLOCK) == (N, False)
    assert tile_extent(floordiv(N, BLOCK), BLOCK) == (N, True)
    assert tile_extent(cdiv(N, const(128)), BLOCK) is None
    assert tile_extent(None, BLOCK) is None


small = st.integers(-4, 4)


@settings(max_examples=200, deadline=None)
@given(small, small, small, st.integers(1, 4))
def test_a_coordinate_and_the_rest_make_up_the_index(tiles: int, rows: int, shift: int, stride: int) -> None:
    index: Expr = (pid * BLOCK * tiles + lane + shift) * stride + param("row") * rows
    found = coordinate_of(index, LANE)
    assert found is not None
    rest = index - (found.expr + found.shift) * found.stride
    assert not any(atom.axis is not None for atom in rest.deep_atoms)
