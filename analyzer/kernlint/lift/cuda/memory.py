"""Places (what can be assigned), and the accesses that reading and writing memory makes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kernlint.ir.condition import equals_zero, negate
from kernlint.ir.expr import ZERO, AtomKind, loaded
from kernlint.ir.kernel import Access, AccessKind, Frame
from kernlint.ir.types import BOOL, ElementType, Space
from kernlint.ir.value import Pointer, Value
from kernlint.lift.cuda.device_machine import Machine, TypedValue
from kernlint.lift.cuda.device_types import CType

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_ITEMS = 256


def access(
    m: Machine,
    kind: AccessKind,
    address: Value,
    node: Node,
    *,
    element: ElementType | None = None,
    value: Value | None = None,
    **extra: Any,
) -> Access:
    """Record one access through `address` at `node`, under the present path."""
    pointer = address.pointer or Pointer(None, m.opaque_expr("unknown pointer"), None)
    element = element or pointer.dtype
    if element is not None and pointer.dtype is None:
        pointer = replace(pointer, dtype=element)
    width = 1
    if element is not None and element.lanes > 1:
        width, element = element.lanes, replace(element, lanes=1)
    attrs: dict[str, Any] = extra.pop("attrs", {})
    attrs["address"] = address
    if "element_stride" in address.attrs:  # bytes between consecutive indices, for members of an array of structs
        attrs["element_stride"] = address.attrs["element_stride"]
    made = Access(
        kind=kind,
        pointer=pointer,
        span=m.span(node),
        ordinal=m.next_ordinal(),
        path=tuple(m.frames),
        guard=m.guard,
        value=value,
        dtype=element,
        width=extra.pop("width", width),
        epoch=m.epoch,
        inlined_at=m.inlined_at,
        attrs=attrs,
        **extra,
    )
    m.accesses.append(made)
    m.emit(made)
    return made


def load_from(m: Machine, address: Value, ctype: CType, node: Node, **extra: Any) -> Value:
    """Read an element of type `ctype` at `address`."""
    alternatives = address.attrs.get("alternatives")
    if alternatives:
        values = []
        for condition, choice in alternatives:
            m.push_frame(Frame(condition))
            values.append(load_from(m, choice, ctype, node, **extra))
            m.pop_frame()
        from kernlint.lift.cuda.device_join import join

        return join(m, alternatives[0][0], values[0], values[1], None)
    known = _forwarded(m, address)
    element = None if ctype.depth else ctype.element
    made = access(m, AccessKind.LOAD, address, node, element=element, **extra)
    if ctype.depth:
        return _loaded_pointer(m, made, address, ctype, node)
    expr = known.expr if known is not None else None
    if expr is None and (element is None or not element.is_float):
        expr = _load_expr(m, made, node)
    cond = negate(equals_zero(expr)) if element is BOOL and expr is not None else None
    if element is None and ctype.is_object and ctype.struct is not None:
        held = m.new_object(ctype, "?")
        result: Value = m.typed("load", (address,), node, ctype=ctype, obj=held)
        result.attrs["access"] = made
    else:
        result = m.value("load", (address,), element, node, expr, cond, {"access": made})
    if known is not None:
        result.attrs["forwarded"] = known
    made.value = result
    return result


def _load_expr(m: Machine, made: Access, node: Node) -> Any:
    """The loaded integer; a read-only element read again is the same integer."""
    buffer, offset = made.pointer.buffer, made.pointer.offset
    name = m.text(node)[:40] if m.unit.use_span is None else (buffer.name if buffer else "load")
    fresh = loaded(made.ordinal, " ".join(name.split()), (offset,))
    if buffer is None or not (buffer.readonly or buffer.space is Space.CONSTANT) or made.pointer.casts:
        return fresh
    return m.loads.setdefault(f"{buffer.name}[{offset.key}]", fresh)


def loaded_pointer(m: Machine, value: Value, ctype: CType, node: Node | None) -> Value:
    """A loaded value of unknown type that turns out to be a pointer."""
    assert value.access is not None
    return _loaded_pointer(m, value.access, value, ctype, node)


def _loaded_pointer(m: Machine, made: Access, address: Value, ctype: CType, node: Node | None) -> Value:
    """A pointer read from memory (an array of pointers): the buffer it names is known by where it was read from."""
    result = m.typed("load", (address,), node, ctype=ctype.pointed(), attrs={"access": made})
    made.value = made.value or result
    buffer = made.pointer.buffer
    target = ctype.pointed()
    if buffer is None or any(atom.kind is AtomKind.OPAQUE for atom in made.pointer.offset.deep_atoms):
        result.pointer = Pointer(None, m.opaque_expr("loaded pointer"), target.element)
        return result
    key = f"{buffer.name}[{made.pointer.offset!r}]"
    found = m.symbols.get(key)
    if found is None or found.pointer is None:
        found = m.typed("load", (address,), node, ctype=target)
        made_buffer = m.buffer(key[:60], Space.GLOBAL, target, node, ctype.const)
        found.pointer = Pointer(made_buffer, ZERO, target.element)
        m.symbols[key] = found
    result.pointer = found.pointer
    return result


def store_to(m: Machine, address: Value, ctype: CType, value: Value, node: Node, **extra: Any) -> None:
    alternatives = address.attrs.get("alternatives")
    if alternatives:
        for condition, choice in alternatives:
            m.push_frame(Frame(condition))
            store_to(m, choice, ctype, value, node, **extra)
            m.pop_frame()
        return
    element = None if ctype.depth else ctype.element
    access(m, AccessKind.STORE, address, node, element=element, value=value, **extra)
    _remember(m, address, value)


# contents of local arrays with known indices


def _items_key(pointer: Pointer | None) -> str:
    if pointer is None or pointer.buffer is None or pointer.buffer.space is not Space.LOCAL or pointer.casts:
        return ""
    return f"[{pointer.buffer.name}]"


def _forwarded(m: Machine, address: Value) -> Value | None:
    key = _items_key(address.pointer)
    if not key or address.pointer is None:
        return None
    held = m.read(key)
    items = held.items if isinstance(held, TypedValue) else None
    return items.get(address.pointer.offset.key) if items else None


def _remember(m: Machine, address: Value, value: Value) -> None:
    """After a store: that element holds `value`; elements that could be the same one are forgotten."""
    key = _items_key(address.pointer)
    if not key or address.pointer is None:
        return
    held = m.read(key)
    items = held.items if isinstance(held, TypedValue) and held.items else {}
    offset = address.pointer.offset
    kept: dict[str, Value] = {}
    if offset.constant is not None and len(items) < MAX_ITEMS:
        kept = {name: item for name, item in items.items() if name.lstrip("-").isdigit()}
    kept[offset.key] = value
    m.write(key, TypedValue("tuple", items=kept))


# places


__all__ = ["access", "load_from", "loaded_pointer", "store_to"]
