"""Expressions: syntax tree -> thing."""

from __future__ import annotations

import ast
from collections.abc import Callable

from kernlint.ir.condition import FALSE, TRUE, Condition, conj, disj, negate
from kernlint.ir.expr import param as param_expr
from kernlint.ir.kernel import Frame
from kernlint.ir.types import BOOL
from kernlint.ir.value import Value
from kernlint.lift.triton import arithmetic, blocks, collective, conversions, elementwise, memory, program, shapes
from kernlint.lift.triton.comparisons import comparison
from kernlint.lift.triton.conversions import converted
from kernlint.lift.triton.join import joined
from kernlint.lift.triton.names import attribute, lookup
from kernlint.lift.triton.registry import BUILTINS, exprs_of, integer
from kernlint.lift.triton.state import MAX_DEPTH, Call, State
from kernlint.lift.triton.things import ARGUMENTS, NONE, Bound, Callee, DType, Ref, Static, Thing

REGISTERED = (blocks, collective, conversions, elementwise, memory, program)  # importing them fills the table


def evaluate(state: State, node: ast.expr) -> Thing:
    """What an expression means here.  Never raises on odd input; emits the accesses inside it."""
    state.step()
    handler = _HANDLERS.get(type(node))
    if handler is None:
        return state.opaque(f"{type(node).__name__} expression", node)
    if state.depth > MAX_DEPTH:
        return state.opaque("nested too deeply", node)
    state.depth += 1
    try:
        return handler(state, node)
    finally:
        state.depth -= 1


def _constant(state: State, node: ast.Constant) -> Thing:
    value = node.value
    if isinstance(value, (bool, int, float)):
        return state.constant(value, node)
    return NONE if value is None else Static(value)


def _name(state: State, node: ast.Name) -> Thing:
    return lookup(state, node.id, node, evaluate)


def _attribute(state: State, node: ast.Attribute) -> Thing:
    return attribute(state, evaluate(state, node.value), node)


def _binary(state: State, node: ast.BinOp) -> Thing:
    left, right = evaluate(state, node.left), evaluate(state, node.right)
    name = arithmetic.NAMES[type(node.op)]
    if name == "dot":
        return BUILTINS["dot"](state, Call("dot", [left, right], {}, node))
    return arithmetic.binary(state, name, left, right, node)


def _unary(state: State, node: ast.UnaryOp) -> Thing:
    operand = evaluate(state, node.operand)
    if isinstance(node.op, ast.Invert):
        return arithmetic.invert(state, operand, node)
    name = "neg" if isinstance(node.op, ast.USub) else "not" if isinstance(node.op, ast.Not) else "pos"
    return arithmetic.unary(state, name, operand, node)


def _compare(state: State, node: ast.Compare) -> Thing:
    left = evaluate(state, node.left)
    results: list[Thing] = []
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        right = evaluate(state, right_node)
        results.append(comparison(state, op, left, right, node))
        left = right
    if len(results) == 1:
        return results[0]
    values = tuple(state.as_value(r, node) for r in results)
    shape: shapes.Shape = ()
    for value in values:
        shape = shapes.broadcast(shape, value.shape)
    condition = conj(arithmetic.truth(state, value, node) for value in values)
    return state.value("and", values, node=node, dtype=BOOL, shape=shape, cond=condition)


def _bool_op(state: State, node: ast.BoolOp) -> Thing:
    """`and`/`or`; what comes after a decided operand is not looked at."""
    conjunction = isinstance(node.op, ast.And)
    values: list[Value] = []
    conditions: list[Condition] = []
    thing: Thing = NONE
    for operand in node.values:
        thing = evaluate(state, operand)
        condition = arithmetic.truth(state, thing, operand)
        if condition is (FALSE if conjunction else TRUE):
            if not conditions:
                return thing
            conditions.append(condition)
            break
        if condition in (TRUE, FALSE):
            continue
        conditions.append(condition)
        if isinstance(thing, Value):
            values.append(thing)
    if not conditions:
        return thing
    if len(conditions) == 1 and len(values) == 1:
        return values[0]
    shape: shapes.Shape = ()
    for value in values:
        shape = shapes.broadcast(shape, value.shape)
    meaning = conj(conditions) if conjunction else disj(conditions)
    static = all(arithmetic.is_static(value) for value in values)
    return state.value(
        "and" if conjunction else "or", tuple(values), node=node, dtype=BOOL, shape=shape, cond=meaning,
        attrs={"constexpr": True} if static else {},
    )  # fmt: skip


