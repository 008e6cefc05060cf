"""Class objects: the fields of parameters, of locals, of shared storage, and elements of array-like objects."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernlint.ir.expr import ZERO, const
from kernlint.ir.types import Space
from kernlint.ir.value import Buffer, Pointer, Value
from kernlint.lift.cuda.device_machine import Machine, Object, Place, Scope, TypedValue, Variable
from kernlint.lift.cuda.device_resolve import resolve_type, size_of, struct_layout, struct_scope, within
from kernlint.lift.cuda.device_types import UNKNOWN, CType, integer_literal, named_element
from kernlint.lift.cuda.unit import Field

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_CHOICES = 12


def object_scope(m: Machine, obj: Object) -> Scope:
    """The scope of an object's class, with its template parameters bound."""
    if obj.scope is None:
        obj.scope = struct_scope(m, obj.ctype)
    return obj.scope


def find_field(obj: Object, name: str) -> Field | None:
    struct = obj.ctype.struct
    if struct is None:
        return None
    return next((item for item in struct.fields if item.name == name), None)


def field_type(m: Machine, obj: Object, item: Field) -> CType:
    """The declared type of a field, with array extents."""
    struct = obj.ctype.struct
    assert struct is not None
    scope = object_scope(m, obj)
    with within(m, struct.unit, scope):
        base = resolve_type(m, item.type_text, scope)
        extents = tuple(m.expr_of(m.eval(size)) if size is not None else ZERO for size in item.array_sizes)
    return replace(base, depth=base.depth + item.pointer_depth, extents=(*extents, *base.extents), const=item.const)


def field_place(m: Machine, obj: Object, name: str, declared_only: bool = False) -> Place | None:
    """Where field `name` of `obj` is; with `declared_only`, None when the struct is known and has no such field."""
    item = find_field(obj, name)
    if declared_only and item is None and obj.ctype.struct is not None and not obj.symbolic:
        struct = obj.ctype.struct
        if not struct.bases and name not in obj.written:
            return None
    ctype = field_type(m, obj, item) if item is not None else UNKNOWN
    if ctype.extents:
        return Place(ctype, name=name, address=_array_field(m, obj, name, ctype))
    memory = obj.address
    if memory is not None:
        return Place(ctype, name=name, address=_field_address(m, obj, memory, name, ctype))
    key = f"{obj.vid}.{name}"
    if m.read(key) is None:
        initial = _initial(m, obj, name, ctype, item)
        if initial is not None:
            m.write_base(key, initial)
    obj.written.add(name)
    return Place(ctype, key, name=name)


def _initial(m: Machine, obj: Object, name: str, ctype: CType, item: Field | None) -> Value | None:
    """What a field holds before it is written in the kernel."""
    if obj.base is not None:
        return read_field(m, obj.base, name)
    if obj.choice is not None:
        return _chosen(m, obj, name)
    if obj.symbolic:
        return m.symbol(f"{obj.path}.{name}", ctype)
    if item is not None and item.default is not None and obj.ctype.struct is not None:
        with within(m, obj.ctype.struct.unit, object_scope(m, obj)):
            return m.eval(item.default)
    if ctype.is_object:
        return m.typed("opaque", (), None, ctype=ctype, obj=m.new_object(ctype, f"{obj.path}.{name}"))
    return None


def _chosen(m: Machine, obj: Object, name: str) -> Value | None:
    """The field of one of two objects."""
    from kernlint.lift.cuda.device_join import join

    assert obj.choice is not None
    condition, first, second, test = obj.choice
    if _depth(obj) > MAX_CHOICES:
        return None
    a, b = read_field(m, first, name), read_field(m, second, name)
    if a is None or b is None:
        return a or b
    return a if a is b else join(m, condition, a, b, test)


def _depth(obj: Object) -> int:
    depth, current = 0, obj
    while current.choice is not None and depth <= MAX_CHOICES:
        depth, current = depth + 1, current.choice[2]
    return depth


def read_field(m: Machine, obj: Object, name: str) -> Value | None:
    place = field_place(m, obj, name)
    if place is None:
        return None
    if place.key:
        return m.read(place.key)
    return place.address


def _array_field(m: Machine, obj: Object, name: str, ctype: CType) -> Value:
    """An array member: a buffer of its own; of one of many structs in memory, a place in that memory."""
    behind = obj.address.pointer if obj.address is not None else None
    many = behind is not None and (bool(behind.offset.terms) or _memory_space(obj.address) is Space.GLOBAL)
    if many and behind is not None and obj.address is not None:
        return _array_in_memory(m, obj, obj.address, behind, name, ctype)
    key = f"{obj.path}.{name}" if obj.path else name
    cached = f"array {obj.vid if obj.address is None else obj.path}.{name}"
    known = m.symbols.get(cached)
    if known is not None:
        return known
    if obj.address is not None:
        space = _memory_space(obj.address)
    else:
        space = Space.CONSTANT if obj.symbolic else Space.LOCAL
    made_buffer = m.buffer(key, space, replace(ctype, extents=()), None, obj.symbolic)
    made_buffer.extents = ctype.extents
    made = m.typed("pointer", (), None, pointer=Pointer(made_buffer, ZERO, made_buffer.dtype), ctype=ctype)
    m.symbols[cached] = made
    return made


