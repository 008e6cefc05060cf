"""Methods of classes that are not here, understood by what such methods are called everywhere."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING

from kernlint.ir.expr import param
from kernlint.ir.kernel import AccessKind, BarrierKind
from kernlint.ir.types import UINT32, Space
from kernlint.ir.value import Value
from kernlint.lift.cuda.builtins import ATOMIC_METHODS, BINARY, BLOCK_COLLECTIVES
from kernlint.lift.cuda.device_machine import Machine, Object, TypedValue, Variable, object_of, pointee
from kernlint.lift.cuda.device_objects import elements_of, elements_pointer
from kernlint.lift.cuda.device_ops import binary, convert
from kernlint.lift.cuda.device_places import place_of, store
from kernlint.lift.cuda.device_resolve import within
from kernlint.lift.cuda.device_sync import atomic
from kernlint.lift.cuda.evaluate_inline import Argument, Lambda
from kernlint.lift.cuda.memory import access, load_from, store_to

if TYPE_CHECKING:
    from tree_sitter import Node

FAST_DIVISION = frozenset({"divmod", "div", "mod", "fast_divmod"})
_WAITS = frozenset(
    {
        "wait_parity",
        "try_wait_parity",
        "waitParity",
        "wait",
        "consumer_wait",
        "arrive_and_wait",
        "try_wait",
        "wait_prior",
        "wait_barrier",
    }
)
_COMMITS = frozenset({"producer_commit", "commit", "arrive", "arrive_and_expect_tx", "arrive_tx"})
_NOTHING = frozenset({"producer_acquire", "consumer_release", "init", "fill", "clear", "advance"})
_POINTERS = frozenset({"data", "data_ptr", "get", "begin", "ptr", "raw", "mutable_data_ptr"})


def fast_division(
    m: Machine, receiver: Value, obj: Object | None, name: str, arguments: Node | None, node: Node
) -> Value | None:
    """`divisor.divmod(n, quotient, remainder)` of the usual fast-division classes: division by the number it holds."""
    nodes = [child for child in arguments.named_children if child.type != "comment"] if arguments is not None else []
    if obj is None or not obj.symbolic or not nodes:
        return None
    divisor = m.symbol(obj.path)
    if divisor.expr is None:
        divisor.expr = param(obj.path)
    by = m.value("param", (), UINT32, node, divisor.expr, None, {"name": obj.path})
    number = m.eval(nodes[0])
    quotient, remainder = binary(m, "/", number, by, node), binary(m, "%", number, by, node)
    if len(nodes) == 3:
        for target, value in zip(nodes[1:], (quotient, remainder), strict=True):
            place = place_of(m, target)
            store(m, place, convert(m, value, place.ctype, None, False), node)
    return remainder if name == "mod" else quotient


def unknown_method(
    m: Machine, receiver: Value, obj: Object | None, name: str, given: list[Argument], node: Node, where: Node
) -> Value:
    """The result of `receiver.name(...)` for a class without a definition in sight."""
    values = tuple(argument.value for argument in given)
    if name in ATOMIC_METHODS and obj is not None and obj.role == "atomic":
        return _atomic_method(m, obj, name, values, node)
    if name in BLOCK_COLLECTIVES and where.type == "call_expression":
        return _collective(m, name, values, node)
    if name in ("load", "cast_load", "load_cast") and obj is not None and values and values[0].pointer is not None:
        return _vector_load(m, obj, values[0], node)
    if name in ("store", "cast_store") and obj is not None and values and values[0].pointer is not None:
        return _vector_store(m, obj, values[0], node)
    if name in _POINTERS and not values and obj is not None and receiver.pointer is None:
        return elements_pointer(m, obj, node)
    if name in _POINTERS and not values and receiver.pointer is not None:
        return receiver
    if name in _WAITS:
        consumer = name.startswith("consumer") or (obj is not None and "pipeline" in obj.ctype.name)
        m.barrier(BarrierKind.WAIT, node, name if consumer else f"mbarrier.{name}")
        return _void(m, name, values, node)
    if name in _COMMITS:
        m.barrier(BarrierKind.COMMIT, node, name)
        return _void(m, name, values, node)
    if name in _NOTHING:
        return _void(m, name, values, node)
    if obj is not None and not values and (obj.symbolic or obj.address is not None):
        held = obj.address.pointer if obj.address is not None else None
        space = held.buffer.space if held is not None and held.buffer is not None else Space.GLOBAL
        return m.symbol(f"{obj.path}.{name}()", space=space)
    m.reason("method of an unknown class")
    for value in values:
        if isinstance(value, TypedValue) and value.place is not None and value.place.key:
            m.write(
                value.place.key, m.opaque("passed to an unknown method", node, value.place.ctype.element, count=False)
            )
    args = (receiver, *values)
    return m.value("call", args, None, node, m.opaque_expr(f"result of {name}"), None, {"name": name, "unknown": True})


def _void(m: Machine, name: str, values: tuple[Value, ...], node: Node) -> Value:
    return m.value("call", values, None, node, m.opaque_expr(name), None, {"name": name})


def _collective(m: Machine, name: str, values: tuple[Value, ...], node: Node) -> Value:
    """A CUB-style block collective: synchronises the block and combines across it."""
    m.barrier(BarrierKind.BLOCK, node, f"collective.{name}")
    op = {"Sum": "sum", "Max": "max", "Min": "min", "InclusiveSum": "sum", "ExclusiveSum": "sum"}.get(name, "")
    op = op or next((found for found in map(functor_operation, _argument_nodes(node), repeat(m)) if found), "custom")
    dtype = values[0].dtype if values else None
    for value in values[1:]:
        if isinstance(value, TypedValue) and value.place is not None and value.place.key:
            m.write(value.place.key, m.opaque("result of a collective", node, value.place.ctype.element, count=False))
    expr = None if dtype is not None and dtype.is_float else m.opaque_expr(f"result of {name}")
    kind = "scan" if "Scan" in name or name in ("InclusiveSum", "ExclusiveSum") else "reduce"
    return m.value(kind, values[:1], dtype, node, expr, None, {"op": op, "dim": None})


def _argument_nodes(node: Node) -> list[Node]:
    listed = node.child_by_field_name("arguments")
    return [child for child in listed.named_children if child.type != "comment"] if listed is not None else []


def functor_operation(node: Node, m: Machine) -> str:
    """What a binary functor given at `node` computes (`sum`, `max`, `min`, `prod`); '' when that is not seen."""
    text = m.text(node)
    name = text.split("<")[0].split("(")[0].split("{")[0].rpartition("::")[2]
    known = _FUNCTORS.get(name)
    if known is not None:
        return known
    body: Node | None = None
    found = m.scope.lookup(name)
    held = m.read(found.key) if isinstance(found, Variable) else None
    obj = object_of(held) if held is not None else None
    if node.type == "lambda_expression":
        body = node.child_by_field_name("body")
    elif obj is not None and isinstance(obj.function, Lambda):
        body = obj.function.node.child_by_field_name("body")
    else:
        struct = obj.ctype.struct if obj is not None else next(iter(m.home.structs.get(name, ())), None)
        methods = struct.methods.get("operator()", []) if struct is not None else []
        body = methods[0].body if methods else None
        if methods:
            with within(m, methods[0].unit, m.scope):
                return _returned_operation(m, methods[0].body)
    return _returned_operation(m, body) if body is not None else ""


def _returned_operation(m: Machine, body: Node) -> str:
    """The operation of a body that is one `return`."""
    statement = next((child for child in body.named_children if child.type == "return_statement"), None)
    value = statement.named_children[0] if statement is not None and statement.named_child_count else None
    while value is not None and value.type == "parenthesized_expression":
        value = value.named_children[0] if value.named_child_count else None
    if value is None:
        return ""
    if value.type == "call_expression":
        function = value.child_by_field_name("function")
        name = m.text(function).rpartition("::")[2].split("<")[0] if function is not None else ""
        return {"max": "max", "min": "min", "add": "sum", "mul": "prod"}.get(BINARY.get(name, ""), "")
    operator = value.child_by_field_name("operator") if value.type == "binary_expression" else None
    if operator is not None:
        return {"+": "sum", "*": "prod"}.get(operator.type, "")
    if value.type == "conditional_expression":
        test = value.child_by_field_name("condition")
        first = value.child_by_field_name("consequence")
        sign = test.child_by_field_name("operator") if test is not None else None
        left = test.child_by_field_name("left") if test is not None else None
        if sign is not None and left is not None and first is not None:
            larger = sign.type in (">", ">=")
            same = m.text(left) == m.text(first)
            return "max" if larger == same else "min"
    return ""


_FUNCTORS = {
    **dict.fromkeys(("Sum", "plus", "Plus", "SumOp", "AddOp"), "sum"),
    **dict.fromkeys(("Max", "maximum", "MaxOp", "greater_op"), "max"),
    **dict.fromkeys(("Min", "minimum", "MinOp"), "min"),
    **dict.fromkeys(("multiplies", "ProdOp"), "prod"),
}


def _vector_load(m: Machine, obj: Object, address: Value, node: Node) -> Value:
    """`vec.load(p)`: one wide read of memory into a register array."""
    buffer = elements_of(m, obj, node)
    attrs: dict[str, object] = {}
    width = 1
    if buffer.extents:
        extent = buffer.extents[0]
        attrs["width"] = extent
        width = extent.constant or 1
    ctype = pointee(address)
    value = load_from(m, address, ctype, node, width=width, attrs=attrs)
    if buffer.dtype is None:
        buffer.dtype = value.dtype
    made = m.typed("pointer", (), node, pointer=elements_pointer(m, obj, node).pointer, ctype=ctype)
    access(m, AccessKind.STORE, made, node, element=buffer.dtype, value=value, width=width, attrs=dict(attrs))
    return value


def _vector_store(m: Machine, obj: Object, address: Value, node: Node) -> Value:
    buffer = elements_of(m, obj, node)
    attrs: dict[str, object] = {}
    width = 1
    if buffer.extents:
        attrs["width"] = buffer.extents[0]
        width = buffer.extents[0].constant or 1
    source = elements_pointer(m, obj, node)
    value = load_from(m, source, pointee(source), node, width=width, attrs=dict(attrs))
    store_to(m, address, pointee(address), value, node, width=width, attrs=attrs)
    return value


def _atomic_method(m: Machine, obj: Object, name: str, values: tuple[Value, ...], node: Node) -> Value:
    address = obj.extra[0] if obj.extra else obj.address
    if address is None:
        return m.opaque("atomic reference", node)
    return atomic(m, ATOMIC_METHODS[name], address, values[0] if values else None, node, scope=obj.path, name=name)