def _if_expression(state: State, node: ast.IfExp) -> Thing:
    test = evaluate(state, node.test)
    condition = arithmetic.truth(state, test, node.test)
    if condition in (TRUE, FALSE):
        return evaluate(state, node.body if condition is TRUE else node.orelse)
    path, guard = state.path, state.guard
    value = test if isinstance(test, Value) else None
    state.push(Frame(condition, arm=True, value=value, span=state.span(node.test)))
    then = evaluate(state, node.body)
    state.restore(path, guard)
    state.push(Frame(negate(condition), arm=False, value=value, span=state.span(node.test)))
    otherwise = evaluate(state, node.orelse)
    state.restore(path, guard)
    return joined(state, condition, then, otherwise, node)


def _sequence(state: State, node: ast.Tuple | ast.List) -> Thing:
    items: list[Thing] = []
    for item in node.elts[:256]:
        if isinstance(item, ast.Starred):
            inner = evaluate(state, item.value)
            items.extend(inner if isinstance(inner, tuple) else [state.opaque("unpacked sequence", item)])
        else:
            items.append(evaluate(state, item))
    return tuple(items)


def _subscript(state: State, node: ast.Subscript) -> Thing:
    base = evaluate(state, node.value)
    if isinstance(base, Bound) and base.name == "shape" and isinstance(base.receiver, Value):
        position = integer(evaluate(state, node.slice))
        name = base.receiver.attrs.get("name", "?")
        return state.integer(param_expr(f"{name}.shape[{position}]"), node)
    if isinstance(base, tuple):
        return _item(state, base, node)
    if base is ARGUMENTS:
        return _argument(state, evaluate(state, node.slice), node)
    if not isinstance(base, Value):
        return state.opaque("subscript of what is not a tensor", node)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if all(_is_full(part) or _is_new(part) for part in parts):
        return _new_dims(state, base, parts, node)
    position = integer(evaluate(state, node.slice)) if len(parts) == 1 else None
    if base.op == "param" and position is not None:
        expr = param_expr(f"{base.attrs['name']}[{position}]")
        attrs = {"name": f"{base.attrs['name']}[{position}]", "constexpr": arithmetic.is_static(base)}
        return state.value("param", (base,), node=node, expr=expr, attrs=attrs)
    if position is not None and "global" in base.attrs:
        return state.global_constant(f"{base.attrs['name']}[{position}]", node)
    return state.opaque("subscript not understood", node, (base,), base.shape)


def _argument(state: State, name: Thing, node: ast.expr) -> Thing:
    """The launch argument a heuristic asks for: the kernel's parameter of that name."""
    if not (isinstance(name, Static) and isinstance(name.value, str)):
        return state.opaque("launch argument without a name", node)
    attrs = {"name": name.value, "constexpr": True}
    made = state.value("param", node=node, expr=param_expr(name.value), attrs=attrs)
    made.name = name.value
    return made


