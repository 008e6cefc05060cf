"""Conversions between element types, and constant tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernlint.ir.condition import TRUE
from kernlint.ir.expr import ZERO, Expr
from kernlint.ir.types import BOOL, FLOAT32, INT32, TypeClass
from kernlint.ir.value import Value
from kernlint.lift.triton.arithmetic import as_integer, is_static, number, truth
from kernlint.lift.triton.memory import reinterpreted
from kernlint.lift.triton.registry import builtin, dtype_of, exprs_of, text
from kernlint.lift.triton.state import data
from kernlint.lift.triton.things import DType, Static, Thing

if TYPE_CHECKING:
    from kernlint.lift.triton.state import Call, Node, State


@builtin("cast", "to", "type_convert")
def cast(state: State, call: Call) -> Thing:
    x = state.as_value(call.get(0, "input"), call.node)
    target = dtype_of(call.get(1, "dtype"))
    bitcast = call.get(3, "bitcast")
    if target is None:
        return converted(state, x, DType(None), call.node)
    if target.pointer:
        return reinterpreted(state, x, target.type, call.node)
    made = converted(state, x, target, call.node)
    rounding = text(call.kwargs.get("fp_downcast_rounding"))
    if rounding:
        made.attrs["rounding"] = rounding
    if bitcast is not None and truth(state, bitcast, call.node) is TRUE:
        made.attrs["bitcast"] = True
        made.expr = None if target.type is not None and target.type.is_float else data("bits", made.ordinal, x.shape)
    return made


def converted(state: State, x: Value, target: DType, node: Node) -> Value:
    """`x.to(dtype)`."""
    dtype = target.type
    polymorphic = dtype is None
    attrs: dict[str, object] = {"explicit": True}
    if target.like is not None:
        attrs["like"] = target.like
    expr, cond = None, None
    source_float = x.dtype is not None and x.dtype.is_float
    if dtype is BOOL:
        cond = truth(state, x, node)
    elif dtype is None or not dtype.is_float:
        expr = None if source_float else as_integer(x)
    made = state.value(
        "cast", (x,), node=node, dtype=dtype, shape=x.shape, expr=expr, cond=cond, attrs=attrs, polymorphic=polymorphic
    )
    if expr is None and cond is None and dtype is not None and dtype.is_integer:
        made.expr = data("int", made.ordinal, x.shape)
    if x.op == "const" and x.attrs.get("value") is not None:
        made.attrs["value"] = x.attrs["value"]
    return made


@builtin("py.int", "py.float", "py.bool")
def python_number(state: State, call: Call) -> Thing:
    thing = call.get(0, "x")
    if isinstance(thing, Static) and isinstance(thing.value, str) and call.name == "py.float":
        try:
            return state.constant(float(thing.value), call.node)
        except ValueError:
            return state.opaque("float of a string", call.node)
    known = number(thing)
    if known is not None:
        try:
            return state.constant(
                int(known) if call.name == "py.int" else bool(known) if call.name == "py.bool" else float(known),
                call.node,
            )
        except (ArithmeticError, ValueError):
            return state.opaque("conversion of a constant", call.node)
    x = state.as_value(thing, call.node)
    target = {"py.int": INT32, "py.float": FLOAT32, "py.bool": BOOL}[call.name]
    if call.name == "py.int" and is_static(x):
        return x
    return converted(state, x, DType(target), call.node)


@builtin("constexpr", "constexpr_type")
def constexpr(state: State, call: Call) -> Thing:
    return call.args[0] if call.args else Static(None)


@builtin("pointer_type")
def pointer_type(state: State, call: Call) -> Thing:
    element = dtype_of(call.get(0, "element_ty"))
    return DType(element.type if element is not None else None, pointer=True)


@builtin("dtype")
def named_dtype(state: State, call: Call) -> Thing:
    return dtype_of(call.get(0, "name")) or DType(None)


@builtin("zeros", "full", "empty", "ones")
def tile(state: State, call: Call) -> Thing:
    """`tl.zeros(shape, dtype)`, `tl.full(shape, value, dtype)`."""
    filled = call.name == "full"
    shape_thing = call.get(0, "shape")
    if isinstance(shape_thing, Value) and shape_thing.expr is None:
        shape_thing = None
    exprs = exprs_of(shape_thing)
    shape = tuple(e if e is not None else state.opaque("unknown extent", call.node).expr or ZERO for e in exprs or ())
    if exprs is None:
        state.opaque("shape of a tile is not a tuple", call.node)
    fill = state.as_value(call.get(1, "value"), call.node) if filled else state.constant(int(call.name == "ones"))
    target = dtype_of(call.get(2 if filled else 1, "dtype"))
    return _full(state, shape, fill, target, call.node)


def _full(state: State, shape: tuple[Expr, ...], fill: Value, target: DType | None, node: Node) -> Value:
    dtype = target.type if target is not None else fill.dtype
    polymorphic = target is not None and dtype is None
    floating = dtype is not None and dtype.is_float
    expr = None if floating else fill.expr
    cond = None
    if dtype is BOOL or (dtype is not None and dtype.kind is TypeClass.BOOL):
        expr, cond = None, truth(state, fill, node)
    made = state.value("full", (fill,), node=node, dtype=dtype, shape=shape, expr=expr, cond=cond)
    made.polymorphic = polymorphic
    if target is not None and target.like is not None:
        made.attrs["like"] = target.like
    return made


@builtin("zeros_like", "full_like", "ones_like", "empty_like")
def tile_like(state: State, call: Call) -> Thing:
    like = state.as_value(call.get(0, "input"), call.node)
    fill = (
        state.as_value(call.get(1, "value"), call.node)
        if call.name == "full_like"
        else state.constant(int(call.name == "ones_like"), call.node)
    )
    written = dtype_of(call.kwargs.get("dtype"))
    return _full(state, like.shape, fill, written or DType(like.dtype, like), call.node)
