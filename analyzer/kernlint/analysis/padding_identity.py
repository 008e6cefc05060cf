"""What padded lanes must hold so that a reduction over them gives the same result as without them."""

from __future__ import annotations

import math

from kernlint.ir.types import TypeClass
from kernlint.ir.value import Value

# A fill this small changes no sum that anyone looks at.
NEGLIGIBLE = 1e-6

_IDENTITIES = {
    "sum": "0", "prod": "1", "max": "-inf", "argmax": "-inf", "min": "+inf", "argmin": "+inf",
    "or": "0", "xor": "0", "and": "all ones",
}  # fmt: skip
_DEPTH = 12


def needed_identity(operation: str) -> str | None:
    """The identity as people write it, or None when the operation's is not known."""
    return _IDENTITIES.get(operation)


def is_identity(operation: str, fill: float, operand: Value | None) -> bool:
    """Whether padded lanes holding `fill` leave the result alone.

    `operand` is the value being reduced; when it can never be negative, 0 is as good as -inf for a maximum.
    """
    if math.isnan(fill):
        return False
    if operation == "sum":
        return abs(fill) <= NEGLIGIBLE
    if operation == "prod":
        return fill == 1
    if operation in ("or", "xor"):
        return fill == 0
    if operation == "and":
        return fill != 0
    if operation in ("max", "argmax"):
        return fill < 0 or (fill == 0 and operand is not None and never_negative(operand))
    if operation in ("min", "argmin"):
        return fill > 0 or (fill == 0 and operand is not None and never_positive(operand))
    return True


def never_negative(value: Value, depth: int = _DEPTH) -> bool:
    """Whether the value is at least 0 whatever the data: absolute values, squares, exponentials, unsigned integers."""
    if value.dtype is not None and value.dtype.kind in (TypeClass.UINT, TypeClass.BOOL):
        return True
    if value.cond is not None or depth == 0:
        return value.cond is not None
    op, args = value.op, value.args
    if op == "const":
        number = value.attrs.get("value")
        return isinstance(number, int | float) and number >= 0
    if op in ("abs", "exp", "exp2", "sqrt", "rsqrt", "sigmoid", "relu", "cmp"):
        return True
    if op == "call":
        return str(value.attrs.get("name", "")).rsplit(".", 1)[-1] in {"fabs", "abs", "softplus", "fabsf", "expf"}
    if op == "mul" and len(args) == 2 and same_value(args[0], args[1]):
        return True
    if op in ("add", "mul", "div", "min", "floordiv", "join"):
        return all(never_negative(arg, depth - 1) for arg in args)
    if op == "max":
        return any(never_negative(arg, depth - 1) for arg in args)
    if op == "where":
        return all(never_negative(arg, depth - 1) for arg in args[1:])
    if op == "reduce":
        positive = value.attrs.get("op") in ("sum", "max", "min", "prod")
        return value.attrs.get("op") in ("argmax", "argmin") or (positive and never_negative(args[0], depth - 1))
    if op in ("cast", "broadcast", "expand", "reshape", "trans", "full", "shuffle", "sort"):
        return bool(args) and never_negative(args[0], depth - 1)
    if op == "carry":
        return len(args) > 1 and all(_inductively(arg, value, depth - 1) for arg in args)
    return op == "arange"


def _inductively(value: Value, carry: Value, depth: int) -> bool:
    """`carry` stays non-negative if it was: value is non-negative assuming carry is."""
    if value is carry:
        return True
    if value.op in ("add", "max", "mul", "cast", "join", "where", "min") and depth > 0:
        parts = value.args[1:] if value.op == "where" else value.args
        return all(_inductively(arg, carry, depth - 1) for arg in parts) or (
            value.op == "max" and any(_inductively(arg, carry, depth - 1) for arg in parts)
        )
    return never_negative(value, depth)


def never_positive(value: Value) -> bool:
    if value.op == "neg":
        return never_negative(value.args[0])
    if value.op in ("cast", "broadcast", "expand", "reshape") and value.args:
        return never_positive(value.args[0])
    return False


def same_value(a: Value, b: Value) -> bool:
    """Whether two values are one, seen through conversions."""
    while a.op == "cast" and a.args:
        a = a.args[0]
    while b.op == "cast" and b.args:
        b = b.args[0]
    return a is b


_MAGNITUDES = ("abs", "amax", "absmax", "scale", "norm", "len", "count", "size", "prob", "exp", "dist", "sampling")


def is_magnitude_name(name: str) -> bool:
    return any(part in name.lower() for part in _MAGNITUDES)


def magnitude_by_name(*values: Value | None) -> bool:
    """Whether a name suggests what cannot be negative: lengths, counts, norms, scales, probabilities."""
    for value in values:
        if value is None:
            continue
        while value.op in ("cast", "broadcast", "expand") and value.args:
            value = value.args[0]
        access = value.access
        names = [value.name, access.buffer.name if access is not None and access.buffer is not None else ""]
        if any(is_magnitude_name(name) for name in names):
            return True
    return False
