"""Declarations: scalars, pointers, arrays in every space, objects, references, structured bindings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernlint.ir.expr import ZERO, Expr, const
from kernlint.ir.types import INT32, Space
from kernlint.ir.value import Pointer, Value
from kernlint.lift.cuda import device_places as places
from kernlint.lift.cuda import memory
from kernlint.lift.cuda.declarators import Declared, declared, type_text_of
from kernlint.lift.cuda.device_join import join
from kernlint.lift.cuda.device_machine import Left, Machine, Place, TypedValue, Variable, object_of, pointee
from kernlint.lift.cuda.device_objects import copied, elements_of, field_place
from kernlint.lift.cuda.device_ops import convert
from kernlint.lift.cuda.device_resolve import extent, resolve_type
from kernlint.lift.cuda.device_types import CType, integer_literal
from kernlint.lift.cuda.evaluate_construct import braced, construct, construct_from, local_type
from kernlint.lift.cuda.evaluate_inline import Argument
from kernlint.lift.cuda.unit import FileArray, Recorded

if TYPE_CHECKING:
    from tree_sitter import Node

_SPACES = {"device": Space.GLOBAL, "constant": Space.CONSTANT, "shared": Space.SHARED, "managed": Space.GLOBAL}
MAX_ELEMENTS = 256


def declaration(m: Machine, node: Node) -> Left | None:
    words, recorded, text, names = _read(m, node)
    if text:
        base = resolve_type(m, text)
    else:
        base = _unnamed_type(m, node)
    is_shared, is_const = "__shared__" in words, "const" in words
    if not names:
        _structured_binding(m, node, base)
        return None
    for item in names:
        ctype = base.with_depth(base.depth + item.pointer_depth, is_const or base.const)
        if item.is_function:
            _constructed(m, node, item, ctype)
        elif is_shared:
            _shared(m, item, ctype, "extern" in words, _alignment(words, recorded), item.node)
        elif "__constant__" in words or ("static" in words and "__device__" in words):
            _local_array(m, item, ctype, Space.CONSTANT)
        elif item.array_sizes and not item.is_reference:
            _local_array(m, item, ctype, Space.LOCAL)
        else:
            _variable(m, item, ctype)
    return None


def _read(m: Machine, node: Node) -> tuple[set[str], list[Recorded], str, list[Declared]]:
    """Qualifiers, recorded annotations, type text and declarators of a declaration; '' for a type with a body.  Kept,
    since inlining reads the same declaration again."""
    key = (m.unit.source.path, node.start_byte)
    known = m.declarations.get(key) if m.unit.use_span is None else None
    if known is not None:
        found: tuple[set[str], list[Recorded], str, list[Declared]] = known
        return found
    words = {m.text(child) for child in node.children if child.type in ("type_qualifier", "storage_class_specifier")}
    recorded = m.unit.recorded_in(node.start_byte, node.end_byte) if m.unit.use_span is None else []
    words |= {record.name for record in recorded}
    type_node = node.child_by_field_name("type")
    has_body = type_node is not None and type_node.child_by_field_name("body") is not None
    text = "" if has_body else type_text_of(m.unit, node)
    found = (words, recorded, text, declared(m.unit, node))
    if m.unit.use_span is None:
        m.declarations[key] = found
    return found


def _unnamed_type(m: Machine, node: Node) -> CType:
    """The type of a declaration that defines it on the spot."""
    type_node = node.child_by_field_name("type")
    if type_node is None or type_node.child_by_field_name("body") is None:
        return CType("")
    local_type(m, type_node)
    name = type_text_of(m.unit, node)
    if name:
        return resolve_type(m, name)
    bound = m.scope.lookup(f"struct@{type_node.start_byte}")
    return bound if isinstance(bound, CType) else CType("")


def _alignment(words: set[str], recorded: list[Recorded]) -> int | None:
    for word in sorted(words):
        if word.startswith("alignas"):
            literal = integer_literal(word[word.find("(") + 1 : word.rfind(")")].strip() or "x")
            if literal is not None:
                return literal[0]
    for record in recorded:
        literal = integer_literal(record.arguments[0]) if record.arguments else None
        if literal is not None:
            return literal[0]
    return None


def _extents(m: Machine, item: Declared) -> tuple[Expr, ...]:
    return tuple(extent(m, size) or ZERO for size in item.array_sizes)


def _shared(m: Machine, item: Declared, ctype: CType, is_extern: bool, alignment: int | None, node: Node) -> None:
    extents = _extents(m, item)
    known = m.symbols.get(f"shared {item.node.start_byte} {m.unit.path} {item.name}")
    if is_extern:
        known = known or m.symbols.get("extern shared")
    variable = m.new_variable(item.name, replace(ctype, extents=extents[:] if extents and not is_extern else ()))
    if known is not None and known.pointer is not None:
        variable.buffer = known.pointer.buffer
        if is_extern and variable.buffer is not None and variable.buffer.dtype != ctype.element:
            pointer = Pointer(variable.buffer, ZERO, None if ctype.depth else ctype.element)
            variable.buffer = None
            m.write_base(variable.key, m.typed("pointer", (), node, pointer=pointer, ctype=ctype))
        return
    made = m.buffer(item.name, Space.SHARED, ctype, item.node)
    made.alignment = alignment
    if is_extern:
        made.dynamic = True
    else:
        made.extents = extents or (const(1),)
        if ctype.is_object and not extents:
            made.extents = None
    handle = m.typed("pointer", (), node, pointer=Pointer(made, ZERO, made.dtype), ctype=variable.ctype)
    m.symbols["extern shared" if is_extern else f"shared {item.node.start_byte} {m.unit.path} {item.name}"] = handle
    if not extents:
        variable.place = Place(ctype, address=handle, name=item.name)
    variable.buffer = made if extents else None
    if variable.place is None and variable.buffer is None:
        variable.buffer = made


def _local_array(m: Machine, item: Declared, ctype: CType, space: Space) -> None:
    extents = list(_extents(m, item))
    value_node = item.value
    if value_node is not None and extents and item.array_sizes[0] is None:
        extents[0] = const(sum(child.type != "comment" for child in value_node.named_children))
    full = replace(ctype, extents=(*extents, *ctype.extents))
    variable = m.new_variable(item.name, full)
    made = m.buffer(item.name, space, replace(ctype, extents=()), item.node, ctype.const)
    made.extents = full.extents
    variable.buffer = made
    m.write(f"[{made.name}]", TypedValue("tuple", items={}))
    if value_node is not None and value_node.type in ("initializer_list", "argument_list"):
        _fill(m, variable, value_node, full)


def _fill(m: Machine, variable: Variable, node: Node, ctype: CType) -> None:
    """Initialise an array from braces: what is not written is zero.  Recorded as contents and as stores."""
    assert variable.buffer is not None
    flat: list[Value] = []
    pending: list[Node] = [node]
    while pending and len(flat) < MAX_ELEMENTS:
        current = pending.pop()
        if current.type in ("initializer_list", "argument_list"):
            pending.extend(reversed([child for child in current.named_children if child.type != "comment"]))
        else:
            flat.append(convert(m, m.eval(current), replace(ctype, extents=()), None, False))
    items: dict[str, Value] = {}
    pointer = Pointer(variable.buffer, ZERO, variable.buffer.dtype)
    for index, value in enumerate(flat):
        address = m.typed("pointer", (), None, pointer=replace(pointer, offset=const(index)), ctype=ctype)
        items[const(index).key] = value
        if variable.buffer.space is Space.LOCAL:
            memory.store_to(m, address, replace(ctype, extents=()), value, node)
    total = const(1)
    for size in ctype.extents:
        total = total * size
    count = total.constant
    if (
        count is not None
        and len(flat) < count <= MAX_ELEMENTS
        and ctype.element is not None
        and ctype.element.lanes == 1
    ):
        zero = m.constant(0, ctype.element)
        for index in range(len(flat), count):
            items[const(index).key] = zero
    if ctype.element is not None or not flat:
        variable.buffer.volatile = variable.buffer.volatile
    m.write(f"[{variable.buffer.name}]", TypedValue("tuple", items=items))
    m.symbols.setdefault(f"initialised {variable.buffer.name}", m.constant(1, INT32))


def _variable(m: Machine, item: Declared, ctype: CType) -> None:
    value_node = item.value
    if item.is_reference and value_node is not None:
        _reference(m, item, value_node, ctype)
        return
    if value_node is None:
        variable = m.new_variable(item.name, ctype)
        if ctype.is_object and ctype.name != "auto":
            made = construct(m, ctype, [], item.node, item.name)
            m.write(variable.key, made)
        return
    if value_node.type in ("initializer_list", "argument_list"):
        value = construct_from(m, ctype, value_node, item.name)
    else:
        value = m.eval(value_node)
    if value_node.type == "lambda_expression":
        pass
    else:
        value = convert(m, value, ctype, None, False)
    value = copied(m, value, item.name)
    obj = object_of(value)
    inferred = ctype
    if ctype.name == "auto" or ctype.name == "":
        inferred = _inferred(value)
    if obj is not None and not obj.path:
        obj.path = item.name
    variable = m.new_variable(item.name, inferred)
    if not value.name and value.op not in ("const", "param"):
        value.name = item.name
    m.write(variable.key, value)


def _inferred(value: Value) -> CType:
    """The type `auto` stands for."""
    obj = object_of(value)
    if value.pointer is not None and value.dtype is None:
        target = pointee(value)
        return target if obj is not None and target.is_object and value.op == "param" else target.pointer()
    if obj is not None:
        return obj.ctype
    if value.dtype is not None:
        return CType(value.dtype.name, value.dtype)
    return CType("auto")


def _reference(m: Machine, item: Declared, value_node: Node, ctype: CType) -> None:
    if value_node.type in ("initializer_list", "argument_list") and value_node.named_child_count == 1:
        value_node = value_node.named_children[0]
    place = places.place_of(m, value_node)
    variable = m.new_variable(item.name, ctype if ctype.name not in ("auto", "") else place.ctype)
    if place.address is not None and place.ctype.extents:
        m.write(variable.key, place.address)
        return
    if place.key or place.address is not None:
        variable.place = place
        return
    value = m.eval(value_node)
    m.write(variable.key, value)


def _structured_binding(m: Machine, node: Node, base: CType) -> None:
    for child in node.named_children:
        if child.type != "init_declarator":
            continue
        declarator, value_node = child.child_by_field_name("declarator"), child.child_by_field_name("value")
        if declarator is None or value_node is None or declarator.type != "structured_binding_declarator":
            continue
        value = m.eval(value_node)
        for index, name in enumerate(declarator.named_children):
            part = _part(m, value, index)
            variable = m.new_variable(m.text(name), CType("auto"))
            m.write(variable.key, part or m.opaque("structured binding", name))


def _part(m: Machine, value: Value, index: int) -> Value | None:
    """What the index-th name of a structured binding stands for."""
    if value.op == "tuple" and index < len(value.args):
        return value.args[index]
    if value.op in ("join", "where") and len(value.args) >= 2:
        a, b = _part(m, value.args[-2], index), _part(m, value.args[-1], index)
        condition = value.attrs.get("condition")
        if a is not None and b is not None and condition is not None:
            return join(m, condition, a, b, None)
    obj = object_of(value)
    if obj is not None and obj.ctype.struct is not None:
        fields = [item for item in obj.ctype.struct.fields if not item.static]
        place = field_place(m, obj, fields[index].name) if index < len(fields) else None
        return m.read(place.key) if place is not None and place.key else None
    return None


def _constructed(m: Machine, node: Node, item: Declared, ctype: CType) -> None:
    """`T name(a, b);` that the grammar took for a function declaration."""
    declarator = next((c for c in node.named_children if c.type == "function_declarator"), None)
    listed = declarator.child_by_field_name("parameters") if declarator is not None else None
    texts = [m.text(child) for child in listed.named_children] if listed is not None else []
    given: list[Argument] = []
    for child in listed.named_children if listed is not None else ():
        place = _parameter_place(m, child)
        given.append(Argument(places.load(m, place, child), place))
    del texts
    variable = m.new_variable(item.name, ctype)
    m.write(variable.key, construct(m, ctype, given, item.node, item.name))


def _parameter_place(m: Machine, node: Node) -> Place:
    """`a[0]` or `x` parsed as a parameter declaration, read as the expression it is."""
    type_node = node.child_by_field_name("type")
    if type_node is None:
        return Place(CType(""))
    name = m.text(type_node)
    found = m.scope.lookup(name)
    declarator = node.child_by_field_name("declarator")
    if not isinstance(found, Variable):
        return Place(CType(""), name=name)
    base = Place(found.ctype, found.key, name=name)
    if declarator is not None and declarator.type == "abstract_array_declarator":
        size = declarator.child_by_field_name("size")
        if size is not None:
            from kernlint.lift.cuda.evaluate_expr import variable_value

            return places.subscript(m, variable_value(m, found, type_node), m.eval(size), node)
    return found.place or base


def file_variable(m: Machine, variable: FileArray) -> Value:
    """A file-scope `__device__`, `__constant__` or `__shared__` variable, as the buffer it is (or its value)."""
    key = f"file {variable.name}"
    known = m.symbols.get(key)
    base = resolve_type(m, variable.type_text)
    if known is None:
        extents = tuple(extent(m, size) or ZERO for size in variable.array_sizes)
        ctype = replace(base, depth=base.depth + variable.pointer_depth, extents=extents)
        space = _SPACES.get(variable.space, Space.GLOBAL)
        made = m.buffer(variable.name, space, replace(ctype, extents=()), None, variable.const)
        made.extents = extents or None
        known = m.typed("pointer", (), None, pointer=Pointer(made, ZERO, made.dtype), ctype=ctype)
        m.symbols[key] = known
    return known


__all__ = ["braced", "construct", "declaration", "elements_of", "file_variable", "local_type"]
