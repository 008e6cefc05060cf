"""Operations across lanes: reductions, scans, sorts, matrix products; and those that only move lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernlint.ir.condition import FALSE
from kernlint.ir.expr import ONE, Expr
from kernlint.ir.types import FLOAT32, INT32, ElementType
from kernlint.ir.value import Value
from kernlint.lift.triton import shapes
from kernlint.lift.triton.arithmetic import truth
from kernlint.lift.triton.registry import builtin, dtype_of, exprs_of, integer, is_none, text
from kernlint.lift.triton.state import data, lane
from kernlint.lift.triton.things import Callee, Ref, Thing

if TYPE_CHECKING:
    from kernlint.lift.triton.state import Call, State

_REDUCTIONS = {
    "sum": "sum", "max": "max", "min": "min", "argmax": "argmax", "argmin": "argmin", "prod": "prod",
    "xor_sum": "custom", "reduce_or": "or", "reduce_and": "and", "any": "or", "all": "and",
}  # fmt: skip


def _axis(state: State, thing: Thing | None, rank: int) -> tuple[int | None, bool]:
    """(dimension counted from the right, known); None means all dimensions."""
    if is_none(thing):
        return None, True
    axis = integer(thing)
    if axis is None or not -rank <= axis < rank:
        return (-1 if rank else None), False
    return axis if axis < 0 else axis - rank, True


def _reduced_shape(shape: tuple[Expr, ...], dim: int | None, keep: bool) -> tuple[Expr, ...]:
    if dim is None:
        return (ONE,) * len(shape) if keep else ()
    at = len(shape) + dim
    return (*shape[:at], *((ONE,) if keep else ()), *shape[at + 1 :])


def _reduction(state: State, call: Call, op: str, x: Value, axis: Thing | None, keep: Thing | None) -> Value:
    dim, known = _axis(state, axis, len(x.shape))
    keeps = not is_none(keep) and truth(state, keep, call.node).op.value == "true"
    shape = _reduced_shape(x.shape, dim, keeps)
    dtype, polymorphic = _reduced_type(op, x)
    written = dtype_of(call.kwargs.get("dtype"))
    if written is not None:
        dtype, polymorphic = written.type, written.type is None
    attrs: dict[str, object] = {"op": op, "dim": dim, "out_dtype": None, "keep_dims": keeps}
    if written is not None:
        attrs["out_dtype"] = written.type
        if written.like is not None:
            attrs["like"] = written.like
    if not known:
        attrs["dim_unknown"] = True
    made = state.value("reduce", (x,), node=call.node, dtype=dtype, shape=shape, attrs=attrs, polymorphic=polymorphic)
    if dtype is None or not dtype.is_float:
        made.expr = data(op, made.ordinal, shape)
    return made


def _reduced_type(op: str, x: Value) -> tuple[ElementType | None, bool]:
    """Sums of narrow integers widen to 32 bits (`_pick_sum_dtype`); positions are int32."""
    if op in ("argmax", "argmin"):
        return INT32, False
    dtype = x.dtype
    if op == "sum" and dtype is not None and not dtype.is_float and dtype.bits < 32:
        return INT32, False
    return dtype, x.polymorphic


@builtin(*_REDUCTIONS)
def reduction(state: State, call: Call) -> Thing:
    x = state.as_value(call.get(0, "input"), call.node)
    op = _REDUCTIONS[call.name]
    if op in ("argmax", "argmin"):
        keep = call.kwargs.get("keep_dims") or call.get(3, "keep_dims")
    elif op in ("max", "min"):
        keep = call.kwargs.get("keep_dims") or call.get(4, "keep_dims")
    else:
        keep = call.get(2, "keep_dims")
    made = _reduction(state, call, op, x, call.get(1, "axis"), keep)
    indices = call.get(2, "return_indices") if op in ("max", "min") else None
    if indices is not None and truth(state, indices, call.node).op.value == "true":
        position = _reduction(state, call, f"arg{op}", x, call.get(1, "axis"), keep)
        return (made, position)
    return made


@builtin("reduce")
def custom_reduction(state: State, call: Call) -> Thing:
    operand, function = call.get(0, "input"), call.get(2, "combine_fn")
    op = _combiner(function)
    items = operand if isinstance(operand, tuple) else (operand,)
    values = [state.as_value(item, call.node) for item in items]
    made = [_reduction(state, call, op, x, call.get(1, "axis"), call.get(3, "keep_dims")) for x in values]
    _remember(state, made, function)
    return tuple(made) if isinstance(operand, tuple) else made[0]


def _combiner(function: Thing | None) -> str:
    name = function.name if isinstance(function, Callee) else function.dotted if isinstance(function, Ref) else ""
    name = name.rpartition(".")[2].lower()
    for word, op in (("argmax", "argmax"), ("argmin", "argmin"), ("max", "max"), ("min", "min"), ("prod", "prod"),
                     ("mul", "prod"), ("sum", "sum"), ("add", "sum")):  # fmt: skip
        if word in name:
            return op if op in ("sum", "prod", "max", "min") else "custom"
    if name.strip("_") in ("or", "or_combine", "logical_or", "reduce_any", "any"):
        return "or"
    return "and" if name.strip("_") in ("and", "and_combine", "logical_and", "reduce_all", "all") else "custom"


def _remember(state: State, made: list[Value], function: Thing | None) -> None:
    """Functions handed to a reduction or scan are helpers too."""
    if isinstance(function, Callee):
        state.called.add(id(function.node))
        for value in made:
            value.attrs["combine"] = function.name


@builtin("cumsum", "cumprod", "cummax", "cummin", "associative_scan")
def scan(state: State, call: Call) -> Thing:
    operand = call.get(0, "input")
    items = operand if isinstance(operand, tuple) else (operand,)
    function = call.get(2, "combine_fn") if call.name == "associative_scan" else None
    op = _combiner(function) if function is not None else {"cumsum": "sum", "cumprod": "prod"}.get(call.name, "max")
    made: list[Value] = []
    for item in items:
        x = state.as_value(item, call.node)
        dim, _ = _axis(state, call.get(1, "axis") or state.constant(0), len(x.shape))
        dtype, polymorphic = _reduced_type(op, x)
        backwards = call.get(2 if function is None else 3, "reverse")
        reverse = backwards is not None and truth(state, backwards, call.node) is not FALSE
        attrs: dict[str, object] = {"op": op, "dim": dim, "reverse": reverse}
        value = state.value(
            "scan", (x,), node=call.node, dtype=dtype, shape=x.shape, attrs=attrs, polymorphic=polymorphic
        )
        if dtype is None or not dtype.is_float:
            value.expr = data("scan", value.ordinal, x.shape)
        made.append(value)
    _remember(state, made, function)
    return tuple(made) if isinstance(operand, tuple) else made[0]


@builtin("sort", "topk", "histogram", "softmax", "gather", "bitonic_merge")
def reordering(state: State, call: Call) -> Thing:
    x = state.as_value(call.get(0, "x"), call.node)
    args = tuple(state.as_value(a, call.node) for a in call.args if isinstance(a, Value))
    shape, dtype, polymorphic = x.shape, x.dtype, x.polymorphic
    op = "call"
    attrs: dict[str, object] = {"name": call.name}
    if call.name in ("sort", "topk"):
        op, attrs = "sort", {"dim": -1, "name": call.name}
    if call.name == "gather" and len(args) > 1:
        shape = args[1].shape
    if call.name in ("histogram", "topk"):
        bins = exprs_of(call.get(1, "num_bins"))
        if bins is not None and bins[0] is not None:
            shape = (*shape[:-1], bins[0])
        dtype, polymorphic = (INT32, False) if call.name == "histogram" else (dtype, polymorphic)
    made = state.value(op, args or (x,), node=call.node, dtype=dtype, shape=shape, attrs=attrs, polymorphic=polymorphic)
    if dtype is None or not dtype.is_float:
        made.expr = data(call.name, made.ordinal, shape)
    return made


# ---- matrix products -----------------------------------------------------------------------------------------------


@builtin("dot")
def dot(state: State, call: Call) -> Thing:
    a = state.as_value(call.get(0, "input"), call.node)
    b = state.as_value(call.get(1, "other"), call.node)
    given = call.get(2, "acc")
    acc = None if is_none(given) or not isinstance(given, Value) or not given.shape else given
    attrs: dict[str, object] = {"input_precision": text(call.get(3, "input_precision"))}
    allow = call.get(4, "allow_tf32") if "allow_tf32" in call.kwargs or len(call.args) > 4 else None
    if not is_none(allow):
        condition = truth(state, allow, call.node).op.value
        attrs["allow_tf32"] = {"true": True, "false": False}.get(condition)
        if attrs["input_precision"] is None:
            attrs["input_precision"] = {"true": "tf32", "false": "ieee"}.get(condition, "by flag")
    elif "input_precision" in call.kwargs and attrs["input_precision"] is None:
        precision = call.kwargs["input_precision"]
        attrs["input_precision"] = None if is_none(precision) else "by flag"
    return _product(state, call, a, b, acc, attrs)


@builtin("dot_scaled")
def dot_scaled(state: State, call: Call) -> Thing:
    a = state.as_value(call.get(0, "lhs"), call.node)
    b = state.as_value(call.get(3, "rhs"), call.node)
    given = call.get(6, "acc")
    acc = given if isinstance(given, Value) and given.shape else None
    return _product(state, call, a, b, acc, {"scaled": True, "input_precision": None})


def _product(state: State, call: Call, a: Value, b: Value, acc: Value | None, attrs: dict[str, object]) -> Value:
    shape = acc.shape if acc is not None else ()
    if not shape and len(a.shape) >= 2 and len(b.shape) >= 2:
        shape = (*a.shape[:-1], b.shape[-1])
    written = dtype_of(call.kwargs.get("out_dtype"))
    polymorphic = False
    if written is not None:
        dtype, polymorphic = written.type, written.type is None
    elif acc is not None:
        dtype, polymorphic = acc.dtype, acc.polymorphic
    else:
        integral = a.dtype is not None and a.dtype.is_integer
        dtype = INT32 if integral else FLOAT32
    attrs["out_dtype"] = written.type if written is not None else None
    if written is not None and written.like is not None:
        attrs["like"] = written.like
    attrs["acc"] = acc is not None
    args = (a, b, acc) if acc is not None else (a, b)
    return state.value("dot", args, node=call.node, dtype=dtype, shape=shape, attrs=attrs, polymorphic=polymorphic)


# ---- lanes ---------------------------------------------------------------------------------------------------------


@builtin("arange")
def arange(state: State, call: Call) -> Thing:
    bounds = list(call.args)
    bounds += [call.kwargs[name] for name in ("start", "end") if name in call.kwargs]
    if len(bounds) == 1:
        bounds.insert(0, state.constant(0))
    values = [state.as_value(bound, call.node) for bound in bounds]
    if len(values) < 2 or values[0].expr is None or values[1].expr is None:
        return state.opaque("arange of what is not an integer", call.node)
    start, extent = values[0].expr, values[1].expr - values[0].expr
    made = state.value("arange", (), node=call.node, dtype=INT32, shape=(extent,), attrs={"start": start})
    made.attrs["bounds"] = (values[0], values[1])
    made.expr = start + lane(-1, extent)
    return made


@builtin("expand_dims", "unsqueeze")
def expand_dims(state: State, call: Call) -> Thing:
    x = state.as_value(call.get(0, "input"), call.node)
    given = call.get(1, "axis")
    items = given if isinstance(given, tuple) else (given,)
    axes = [integer(item) for item in items]
    total = len(x.shape) + len(axes)
    if any(axis is None or not -total <= axis < total for axis in axes):
        return state.opaque("expand_dims along an unknown axis", call.node, (x,), x.shape)
    new = {axis % total for axis in axes if axis is not None}
    source = iter(range(len(x.shape)))
    return shapes.with_dims(state, x, [None if d in new else next(source, None) for d in range(total)], call.node)


@builtin("broadcast_to", "broadcast", "expand")
def broadcast_to(state: State, call: Call) -> Thing:
    x = state.as_value(call.get(0, "input"), call.node)
    if call.name == "broadcast":
        other = state.as_value(call.get(1, "other"), call.node)
        shape = shapes.broadcast(x.shape, other.shape)
        return (
            shapes.derived(state, "broadcast", x, shape, call.node),
            shapes.derived(state, "broadcast", other, shape, call.node),
        )
    shape = _shape_argument(state, call, x)
    return shapes.derived(state, "broadcast", x, shape, call.node)


def _shape_argument(state: State, call: Call, x: Value) -> tuple[Expr, ...]:
    """A shape given as a tuple or as separate numbers."""
    given: Thing | None = call.get(1, "shape")
    if isinstance(given, Value) and len(call.args) > 2:
        given = tuple(call.args[1:])
    exprs = exprs_of(given)
    if exprs is None or any(e is None for e in exprs):
        state.opaque("unknown shape", call.node)
        return x.shape
    return tuple(e for e in exprs if e is not None)


@builtin("reshape", "view")
def reshape(state: State, call: Call) -> Thing:
    x = state.as_value(call.get(0, "input"), call.node)
    return shapes.reshaped(state, x, _shape_argument(state, call, x), call.node)


@builtin("ravel")
def ravel(state: State, call: Call) -> Thing:
    return shapes.flattened(state, state.as_value(call.get(0, "x"), call.node), call.node)


@builtin("trans", "permute", "transpose", "T")
def permute(state: State, call: Call) -> Thing:
    x = state.as_value(call.get(0, "input"), call.node)
    rank = len(x.shape)
    rest: list[Thing] = [*call.args[1:], *(v for k, v in call.kwargs.items() if k in ("dims", "order"))]
    if len(rest) == 1 and isinstance(rest[0], tuple):
        rest = list(rest[0])
    order = [integer(item) for item in rest]
    if not order:
        if rank < 2:
            return shapes.derived(state, "trans", x, x.shape, call.node)
        order = [*range(rank - 2), rank - 1, rank - 2]
    known = tuple(d % rank if rank else d for d in order if d is not None)
    if len(known) != rank:
        return state.opaque("permutation not understood", call.node, (x,), x.shape)
    return shapes.permuted(state, "trans", x, known, call.node)


@builtin("join", "interleave")
def join(state: State, call: Call) -> Thing:
    a = state.as_value(call.get(0, "a"), call.node)
    b = state.as_value(call.get(1, "b"), call.node)
    return shapes.joined(state, a, b, call.node, interleave=call.name == "interleave")


@builtin("split")
def split(state: State, call: Call) -> Thing:
    x = state.as_value(call.get(0, "a"), call.node)
    return (shapes.half_of_pairs(state, x, 0, call.node), shapes.half_of_pairs(state, x, 1, call.node))


@builtin("cat")
def cat(state: State, call: Call) -> Thing:
    parts = call.args[0] if call.args and isinstance(call.args[0], tuple) else tuple(call.args[:2])
    values = tuple(state.as_value(part, call.node) for part in parts)
    shape = values[0].shape if values else ()
    if values and len(shape) == 1:
        total = shape[0]
        for value in values[1:]:
            total = total + value.shape[0] if value.shape else total
        shape = (total,)
    first = values[0] if values else None
    made = state.value(
        "call", values, node=call.node, dtype=first.dtype if first is not None else None, shape=shape,
        attrs={"name": "cat"}, polymorphic=first is not None and first.polymorphic,
    )  # fmt: skip
    if made.dtype is None or not made.dtype.is_float:
        made.expr = data("cat", made.ordinal, shape)
    return made


@builtin("flip")
def flip(state: State, call: Call) -> Thing:
    x = state.as_value(call.get(0, "x"), call.node)
    dim, _ = _axis(state, call.get(1, "dim") or state.constant(len(x.shape) - 1), len(x.shape))
    made = shapes.derived(state, "reshape", x, x.shape, call.node, flipped=dim)
    if dim is not None:
        shapes.relane(state, made, {dim: lambda extent: extent - ONE - lane(dim, extent)})
    return made
