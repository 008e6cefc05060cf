"""Inlining of `__device__` functions, lambdas and methods, and the expansion of macros."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernlint.ir.condition import TRUE
from kernlint.ir.value import Value
from kernlint.lift.cuda import device_places as places
from kernlint.lift.cuda.declarators import parameters_of
from kernlint.lift.cuda.device_machine import (
    Machine,
    Object,
    Place,
    Scope,
    Target,
    TypedValue,
    Variable,
    Way,
    object_of,
    pointee,
)
from kernlint.lift.cuda.device_objects import copied, object_scope
from kernlint.lift.cuda.device_ops import convert
from kernlint.lift.cuda.device_resolve import bind_templates, resolve_type, within
from kernlint.lift.cuda.device_state import merge_ways
from kernlint.lift.cuda.device_types import CType, split_type
from kernlint.lift.cuda.unit import FunctionDefinition, ParameterDeclaration, TranslationUnit
from kernlint.records import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_INLINE_DEPTH = 14
MAX_INLINED_BYTES = 600_000
MAX_INLINING_STEPS = 8_000  # a kernel that has taken more steps inlines no further calls


@dataclass(slots=True, eq=False)
class Lambda:
    node: Node
    unit: TranslationUnit
    scope: Scope


@dataclass(frozen=True, slots=True)
class Argument:
    """One call argument: its value, and its place when it is an lvalue."""

    value: Value
    place: Place | None = None


_LVALUES = frozenset({"identifier", "subscript_expression", "pointer_expression", "field_expression"})


def arguments_of(m: Machine, node: Node | None, references: Sequence[bool] = ()) -> list[Argument]:
    """Evaluate call arguments.  An lvalue bound to a reference (`references`) is not read."""
    found: list[Argument] = []
    if node is None:
        return found
    for child in node.named_children:
        if child.type == "comment":
            continue
        position = len(found)
        by_reference = position < len(references) and references[position]
        if by_reference and child.type in _LVALUES:
            place = places.place_of(m, child)
            if place.key or (place.address is not None and not place.ctype.extents):
                held = m.read(place.key) if place.key and place.component < 0 else None
                found.append(Argument(held or place.address or m.opaque("by reference", child, count=False), place))
                continue
        found.append(Argument(m.eval(child)))
    return found


def can_inline(m: Machine, node: Node) -> bool:
    size = node.end_byte - node.start_byte
    if len(m.active) >= MAX_INLINE_DEPTH or m.active.count(node.id) > 0:
        m.reason("recursion or inlining depth")
        return False
    if m.inlined_bytes + size > MAX_INLINED_BYTES or m.steps > MAX_INLINING_STEPS:
        m.reason("inlining budget")
        return False
    m.inlined_bytes += size
    return True


def inline_function(
    m: Machine,
    function: FunctionDefinition,
    arguments: list[Argument],
    templates: tuple[CType | Value | None, ...],
    node: Node,
    this: Object | None = None,
) -> Value | None:
    """Run `function` at the call `node`; None when it cannot be inlined."""
    if not can_inline(m, function.body):
        return None
    scope = Scope(this=this)
    if this is not None and this.ctype.struct is not None:
        scope.parent = object_scope(m, this)
    templates = _deduced(m, function, arguments, templates)
    label = f"{function.name}."
    bind_templates(m, scope, function.template_parameters, templates, function.unit, label)
    call_span = m.span(node)
    with within(m, function.unit, scope):
        _bind_parameters(m, scope, function.parameters, arguments)
        saved = m.inlined_at
        m.inlined_at = (*saved, call_span)
        for child in function.node.children:
            if child.type == "field_initializer_list" and this is not None:
                _member_initialisers(m, child, this)
        result = run_body(m, function.body)
        m.inlined_at = saved
        result = _returned(m, result, function.return_type, scope)
    return result or m.value(
        "call", tuple(a.value for a in arguments), None, node, attrs={"name": function.name, "void": True}
    )


def _returned(m: Machine, result: Value | None, text: str, scope: Scope) -> Value | None:
    if result is None or not text or "auto" in text or "&" in text:
        return result
    ctype = resolve_type(m, text, scope)
    if ctype.is_scalar and result.dtype != ctype.element and object_of(result) is None:
        return convert(m, result, ctype, None, False)
    return result


def _member_initialisers(m: Machine, node: Node, this: Object) -> None:
    from kernlint.lift.cuda.device_objects import field_place

    for item in node.named_children:
        if item.type != "field_initializer" or item.named_child_count < 2:
            continue
        name, values = item.named_children[0], item.named_children[1]
        place = field_place(m, this, m.text(name))
        given = [child for child in values.named_children if child.type != "comment"]
        if place is not None and place.key and len(given) == 1:
            value = m.eval(given[0])
            places.store(m, place, convert(m, value, place.ctype, None, False), item)


def _deduced(
    m: Machine, function: FunctionDefinition, arguments: list[Argument], given: tuple[CType | Value | None, ...]
) -> tuple[CType | Value | None, ...]:
    """Template arguments not written out, from the types of the call's arguments."""
    parameters = function.template_parameters
    if len(given) >= len(parameters):
        return given
    found: dict[str, CType] = {}
    values: dict[str, Value] = {}
    for declared, argument in zip(function.parameters, arguments, strict=False):
        name, inner, depth, _, _ = split_type(declared.type_text)
        value = argument.value
        ctype = _type_of(value, argument.place)
        if inner:
            for pattern, actual in zip(inner, ctype.arguments, strict=False):
                bound = m.scope.lookup(actual)
                if isinstance(bound, Variable):
                    held = m.read(bound.key)
                    if held is not None:
                        values.setdefault(pattern, held)
                elif actual[:1].isdigit():
                    from kernlint.lift.cuda.device_resolve import argument_value

                    values.setdefault(pattern, argument_value(m, actual, m.scope))
                else:
                    found.setdefault(pattern, resolve_type(m, actual))
            continue
        levels = declared.pointer_depth + depth
        if declared.is_array and declared.is_reference and ctype.extents:
            for size, actual_extent in zip(declared.array_sizes, ctype.extents, strict=False):
                if size is not None and size.type == "identifier":
                    label = function.unit.text(size)
                    values.setdefault(label, m.value("param", (), None, None, actual_extent, None, {"name": label}))
            found.setdefault(name, CType(ctype.name, ctype.element, ctype.depth, (), ctype.struct, ctype.arguments))
            continue
        bare = CType(ctype.name, ctype.element, max(0, ctype.depth - levels), (), ctype.struct, ctype.arguments)
        if bare.name and name not in found:
            found[name] = bare
    result: list[CType | Value | None] = list(given)
    for parameter in parameters[len(given) :]:
        if parameter.kind == "type":
            result.append(found.get(parameter.name))
        else:
            result.append(values.get(parameter.name))
    return tuple(result)


