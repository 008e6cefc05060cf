"""Integer functions host code uses to size launches, by name, for when their definition is not at hand."""

from __future__ import annotations

from kernlint.ir import arith
from kernlint.ir.expr import Expr
from kernlint.lift.cuda.host_values import Known

_CEIL_DIV = frozenset(
    {
        "ceildiv",
        "cdiv",
        "divup",
        "divceil",
        "ceilingdiv",
        "ceildivide",
        "idivup",
        "updiv",
        "roundupdiv",
        "divroundup",
        "ceilofdiv",
        "atenceildiv",
        "divideroundup",
        "divideup",
        "fastceildiv",
        "ceildivisor",
        "ceildivconstexpr",
        "ceilquotient",
        "divideceil",
    }
)
_ROUND_UP = frozenset(
    {"roundup", "alignup", "roundupto", "roundtomultiple", "rounduptomultiple", "roundupmultiple", "padup", "alignto"}
)
_ROUND_DOWN = frozenset({"rounddown", "aligndown", "rounddownto"})
_NEXT_POWER = frozenset({"nextpowerof2", "nextpow2", "nextpoweroftwo", "roundupto2power"})


def known_function(name: str, arguments: list[Known]) -> Known | None:
    """The value of a call of a well-known function by its last name component, or None."""
    exprs = [argument.expr for argument in arguments]
    plain = name.replace("_", "").lower()
    if plain in ("ceil", "ceilf") and len(arguments) == 1:
        return _rounded(arguments[0], up=True)
    if plain in ("floor", "floorf", "trunc") and len(arguments) == 1:
        return _rounded(arguments[0], up=False)
    if any(expr is None for expr in exprs) or any(argument.floating for argument in arguments):
        return None
    values = [expr for expr in exprs if expr is not None]
    if plain in ("min", "max", "imin", "imax", "umin", "umax") and values:
        combine = arith.minimum if plain.endswith("min") else arith.maximum
        total = values[0]
        for value in values[1:]:
            total = combine(total, value)
        return Known(expr=total) if len(values) > 1 else None
    if len(values) == 2:
        a, b = values
        if plain in _CEIL_DIV:
            return Known(expr=arith.cdiv(a, b))
        if plain in _ROUND_UP:
            return Known(expr=arith.cdiv(a, b) * b)
        if plain in _ROUND_DOWN:
            return Known(expr=arith.floordiv(a, b) * b)
    if len(values) == 1 and plain in _NEXT_POWER:
        return Known(expr=arith.call("next_power_of_2", values[0]))
    if len(values) == 1 and plain in ("abs", "move", "forward", "get"):
        return Known(expr=arith.call("abs", values[0]) if plain == "abs" else values[0])
    return None


def clamped(value: Expr, low: Expr, high: Expr) -> Expr:
    return arith.minimum(arith.maximum(value, low), high)


def _rounded(argument: Known, up: bool) -> Known | None:
    """ceil or floor of an exact quotient; the result counts as an integer."""
    if argument.ratio is not None:
        top, bottom = argument.ratio
        return Known(expr=arith.cdiv(top, bottom) if up else arith.floordiv(top, bottom), ratio=None)
    if argument.expr is not None and not argument.floating:
        return Known(expr=argument.expr)
    return None
