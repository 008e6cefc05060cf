"""The lattice of lane states, checked against concrete lanes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernlint.analysis.padding_fold import fold_binary, fold_unary, join
from kernlint.analysis.padding_identity import is_identity
from kernlint.analysis.padding_state import (
    DATA,
    UNIFORM,
    Lane,
    LaneState,
    constant,
    holds_outside,
    implies,
    is_upper_bound,
    lane_dims,
    renumber,
)
from kernlint.ir.condition import Condition, conj, less, negate
from kernlint.ir.expr import Axis, AxisKind, Expr, axis_expr, const, param
from kernlint.ir.value import Value


def lane(dim: int = -1, size: str = "BLOCK") -> Expr:
    return axis_expr(Axis(AxisKind.LANE, f"l{dim}:{param(size).key}", f"lane{dim}", param(size), dim))


LOAD = Value("load")
UNDEFINED = LaneState(Lane.UNDEFINED, origin=LOAD)


def op(name: str, **attrs: object) -> Value:
    return Value(name, attrs=dict(attrs))


def test_zero_stays_zero_under_any_finite_factor() -> None:
    zero = constant(0.0, LOAD)
    assert fold_binary("mul", zero, UNIFORM, op("mul")).is_zero
    assert fold_binary("mul", DATA, zero, op("mul")).is_zero
    assert fold_binary("div", zero, UNIFORM, op("div")).is_zero


def test_zero_is_moved_by_a_uniform_shift() -> None:
    shift = op("sub")
    moved = fold_binary("sub", constant(0.0, LOAD), UNIFORM, shift)
    assert moved.kind is Lane.MOVED
    assert moved.mover is shift
    assert moved.fill == 0.0
    assert fold_binary("mul", moved, constant(0.0, LOAD), op("mul")).is_zero


def test_minus_infinity_survives_shift_and_scale_and_its_exponential_is_zero() -> None:
    state = constant(-math.inf, LOAD)
    state = fold_binary("mul", state, UNIFORM, op("mul"))
    state = fold_binary("sub", state, UNIFORM, op("sub"))
    assert state.value == -math.inf
    assert fold_unary("exp", state, op("exp")).is_zero


def test_undefined_spreads_and_remembers_a_zero_factor() -> None:
    assert fold_binary("add", UNDEFINED, UNIFORM, op("add")).kind is Lane.UNDEFINED
    product = fold_binary("mul", constant(0.0), UNDEFINED, op("mul"))
    assert product.kind is Lane.UNDEFINED
    assert product.zeroed


def test_a_literal_shift_of_a_known_fill_stays_known() -> None:
    state = fold_binary("add", constant(0.0, LOAD), constant(1.0), op("add"))
    assert (state.kind, state.value, state.fill) == (Lane.CONST, 1.0, 0.0)


def test_joining_keeps_what_both_sides_agree_on() -> None:
    assert join(constant(0.0), constant(0.0, LOAD)) == constant(0.0, LOAD)
    assert join(constant(0.0), UNDEFINED).kind is Lane.UNDEFINED
    assert join(constant(0.0), constant(1.0)).kind is Lane.UNKNOWN


UNARY = {"neg": np.negative, "abs": np.abs, "exp": np.exp, "sqrt": np.sqrt, "exp2": np.exp2, "floor": np.floor,
         "log": np.log, "tanh": np.tanh, "sin": np.sin, "cos": np.cos}  # fmt: skip
BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum, "min": np.minimum}
fills = st.sampled_from([0.0, 1.0, -1.0, 2.5, -math.inf, math.inf, 1e-3])


@given(st.sampled_from(sorted(UNARY)), fills)
def test_known_lanes_fold_like_numpy(name: str, fill: float) -> None:
    with np.errstate(all="ignore"):
        expected = float(UNARY[name](np.float64(fill)))
    folded = fold_unary(name, constant(fill, LOAD), op(name))
    assert folded.value is not None
    assert folded.value == pytest.approx(expected, nan_ok=True)


@given(st.sampled_from(sorted(BINARY)), fills, fills)
def test_known_pairs_fold_like_numpy(name: str, a: float, b: float) -> None:
    with np.errstate(all="ignore"):
        expected = float(BINARY[name](np.float64(a), np.float64(b)))
    folded = fold_binary(name, constant(a, LOAD), constant(b, LOAD), op(name))
    assert folded.value is not None
    assert folded.value == pytest.approx(expected, nan_ok=True) or (math.isinf(expected) and b == 0)


@given(st.sampled_from(sorted(BINARY)), fills, st.floats(0.5, 8.0), st.booleans())
def test_what_is_claimed_about_a_lane_holds_for_every_positive_operand(
    name: str, fill: float, other: float, swap: bool
) -> None:
    """A CONST claim about `fill op uniform` must be true whatever the uniform value is."""
    a, b = (UNIFORM, constant(fill, LOAD)) if swap else (constant(fill, LOAD), UNIFORM)
    folded = fold_binary(name, a, b, op(name))
    if folded.kind is Lane.CONST:
        x, y = (other, fill) if swap else (fill, other)
        with np.errstate(all="ignore"):
            assert float(BINARY[name](np.float64(x), np.float64(y))) == pytest.approx(folded.value, nan_ok=True)


@pytest.mark.parametrize(
    ("operation", "good", "bad"),
    [
        ("sum", 0.0, 1.0),
        ("prod", 1.0, 0.0),
        ("max", -math.inf, 0.0),
        ("min", math.inf, 0.0),
        ("max", -1e9, 5.0),
        ("and", 1.0, 0.0),
        ("or", 0.0, 1.0),
    ],
)
def test_identities(operation: str, good: float, bad: float) -> None:
    assert is_identity(operation, good, None)
    assert not is_identity(operation, bad, None)


def test_zero_serves_a_maximum_of_what_is_never_negative() -> None:
    x = Value("load")
    assert is_identity("max", 0.0, Value("abs", (x,)))
    assert is_identity("max", 0.0, Value("mul", (x, x)))
    assert is_identity(
        "max", 0.0, Value("where", (Value("cmp"), Value("exp", (x,)), Value("const", attrs={"value": 0})))
    )
    assert not is_identity("max", 0.0, Value("add", (x, Value("abs", (x,)))))


bounds = st.integers(-4, 4)


@given(bounds, bounds, st.integers(0, 12))
def test_implication_is_sound(first: int, second: int, where: int) -> None:
    n = param("n")
    a, b = less(lane() + const(first), n), less(lane() + const(second), n)
    for size in range(12):
        holds_a, holds_b = where + first < size, where + second < size
        if implies(a, b) and holds_a:
            assert holds_b
        if holds_outside(a, b) and not holds_a:
            assert holds_b


def test_a_stronger_mask_is_recognised() -> None:
    n = param("n")
    inner, outer = less(lane() + 1, n), less(lane(), n)
    assert implies(inner, outer)
    assert not implies(outer, inner)
    assert implies(conj((inner, less(param("m"), n))), outer)
    assert holds_outside(outer, negate(outer))


def test_bounds_above_and_below_are_told_apart() -> None:
    n = param("n")
    assert is_upper_bound(less(lane(), n))
    assert not is_upper_bound(less(n, lane()))


def test_moving_a_dimension_renames_its_axis() -> None:
    condition: Condition = less(lane(), param("n"))
    moved = renumber(condition, {-1: -2})
    assert lane_dims(moved) == {"-2"}
    assert moved == less(lane(-2), param("n"))
    assert renumber(moved, {-2: -1}) == condition
