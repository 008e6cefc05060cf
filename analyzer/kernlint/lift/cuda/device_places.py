"""Places: what can be assigned, what stands there, and how it is read and written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernlint.ir.expr import ZERO, const, loaded
from kernlint.ir.expr import param as param_expr
from kernlint.ir.kernel import AccessKind
from kernlint.ir.value import Pointer, Value
from kernlint.lift.cuda.device_machine import Machine, Object, Place, TypedValue, object_of, pointee
from kernlint.lift.cuda.device_objects import field_place
from kernlint.lift.cuda.device_ops import offset_pointer, recast
from kernlint.lift.cuda.device_types import COMPONENTS, UNKNOWN, CType, scalar
from kernlint.lift.cuda.memory import access, load_from, store_to

if TYPE_CHECKING:
    from tree_sitter import Node


def place_of(m: Machine, node: Node) -> Place:
    """The place an lvalue expression denotes."""
    handler = _PLACES.get(node.type)
    if handler is not None:
        m.steps += 1
        return handler(m, node)
    return place_of_value(m, m.eval(node))


def place_of_value(m: Machine, value: Value) -> Place:
    """A place for a value that came from an expression: what a reference or an object denotes."""
    if isinstance(value, TypedValue) and value.place is not None and value.op == "reference":
        return value.place
    obj = object_of(value)
    if obj is not None and value.pointer is None:
        return Place(obj.ctype, name=obj.path, value=value)
    if value.dtype is not None and value.pointer is None:
        return Place(scalar(value.dtype), name=value.name, value=value)
    return Place(value.ctype if isinstance(value, TypedValue) and value.ctype else UNKNOWN, value=value)


def _identifier_place(m: Machine, node: Node) -> Place:
    from kernlint.lift.cuda.device_machine import Variable

    name = m.text(node)
    found = m.scope.lookup(name)
    if isinstance(found, Variable):
        if found.place is not None:
            return found.place
        if found.buffer is not None:
            return Place(found.ctype, name=name, address=m.eval(node))
        return Place(found.ctype, found.key, name=name)
    receiver = m.scope.receiver()
    if receiver is not None and receiver.ctype.struct is not None:
        member = field_place(m, receiver, name, declared_only=True)
        if member is not None:
            return member
    variable = m.home.variables.get(name)
    if variable is not None:
        from kernlint.lift.cuda.evaluate_declare import file_variable

        handle = file_variable(m, variable)
        return Place(pointee(handle), address=handle, name=name)
    value = m.eval(node)
    if value.pointer is not None and value.pointer.buffer is not None:
        return Place(pointee(value), address=value, name=name)
    return place_of_value(m, value)


def _parenthesized_place(m: Machine, node: Node) -> Place:
    inner = next((child for child in node.named_children if child.type != "comment"), None)
    return place_of(m, inner) if inner is not None else Place(UNKNOWN)


def _subscript_place(m: Machine, node: Node) -> Place:
    argument = node.child_by_field_name("argument")
    indices = node.child_by_field_name("indices")
    if argument is None or indices is None:
        return Place(UNKNOWN)
    index_nodes = [child for child in indices.named_children if child.type != "comment"]
    if len(index_nodes) != 1:
        return Place(UNKNOWN)
    if argument.type in ("field_expression", "subscript_expression"):
        place = place_of(m, argument)
        if place.address is not None and _is_untyped(place.ctype):
            return _untyped_element(m, place, m.eval(index_nodes[0]), node)
        base = load(m, place, argument)
    else:
        base = m.eval(argument)
    return subscript(m, base, m.eval(index_nodes[0]), node)


def _is_untyped(ctype: CType) -> bool:
    return not ctype.name and ctype.element is None and not ctype.depth and not ctype.extents


def _untyped_element(m: Machine, place: Place, index: Value, node: Node) -> Place:
    """A subscript of a member of a class that is not here, taken for an array; the extent of an inner dimension is a
    symbol of its own."""
    address = place.address
    assert address is not None
    pointer = address.pointer or Pointer(None, m.opaque_expr("unknown pointer"), None)
    amount = m.expr_of(index)
    offset = pointer.offset + amount
    if pointer.indices:
        name = pointer.buffer.name if pointer.buffer is not None else place.name
        offset = pointer.offset * param_expr(f"{name}.extent{len(pointer.indices)}") + amount
    moved = replace(pointer, offset=offset, indices=(*pointer.indices, amount))
    made = m.typed("pointer", (address, index), node, pointer=moved, ctype=place.ctype)
    return Place(place.ctype, address=made, name=place.name)


def subscript(m: Machine, base: Value, index: Value, node: Node) -> Place:
    """The place of `base[index]`."""
    obj = object_of(base)
    if obj is not None and (base.pointer is None or obj.ctype.struct is not None):
        from kernlint.lift.cuda.device_objects import element_place

        return element_place(m, obj, index, node)
    if isinstance(base, TypedValue) and base.place is not None and base.pointer is not None:
        return _place_behind(m, base, index, node)
    if base.pointer is None:
        if base.dtype is not None and base.dtype.lanes > 1:
            return Place(UNKNOWN)
        unknown = m.typed("pointer", (base, index), node)
        unknown.pointer = Pointer(None, m.opaque_expr("unknown pointer") + m.expr_of(index), None)
        return Place(UNKNOWN, address=unknown)
    ctype = pointee(base)
    if ctype.extents:
        return _array_element(m, base, index, ctype, node)
    address = offset_pointer(m, base, index, node)
    return Place(ctype, address=address)


def _array_element(m: Machine, base: Value, index: Value, ctype: CType, node: Node) -> Place:
    """One subscript of a declared array; the rest of the extents stays in the type."""
    assert base.pointer is not None
    amount = m.expr_of(index)
    step = amount
    for extent in ctype.extents[1:]:
        step = step * extent
    inner = CType(ctype.name, ctype.element, ctype.depth, ctype.extents[1:], ctype.struct, ctype.arguments, ctype.const)
    old = base.pointer
    pointer = Pointer(old.buffer, old.offset + step, old.dtype, (*old.indices, amount), old.casts)
    address = m.typed("pointer", (base, index), node, pointer=pointer, ctype=inner)
    return Place(inner, address=address)


def _place_behind(m: Machine, base: TypedValue, index: Value, node: Node) -> Place:
    """`(&x)[i]`: the variable itself for i = 0 of its own type, a part of it otherwise."""
    place, ctype = base.place, base.ctype or UNKNOWN
    assert place is not None
    offset = m.expr_of(index)
    if base.pointer is not None:
        offset = offset + base.pointer.offset
    held = place.ctype
    if offset.constant == 0 and (ctype.element == held.element and ctype.depth == held.depth):
        return place
    lane = offset.constant
    whole = held.element
    if whole is not None and lane is not None and 0 <= lane < whole.lanes and replace(whole, lanes=1) == ctype.element:
        return Place(ctype, place.key, component=lane, name=place.name)
    return Place(ctype, f"{place.key}<{ctype.name}>{offset.key}" if place.key else "", name=place.name)


def _dereference_place(m: Machine, node: Node) -> Place:
    argument = node.child_by_field_name("argument")
    operator = node.child_by_field_name("operator")
    if argument is None or (operator is not None and operator.type == "&"):
        return Place(UNKNOWN)
    return dereference(m, m.eval(argument), node)


def dereference(m: Machine, base: Value, node: Node) -> Place:
    obj = object_of(base)
    if base.pointer is None and obj is not None:
        return Place(obj.ctype, name=obj.path, address=None, key=f"obj{obj.vid}")
    if isinstance(base, TypedValue) and base.place is not None:
        return _place_behind(m, base, m.value("const", (), None, None, ZERO, None, {"value": 0}), node)
    if base.pointer is not None and pointee(base).extents:
        return _array_element(m, base, m.value("const", (), None, None, ZERO, None, {"value": 0}), pointee(base), node)
    return Place(pointee(base), address=base)


def _field_place(m: Machine, node: Node) -> Place:
    argument = node.child_by_field_name("argument")
    member = node.child_by_field_name("field")
    operator = node.child_by_field_name("operator")
    if argument is None or member is None:
        return Place(UNKNOWN)
    name = m.text(member)
    if operator is not None and operator.type == "->":
        base = dereference(m, m.eval(argument), node)
    else:
        if argument.type == "this":
            receiver = m.scope.receiver()
            found = field_place(m, receiver, name) if receiver is not None else None
            return found or Place(UNKNOWN)
        base = place_of(m, argument)
    return member_place(m, base, name, node)


def member_place(m: Machine, base: Place, name: str, node: Node) -> Place:
    """The place of `base.name`: a component of a vector, or a field of an object."""
    element = base.ctype.element
    if element is not None and not base.ctype.depth and name in COMPONENTS:
        single = scalar(replace(element, lanes=1))
        lane = COMPONENTS[name]
        if base.key:
            return Place(single, base.key, component=lane, name=base.name)
        if base.value is not None:
            return Place(single, name=name, value=component(m, base.value, lane, Place(single, name=base.name), node))
        if base.address is not None and base.address.pointer is not None:
            wide = base.address.pointer
            narrow = recast(wide, base.ctype, single)
            narrow = replace(narrow, offset=narrow.offset + const(lane), casts=wide.casts, indices=())
            return Place(single, address=m.typed("pointer", (base.address,), node, pointer=narrow, ctype=single))
    if element is not None and name == "__x" and base.key and not base.ctype.depth:
        return Place(base.ctype, base.key, name=base.name)  # the raw bits of half and fp8 types
    holder = object_at(m, base)
    found = field_place(m, holder, name) if holder is not None else None
    return found or Place(UNKNOWN, name=name)


def object_at(m: Machine, place: Place) -> Object | None:
    """The object standing at a place."""
    if place.value is not None:
        return object_of(place.value)
    if place.key:
        held = m.read(place.key)
        found = object_of(held) if held is not None else None
        if found is None and place.ctype.is_object:
            found = m.new_object(place.ctype, place.name or "?")
            m.write(place.key, m.typed("opaque", (), None, ctype=place.ctype, obj=found, attrs={"why": "object"}))
        return found
    if place.address is not None:
        found = object_of(place.address)
        if found is not None and place.address.op == "param":
            return found
        made = m.new_object(place.ctype, place.name or _address_name(place.address))
        made.address = place.address
        return made
    return None


def _address_name(address: Value) -> str:
    pointer = address.pointer
    return pointer.buffer.name if pointer is not None and pointer.buffer is not None else "?"


_PLACES = {
    "identifier": _identifier_place,
    "parenthesized_expression": _parenthesized_place,
    "subscript_expression": _subscript_place,
    "pointer_expression": _dereference_place,
    "field_expression": _field_place,
}


def load(m: Machine, place: Place, node: Node) -> Value:
    """The value at a place."""
    if place.value is not None:
        return place.value
    if place.key:
        held = m.read(place.key)
        if held is None:
            held = _uninitialised(m, place, node)
        if place.component >= 0:
            return component(m, held, place.component, place, node)
        return held
    if place.address is not None:
        if place.ctype.extents:
            return place.address
        if place.ctype.is_object and (place.ctype.struct is not None):
            return _whole_object(m, place, place.address, node)
        return load_from(m, place.address, place.ctype, node)
    return m.opaque(f"unknown place {place.name}".strip() if not place.name else "unknown name", node)


def _whole_object(m: Machine, place: Place, address: Value, node: Node) -> Value:
    """A struct read from memory: one wide access when it stands for a vector type, else member by member later."""
    known = address.attrs.get("read whole")
    if known is not None and known[0] == node.start_byte:  # the same expression, evaluated again
        return known[1]  # type: ignore[no-any-return]
    made = m.typed("load", (address,), node, ctype=place.ctype, obj=object_at(m, place))
    pointer = address.pointer
    if pointer is not None and pointer.dtype is not None and pointer.dtype.lanes > 1:
        made.attrs["access"] = access(m, AccessKind.LOAD, address, node, value=made)
        address.attrs["read whole"] = (node.start_byte, made)
    return made


def _uninitialised(m: Machine, place: Place, node: Node) -> Value:
    element = place.ctype.element
    if place.ctype.depth:
        target = place.ctype.pointed()
        unknown = m.typed("opaque", (), node, ctype=target, attrs={"why": "uninitialised"})
        unknown.pointer = Pointer(None, m.opaque_expr("uninitialised"), target.element)
        unknown.name = place.name
        m.write(place.key, unknown)
        return unknown
    made = m.opaque("uninitialised", node, element if place.ctype.is_scalar else None, count=False)
    made.name = place.name
    m.write(place.key, made)
    return made


def component(m: Machine, held: Value, lane: int, place: Place, node: Node) -> Value:
    """Component `lane` of a vector value."""
    written = m.read(f"{place.key}.{lane}") if place.key else None
    if written is not None:
        return written
    if held.op == "tuple" and lane < len(held.args):
        return held.args[lane]
    element = place.ctype.element
    expr = None
    if element is None or not element.is_float:
        key = f"component {held.ordinal}.{lane}"
        found = m.symbols.get(key)
        if found is not None:
            return found
        source = held.access
        if source is not None and source.pointer.buffer is not None and not source.pointer.offset.is_opaque:
            expr = loaded(
                source.ordinal, f"{place.name}.{'xyzw'[lane] if lane < 4 else lane}", (source.pointer.offset,)
            )
            atom = expr.single_atom
            if atom is not None:
                from kernlint.ir.expr import Atom, of_atom

                expr = of_atom(Atom(atom.kind, f"{atom.key}.{lane}", atom.name, atom.args, None, atom.note))
        else:
            expr = m.opaque_expr("component of a vector")
        made = m.value("split_lanes", (held,), element, node, expr, None, {"dim": 0, "component": lane})
        m.symbols[key] = made
        return made
    return m.value("split_lanes", (held,), element, node, expr, None, {"dim": 0, "component": lane})


def store(m: Machine, place: Place, value: Value, node: Node) -> None:
    """Write `value` (already of the place's type) to a place."""
    if place.key:
        if place.component >= 0:
            m.write(f"{place.key}.{place.component}", value)
            return
        if not value.name and value.op not in ("const", "param"):
            value.name = place.name
        m.write(place.key, value)
        if place.ctype.element is not None and place.ctype.element.lanes > 1:
            for lane in range(place.ctype.element.lanes):
                if m.read(f"{place.key}.{lane}") is not None:
                    m.write(
                        f"{place.key}.{lane}",
                        component(
                            m, value, lane, Place(scalar(replace(place.ctype.element, lanes=1)), name=place.name), node
                        ),
                    )
        return
    if place.address is not None:
        store_to(m, place.address, place.ctype, value, node)
