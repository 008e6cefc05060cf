"""Names and addresses as values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernlint.ir.expr import ZERO
from kernlint.ir.types import UINT32
from kernlint.ir.value import Pointer, Value
from kernlint.lift.cuda import device_places as places
from kernlint.lift.cuda.builtins import CONSTANTS, GRID_NAMES
from kernlint.lift.cuda.device_machine import Machine, Place, Variable, object_of, pointee
from kernlint.lift.cuda.device_objects import field_place, object_scope
from kernlint.lift.cuda.device_resolve import constant_named, constant_of, resolve_type, struct_scope
from kernlint.lift.cuda.device_types import CType
from kernlint.lift.cuda.evaluate_inline import macro_value

if TYPE_CHECKING:
    from tree_sitter import Node


def identifier(m: Machine, node: Node) -> Value:
    name = m.text(node)
    found = m.scope.lookup(name)
    if isinstance(found, Variable):
        return variable_value(m, found, node)
    return global_name(m, name, node)


def variable_value(m: Machine, found: Variable, node: Node) -> Value:
    if found.place is not None:
        return places.load(m, found.place, node)
    if found.buffer is not None:
        pointer = Pointer(found.buffer, ZERO, found.buffer.dtype)
        return m.typed("pointer", (), node, pointer=pointer, ctype=found.ctype)
    held = m.read(found.key)
    if held is not None:
        return held
    return places.load(m, Place(found.ctype, found.key, name=found.name), node)


def global_name(m: Machine, name: str, node: Node) -> Value:
    """A name that is no local: a member of `*this`, a constant, a macro, a file-scope variable, or a symbol."""
    receiver = m.scope.receiver()
    if receiver is not None:
        member = _member_of_receiver(m, receiver, name, node)
        if member is not None:
            return member
    known = CONSTANTS.get(name)
    if known is not None:
        return m.constant(known[0], known[1], node)
    grid = GRID_NAMES.get(name)
    if grid is not None:
        parts = tuple(m.grid_value(grid, index, node) for index in range(3))
        return m.value("tuple", parts, replace(UINT32, lanes=3), node, attrs={"grid": grid})
    constant = constant_named(m, name)
    if constant is not None:
        return constant
    expanded = macro_value(m, name, None, node)
    if expanded is not None:
        return expanded
    variable = m.home.variables.get(name)
    if variable is not None:
        from kernlint.lift.cuda.evaluate_declare import file_variable

        handle = file_variable(m, variable)
        return places.load(m, Place(pointee(handle), address=handle, name=name), node)
    if m.home.constants.get(name) and receiver is not None:
        constant = constant_named(m, name, receiver.ctype.name)
        if constant is not None:
            return constant
    return unknown_name(m, name, node)


def unknown_name(m: Machine, name: str, node: Node) -> Value:
    """A name from a header that is not here.  Constants by their spelling are symbols; anything else is unknown."""
    words = name.lstrip("_")
    looks_constant = words.isupper() or (len(words) > 1 and words[0] == "k" and words[1].isupper()) or "::" in name
    if looks_constant:
        if m.unit.use_span is None:
            m.reason("name from a missing header")
        return m.symbol(name)
    if m.scope.lookup(name) is None and (name in m.home.structs or name in m.home.aliases):
        return m.typed("opaque", (), node, ctype=resolve_type(m, name), attrs={"why": "type name"})
    return m.opaque("unknown name", node)


def _member_of_receiver(m: Machine, receiver: object, name: str, node: Node) -> Value | None:
    from kernlint.lift.cuda.device_machine import Object
    from kernlint.lift.cuda.device_objects import find_field

    assert isinstance(receiver, Object)
    struct = receiver.ctype.struct
    if struct is None:
        return None
    if find_field(receiver, name) is not None:
        place = field_place(m, receiver, name)
        if place is not None:
            item = find_field(receiver, name)
            if item is not None and item.static and item.default is not None:
                found = constant_of(m, receiver.ctype, object_scope(m, receiver), name)
                if found is not None:
                    return found
            return places.load(m, place, node)
    if name in m.home.constants:
        return constant_of(m, receiver.ctype, object_scope(m, receiver), name)
    return None


def qualified(m: Machine, node: Node) -> Value:
    text = "".join(m.text(node).split())
    scope, _, name = text.rpartition("::")
    if name in CONSTANTS and scope in ("", "std", "cuda::std"):
        known = CONSTANTS[name]
        return m.constant(known[0], known[1], node)
    owner = scope.split("<")[0].rpartition("::")[2]
    bound = m.scope.lookup(owner) if owner else None
    if isinstance(bound, CType) and bound.struct is not None:
        found = constant_of(m, bound, struct_scope(m, bound), name)
        if found is not None:
            return found
    alias = m.home.aliases.get(owner)
    if alias is not None and not isinstance(bound, CType):
        ctype = resolve_type(m, owner)
        if ctype.struct is not None:
            owner = ctype.struct.name
    if owner not in m.home.structs or "<" not in scope:
        found = constant_named(m, name, owner) if owner else None
        if found is None and owner not in m.home.structs:
            found = constant_named(m, name) if scope == "" or owner.islower() else None
        if found is not None:
            return found
    variable = m.home.variables.get(name)
    if variable is not None and scope not in ("std",):
        from kernlint.lift.cuda.evaluate_declare import file_variable

        handle = file_variable(m, variable)
        return places.load(m, Place(pointee(handle), address=handle, name=name), node)
    if isinstance(bound, CType) and bound.name:
        text = f"{bound.name}::{name}"
    return m.symbol(text)


def pointer_expression(m: Machine, node: Node) -> Value:
    operator = node.child_by_field_name("operator")
    argument = node.child_by_field_name("argument")
    if argument is None:
        return m.opaque("malformed expression", node)
    if operator is not None and operator.type == "&":
        return address_of(m, argument, node)
    return places.load(m, places.place_of(m, node), node)


def address_of(m: Machine, argument: Node, node: Node) -> Value:
    """`&lvalue`."""
    place = places.place_of(m, argument)
    if place.address is not None:
        if place.ctype.extents and place.address.pointer is not None:
            return m.typed(
                "pointer",
                (place.address,),
                node,
                pointer=place.address.pointer,
                ctype=place.ctype,
            )
        return place.address
    if place.key and place.component < 0:
        held = m.read(place.key)
        obj = object_of(held) if held is not None else None
        pointer = Pointer(None, ZERO, None if place.ctype.depth else place.ctype.element)
        return m.typed(
            "pointer",
            (held,) if held is not None else (),
            node,
            pointer=pointer,
            ctype=place.ctype,
            obj=obj,
            place=place,
        )
    if place.key:
        return m.typed(
            "pointer", (), node, pointer=Pointer(None, ZERO, place.ctype.element), ctype=place.ctype, place=place
        )
    held = m.eval(argument)
    if object_of(held) is not None:
        return held
    return m.opaque("address of something unknown", node)


def type_as_value(m: Machine, node: Node) -> Value:
    """A template argument the grammar took for a type, as the constant it names."""
    text = "".join(m.text(node).split())
    found = m.scope.lookup(text)
    if isinstance(found, Variable):
        return variable_value(m, found, node)
    return global_name(m, text, node) if text.isidentifier() else m.symbol(text)
