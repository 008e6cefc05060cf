"""Values after a branch: one of two, by its condition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernlint.ir import arith
from kernlint.ir.condition import Condition, conj, disj, negate
from kernlint.ir.types import BOOL
from kernlint.ir.value import Pointer, Value
from kernlint.lift.cuda.device_machine import Machine, object_of, pointee
from kernlint.lift.cuda.device_types import common

if TYPE_CHECKING:
    pass


MAX_ALTERNATIVES = 4  # buffers one pointer may point into


def join(m: Machine, condition: Condition, a: Value, b: Value, test: Value | None, op: str = "join") -> Value:
    """The value after a branch: `a` where `condition` held, `b` elsewhere."""
    dtype = a.dtype if a.dtype == b.dtype else common(a.dtype, b.dtype)
    attrs = {"condition": condition}
    args = (a, b) if op == "join" or test is None else (test, a, b)
    if a.pointer is not None and b.pointer is not None:
        return _join_pointers(m, condition, a, b, args, op)
    obj_a, obj_b = object_of(a), object_of(b)
    if obj_a is not None and obj_a is obj_b:
        return a
    expr, cond = None, None
    if a.dtype is BOOL and b.dtype is BOOL:
        x, y = m.cond_of(a), m.cond_of(b)
        cond = x if x == y else disj((conj((condition, x)), conj((negate(condition), y))))
    elif dtype is None or not dtype.is_float:
        if a.expr is not None and b.expr is not None:
            expr = arith.select(condition, a.expr, b.expr)
        elif dtype is not None:
            expr = m.opaque_expr("joined")
    made: Value
    either = obj_a or obj_b
    if either is not None:
        both = m.new_object(either.ctype, "?")
        if obj_a is not None and obj_b is not None and not obj_a.role and obj_a.function is None:
            both.choice = (condition, obj_a, obj_b, test)
        made = m.typed(op, args, None, ctype=either.ctype, dtype=dtype, expr=expr, obj=both)
    else:
        made = m.value(op, args, dtype, None, expr, cond, attrs)
    made.name = a.name or b.name
    made.span = test.span if test is not None else a.span
    return made


def _leaves(value: Value) -> int:
    alternatives = value.attrs.get("alternatives")
    return sum(_leaves(choice) for _, choice in alternatives) if alternatives else 1


def _join_pointers(m: Machine, condition: Condition, a: Value, b: Value, args: tuple[Value, ...], op: str) -> Value:
    assert a.pointer is not None
    assert b.pointer is not None
    x, y = a.pointer, b.pointer
    ctype = pointee(a)
    made = m.typed(op, args, None, ctype=ctype, dtype=a.dtype if a.dtype == b.dtype else None)
    made.attrs["condition"] = condition
    made.name, made.span = a.name or b.name, a.span
    if x.buffer is y.buffer and x.buffer is not None and x.dtype == y.dtype:
        made.pointer = Pointer(x.buffer, arith.select(condition, x.offset, y.offset), x.dtype, (), x.casts)
    elif x.buffer is None and not x.offset.terms:  # nullptr in one arm
        made.pointer = y
    elif y.buffer is None and not y.offset.terms:
        made.pointer = x
    else:
        made.pointer = Pointer(None, m.opaque_expr("one of several buffers"), x.dtype)
        if _leaves(a) + _leaves(b) <= MAX_ALTERNATIVES:
            made.attrs["alternatives"] = ((condition, a), (negate(condition), b))
    if a.expr is not None and b.expr is not None:
        made.expr = arith.select(condition, a.expr, b.expr)
    return made
