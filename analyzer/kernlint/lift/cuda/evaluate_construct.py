"""Making values of a type from arguments and from braces, and types defined inside a function."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernlint.ir.expr import ZERO, const
from kernlint.ir.types import INT32, ElementType
from kernlint.ir.value import Pointer, Value
from kernlint.lift.cuda.declarators import declared, type_text_of
from kernlint.lift.cuda.device_machine import Machine, object_of
from kernlint.lift.cuda.device_objects import copied, field_place
from kernlint.lift.cuda.device_ops import convert
from kernlint.lift.cuda.device_types import CType
from kernlint.lift.cuda.evaluate_inline import Argument, arguments_of, inline_function

if TYPE_CHECKING:
    from tree_sitter import Node


def construct_from(m: Machine, ctype: CType, node: Node, name: str = "") -> Value:
    """`T name{...}` or `T name(...)`."""
    if node.type == "initializer_list" and ctype.struct is not None and not ctype.struct.methods.get(ctype.struct.name):
        return braced(m, node, ctype, name)
    return construct(m, ctype, arguments_of(m, node), node, name)


def construct(m: Machine, ctype: CType, given: list[Argument], node: Node, name: str = "") -> Value:
    """An object or scalar of type `ctype` made from arguments."""
    values = [argument.value for argument in given]
    element = ctype.element
    if ctype.depth or (element is not None and element.lanes == 1):
        if not values:
            return (
                m.constant(0, element, node)
                if element is not None and not ctype.depth
                else m.typed("const", (), node, pointer=Pointer(None, ZERO, None), attrs={"value": 0})
            )
        return convert(m, values[0], ctype, node, True)
    if element is not None:
        return _vector(m, element, values, node)
    if (ctype.struct is None and len(values) == 1 and ctype.name in ("auto", "", "T")) or _is_value_type(
        m, ctype, values
    ):
        return convert(m, values[0], ctype, node, True)
    if ctype.name.endswith("atomic_ref") and given:
        return _atomic_reference(m, ctype, given, node)
    source = object_of(values[0]) if len(values) == 1 else None
    if source is not None and source.ctype.name == ctype.name:
        return copied(m, values[0], name)
    made = m.new_object(ctype, name or ctype.name)
    result = m.typed("opaque", tuple(values), node, ctype=ctype, obj=made, attrs={"why": "object"})
    if ctype.struct is not None:
        for method in ctype.struct.methods.get(ctype.struct.name, []):
            if len(method.parameters) == len(given) and given:
                inline_function(m, method, given, (), node, made)
                break
    return result


def _is_value_type(m: Machine, ctype: CType, values: list[Value]) -> bool:
    """A template type parameter used as a function: `T(0)`."""
    return (
        ctype.struct is None
        and not ctype.arguments
        and len(values) == 1
        and "::" not in ctype.name
        and (len(ctype.name) <= 2 or ctype.name.startswith(("DType", "T", "scalar", "IdType", "acc")))
    )


def _vector(m: Machine, element: ElementType, values: list[Value], node: Node) -> Value:
    single = CType("", replace(element, lanes=1))
    if len(values) == 1 and values[0].dtype == element:
        return values[0]
    if len(values) == element.lanes or element.name == "uint32":
        parts = tuple(convert(m, value, single, None, False) for value in values)
        return m.value("tuple", parts, element, node)
    return m.value("cast" if values else "const", tuple(values), element, node, attrs={"explicit": True, "value": 0})


def _atomic_reference(m: Machine, ctype: CType, given: list[Argument], node: Node) -> Value:
    scope = "device"
    for text in ctype.arguments:
        for word in ("block", "system", "thread"):
            if text.endswith(f"thread_scope_{word}"):
                scope = word
    made = m.new_object(ctype, scope)
    made.role = "atomic"
    place = given[0].place
    address = place.address if place is not None and place.address is not None else given[0].value
    if given[0].value.op == "load" and given[0].value.args:
        address = given[0].value.args[0]
    made.extra = (address,)
    return m.typed("opaque", (address,), node, ctype=ctype, obj=made, attrs={"why": "atomic_ref"})


def braced(m: Machine, node: Node, ctype: CType, name: str = "") -> Value:
    """`{a, b}` as a value of type `ctype`."""
    children = [child for child in node.named_children if child.type != "comment"]
    if ctype.is_object and ctype.struct is not None:
        made = m.new_object(ctype, name or ctype.name)
        fields = [item for item in ctype.struct.fields if not item.static]
        position = 0
        for child in children:
            if child.type == "initializer_pair":
                designator, value_node = child.child_by_field_name("designator"), child.child_by_field_name("value")
                if designator is None or value_node is None:
                    continue
                field_name, child = m.text(designator).lstrip("."), value_node
            elif position < len(fields):
                field_name = fields[position].name
                position += 1
            else:
                break
            place = field_place(m, made, field_name)
            value = (
                braced(m, child, place.ctype if place else CType(""))
                if child.type == "initializer_list"
                else m.eval(child)
            )
            if place is not None and place.key:
                m.write(place.key, convert(m, value, place.ctype, None, False))
        return m.typed("opaque", (), node, ctype=ctype, obj=made, attrs={"why": "object"})
    values = [m.eval(child) for child in children]
    if ctype.is_scalar and ctype.element is not None:
        if ctype.element.lanes > 1:
            return _vector(m, ctype.element, values, node)
        return convert(m, values[0], ctype, node, False) if values else m.constant(0, ctype.element, node)
    if ctype.depth and len(values) == 1:
        return convert(m, values[0], ctype, node, False)
    if not values:
        return m.constant(0, INT32, node) if not ctype.is_object else construct(m, ctype, [], node, name)
    return m.value("tuple", tuple(values), None, node)


def local_type(m: Machine, node: Node) -> None:
    """A struct defined inside a function."""
    from kernlint.lift.cuda.unit import Field, Struct

    body, named = node.child_by_field_name("body"), node.child_by_field_name("name")
    if body is None or node.type == "enum_specifier":
        if body is not None:
            _local_enum(m, body)
        return
    name = m.text(named) if named is not None else ""
    fields: list[Field] = []
    for child in body.named_children:
        if child.type == "field_declaration":
            for item in declared(m.unit, child):
                if not item.is_function:
                    fields.append(
                        Field(item.name, type_text_of(m.unit, child), item.node, item.pointer_depth, item.array_sizes)
                    )
    struct = Struct(name, node, m.unit, tuple(fields), is_union=node.type == "union_specifier")
    m.scope.names[name or f"struct@{node.start_byte}"] = CType(name or "struct", None, 0, (), struct)
    m.scope.types = {}


def _local_enum(m: Machine, body: Node) -> None:
    current = const(-1)
    for child in body.named_children:
        name = child.child_by_field_name("name") if child.type == "enumerator" else None
        if name is None:
            continue
        value = child.child_by_field_name("value")
        current = m.expr_of(m.eval(value)) if value is not None else current + const(1)
        variable = m.new_variable(m.text(name), CType("int", INT32))
        m.write(variable.key, m.value("const", (), INT32, child, current, None, {"value": current.constant}))
