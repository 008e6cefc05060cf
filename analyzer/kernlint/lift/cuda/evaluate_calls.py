"""Calls: casts, built-ins, helpers to inline, constructors, methods, and what is left."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernlint.ir.value import Value
from kernlint.lift.cuda import device_places as places
from kernlint.lift.cuda.builtins import CASTS
from kernlint.lift.cuda.device_builtin import builtin_call
from kernlint.lift.cuda.device_groups import group_function, group_method
from kernlint.lift.cuda.device_machine import Machine, Object, Place, TypedValue, Variable, object_of, pointee
from kernlint.lift.cuda.device_methods import FAST_DIVISION, fast_division, unknown_method
from kernlint.lift.cuda.device_resolve import argument_value, resolve_type
from kernlint.lift.cuda.device_types import CType, named_element
from kernlint.lift.cuda.evaluate_inline import (
    Argument,
    Lambda,
    arguments_of,
    inline_function,
    inline_lambda,
    macro_value,
)
from kernlint.lift.cuda.unit import FunctionDefinition

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_OVERLOADS = 160
_SIMPLE = frozenset({"identifier", "template_function", "qualified_identifier", "dependent_name", "primitive_type"})


def call(m: Machine, node: Node) -> Value:
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None:
        return m.opaque("malformed expression", node)
    if function.type == "field_expression":
        return _method_call(m, function, arguments, node)
    if function.type not in _SIMPLE:
        if function.type == "parenthesized_expression":
            cast = _cast_in_parentheses(m, function, arguments, node)
            if cast is not None:
                return cast
        if function.type == "sized_type_specifier":
            return _construct(m, resolve_type(m, m.text(function)), arguments, node)
        return _call_value(m, m.eval(function), arguments, node)
    scope, name, template_list = callee(m, function)
    if name in CASTS and template_list is not None:
        return _named_cast(m, name, template_list, arguments, node)
    return _named_call(m, scope, name, template_list, arguments, node)


def _cast_in_parentheses(m: Machine, function: Node, arguments: Node | None, node: Node) -> Value | None:
    """`(T)(x)`, which the grammar takes for a call of `(T)`."""
    inner = [child for child in function.named_children if child.type != "comment"]
    if len(inner) != 1 or inner[0].type not in (
        "identifier",
        "primitive_type",
        "qualified_identifier",
        "template_function",
    ):
        return None
    text = m.text(inner[0])
    name = text.split("<")[0]
    bound = m.scope.lookup(name)
    is_type = isinstance(bound, CType) or (bound is None and _names_type(m, "", name.rpartition("::")[2], text))
    return _construct(m, resolve_type(m, text), arguments, node) if is_type else None


def callee(m: Machine, function: Node) -> tuple[str, str, Node | None]:
    """(scope, name, template argument list) of a callee such as `ns::helper<T, 4>`."""
    scope, current = [], function
    template_list: Node | None = None
    for _ in range(20):
        if current.type == "qualified_identifier":
            prefix, inner = current.child_by_field_name("scope"), current.child_by_field_name("name")
            if prefix is not None:
                scope.append("".join(m.text(prefix).split()))
            if inner is None:
                break
            current = inner
        elif current.type in ("dependent_name",) and current.named_child_count:
            current = current.named_children[0]
        elif current.type in ("template_function", "template_method"):
            template_list = current.child_by_field_name("arguments")
            inner = current.child_by_field_name("name")
            if inner is None:
                break
            current = inner
        else:
            break
    return "::".join(scope), m.text(current), template_list


def template_arguments(m: Machine, node: Node | None) -> tuple[CType | Value | None, ...]:
    """Template arguments as types or values."""
    if node is None:
        return ()
    found: list[CType | Value | None] = []
    for child in node.named_children:
        if child.type == "comment":
            continue
        if child.type == "type_descriptor":
            text = m.text(child)
            bound = m.scope.lookup(text)
            if isinstance(bound, Variable):
                found.append(m.read(bound.key))
            elif isinstance(bound, CType) or named_element(text) or text in m.home.structs or text in m.home.aliases:
                found.append(resolve_type(m, text))
            elif text in m.home.macros and (expanded := macro_value(m, text, None, child)) is not None:
                found.append(expanded)
            elif text in m.home.constants or text in m.home.macros:
                found.append(argument_value(m, text, m.scope))
            elif "::" in text or text.isupper():
                found.append(m.symbol("".join(text.split())))
            else:
                found.append(resolve_type(m, text))
        else:
            found.append(m.eval(child))
    return tuple(found)


def _named_cast(m: Machine, name: str, template_list: Node, arguments: Node | None, node: Node) -> Value:
    from kernlint.lift.cuda.evaluate_expr import cast_value

    types = [child for child in template_list.named_children if child.type != "comment"]
    given = [child for child in arguments.named_children if child.type != "comment"] if arguments is not None else []
    if not types or not given:
        return m.opaque("malformed expression", node)
    text = m.text(types[0])
    to = resolve_type(m, text)
    if "&" in text:
        place = places.place_of(m, given[0])
        return reference_to(m, place, to, node)
    value = m.eval(given[0])
    if name in ("bit_cast", "__builtin_bit_cast"):
        expr = value.expr if value.dtype is not None and value.dtype.is_integer else None
        if expr is None and (to.element is None or not to.element.is_float):
            from kernlint.lift.cuda.device_ops import data_dependent

            expr = data_dependent(m, value)
        return m.value("call", (value,), to.element, node, expr, None, {"name": "bit_cast"})
    return cast_value(m, value, to, node, name == "reinterpret_cast")


def reference_to(m: Machine, place: Place, to: CType, node: Node) -> Value:
    """`reinterpret_cast<T&>(lvalue)`: the same storage as another type."""
    from kernlint.lift.cuda.device_ops import recast

    if place.address is not None and place.address.pointer is not None:
        source = pointee(place.address)
        pointer = recast(place.address.pointer, replace(source, extents=()), to)
        address = m.typed("cast", (place.address,), node, pointer=pointer, ctype=to)
        made = m.typed("reference", (address,), node, ctype=to)
        made.place = Place(to, address=address, name=place.name)
        return made
    made = m.typed("reference", (), node, ctype=to)
    made.place = place if place.key else Place(to)
    return made


def _named_call(
    m: Machine, scope: str, name: str, template_list: Node | None, arguments: Node | None, node: Node
) -> Value:
    if not scope and template_list is None:
        bound = m.scope.lookup(name)
        if isinstance(bound, CType):
            return _construct(m, bound, arguments, node)
        if isinstance(bound, Variable):
            held = m.read(bound.key) if bound.place is None else places.load(m, bound.place, node)
            if held is not None:
                return _call_value(m, held, arguments, node)
    if name == "static_assert":
        from kernlint.lift.cuda.device_builtin import assertion

        return assertion(m, name, arguments, node)
    macro = m.home.macros.get(name) if not scope else None
    if macro is not None:
        if not macro.body.strip():
            return m.value("call", (), None, node, attrs={"name": name, "void": True})
        texts = _argument_texts(m, arguments)
        expanded = macro_value(m, name, texts, node)
        if expanded is not None:
            return expanded
    group = group_function(m, scope, name, template_list, arguments, node)
    if group is not None:
        return group
    candidates = _candidates(m, scope, name, arguments)
    built_in = builtin_call(m, scope, name, template_list, arguments, node, bool(candidates))
    if built_in is not None:
        return built_in
    if candidates:
        result = _inline_first(m, candidates, template_list, arguments, node)
        if result is not None:
            return result
        return unknown_call(m, name, arguments_of(m, arguments), node)
    text = f"{scope}::{name}" if scope else name
    if template_list is not None:
        text += m.text(template_list)
    if _names_type(m, scope, name, text):
        return _construct(m, resolve_type(m, text), arguments, node)
    return unknown_call(m, name, arguments_of(m, arguments), node)


def _names_type(m: Machine, scope: str, name: str, text: str) -> bool:
    return named_element(name) is not None or name in m.home.structs or name in m.home.aliases


def _argument_texts(m: Machine, arguments: Node | None) -> list[str]:
    if arguments is None:
        return []
    return [m.text(child) for child in arguments.named_children if child.type != "comment"]


def _candidates(m: Machine, scope: str, name: str, arguments: Node | None) -> list[FunctionDefinition]:
    """Device functions of this name that take this many arguments, most specific scope first."""
    found = m.home.functions.get(name)
    receiver = m.scope.receiver()
    own: list[FunctionDefinition] = []
    if receiver is not None and receiver.ctype.struct is not None and not scope:
        own = receiver.ctype.struct.methods.get(name, [])
    owner = scope.split("<")[0].rpartition("::")[2] if scope else ""
    bound = m.scope.lookup(owner) if owner else None
    if isinstance(bound, CType) and bound.struct is not None:
        own = bound.struct.methods.get(name, [])
    elif owner and owner in m.home.structs:
        own = [f for struct in m.home.structs[owner] for f in struct.methods.get(name, [])]
    count = sum(child.type != "comment" for child in arguments.named_children) if arguments is not None else 0
    pool = [*own, *(found or ())][:MAX_OVERLOADS]
    fitting = [f for f in pool if _accepts(f, count) and not f.is_kernel]
    if scope in ("std", "cuda::std", "cub", "cute"):
        return []
    return [f for f in fitting if not f.class_name or f in own or f.class_name == owner]


def _accepts(function: FunctionDefinition, count: int) -> bool:
    parameters = function.parameters
    required = sum(p.default is None and not p.pack for p in parameters)
    return required <= count and (count <= len(parameters) or any(p.pack for p in parameters))


def _inline_first(
    m: Machine, candidates: list[FunctionDefinition], template_list: Node | None, arguments: Node | None, node: Node
) -> Value | None:
    templates = template_arguments(m, template_list)
    first = candidates[0]
    given = arguments_of(m, arguments, [p.is_reference for p in first.parameters])
    chosen = _best(candidates, given, templates)
    receiver = m.scope.receiver() if chosen.class_name and "static" not in chosen.qualifiers else None
    return inline_function(m, chosen, given, templates, node, receiver)


def _best(
    candidates: list[FunctionDefinition], given: list[Argument], templates: tuple[CType | Value | None, ...]
) -> FunctionDefinition:
    """The overload whose scalar parameter types fit best."""
    best, best_score = candidates[0], -100
    for function in candidates:
        if len(templates) > len(function.template_parameters) and function.template_parameters:
            continue
        score = 0
        if templates and not function.template_parameters:
            # a full specialisation: told apart by what it returns
            wanted = templates[0]
            returned = named_element(function.return_type)
            fits = isinstance(wanted, CType) and wanted.element is not None and returned == wanted.element
            score += 3 if fits else -3
        for parameter, argument in zip(function.parameters, given, strict=False):
            element = named_element(parameter.type_text)
            dtype = argument.value.pointer.dtype if argument.value.pointer is not None else argument.value.dtype
            if (argument.value.pointer is not None) != parameter.is_pointer and element is not None:
                score -= 2
            elif element is not None and dtype == element:
                score += 2
            elif element is not None and dtype is not None:
                score -= 2
            elif element is None:
                score += 1
        if score > best_score:
            best, best_score = function, score
    return best


def _call_value(m: Machine, callee_value: Value, arguments: Node | None, node: Node) -> Value:
    """Calling a lambda or a function object."""
    obj = object_of(callee_value)
    if obj is not None and isinstance(obj.function, Lambda):
        declarator = obj.function.node.child_by_field_name("declarator")
        references: list[bool] = []
        if declarator is not None:
            parameter_list = declarator.child_by_field_name("parameters")
            if parameter_list is not None:
                from kernlint.lift.cuda.declarators import parameters_of

                references = [p.is_reference for p in parameters_of(obj.function.unit, parameter_list)]
        result = inline_lambda(m, obj.function, arguments_of(m, arguments, references), node)
        if result is not None:
            return result
    elif obj is not None and obj.ctype.struct is not None:
        methods = obj.ctype.struct.methods.get("operator()", [])
        count = sum(child.type != "comment" for child in arguments.named_children) if arguments is not None else 0
        for method in methods:
            if _accepts(method, count):
                given = arguments_of(m, arguments, [p.is_reference for p in method.parameters])
                result = inline_function(m, method, given, (), node, obj)
                if result is not None:
                    return result
    return unknown_call(m, callee_value.name or "function object", arguments_of(m, arguments), node)


def _construct(m: Machine, ctype: CType, arguments: Node | None, node: Node) -> Value:
    """`T(args)`."""
    from kernlint.lift.cuda.evaluate_declare import construct

    return construct(m, ctype, arguments_of(m, arguments), node)


def _method_call(m: Machine, function: Node, arguments: Node | None, node: Node) -> Value:
    receiver_node = function.child_by_field_name("argument")
    member = function.child_by_field_name("field")
    if receiver_node is None or member is None:
        return m.opaque("malformed expression", node)
    _, name, template_list = callee(m, member)
    limits = _static_through(m, receiver_node, name)
    if limits is not None:
        return limits
    receiver = _receiver_value(m, receiver_node, function)
    obj = object_of(receiver)
    if obj is None and receiver.pointer is not None and pointee(receiver).struct is not None:
        obj = places.object_at(m, places.dereference(m, receiver, node))
    if name in FAST_DIVISION:
        divided = fast_division(m, receiver, obj, name, arguments, node)
        if divided is not None:
            return divided
    if obj is not None and obj.role:
        made = group_method(m, obj, name, template_list, arguments, node)
        if made is not None:
            return made
    if obj is not None and obj.ctype.struct is not None:
        result = _own_method(m, obj, name, template_list, arguments, node)
        if result is not None:
            return result
    return unknown_method(m, receiver, obj, name, arguments_of(m, arguments), node, receiver_node)


def _static_through(m: Machine, receiver: Node, name: str) -> Value | None:
    return None


def _receiver_value(m: Machine, node: Node, function: Node) -> Value:
    operator = function.child_by_field_name("operator")
    if operator is not None and operator.type == "->":
        return m.eval(node)
    if node.type in ("identifier", "field_expression", "subscript_expression", "pointer_expression"):
        place = places.place_of(m, node)
        obj = places.object_at(m, place) if (place.ctype.is_object or place.ctype.name == "auto") else None
        if obj is not None:
            return m.typed("param", (), node, obj=obj, ctype=obj.ctype)
        if place.address is not None and not place.ctype.extents:
            held = m.typed("reference", (place.address,), node, ctype=place.ctype)
            held.place = place
            return held
        if place.address is not None:
            return place.address
        return places.load(m, place, node)
    return m.eval(node)


def _own_method(
    m: Machine, obj: Object, name: str, template_list: Node | None, arguments: Node | None, node: Node
) -> Value | None:
    assert obj.ctype.struct is not None
    count = sum(child.type != "comment" for child in arguments.named_children) if arguments is not None else 0
    for method in obj.ctype.struct.methods.get(name, []):
        if _accepts(method, count):
            given = arguments_of(m, arguments, [p.is_reference for p in method.parameters])
            return inline_function(m, method, given, template_arguments(m, template_list), node, obj)
    return None


def unknown_call(m: Machine, name: str, given: list[Argument], node: Node) -> Value:
    """A function that is not here: assumed pure in its values; variables whose address it gets are unknown after."""
    m.reason("call of an unknown function")
    values = tuple(argument.value for argument in given)
    for value in values:
        if isinstance(value, TypedValue) and value.place is not None and value.place.key:
            changed = m.opaque("passed to an unknown function", node, value.place.ctype.element, count=False)
            m.write(value.place.key, changed)
    return m.value(
        "call", values, None, node, m.opaque_expr(f"result of {name}"), None, {"name": name, "unknown": True}
    )
