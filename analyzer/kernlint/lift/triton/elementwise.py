"""Elementwise functions, casts, selects and constants."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kernlint.ir import arith
from kernlint.ir.condition import FALSE, TRUE, Condition, conj, disj, flag, negate
from kernlint.ir.expr import Expr
from kernlint.ir.types import BOOL, FLOAT32
from kernlint.ir.value import Value
from kernlint.lift.triton.arithmetic import (
    as_integer,
    binary,
    is_static,
    number,
    promote,
    truth,
    widest_index,
)
from kernlint.lift.triton.registry import builtin, is_none
from kernlint.lift.triton.shapes import broadcast
from kernlint.lift.triton.state import data
from kernlint.lift.triton.things import Static, Thing

if TYPE_CHECKING:
    from kernlint.lift.triton.state import Call, Node, State

# name in triton.language, tl.math, libdevice -> operation of the value graph
UNARY = {
    "exp": "exp", "exp2": "exp2", "log": "log", "log2": "log2", "sqrt": "sqrt", "rsqrt": "rsqrt", "sin": "sin",
    "cos": "cos", "tanh": "tanh", "sigmoid": "sigmoid", "erf": "erf", "floor": "floor", "ceil": "ceil", "abs": "abs",
    "sqrt_rn": "sqrt", "fast_expf": "exp", "fast_exp": "exp", "fast_logf": "log", "fast_log2f": "log2",
    "fast_sinf": "sin", "fast_cosf": "cos", "fast_tanhf": "tanh", "fast_tanh": "tanh", "fast_exp2f": "exp2",
    "fabs": "abs", "expf": "exp", "logf": "log", "tanhf": "tanh", "sqrtf": "sqrt", "rsqrtf": "rsqrt",
    "rsqrt_rn": "rsqrt", "fast_sigmoid": "sigmoid",
}  # fmt: skip
# other pure elementwise functions worth knowing without a module: name -> whether the result is a truth value
CALLS = dict.fromkeys(
    [
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "cbrt",
        "cosh",
        "sinh",
        "tan",
        "erfc",
        "erfinv",
        "exp10",
        "expm1",
        "log1p",
        "log10",
        "pow",
        "fast_powf",
        "fmod",
        "hypot",
        "lgamma",
        "rint",
        "round",
        "trunc",
        "nearbyint",
        "copysign",
        "nextafter",
        "ldexp",
        "ilogb",
        "j0",
        "j1",
        "y0",
        "y1",
        "mul_rn",
        "add_rn",
        "sub_rn",
        "umulhi",
        "mulhi",
        "float_as_int",
        "int_as_float",
        "fast_dividef",
        "popc",
        "clz",
        "ffs",
        "brev",
        "float2int_rz",
        "float2int_rn",
        "int2float_rn",
        "cyl_bessel_i0",
        "cyl_bessel_i1",
        "tgamma",
        "normcdf",
        "logb",
        "div_rz",
        "div_ru",
        "div_rd",
        "rcp64h",
        "llrint",
    ],
    False,
) | dict.fromkeys(["isnan", "isinf", "isfinited", "finitef", "isfinite", "signbit", "isfinitef"], True)
_CONSTANT_FOLDS = {
    "exp": math.exp, "exp2": lambda x: 2.0**x, "log": math.log, "log2": math.log2, "sqrt": math.sqrt, "abs": abs,
    "floor": math.floor, "ceil": math.ceil,
}  # fmt: skip


def unary_op(state: State, op: str, x: Value, node: Node) -> Value:
    """An elementwise function of one value."""
    known = number(x)
    fold = _CONSTANT_FOLDS.get(op)
    if known is not None and fold is not None:
        try:
            return state.constant(fold(known), node)
        except (ArithmeticError, ValueError):
            pass
    dtype, polymorphic = x.dtype, x.polymorphic
    expr = None
    if op == "abs" and x.expr is not None and (dtype is None or not dtype.is_float):
        expr = arith.call("abs", x.expr)
    elif dtype is not None and not dtype.is_float and op not in ("abs", "floor", "ceil"):
        dtype = FLOAT32
    return state.value(op, (x,), node=node, dtype=dtype, shape=x.shape, expr=expr, polymorphic=polymorphic)


def pure_call(state: State, name: str, call: Call, *, boolean: bool = False) -> Value:
    """A pure elementwise function that has no operation of its own."""
    args = tuple(state.as_value(arg, call.node) for arg in [*call.args, *call.kwargs.values()] if not is_none(arg))
    args = tuple(arg for arg in args if arg.op != "tuple")
    shape: tuple[Expr, ...] = ()
    for arg in args:
        shape = broadcast(shape, arg.shape)
    first = args[0] if args else None
    made = state.value(
        "call", args, node=call.node, shape=shape, attrs={"name": name},
        dtype=BOOL if boolean else first.dtype if first is not None else None,
        polymorphic=not boolean and (first is None or first.polymorphic),
    )  # fmt: skip
    if args and all(is_static(arg) for arg in args):
        made.attrs["constexpr"] = True
    if boolean:
        made.cond = flag(f"{state.code(call.node)}#{made.ordinal}")
    elif made.dtype is None or not made.dtype.is_float:
        made.expr = data(name, made.ordinal, shape)
    return made


def _register_tables() -> None:
    for name, op in UNARY.items():

        def lift(state: State, call: Call, op: str = op) -> Thing:
            return unary_op(state, op, state.as_value(call.get(0, "x"), call.node), call.node)

        builtin(name)(lift)
    for name, boolean in CALLS.items():

        def lift_call(state: State, call: Call, name: str = name, boolean: bool = boolean) -> Thing:
            return pure_call(state, name, call, boolean=boolean)

        builtin(name)(lift_call)


_register_tables()
builtin("py.abs")(lambda state, call: unary_op(state, "abs", state.as_value(call.get(0, "x")), call.node))


@builtin("minimum", "maximum", "fmin", "fmax", "min_", "max_")
def extremum(state: State, call: Call) -> Thing:
    op = "min" if "min" in call.name else "max"
    made = binary(state, op, call.get(0, "x") or Static(None), call.get(1, "y") or Static(None), call.node)
    if isinstance(made, Value) and "propagate_nan" in call.kwargs:
        made.attrs["propagate_nan"] = state.code(call.node)
    return made


@builtin("py.min", "py.max")
def python_extremum(state: State, call: Call) -> Thing:
    items: list[Thing] = list(call.args)
    if len(items) == 1 and isinstance(items[0], tuple):
        items = list(items[0])
    if not items:
        return state.opaque("min or max of nothing", call.node)
    result = items[0]
    for item in items[1:]:
        result = binary(state, call.name.removeprefix("py."), result, item, call.node)
    return result


@builtin("logical_and", "logical_or")
def logical(state: State, call: Call) -> Thing:
    a, b = state.as_value(call.get(0, "x"), call.node), state.as_value(call.get(1, "y"), call.node)
    x, y = truth(state, a, call.node), truth(state, b, call.node)
    both = call.name == "logical_and"
    return state.value(
        "and" if both else "or", (a, b), node=call.node, dtype=BOOL, shape=broadcast(a.shape, b.shape),
        cond=conj((x, y)) if both else disj((x, y)),
    )  # fmt: skip


@builtin("clamp", "clip")
def clamp(state: State, call: Call) -> Thing:
    x = state.as_value(call.get(0, "x"), call.node)
    low, high = call.get(1, "min"), call.get(2, "max")
    result: Thing = x
    if not is_none(low) and low is not None:
        result = binary(state, "max", result, low, call.node)
    if not is_none(high) and high is not None:
        result = binary(state, "min", result, high, call.node)
    return result


@builtin("fma")
def fma(state: State, call: Call) -> Thing:
    a, b, c = (state.as_value(call.get(i, name), call.node) for i, name in enumerate("xyz"))
    shape = broadcast(broadcast(a.shape, b.shape), c.shape)
    dtype, polymorphic = promote(a, b, "mul")
    return state.value("fma", (a, b, c), node=call.node, dtype=dtype, shape=shape, polymorphic=polymorphic)


@builtin("fdiv", "div_rn")
def division(state: State, call: Call) -> Thing:
    a, b = call.get(0, "x"), call.get(1, "y")
    made = binary(state, "div", state.as_value(a, call.node), state.as_value(b, call.node), call.node)
    if isinstance(made, Value):
        made.attrs["rounding"] = "rn" if call.name == "div_rn" else "approx"
    return made


@builtin("cdiv", "ceil_div", "cidv")
def cdiv(state: State, call: Call) -> Thing:
    a = state.as_value(call.get(0, "x"), call.node)
    b = state.as_value(call.get(1, "div"), call.node)
    x, y = as_integer(a), as_integer(b)
    expr = arith.cdiv(x, y) if x is not None and y is not None and y.constant != 0 else None
    static = is_static(a) and is_static(b)
    if expr is not None and expr.constant is not None and static:
        return state.constant(expr.constant, call.node)
    dtype = None if static else (promote(a, b, "floordiv")[0] or widest_index(a))
    attrs = {"name": "cdiv", **({"constexpr": True} if static else {})}
    made = state.value(
        "call", (a, b), node=call.node, dtype=dtype, shape=broadcast(a.shape, b.shape), expr=expr, attrs=attrs
    )
    if expr is None and not static:
        made.expr = data("cdiv", made.ordinal, made.shape)
    return made


@builtin("next_power_of_2")
def next_power_of_2(state: State, call: Call) -> Thing:
    x = state.as_value(call.get(0, "n"), call.node)
    if x.expr is None:
        return state.opaque("next_power_of_2 of what is not an integer", call.node, (x,))
    expr = arith.call("next_power_of_2", x.expr)
    if expr.constant is not None:
        return state.constant(expr.constant, call.node)
    return state.value("call", (x,), node=call.node, expr=expr, attrs={"name": "next_power_of_2", "constexpr": True})


@builtin("where")
def where(state: State, call: Call) -> Thing:
    chosen = state.as_value(call.get(0, "condition"), call.node)
    a = state.as_value(call.get(1, "x"), call.node)
    b = state.as_value(call.get(2, "y"), call.node)
    return select(state, chosen, a, b, call.node)


def select(state: State, chosen: Value, a: Value, b: Value, node: Node) -> Value:
    condition = truth(state, chosen, node)
    if chosen.cond is None:
        chosen.cond = condition
    shape = broadcast(chosen.shape, broadcast(a.shape, b.shape))
    dtype, polymorphic = promote(a, b, "where")
    made = state.value("where", (chosen, a, b), node=node, dtype=dtype, shape=shape, polymorphic=polymorphic)
    if a.dtype is BOOL and b.dtype is BOOL:
        then, otherwise = truth(state, a, node), truth(state, b, node)
        made.cond = disj((conj((condition, then)), conj((negate(condition), otherwise))))
        made.dtype = BOOL
    elif dtype is None or not dtype.is_float:
        x, y = as_integer(a), as_integer(b)
        if x is not None and y is not None:
            made.expr = chosen_between(condition, x, y)
    return made


def chosen_between(condition: Condition, a: Expr, b: Expr) -> Expr:
    """select(condition, a, b) with the terms that both have taken out of it."""
    if condition is TRUE or a == b:
        return a
    if condition is FALSE:
        return b
    other = dict(b.terms)
    shared = Expr({mono: coeff for mono, coeff in a.terms if mono and other.get(mono) == coeff})
    if shared.terms:
        return shared + arith.select(condition, a - shared, b - shared)
    return arith.select(condition, a, b)