def _type_of(value: Value, place: Place | None) -> CType:
    obj = object_of(value)
    if obj is not None and value.pointer is None:
        return obj.ctype
    if place is not None and place.ctype.name:
        return place.ctype
    if value.pointer is not None and (value.dtype is None or not value.dtype.is_integer):
        target = pointee(value)
        if target.extents:
            return CType(target.name, target.element, target.depth + 1, target.extents, target.struct, target.arguments)
        return target.pointer()
    if value.dtype is not None:
        return CType(value.dtype.name, value.dtype)
    name = value.attrs.get("type")
    return CType(name) if isinstance(name, str) else CType("")


def _bind_parameters(
    m: Machine, scope: Scope, parameters: Sequence[ParameterDeclaration], arguments: list[Argument]
) -> None:
    for index, declared in enumerate(parameters):
        if not declared.name:
            continue
        base = resolve_type(m, declared.type_text, scope)
        depth = base.depth + declared.pointer_depth
        ctype = CType(base.name, base.element, depth, base.extents, base.struct, base.arguments, declared.const)
        variable = m.new_variable(declared.name, ctype)
        if index >= len(arguments):
            if declared.default is not None:
                m.write(variable.key, convert(m, m.eval(declared.default), ctype, None, False))
            continue
        argument = arguments[index]
        value = argument.value
        if declared.is_reference and argument.place is not None and argument.place.component < 0:
            variable.place = argument.place
            if base.name in ("auto", "") or base.is_object:
                variable.ctype = argument.place.ctype
            continue
        if declared.is_reference and argument.place is not None:
            variable.place = argument.place
            continue
        if declared.is_reference and value.pointer is not None and pointee(value).extents:
            m.write(variable.key, value)
            continue
        if declared.is_array and value.pointer is not None:
            m.write(variable.key, value)
            continue
        if base.name != "auto":
            value = convert(m, value, ctype, None, False)
        if not declared.is_reference:
            value = copied(m, value, declared.name)
        m.write(variable.key, value)


