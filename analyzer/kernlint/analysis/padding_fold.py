"""Elementwise operations on lane states: 0 times anything finite is 0, exp(-inf) is 0, 0 minus a mean is not 0."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from kernlint.analysis.padding_state import DATA, UNIFORM, UNKNOWN, Lane, LaneState
from kernlint.ir.value import Value

_INF = math.inf
# After these a number moved by an unknown amount may be back where it was: `(0 + B - 1) // B` is 0.
_ROUNDING = {"cmp", "floordiv", "mod", "shr", "shl", "and", "or", "xor", "pow"}


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else _INF


def _exp2(x: float) -> float:
    return 2.0**x if x < 1000 else _INF


def _log(x: float) -> float:
    if x == 0:
        return -_INF
    return math.log(x) if x > 0 else math.nan


def _log2(x: float) -> float:
    if x == 0:
        return -_INF
    return math.log2(x) if x > 0 else math.nan


def _rsqrt(x: float) -> float:
    if x == 0:
        return _INF
    return 1 / math.sqrt(x) if x > 0 else math.nan


def _sigmoid(x: float) -> float:
    return 1 / (1 + _exp(-x))


def _integral(fn: Callable[[float], int]) -> Callable[[float], float]:
    return lambda x: float(fn(x)) if math.isfinite(x) else x


UNARY: dict[str, Callable[[float], float]] = {
    "neg": lambda x: -x,
    "not": lambda x: float(not x),
    "abs": abs,
    "exp": _exp,
    "exp2": _exp2,
    "log": _log,
    "log2": _log2,
    "sqrt": lambda x: math.sqrt(x) if x >= 0 else math.nan,
    "rsqrt": _rsqrt,
    "sin": lambda x: math.sin(x) if math.isfinite(x) else math.nan,
    "cos": lambda x: math.cos(x) if math.isfinite(x) else math.nan,
    "tanh": math.tanh,
    "sigmoid": _sigmoid,
    "erf": math.erf,
    "floor": _integral(math.floor),
    "ceil": _integral(math.ceil),
    "relu": lambda x: max(x, 0.0),
}


def _divide(a: float, b: float) -> float:
    if b == 0:
        return math.nan if a == 0 or math.isnan(a) else math.copysign(_INF, a)
    return a / b


def _times(a: float, b: float) -> float:
    return a * b


def _compare(op: str, a: float, b: float) -> float:
    outcomes = {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b, "!=": a != b}
    return float(outcomes[op])


BINARY: dict[str, Callable[[float, float], float]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": _times,
    "div": _divide,
    "max": max,
    "min": min,
    "and": lambda a, b: float(int(a) & int(b)),
    "or": lambda a, b: float(int(a) | int(b)),
    "xor": lambda a, b: float(int(a) ^ int(b)),
}


def fold_unary(op: str, x: LaneState, value: Value) -> LaneState:
    if x.kind is not Lane.CONST or x.value is None:
        return x
    function = UNARY.get(op)
    try:
        return x.with_value(function(x.value), value) if function is not None else UNKNOWN
    except (ValueError, OverflowError, ZeroDivisionError):
        return UNKNOWN


def fold_binary(op: str, a: LaneState, b: LaneState, value: Value) -> LaneState:
    """The state of a lane in which the operands are in states `a` and `b`.  `op` is an IR operation; for `cmp` the
    comparison is taken from the value."""
    if Lane.UNDEFINED in (a.kind, b.kind):
        return _undefined(op, a, b)
    if a.kind is Lane.CONST and b.kind is Lane.CONST:
        return _both_known(op, a, b, value)
    if op in ("mul", "and") and (a.is_zero or b.is_zero):
        return a if a.is_zero else b
    if Lane.UNKNOWN in (a.kind, b.kind):
        return UNKNOWN
    if a.maybe and b.maybe:
        return UNKNOWN  # moved by opposite arms, for all that is known
    if a.kind is Lane.CONST:
        return _known_left(op, a, b, value)
    if b.kind is Lane.CONST:
        return _known_right(op, a, b, value)
    if Lane.MOVED in (a.kind, b.kind):
        if op in _ROUNDING or Lane.DATA in (a.kind, b.kind):
            return UNKNOWN
        return a if a.kind is Lane.MOVED else b
    return DATA if Lane.DATA in (a.kind, b.kind) else UNIFORM


def _undefined(op: str, a: LaneState, b: LaneState) -> LaneState:
    bad, other = (a, b) if a.kind is Lane.UNDEFINED else (b, a)
    if op == "mul" and other.is_zero:
        return replace(bad, zeroed=True)
    if op == "and" and other.is_zero:
        return other
    if op == "or" and other.kind is Lane.CONST and other.value:
        return other
    # Padded by a condition of its own, the other factor may well be zero there.
    return replace(bad, maybe=True) if op == "mul" and other.kind is Lane.UNKNOWN else bad


def _both_known(op: str, a: LaneState, b: LaneState, value: Value) -> LaneState:
    if a.value is None or b.value is None:
        return UNKNOWN
    # Provenance follows the operand that was filled, not a literal.
    lead = a if a.origin is not None or b.origin is None else b
    try:
        if op == "cmp":
            return lead.with_value(_compare(str(value.attrs.get("op", "")), a.value, b.value), value)
        function = BINARY.get(op)
        if function is not None:
            return lead.with_value(function(a.value, b.value), value)
        if op == "pow":
            return lead.with_value(float(a.value**b.value), value)
    except (KeyError, ValueError, OverflowError, ZeroDivisionError, TypeError):
        return UNKNOWN
    return UNKNOWN


def _known_left(op: str, a: LaneState, b: LaneState, value: Value) -> LaneState:
    """a is a known number, b uniform, moved or data."""
    if a.is_zero and op in ("div", "floordiv", "shl", "shr"):
        return a
    if a.is_zero and op == "pow":
        return a
    if op in _ROUNDING and op != "cmp":
        return UNKNOWN
    if op == "cmp":
        return _compare_infinite(str(value.attrs.get("op", "")), a, value)
    return _mixed(op, a, b, value)


def _known_right(op: str, a: LaneState, b: LaneState, value: Value) -> LaneState:
    """b is a known number, a uniform, moved or data."""
    if op in _ROUNDING and op != "cmp":
        return UNKNOWN
    if op == "cmp":
        mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
        return _compare_infinite(mirrored.get(str(value.attrs.get("op", "")), ""), b, value)
    if op == "sub" and b.is_far_out and b.value is not None:
        return b.with_value(-b.value, value)
    if op == "div":
        if b.is_infinite:
            return b.with_value(0.0, value)
        if b.is_zero:
            return UNKNOWN
        return _moved(b, a, value)
    return _mixed(op, b, a, value)


def _mixed(op: str, known: LaneState, other: LaneState, value: Value) -> LaneState:
    if known.is_far_out and op in ("add", "sub"):
        return known
    if known.is_infinite:
        if op in ("mul", "div"):
            # A scale is positive; a scale that is not would be flagged by its own effect.
            return known if other.kind is Lane.UNIFORM else UNKNOWN
        if op in ("max", "min"):
            absorbs = (op == "max") == ((known.value or 0) > 0)
            if absorbs:
                return known
    if op in ("add", "sub", "mul", "div", "max", "min"):
        return _moved(known, other, value)
    return UNKNOWN


def _moved(known: LaneState, other: LaneState, value: Value) -> LaneState:
    if other.kind is Lane.MOVED:
        return other
    if known.origin is None:
        return other  # a literal moves nothing: data stay data
    return known.moved_by(value) if other.kind is Lane.UNIFORM else UNKNOWN


def _compare_infinite(op: str, known: LaneState, value: Value) -> LaneState:
    """A comparison of infinity with something finite is decided."""
    if not known.is_infinite or known.value is None or op not in ("<", "<=", ">", ">="):
        return UNKNOWN
    return known.with_value(float((known.value < 0) == (op in ("<", "<="))), value)


def join(a: LaneState, b: LaneState) -> LaneState:
    """Either of the two: after a branch, or the arms of a select nothing is known about."""
    if a == b:
        return a
    if a.kind is Lane.UNDEFINED:
        return a
    if b.kind is Lane.UNDEFINED:
        return b
    if a.kind is Lane.CONST and b.kind is Lane.CONST and a.value == b.value:
        return a if a.origin is not None else b
    if a.kind is Lane.MOVED and b.kind is Lane.MOVED:
        return a
    moved, other = (a, b) if a.kind is Lane.MOVED else (b, a)
    if moved.kind is Lane.MOVED and other.kind is Lane.CONST and not moved.maybe:
        # Moved where the branch is taken.  A second branch that undoes it is likely to be the same one again.
        return replace(moved, maybe=True)
    return UNKNOWN
