"""What names in host expressions mean: variables, constants, macros, kernels, template arguments."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernlint.ir.expr import Expr
from kernlint.lift.cuda.host_members import member_constant, owner_struct
from kernlint.lift.cuda.host_types import element_type
from kernlint.lift.cuda.host_values import UNKNOWN, KernelRef, Known, State, host_part, named

if TYPE_CHECKING:
    from tree_sitter import Node

    from kernlint.lift.cuda.host_walk import Walker
    from kernlint.lift.cuda.unit import Constant


def identifier_value(w: Walker, node: Node, state: State) -> Known:
    """A plain name: a variable, a constant, a macro, a kernel, or a host value known by its name."""
    name = w.text(node)
    known = state.variables.get(name)
    if known is not None:
        return known
    constants = w.program.constants.get(name)
    if constants:
        found = _constant(w, constants, state)
        if found is not None:
            return replace(found, root=name)
    macro = w.program.macros.get(name)
    if macro is not None and macro.parameters is None:
        return _macro_value(w, name, node, state)
    functions = w.program.functions.get(name, ())
    if any(function.is_kernel for function in functions):
        return Known(kernels=(KernelRef(name, key=name),), text=name)
    if functions:
        return Known(root=name, text=name)
    return named(name)


def _macro_value(w: Walker, name: str, node: Node, state: State) -> Known:
    if name in w.program.macros.conflicting:
        return replace(named(name), root=name)
    expansion = w.program.expand(name, None, w.unit.span(node))
    if expansion is None or not expansion.is_expression:
        return UNKNOWN
    with w.inside(expansion.unit):
        return w.evaluate(expansion.nodes[0], state)


def _constant(w: Walker, constants: list[Constant], state: State) -> Known | None:
    """The value of a file-scope constant when all its definitions agree."""
    values: list[Expr] = []
    for constant in constants[:8]:
        value = w.constant_value(constant)
        if value is None:
            return None
        values.append(value)
    return Known(expr=values[0]) if values and all(value == values[0] for value in values) else None


def qualified_value(w: Walker, node: Node, state: State) -> Known:
    name = node.child_by_field_name("name")
    scope = node.child_by_field_name("scope")
    text = "".join(w.text(node).split())
    if name is None:
        return UNKNOWN
    inner: Node = name
    while inner.type == "qualified_identifier" and inner.child_by_field_name("name") is not None:
        scope = inner.child_by_field_name("scope") or scope
        inner = inner.child_by_field_name("name") or inner
    if inner.type == "template_function":
        return w.evaluate(inner, state)
    last = w.text(inner)
    owner = w.text(scope).rpartition("::")[2] if scope is not None else ""
    if scope is not None and owner_struct(w, w.text(scope), state) is not None:
        value = member_constant(w, w.text(scope), last, state)
        return Known(expr=value) if value is not None else Known(expr=host_part(text), root=text, text=text)
    constants = w.program.constants.get(last, [])
    members = [constant for constant in constants if constant.class_name == owner or not constant.class_name]
    if members and (found := _constant(w, members, state)) is not None:
        return found
    functions = w.program.functions.get(last, ())
    if any(function.is_kernel for function in functions):
        return Known(kernels=(KernelRef(last, key=last),), text=text)
    return Known(expr=host_part(text), root=text, text=text)


def template_value(w: Walker, node: Node, state: State) -> Known:
    """`foo<T, 4>` used as a value: a kernel, by its definition here or for want of a better reading."""
    name = node.child_by_field_name("name")
    arguments = node.child_by_field_name("arguments")
    if name is None or arguments is None:
        return UNKNOWN
    label = w.text(name)
    functions = w.program.functions.get(label, ())
    if functions and not any(function.is_kernel for function in functions):
        return Known(root=label)
    values = tuple(template_argument(w, child, state) for child in arguments.named_children)
    parts = (value.expr.key if value.expr is not None else value.text for value in values)
    key = f"{label}<{','.join(parts)}>"
    return Known(kernels=(KernelRef(label, values, key=key),), text=w.text(node))


def template_argument(w: Walker, node: Node, state: State) -> Known:
    """A template argument: a constant expression, or a type (then only its text and element type are known)."""
    text = " ".join(w.text(node).split())
    if node.type == "type_descriptor":
        kind = node.child_by_field_name("type")
        plain = kind is not None and kind.type == "type_identifier" and node.named_child_count == 1
        if plain and kind is not None:
            name = w.text(kind)
            known = state.variables.get(name)
            if known is not None and known.expr is not None:
                return replace(known, text=text, span=w.unit.span(node))
            if name in w.program.constants or w.program.macros.get(name) is not None:
                found = identifier_value(w, kind, state)
                if found.expr is not None:
                    return replace(found, text=text, span=w.unit.span(node))
        return Known(dtype=element_type(text), text=text, span=w.unit.span(node))
    return replace(w.evaluate(node, state), text=text, span=w.unit.span(node))