def _array_in_memory(m: Machine, obj: Object, memory: Value, behind: Pointer, name: str, ctype: CType) -> Value:
    """Array member `name` of the struct at `behind`: counted in the member's elements from the structs' start when the
    layout is known, else in a buffer named after the member, one run of elements for each struct."""
    layout = struct_layout(m, obj.ctype)
    element = None if ctype.depth else ctype.element
    width = 8 if ctype.depth else (element.bytes if element is not None else 0)
    if layout is not None and width and layout[0] % width == 0 and layout[1].get(name, 1) % width == 0:
        offset = behind.offset * (layout[0] // width) + layout[1][name] // width
        pointer = Pointer(behind.buffer, offset, element, (), behind.casts)
        return m.typed("pointer", (memory,), None, pointer=pointer, ctype=ctype)
    holder = behind.buffer.name if behind.buffer is not None else obj.path
    cached = f"array {holder}.{name}"
    known = m.symbols.get(cached)
    if known is None or known.pointer is None:
        made_buffer = m.buffer(f"{holder}.{name}", _memory_space(memory), replace(ctype, extents=()), None)
        known = m.typed("pointer", (), None, pointer=Pointer(made_buffer, ZERO, made_buffer.dtype), ctype=ctype)
        m.symbols[cached] = known
    assert known.pointer is not None
    run = const(1)
    for item in ctype.extents:
        run = run * item
    pointer = replace(known.pointer, offset=behind.offset * run)
    return m.typed("pointer", (memory,), None, pointer=pointer, ctype=ctype)


def _memory_space(value: Value | None) -> Space:
    pointer = value.pointer if value is not None else None
    return pointer.buffer.space if pointer is not None and pointer.buffer is not None else Space.UNKNOWN


def _field_address(m: Machine, obj: Object, memory: Value, name: str, ctype: CType) -> Value:
    """A member of an object in memory: a buffer named after it, indexed like the object."""
    pointer = memory.pointer
    holder = pointer.buffer.name if pointer is not None and pointer.buffer is not None else obj.path
    cached = f"field {holder}.{name}"
    known = m.symbols.get(cached)
    if known is None or known.pointer is None or known.pointer.buffer is None:
        made_buffer = m.buffer(f"{holder}.{name}", _memory_space(memory), ctype, None)
        known = m.typed("pointer", (), None, pointer=Pointer(made_buffer, ZERO, made_buffer.dtype), ctype=ctype)
        m.symbols[cached] = known
    base = known.pointer
    assert base is not None
    if pointer is None or not pointer.offset.terms:
        return known
    made = m.typed("pointer", (memory,), None, pointer=replace(base, offset=pointer.offset), ctype=ctype)
    stride = size_of(m, obj.ctype).constant if obj.ctype.struct is not None else None
    if stride is not None and ctype.element is not None and not ctype.depth and stride != ctype.element.bytes:
        made.attrs["element_stride"] = stride
    return made


def elements_of(m: Machine, obj: Object, node: Node | None = None) -> Buffer:
    """The register array behind an array-like object (`vec_t<float, 8>`, a fragment)."""
    if obj.buffer is None:
        dtype, extents = None, []
        for text in obj.ctype.arguments:
            literal = integer_literal(text) if text[:1].isdigit() else None
            bound = m.scope.lookup(text)
            if literal is not None:
                extents.append(const(literal[0]))
            elif isinstance(bound, Variable):
                held = m.read(bound.key)
                if held is not None and held.expr is not None:
                    extents.append(held.expr)
            elif dtype is None:
                found = bound if isinstance(bound, CType) else None
                dtype = found.element if found is not None else named_element(text)
        space = _memory_space(obj.address) if obj.address is not None else Space.LOCAL
        ctype = CType("", dtype)
        obj.buffer = m.buffer(obj.path or "object", space, ctype, node)
        obj.buffer.extents = tuple(extents[:1]) or None
    return obj.buffer


def elements_pointer(m: Machine, obj: Object, node: Node | None = None) -> TypedValue:
    """A pointer to the first element of an array-like object."""
    buffer = elements_of(m, obj, node)
    ctype = CType(obj.ctype.arguments[0] if obj.ctype.arguments else "", buffer.dtype)
    offset = ZERO
    if obj.symbolic or obj.address is not None:
        pointer = obj.address.pointer if obj.address is not None else None
        offset = pointer.offset if pointer is not None else ZERO
    return m.typed("pointer", (), node, pointer=Pointer(buffer, offset, buffer.dtype), ctype=ctype)


def element_place(m: Machine, obj: Object, index: Value, node: Node) -> Place:
    """`object[index]`."""
    from kernlint.lift.cuda.device_ops import offset_pointer

    pointer = elements_pointer(m, obj, node)
    address = offset_pointer(m, pointer, index, node)
    address.pointer = replace(address.pointer, indices=(m.expr_of(index),)) if address.pointer else None
    return Place(pointer.ctype or UNKNOWN, address=address)


def copied(m: Machine, value: Value, name: str) -> Value:
    """A copy of an object value, so that later writes to its fields leave the original alone."""
    obj = value.obj if isinstance(value, TypedValue) else None
    if obj is None or value.pointer is not None or obj.function is not None or obj.role:
        return value
    m.vids += 1
    twin = Object(obj.ctype, obj.path if obj.symbolic else name, m.vids, obj.symbolic, obj, obj.address, obj.buffer)
    return m.typed(value.op, value.args, None, ctype=obj.ctype, obj=twin, dtype=value.dtype, expr=value.expr)