def _is_new(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_full(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant) and node.value is ...:
        return True
    return isinstance(node, ast.Slice) and node.lower is None and node.upper is None


def _new_dims(state: State, base: Value, parts: list[ast.expr], node: ast.expr) -> Thing:
    rank = len(base.shape)
    written = sum(1 for part in parts if isinstance(part, ast.Slice))
    layout: list[int | None] = []
    source = 0
    for part in parts:
        if _is_new(part):
            layout.append(None)
        elif isinstance(part, ast.Constant):  # ...
            layout.extend(range(source, source + rank - written))
            source += rank - written
        elif source < rank:
            layout.append(source)
            source += 1
    layout.extend(range(source, rank))
    return shapes.with_dims(state, base, layout, node)


def _item(state: State, items: tuple[Thing, ...], node: ast.Subscript) -> Thing:
    if isinstance(node.slice, ast.Slice):
        bounds = [evaluate(state, part) if part is not None else NONE for part in (node.slice.lower, node.slice.upper)]
        lower, upper = (integer(bound) for bound in bounds)
        return items[lower:upper]
    index = integer(evaluate(state, node.slice))
    if index is not None and -len(items) <= index < len(items):
        return items[index]
    if items and all(isinstance(item, Value) for item in items) and index is None:
        first = state.as_value(items[0], node)
        made = state.opaque("tuple indexed by a variable", node, tuple(state.as_value(i) for i in items), first.shape)
        made.dtype, made.polymorphic = first.dtype, first.polymorphic
        return made
    return state.opaque("tuple index out of range", node)


# ---- calls ---------------------------------------------------------------------------------------------------------


def _call(state: State, node: ast.Call) -> Thing:
    function = evaluate(state, node.func)
    args: list[Thing] = []
    for item in node.args[:128]:
        if isinstance(item, ast.Starred):
            inner = evaluate(state, item.value)
            args.extend(inner if isinstance(inner, tuple) else [state.opaque("unpacked argument", item)])
        else:
            args.append(evaluate(state, item))
    kwargs = {keyword.arg: evaluate(state, keyword.value) for keyword in node.keywords if keyword.arg is not None}
    return apply(state, function, args, kwargs, node)


def apply(state: State, function: Thing, args: list[Thing], kwargs: dict[str, Thing], node: ast.expr) -> Thing:
    if isinstance(function, Callee):
        return state.call_function(state, function, Call(function.name, args, kwargs, node))
    if isinstance(function, Bound):
        return _method(state, function, Call(function.name, args, kwargs, node))
    if isinstance(function, Ref):
        return _known_function(state, function.dotted, Call("", args, kwargs, node))
    if isinstance(function, DType):
        # `tl.float32(x)` and `dtype(x)`
        x = state.as_value(args[0], node) if args else state.opaque("empty conversion", node)
        return converted(state, x, function, node)
    if isinstance(function, Value) and arithmetic.is_static(function):
        # a function passed as a compile-time parameter
        return elementwise.pure_call(state, str(function.attrs.get("name", "?")), Call("", args, kwargs, node))
    return state.opaque("call of what is not a function", node)


_FLUENT = {"to": "cast", "T": "trans"}  # methods whose function has another name
_DESCRIPTOR = {"load": "descriptor_load", "store": "descriptor_store"}


def _method(state: State, bound: Bound, call: Call) -> Thing:
    receiver = bound.receiver
    if receiver is ARGUMENTS:
        wanted = call.get(0, "key") if bound.name == "get" else None
        return _argument(state, wanted if wanted is not None else NONE, call.node)
    if isinstance(receiver, DType):
        return _dtype_question(state, receiver, bound.name, call)
    if not isinstance(receiver, Value):
        return state.opaque("method of what is not a tensor", call.node)
    name = _FLUENT.get(bound.name, bound.name)
    if bound.name in ("load", "store", "gather", "scatter") or bound.name.startswith("atomic_"):
        if bound.name in _DESCRIPTOR and (receiver.block is not None or receiver.op == "param"):
            name = _DESCRIPTOR[bound.name]
        elif bound.name.startswith("atomic_") and receiver.block is not None:
            function = BUILTINS["descriptor_atomic"]
            return function(state, Call(bound.name, [receiver, *call.args], call.kwargs, call.node))
    if name == "numel":
        return state.integer(state.numel(receiver), call.node)
    if name in ("is_ptr", "is_block") or (name.startswith("is_") and receiver.op == "param"):
        return _dtype_question(state, DType(receiver.dtype, receiver), name, call)
    known = BUILTINS.get(name)
    if known is None:
        return state.opaque(f"method .{bound.name}", call.node, (receiver,), receiver.shape)
    return known(state, Call(name, [receiver, *call.args], call.kwargs, call.node))


def _dtype_question(state: State, dtype: DType, name: str, call: Call) -> Thing:
    """`dtype.is_fp16()`, `.is_floating()`, `.is_int()`."""
    from kernlint.ir.condition import flag

    known = dtype.type
    if known is not None:
        answer = {
            "is_floating": known.is_float, "is_int": known.is_integer, "is_fp8": known.is_float and known.bits == 8,
            "is_fp16": known.name == "float16", "is_bf16": known.name == "bfloat16", "is_fp32": known.name == "float32",
            "is_fp64": known.name == "float64", "is_int64": known.name == "int64", "is_int32": known.name == "int32",
            "is_ptr": False, "is_block": False,
        }.get(name)  # fmt: skip
        if answer is not None:
            return state.constant(answer, call.node)
    like = dtype.like
    label = str(like.attrs["name"]) if like is not None and like.op == "param" else f"%{state.next_ordinal()}"
    return state.value(
        "call", node=call.node, dtype=BOOL, cond=flag(f"{label}.dtype.{name}"), attrs={"name": name, "constexpr": True}
    )


_TRUSTED = ("triton", "math", "tl")


def _known_function(state: State, dotted: str, call: Call) -> Thing:
    """A function outside the project, by its last name; unknown ones are pure calls by that name."""
    root, _, _ = dotted.partition(".")
    last = dotted.rpartition(".")[2]
    call.name = f"py.{last}" if root == "builtins" else last
    known = BUILTINS.get(call.name)
    if known is not None:
        return known(state, call)
    if root == "builtins":
        return state.opaque(f"{last}()", call.node)
    shape_like = exprs_of(call.args[0]) if call.args else None
    made = elementwise.pure_call(state, last, call)
    if root not in _TRUSTED and "libdevice" not in dotted and shape_like is None:
        reason = "unresolved function"
        state.opaque_reasons[reason] = state.opaque_reasons.get(reason, 0) + 1
    return made


def _lambda(state: State, node: ast.Lambda) -> Thing:
    return Callee(state.scope, node, False, dict(state.env))


def _named(state: State, node: ast.NamedExpr) -> Thing:
    thing = evaluate(state, node.value)
    state.env[node.target.id] = thing
    return thing


def _text(state: State, node: ast.JoinedStr) -> Thing:
    return state.value("opaque", node=node, attrs={"why": "text"})


def _comprehension(state: State, node: ast.ListComp | ast.GeneratorExp) -> Thing:
    generator = node.generators[0]
    items = evaluate(state, generator.iter)
    if len(node.generators) != 1 or generator.ifs or not isinstance(items, tuple) or len(items) > 64:
        return state.opaque("comprehension", node)
    if not isinstance(generator.target, ast.Name):
        return state.opaque("comprehension", node)
    outer = state.env
    state.env = dict(outer)
    made: list[Thing] = []
    for item in items:
        state.env[generator.target.id] = item
        made.append(evaluate(state, node.elt))
    state.env = outer
    return tuple(made)


def _starred(state: State, node: ast.Starred) -> Thing:
    return evaluate(state, node.value)


_HANDLERS: dict[type[ast.expr], Callable[[State, ast.expr], Thing]] = {
    ast.Constant: _constant,  # type: ignore[dict-item]
    ast.Name: _name,  # type: ignore[dict-item]
    ast.Attribute: _attribute,  # type: ignore[dict-item]
    ast.BinOp: _binary,  # type: ignore[dict-item]
    ast.UnaryOp: _unary,  # type: ignore[dict-item]
    ast.Compare: _compare,  # type: ignore[dict-item]
    ast.BoolOp: _bool_op,  # type: ignore[dict-item]
    ast.IfExp: _if_expression,  # type: ignore[dict-item]
    ast.Tuple: _sequence,  # type: ignore[dict-item]
    ast.List: _sequence,  # type: ignore[dict-item]
    ast.Subscript: _subscript,  # type: ignore[dict-item]
    ast.Call: _call,  # type: ignore[dict-item]
    ast.Lambda: _lambda,  # type: ignore[dict-item]
    ast.NamedExpr: _named,  # type: ignore[dict-item]
    ast.JoinedStr: _text,  # type: ignore[dict-item]
    ast.ListComp: _comprehension,  # type: ignore[dict-item]
    ast.GeneratorExp: _comprehension,  # type: ignore[dict-item]
    ast.Starred: _starred,  # type: ignore[dict-item]
}
