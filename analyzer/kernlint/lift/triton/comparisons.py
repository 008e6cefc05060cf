"""Comparisons: of numbers, of types and strings, with None, membership."""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING

from kernlint.ir.condition import FALSE, TRUE, Condition, compare, disj, flag, negate
from kernlint.ir.types import BOOL
from kernlint.ir.value import Value
from kernlint.lift.triton.arithmetic import as_integer, is_static, number, truth
from kernlint.lift.triton.shapes import broadcast
from kernlint.lift.triton.things import DType, Static, Thing

if TYPE_CHECKING:
    from kernlint.lift.triton.state import State

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


def comparison(state: State, op: ast.cmpop, left: Thing, right: Thing, node: ast.expr) -> Thing:
    if isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) or not (
        isinstance(left, Value) and isinstance(right, Value)
    ):
        condition = _identity(state, op, left, right, node)
        return state.value("cmp", _parts(left, right), node=node, dtype=BOOL, cond=condition, attrs={"constexpr": True})
    sign = _COMPARISONS[type(op)]
    x, y = number(left), number(right)
    if x is not None and y is not None:
        return state.constant(_decide(sign, x, y), node)
    shape = broadcast(left.shape, right.shape)
    static = is_static(left) and is_static(right)
    made = state.value("cmp", (left, right), node=node, dtype=BOOL, shape=shape, attrs={"op": sign})
    if static:
        made.attrs["constexpr"] = True
    made.cond = _meaning(state, sign, left, right, node, made.ordinal)
    return made


def _parts(left: Thing, right: Thing) -> tuple[Value, ...]:
    return tuple(item for item in (left, right) if isinstance(item, Value))


def _decide(sign: str, x: float, y: float) -> bool:
    if sign in ("==", "!="):
        return (x == y) is (sign == "==")
    if math.isnan(x) or math.isnan(y):
        return False
    return {"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[sign]


def _meaning(state: State, sign: str, a: Value, b: Value, node: ast.expr, ordinal: int) -> Condition:
    for value, other in ((a, b), (b, a)):
        # `FLAG == True` and friends are the flag itself
        known = other.attrs.get("value") if other.op == "const" else None
        if isinstance(known, bool) and sign in ("==", "!="):
            condition = truth(state, value, node)
            return condition if known is (sign == "==") else negate(condition)
    floating = any(v.dtype is not None and v.dtype.is_float for v in (a, b))
    x, y = (None, None) if floating else (as_integer(a), as_integer(b))
    if x is None or y is None:
        return flag(f"{state.code(node)}#{ordinal}")
    return compare(sign, x, y)


def _identity(state: State, op: ast.cmpop, left: Thing, right: Thing, node: ast.expr) -> Condition:
    """`is`, `in`, and comparisons of things that are not numbers."""
    if isinstance(op, (ast.In, ast.NotIn)):
        inside = _membership(state, left, right, node)
        return inside if isinstance(op, ast.In) else negate(inside)
    same = _sameness(state, left, right, node)
    if isinstance(op, (ast.Is, ast.Eq)):
        return same
    if isinstance(op, (ast.IsNot, ast.NotEq)):
        return negate(same)
    return flag(f"{state.code(node)}#{state.next_ordinal()}")


def _sameness(state: State, left: Thing, right: Thing, node: ast.expr) -> Condition:
    for thing, other in ((left, right), (right, left)):
        if isinstance(other, Static):
            if isinstance(thing, Static):
                return TRUE if thing.value == other.value else FALSE
            if isinstance(thing, Value) and (thing.op == "param" or "global" in thing.attrs):
                shown = "None" if other.value is None else f'"{other.value}"'
                return flag(f"{thing.attrs['name']} {'is' if other.value is None else '=='} {shown}")
            if isinstance(thing, Value) and "none_if" in thing.attrs and other.value is None:
                condition = thing.attrs["none_if"]
                return condition if isinstance(condition, Condition) else FALSE
            if other.value is None:
                return TRUE if isinstance(thing, Value) and thing.attrs.get("none") else FALSE
    if isinstance(left, DType) and isinstance(right, DType):
        if left.type is not None and right.type is not None:
            return TRUE if left.type == right.type else FALSE
        if left.like is not None and left.like is right.like:
            return TRUE
        return flag(f"{_dtype_name(left)} == {_dtype_name(right)}")
    if isinstance(left, Value) and isinstance(right, Value):
        if left is right:
            return TRUE
        x, y = number(left), number(right)
        if x is not None and y is not None:
            return TRUE if x == y else FALSE
        return _meaning(state, "==", left, right, node, state.next_ordinal())
    return flag(f"{state.code(node)}#{state.next_ordinal()}")


def _dtype_name(dtype: DType) -> str:
    if dtype.type is not None:
        return dtype.type.name
    if dtype.like is None:
        return "unknown"
    name = dtype.like.attrs.get("name") if dtype.like.op == "param" else None
    return f"{name or f'%{dtype.like.ordinal}'}.dtype"


def _membership(state: State, left: Thing, right: Thing, node: ast.expr) -> Condition:
    if isinstance(right, tuple) and len(right) <= 32:
        return disj(_sameness(state, left, item, node) for item in right)
    if isinstance(left, Static) and isinstance(right, Static) and isinstance(right.value, str):
        return TRUE if str(left.value) in right.value else FALSE
    return flag(f"{state.code(node)}#{state.next_ordinal()}")
