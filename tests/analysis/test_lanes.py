"""Vectorised evaluation against a plain Python loop over threads."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kernlint.analysis.lanes import Block, Evaluator, spread, spread_lanes
from kernlint.ir import arith
from kernlint.ir.condition import Condition, Connective, conj, disj, equal, flag, less, negate
from kernlint.ir.expr import (
    Atom,
    AtomKind,
    Axis,
    AxisKind,
    Expr,
    axis_expr,
    const,
    launch_dim,
    loaded,
    opaque,
    param,
)

T0, T1 = (axis_expr(Axis(AxisKind.LANE, f"t{i}", f"threadIdx.{'xy'[i]}", None, i, True)) for i in range(2))
BD0 = launch_dim("bd", 0, "blockDim.x")
N = param("n")
LEAVES = [T0, T1, BD0, N, const(3), const(16), const(1)]


def combine(children: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    pairs = st.tuples(children, children)
    divisors = st.sampled_from([const(2), const(5), const(32), BD0])
    return st.one_of(
        pairs.map(lambda p: p[0] + p[1]),
        pairs.map(lambda p: p[0] - p[1]),
        pairs.map(lambda p: p[0] * p[1]),
        pairs.map(lambda p: arith.minimum(*p)),
        pairs.map(lambda p: arith.maximum(*p)),
        pairs.map(lambda p: arith.xor(*p)),
        st.tuples(children, divisors).map(lambda p: arith.floordiv(*p)),
        st.tuples(children, divisors).map(lambda p: arith.mod(*p)),
        st.tuples(children, children, children).map(lambda p: arith.select(less(p[0], p[1]), p[1], p[2])),
    )


EXPRESSIONS = st.recursive(st.sampled_from(LEAVES), combine, max_leaves=6)
CONDITIONS = st.tuples(EXPRESSIONS, EXPRESSIONS, EXPRESSIONS).map(
    lambda e: disj([conj([less(e[0], e[1]), negate(equal(e[1], e[2]))]), less(e[2], e[0])])
)


def by_hand(expr: Expr, env: dict[str, int]) -> int:
    """The meaning of a normal form for one thread."""
    total = 0
    for mono, coeff in expr.terms:
        for atom in mono:
            coeff *= atom_by_hand(atom, env)
        total += coeff
    return total


def atom_by_hand(atom: Atom, env: dict[str, int]) -> int:
    if atom.key in env:
        return env[atom.key]
    if atom.kind is AtomKind.SELECT:
        condition, then, otherwise = atom.args
        assert isinstance(condition, Condition)
        chosen = then if truth_by_hand(condition, env) else otherwise
        assert isinstance(chosen, Expr)
        return by_hand(chosen, env)
    a, b = (by_hand(arg, env) for arg in atom.args if isinstance(arg, Expr))
    table: dict[AtomKind, Any] = {
        AtomKind.FLOORDIV: lambda: a // b,
        AtomKind.MOD: lambda: a % b,
        AtomKind.MIN: lambda: min(a, b),
        AtomKind.MAX: lambda: max(a, b),
        AtomKind.XOR: lambda: a ^ b,
    }
    return int(table[atom.kind]())


def truth_by_hand(condition: Condition, env: dict[str, int]) -> bool:
    if condition.expr is not None:
        value = by_hand(condition.expr, env)
        return value >= 0 if condition.op is Connective.GE else value == 0
    parts = [truth_by_hand(part, env) for part in condition.parts]
    if condition.op is Connective.NOT:
        return not parts[0]
    if condition.op in (Connective.TRUE, Connective.FALSE):
        return condition.op is Connective.TRUE
    return all(parts) if condition.op is Connective.AND else any(parts)


def thread_environments(block: Block, n: int) -> list[dict[str, int]]:
    return [
        {"a:t0": x, "a:t1": y, "a:t2": z, "bd0": block.x, "bd1": block.y, "bd2": block.z, "p:n": n}
        for z in range(block.z)
        for y in range(block.y)
        for x in range(block.x)
    ]


BLOCKS = st.sampled_from([Block(8), Block(5, 3), Block(2, 3, 2), Block(32)])


@settings(max_examples=150, deadline=None)
@given(EXPRESSIONS, BLOCKS, st.integers(0, 200))
def test_integer_is_what_each_thread_computes(expr: Expr, block: Block, n: int) -> None:
    value = Evaluator({**block.environment(), "p:n": n}).integer(expr)
    assert value is not None
    assert spread_lanes(value, block.threads).tolist() == [by_hand(expr, env) for env in thread_environments(block, n)]


@settings(max_examples=100, deadline=None)
@given(CONDITIONS, BLOCKS, st.integers(0, 200))
def test_truth_is_what_each_thread_sees(condition: Condition, block: Block, n: int) -> None:
    must, may = Evaluator({**block.environment(), "p:n": n}).truth(condition)
    expected = [truth_by_hand(condition, env) for env in thread_environments(block, n)]
    assert spread(must, block.threads).tolist() == expected
    assert spread(may, block.threads).tolist() == expected


def test_unknown_parts_have_no_value() -> None:
    at = Evaluator(Block(8).environment())
    assert at.integer(T0 + opaque("x")) is None
    assert at.integer(N) is None
    assert at.integer(loaded(1, "idx", (T0,))) is None


def test_a_flag_may_hold_but_need_not() -> None:
    at = Evaluator(Block(4).environment())
    must, may = at.truth(conj([less(T0, const(2)), flag("f")]))
    assert not np.any(must)
    assert spread(may, 4).tolist() == [True, True, False, False]
    must, may = at.truth(negate(conj([less(T0, const(2)), flag("f")])))
    assert spread(must, 4).tolist() == [False, False, True, True]
    assert np.all(may)


def test_a_load_at_a_uniform_address_is_one_number_for_the_block() -> None:
    at = Evaluator({**Block(4).environment(), "a:g0": 1})
    block_axis = axis_expr(Axis(AxisKind.GRID, "g0", "blockIdx.x", None))
    first, again = at.integer(loaded(3, "start", (block_axis,))), at.integer(loaded(3, "start", (block_axis,)))
    other = at.extended({"a:g0": 2}).integer(loaded(3, "start", (block_axis,)))
    assert isinstance(first, int)
    assert first == again != other
    assert at.used_data


def test_division_by_zero_has_no_value() -> None:
    assert Evaluator({"p:n": 0}).integer(arith.floordiv(const(7), N)) is None


def test_threads_are_shown_as_coordinates() -> None:
    assert Block(128).show(70) == "70"
    assert Block(16, 8).show(35) == "(3, 2)"
    assert Block(4, 4, 2).show(17) == "(1, 0, 1)"


def test_threads_are_numbered_with_x_fastest() -> None:
    coordinates = Block(3, 2, 2).coordinates
    assert coordinates["a:t0"].tolist() == [0, 1, 2] * 4
    assert coordinates["a:t1"].tolist() == [0, 0, 0, 1, 1, 1] * 2
    assert coordinates["a:t2"].tolist() == [0] * 6 + [1] * 6