def run_body(m: Machine, body: Node) -> Value | None:
    """Run a function body in the current scope; what it returned, all ways of returning merged."""
    m.active.append(body.id)
    m.push_layer()
    target = Target("function", len(m.layers) - 1, len(m.frames))
    m.targets.append(target)
    frames = len(m.frames)
    left = m.run(body)
    while len(m.frames) > frames:
        m.pop_frame()
    m.targets.pop()
    writes = m.pop_layer()
    falls = left is None or left.returns.op is not TRUE.op
    ways = list(target.ways)
    if falls:
        ways.append(Way(TRUE, writes))
    result = merge_ways(m, ways)
    m.active.pop()
    return result


def inline_lambda(m: Machine, function: Lambda, arguments: list[Argument], node: Node) -> Value | None:
    body = function.node.child_by_field_name("body")
    declarator = function.node.child_by_field_name("declarator")
    if body is None or not can_inline(m, body):
        return None
    scope = Scope(parent=function.scope)
    call_span = m.span(node)
    with within(m, function.unit, scope):
        parameter_list = declarator.child_by_field_name("parameters") if declarator is not None else None
        if parameter_list is not None:
            _bind_parameters(m, scope, parameters_of(m.unit, parameter_list), arguments)
        _capture_initialisers(m, function.node)
        saved = m.inlined_at
        m.inlined_at = (*saved, call_span)
        result = run_body(m, body)
        m.inlined_at = saved
    return result or m.value(
        "call", tuple(a.value for a in arguments), None, node, attrs={"name": "lambda", "void": True}
    )


def _capture_initialisers(m: Machine, node: Node) -> None:
    """`[n = expr]` captures."""
    captures = node.child_by_field_name("captures")
    if captures is None:
        return
    for item in captures.named_children:
        if item.type == "lambda_capture_initializer":
            left, right = item.child_by_field_name("left"), item.child_by_field_name("right")
            if left is not None and right is not None:
                variable = m.new_variable(m.text(left), CType("auto"))
                m.write(variable.key, m.eval(right))


def operator_call(m: Machine, sign: str, a: Value, b: Value, node: Node) -> Value | None:
    """A user-defined binary operator on objects."""
    obj = object_of(a)
    name = f"operator{sign}"
    if obj is not None and obj.ctype.struct is not None:
        methods = obj.ctype.struct.methods.get(name)
        if methods:
            return inline_function(m, methods[0], [Argument(b)], (), node, obj)
    for function in m.home.functions.get(name, ()):
        if len(function.parameters) == 2 and _type_matches(m, function, obj or object_of(b)):
            return inline_function(m, function, [Argument(a), Argument(b)], (), node)
    return None


def _type_matches(m: Machine, function: FunctionDefinition, obj: Object | None) -> bool:
    if obj is None:
        return False
    return any(split_type(p.type_text)[0].rpartition("::")[2] == obj.ctype.name for p in function.parameters)


def macro_value(m: Machine, name: str, arguments: Sequence[str] | None, node: Node) -> Value | None:
    """The value of a macro that stands for an expression (or, as a statement, runs what it stands for)."""
    if name not in m.home.macros or m.depth > 100:
        return None
    expansion = m.home.expand(name, arguments, m.span(node))
    if expansion is None:
        return None
    with within(m, expansion.unit, m.scope):
        if expansion.is_expression:
            return m.eval(expansion.nodes[0])
        for item in expansion.nodes:
            m.run(item)
    return m.value("call", (), None, node, attrs={"name": name, "void": True})


__all__ = ["Argument", "Lambda", "TypedValue", "arguments_of", "inline_function", "inline_lambda", "macro_value"]
