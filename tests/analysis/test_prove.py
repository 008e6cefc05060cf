"""Proofs: what follows and, as important, what does not."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from kernlint.analysis.prove import divisible, provable
from kernlint.ir.arith import cdiv, floordiv, maximum, minimum, mod
from kernlint.ir.condition import Condition, at_most, conj, equal, less
from kernlint.ir.expr import ZERO, Axis, AxisKind, Expr, axis_expr, const, param

N, B = param("n"), param("BLOCK")
PID = axis_expr(Axis(AxisKind.GRID, "g0", "pid", None))
LANE = axis_expr(Axis(AxisKind.LANE, "l-1:B", "lane", B))


def test_a_lane_stays_below_its_tile() -> None:
    assert provable(less(LANE, B))
    assert not provable(less(LANE, N))


def test_a_guard_on_the_whole_coordinate_bounds_it() -> None:
    coordinate = PID * B + LANE
    assert provable(less(coordinate, N), [less(coordinate, N)])
    assert provable(less(coordinate, N + 5), [less(coordinate, N)])
    assert not provable(less(coordinate + 1, N), [less(coordinate, N)])
    assert not provable(less(coordinate, N), [less(LANE, N)])


def test_the_grid_bound_alone_does_not_bound_the_last_tile() -> None:
    grid = axis_expr(Axis(AxisKind.GRID, "g0", "pid", cdiv(N, B)))
    assert not provable(less(grid * B + LANE, N))


def test_whole_tiles_stay_inside() -> None:
    grid = axis_expr(Axis(AxisKind.GRID, "g0", "pid", floordiv(N, B)))
    assert provable(less(grid * B + LANE, N))


def test_remainders_and_minima_bound_themselves() -> None:
    assert provable(less(mod(PID * 7 + LANE, N), N))
    assert provable(at_most(minimum(PID, N), N))
    assert provable(at_most(N, maximum(PID, N)))


def test_two_dimensional_row_major_index() -> None:
    rows, cols, r, c = param("rows"), param("cols"), param("r"), param("c")
    known = [less(r, rows), less(c, cols)]
    assert provable(less(r * cols + c, rows * cols), known)


def test_divisibility_by_fact_and_by_form() -> None:
    assert divisible(N * 4, const(4))
    assert not divisible(N, B)
    assert divisible(N, B, [(N, B)])
    assert divisible(N, const(32), [(N, const(64))])
    assert not divisible(N, const(64), [(N, const(32))])
    assert divisible(N * 2 + B, B, [(N, B)])


small = st.integers(-3, 3)


def _linear(values: tuple[int, int, int]) -> Expr:
    return N * values[0] + B * values[1] + values[2]


@settings(max_examples=300, deadline=None)
@given(st.tuples(small, small, small), st.lists(st.tuples(small, small, small), max_size=3))
def test_whatever_is_proved_holds_for_every_size(goal: tuple[int, int, int], facts: list[tuple[int, int, int]]) -> None:
    """Soundness, by enumeration: n >= 0 and BLOCK >= 1 are the stated assumptions."""
    wanted: Condition = at_most(ZERO, _linear(goal))
    known = [at_most(ZERO, _linear(fact)) for fact in facts]
    if not provable(wanted, known):
        return

    def value(t: tuple[int, int, int], n: int, b: int) -> int:
        return t[0] * n + t[1] * b + t[2]

    for n, b in itertools.product(range(8), range(1, 8)):
        if all(value(fact, n, b) >= 0 for fact in facts):
            assert value(goal, n, b) >= 0


def test_equality_and_conjunction() -> None:
    assert provable(equal(N, B), [at_most(N, B), at_most(B, N)])
    assert provable(conj([less(LANE, B), at_most(ZERO, PID)]))
