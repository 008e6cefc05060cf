"""Operators: integer meaning, type promotion, comparisons, truth.

Promotion follows Triton's `computation_type` (python/triton/language/semantic.py): Python numbers adapt to the tensor
they meet, half stays half except under division, bfloat16 stays bfloat16 only with itself.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from kernlint.ir import arith
from kernlint.ir.condition import FALSE, TRUE, Condition, conj, disj, equals_zero, flag, negate
from kernlint.ir.expr import ONE, Expr, const
from kernlint.ir.types import BFLOAT16, BOOL, FLOAT16, FLOAT32, FLOAT64, INT32, INT64, ElementType, TypeClass
from kernlint.ir.value import Value
from kernlint.lift.triton.shapes import broadcast
from kernlint.lift.triton.state import data
from kernlint.lift.triton.things import Static, Thing

if TYPE_CHECKING:
    from kernlint.lift.triton.state import Node, State

NAMES: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "shl",
    ast.RShift: "shr",
    ast.Pow: "pow",
    ast.MatMult: "dot",
}
MAX_BITS = 512  # of a constant that is still computed with
MAX_TEXT = 1000
_DIVISIONS = ("div", "mod", "floordiv")


def is_static(value: Value) -> bool:
    """Whether it is a compile-time Python number, which adapts to the type it meets."""
    return bool(value.attrs.get("constexpr"))


def number(thing: Thing | None) -> int | float | None:
    """The Python number, if it is a literal."""
    if isinstance(thing, Value) and thing.op == "const":
        value = thing.attrs.get("value")
        return value if isinstance(value, (int, float)) else None
    return None


def promote(a: Value, b: Value, op: str) -> tuple[ElementType | None, bool]:
    """(element type, polymorphic) of an arithmetic result."""
    if op == "div" and _integral(a) and _integral(b):
        return FLOAT32, False
    if is_static(a) != is_static(b):
        literal, tensor = (a, b) if is_static(a) else (b, a)
        return _adapt(literal.dtype, tensor, op)
    x, y = a.dtype, b.dtype
    if x is None or y is None:
        known = x or y
        if is_static(a):
            return (FLOAT32 if known is not None and known.is_float else None), False
        if known is not None and known in (FLOAT32, FLOAT64):
            return known, False
        unknown = a if x is None else b
        return None, unknown.polymorphic or (a.polymorphic or b.polymorphic)
    return _join_types(x, y, op), a.polymorphic or b.polymorphic


def _integral(value: Value) -> bool:
    return value.dtype is not None and not value.dtype.is_float and value.dtype.kind is not TypeClass.POINTER


def _adapt(literal: ElementType | None, tensor: Value, op: str) -> tuple[ElementType | None, bool]:
    kind = tensor.dtype
    if kind is None:
        return None, tensor.polymorphic
    if op in _DIVISIONS and kind in (FLOAT16, BFLOAT16):
        return FLOAT32, False
    if literal is None or not literal.is_float:
        # A Python integer takes an integer's type; a bool becomes an int32.
        return (INT32 if kind is BOOL and literal is not BOOL else kind), tensor.polymorphic
    return (kind if kind.is_float else FLOAT32), tensor.polymorphic


def _join_types(x: ElementType, y: ElementType, op: str) -> ElementType:
    for wide in (FLOAT64, FLOAT32):
        if wide in (x, y):
            return wide
    if FLOAT16 in (x, y):
        return FLOAT32 if op in _DIVISIONS else FLOAT16
    if x is BFLOAT16 and y is BFLOAT16:
        return FLOAT32 if op in _DIVISIONS else BFLOAT16
    if BFLOAT16 in (x, y):
        return FLOAT32
    if x.is_float or y.is_float:
        return x if x == y else FLOAT16
    if x == y:
        return x
    if x.bits == y.bits:
        return x if x.kind is TypeClass.UINT else y if y.kind is TypeClass.UINT else x
    return x if x.bits > y.bits else y


def binary(state: State, op: str, left: Thing, right: Thing, node: Node) -> Thing:
    """`left op right` for the operators of `NAMES` and `min`/`max`."""
    if isinstance(left, tuple) or isinstance(right, tuple):
        return _sequences(state, op, left, right, node)
    if isinstance(left, Static) and isinstance(right, Static):
        joined = f"{left.value}{right.value}" if op == "add" else ""
        return Static(joined if len(joined) <= MAX_TEXT else None)
    a, b = state.as_value(left, node), state.as_value(right, node)
    x, y = number(a), number(b)
    if x is not None and y is not None:
        if _is_huge(x) or _is_huge(y):
            return state.opaque("huge constant", node, (a, b))
        folded = _fold(op, x, y)
        if folded is not None:
            return state.constant(folded, node)
    shape = broadcast(a.shape, b.shape)
    if op in ("and", "or", "xor") and a.cond is not None and b.cond is not None:
        return state.value(op, (a, b), node=node, dtype=BOOL, shape=shape, cond=_logic(op, a.cond, b.cond))
    if op == "mul" and a.dtype is BOOL and b.dtype is BOOL and a.cond is not None and b.cond is not None:
        return state.value(op, (a, b), node=node, dtype=BOOL, shape=shape, cond=conj((a.cond, b.cond)))
    dtype, polymorphic = promote(a, b, op)
    expr = None
    if dtype is None or not dtype.is_float:
        expr = integer_meaning(op, as_integer(a), as_integer(b))
    made = state.value(op, (a, b), node=node, dtype=dtype, shape=shape, expr=expr, polymorphic=polymorphic)
    if is_static(a) and is_static(b):
        made.attrs["constexpr"] = True
    elif dtype is not None and not dtype.is_float and expr is None:
        made.expr = data(op, made.ordinal, shape)
    return made


def as_integer(value: Value) -> Expr | None:
    """Its integer meaning; a truth value counts 0 or 1."""
    if value.expr is None and value.cond is not None:
        return arith.select(value.cond, ONE, const(0))
    return value.expr


def integer_meaning(op: str, a: Expr | None, b: Expr | None) -> Expr | None:
    if a is None or b is None:
        return None
    if op == "add":
        return a + b
    if op == "sub":
        return a - b
    if op == "mul":
        return a * b
    if op in ("floordiv", "mod"):
        if b.constant == 0:
            return None
        return arith.floordiv(a, b) if op == "floordiv" else arith.mod(a, b)
    maker = _MAKERS.get(op)
    if maker is not None:
        return maker(a, b)
    if op == "pow" and a.constant == 2:
        return arith.shl(ONE, b)
    if op == "pow" and b.constant is not None and 0 <= b.constant <= 4:
        result = ONE
        for _ in range(b.constant):
            result = result * a
        return result
    return None


_MAKERS = {
    "and": arith.bitand,
    "or": arith.bitor,
    "xor": arith.xor,
    "shl": arith.shl,
    "shr": arith.shr,
    "min": arith.minimum,
    "max": arith.maximum,
}


def _logic(op: str, a: Condition, b: Condition) -> Condition:
    if op == "and":
        return conj((a, b))
    if op == "or":
        return disj((a, b))
    return disj((conj((a, negate(b))), conj((negate(a), b))))


def _fold(op: str, x: float, y: float) -> int | float | None:
    try:
        if op == "add":
            return x + y
        if op == "sub":
            return x - y
        if op == "mul":
            return x * y
        if op == "div":
            return x / y
        if op == "floordiv":
            return x // y
        if op == "mod":
            return x % y
        if op == "pow":
            return x**y if abs(y) <= 64 and abs(x) <= 2**16 else None
        if op == "min":
            return min(x, y)
        if op == "max":
            return max(x, y)
        if isinstance(x, int) and isinstance(y, int):
            if op == "and":
                return x & y
            if op == "or":
                return x | y
            if op == "xor":
                return x ^ y
            if op in ("shl", "shr") and 0 <= y < 128:
                return x << y if op == "shl" else x >> y
    except (ArithmeticError, ValueError, TypeError):
        return None
    return None


def _is_huge(x: float) -> bool:
    return isinstance(x, int) and x.bit_length() > MAX_BITS


def _sequences(state: State, op: str, left: Thing, right: Thing, node: Node) -> Thing:
    if op == "add" and isinstance(left, tuple) and isinstance(right, tuple) and len(left) + len(right) <= 64:
        return left + right
    items, times = (left, number(right)) if isinstance(left, tuple) else (right, number(left))
    if op == "mul" and isinstance(items, tuple) and isinstance(times, int) and 0 <= times * len(items) <= 64:
        return items * times
    return state.opaque("arithmetic on a sequence", node)


def unary(state: State, op: str, operand: Thing, node: Node) -> Thing:
    """`neg`, `not` (also `~`), `pos`."""
    if op == "not" and not isinstance(operand, Value):
        condition = negate(truth(state, operand, node))
        return state.value("not", node=node, dtype=BOOL, cond=condition, attrs={"constexpr": True})
    x = state.as_value(operand, node)
    known = number(x)
    if op == "pos":
        return x
    if op == "neg":
        if known is not None:
            return state.constant(-known, node)
        source = as_integer(x) if x.dtype is None or not x.dtype.is_float else None
        made = state.value(
            "neg", (x,), node=node, dtype=x.dtype, shape=x.shape, polymorphic=x.polymorphic,
            expr=-source if source is not None else None,
        )  # fmt: skip
        if is_static(x):
            made.attrs["constexpr"] = True
        return made
    attrs = {"constexpr": True} if is_static(x) else {}
    return state.value(
        "not", (x,), node=node, dtype=BOOL, shape=x.shape, cond=negate(truth(state, x, node)), attrs=attrs
    )


def invert(state: State, operand: Thing, node: Node) -> Thing:
    """`~x`: logical on truth values, bitwise on integers."""
    x = state.as_value(operand, node)
    if x.cond is not None and x.expr is None:
        return state.value("not", (x,), node=node, dtype=BOOL, shape=x.shape, cond=negate(x.cond))
    known = number(x)
    if isinstance(known, int):
        return state.constant(~known, node)
    expr = -x.expr - ONE if x.expr is not None else None
    condition = negate(truth(state, x, node))
    return state.value(
        "not", (x,), node=node, dtype=x.dtype, shape=x.shape, expr=expr, cond=condition, polymorphic=x.polymorphic
    )


def truth(state: State, thing: Thing | None, node: Node) -> Condition:
    """When it counts as true."""
    if thing is None:
        return FALSE
    if isinstance(thing, Static):
        return TRUE if thing.value else FALSE
    if isinstance(thing, tuple):
        return TRUE if thing else FALSE
    if not isinstance(thing, Value):
        return TRUE
    if thing.cond is not None:
        return thing.cond
    known = number(thing)
    if known is not None:
        return TRUE if known else FALSE
    if thing.op == "param" and is_static(thing):
        return flag(str(thing.attrs["name"]))
    if thing.expr is not None and (thing.dtype is None or not thing.dtype.is_float):
        return negate(equals_zero(thing.expr))
    return flag(f"%{thing.ordinal} != 0#{thing.ordinal}")


def widest_index(value: Value) -> ElementType:
    """int64 when the value is, else int32: for counters made from it."""
    return INT64 if value.dtype is INT64 else INT32
