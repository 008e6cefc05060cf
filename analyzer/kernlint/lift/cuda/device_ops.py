"""Arithmetic, comparisons and conversions on values: C types on the value, mathematical meaning in the expression."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernlint.ir import arith
from kernlint.ir.condition import Condition, compare, conj, disj, flag, negate
from kernlint.ir.expr import ONE, ZERO, AtomKind, Expr, const, loaded
from kernlint.ir.types import BOOL, INT64, TYPES, ElementType
from kernlint.ir.value import Pointer, Value, ancestors
from kernlint.lift.cuda.device_machine import Machine, TypedValue, object_of, pointee
from kernlint.lift.cuda.device_types import CType, common, promoted

if TYPE_CHECKING:
    from tree_sitter import Node

_OPS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "%": "mod",
    "&": "and",
    "|": "or",
    "^": "xor",
    "<<": "shl",
    ">>": "shr",
}
_COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
BYTE = TYPES["uint8"]
MAX_ANCESTORS = 60


def binary(m: Machine, op: str, a: Value, b: Value, node: Node | None) -> Value:
    """`a op b` for values already evaluated; `op` is the C operator."""
    if op in _COMPARISONS:
        return comparison(m, op, a, b, node)
    if op in ("&&", "||", "and", "or"):
        both = op in ("&&", "and")
        parts = (m.cond_of(a), m.cond_of(b))
        return m.value("and" if both else "or", (a, b), BOOL, node, None, conj(parts) if both else disj(parts))
    if op in ("+", "-") and (a.pointer is not None or b.pointer is not None):
        moved = _pointer_arithmetic(m, op, a, b, node)
        if moved is not None:
            return moved
    name = _OPS.get(op)
    if name is None:
        return m.opaque(f"operator {op}", node, None, (a, b))
    dtype = promoted(a.dtype) if name in ("shl", "shr") else common(a.dtype, b.dtype)
    if name == "div" and dtype is not None and dtype.is_integer:
        name = "floordiv"
    expr = None
    if dtype is None or dtype.is_integer:
        x, y = _integer(m, a), _integer(m, b)
        if x is not None and y is not None:
            expr = integer_operation("floordiv" if name == "div" else name, x, y)
        elif dtype is not None:
            expr = m.opaque_expr("operand has no integer meaning")
    cond = None
    if a.dtype is BOOL and b.dtype is BOOL and op in ("&", "|"):
        dtype = BOOL
        parts = (m.cond_of(a), m.cond_of(b))
        cond, expr = (conj(parts) if op == "&" else disj(parts)), None
    return m.value(name, (a, b), dtype, node, expr, cond)


def _integer(m: Machine, value: Value) -> Expr | None:
    if value.dtype is not None and value.dtype.is_float:
        return None
    return m.expr_of(value) if value.expr is not None or value.cond is not None else None


def integer_operation(name: str, x: Expr, y: Expr) -> Expr:
    """The normal form of an integer operation named as in `Value.op`."""
    if name == "add":
        return x + y
    if name == "sub":
        return x - y
    if name == "mul":
        return x * y
    if name == "and":
        for value, mask in ((x, y.constant), (y, x.constant)):
            if mask is not None and mask < 0 and (-mask & (-mask - 1)) == 0:
                return value - arith.mod(value, const(-mask))  # rounding down to a multiple of 2^k
        return arith.bitand(x, y)
    if name in ("floordiv", "mod") and y.constant == 0:
        return arith.call(f"{name}_by_zero", x)
    return _FUNCTIONS[name](x, y)


_FUNCTIONS = {
    "floordiv": arith.floordiv,
    "mod": arith.mod,
    "or": arith.bitor,
    "xor": arith.xor,
    "shl": arith.shl,
    "shr": arith.shr,
    "min": arith.minimum,
    "max": arith.maximum,
}


def comparison(m: Machine, op: str, a: Value, b: Value, node: Node | None) -> Value:
    x, y = _integer(m, a), _integer(m, b)
    cond: Condition
    if x is not None and y is not None:
        cond = compare(op, x, y)
    elif op in ("==", "!=") and (a.cond is not None or b.cond is not None) and (x is not None or y is not None):
        x, y = m.expr_of(a), m.expr_of(b)
        cond = compare(op, x, y)
    else:
        # the same values compared again give the same flag; `>` and `<` of swapped sides as well
        left, right, sign = a, b, op
        if sign in (">", ">="):
            left, right, sign = b, a, sign.replace(">", "<")
        inverse = sign == "!="
        cond = flag(f"{_label(left)} {'==' if inverse else sign} {_label(right)}")
        cond = negate(cond) if inverse else cond
    return m.value("cmp", (a, b), BOOL, node, None, cond, {"op": op})


def _label(value: Value) -> str:
    if value.op == "const":
        return str(value.attrs.get("value"))
    return f"{value.name or value.op}#{value.ordinal}"


def unary(m: Machine, op: str, a: Value, node: Node | None) -> Value:
    if op in ("!", "not"):
        return m.value("not", (a,), BOOL, node, None, negate(m.cond_of(a)))
    dtype = promoted(a.dtype)
    x = _integer(m, a)
    if op == "+":
        return a
    if op == "-":
        if a.op == "const" and isinstance(a.attrs.get("value"), (int, float)) and dtype is not None:
            number = a.attrs["value"]
            return m.value("const", (), dtype, node, -x if x is not None else None, None, {"value": -number})
        return m.value("neg", (a,), dtype, node, -x if x is not None else None)
    if op == "~":
        return m.value("not", (a,), dtype, node, -x - ONE if x is not None else None)
    return m.opaque(f"operator {op}", node, dtype, (a,))


def minimum_or_maximum(m: Machine, name: str, a: Value, b: Value, node: Node | None) -> Value:
    dtype = common(a.dtype, b.dtype)
    x, y = _integer(m, a), _integer(m, b)
    expr = integer_operation(name, x, y) if x is not None and y is not None else None
    if expr is None and dtype is not None and dtype.is_integer:
        expr = m.opaque_expr("operand has no integer meaning")
    return m.value(name, (a, b), dtype, node, expr)


# pointers


def _pointer_arithmetic(m: Machine, op: str, a: Value, b: Value, node: Node | None) -> Value | None:
    if a.pointer is not None and b.pointer is not None and (a.dtype is None) == (b.dtype is None):
        if op == "-" and object_of(b) is None:
            same = a.pointer.buffer is not None and a.pointer.buffer is b.pointer.buffer
            expr = a.pointer.offset - b.pointer.offset if same else m.opaque_expr("difference of pointers")
            return m.value("sub", (a, b), INT64, node, expr)
        return None
    base, index = (a, b) if a.pointer is not None else (b, a)
    if base is b and op == "-":
        return None
    if index.dtype is not None and not (index.dtype.is_integer or index.dtype is BOOL):
        return None
    return offset_pointer(m, base, index, node, negative=op == "-")


def offset_pointer(m: Machine, base: Value, index: Value, node: Node | None, negative: bool = False) -> Value:
    """`base + index`; an integer that is also an address (`__cvta_generic_to_shared`) stays both."""
    pointer = base.pointer
    assert pointer is not None
    amount = m.expr_of(index)
    amount = -amount if negative else amount
    ctype = base.ctype if isinstance(base, TypedValue) else None
    step = amount
    indices = pointer.indices
    if ctype is not None and ctype.extents:
        for extent in ctype.extents[1:]:
            step = step * extent
        indices = ()
    elif indices and len(indices) == 1:
        indices = (indices[0] + amount,)
    else:
        indices = ()
    moved = Pointer(pointer.buffer, pointer.offset + step, pointer.dtype, indices, pointer.casts)
    made = m.typed("pointer", (base, index), node, pointer=moved, ctype=ctype, dtype=base.dtype)
    if isinstance(base, TypedValue) and base.place is not None:
        made.place = base.place
    if base.attrs.get("alternatives"):
        made.attrs["alternatives"] = tuple(
            (condition, offset_pointer(m, choice, index, node, negative))
            for condition, choice in base.attrs["alternatives"]
        )
    if base.expr is not None:
        made.expr = base.expr + amount
        if base.dtype is not None:
            made.op = "sub" if negative else "add"
            made.dtype = common(base.dtype, index.dtype)
    return made


def retyped_pointer(m: Machine, value: Value, to: CType, node: Node | None) -> Value:
    """The pointer `value` as a pointer to `to` (the pointee)."""
    pointer = value.pointer
    assert pointer is not None
    source = pointee(value)
    from kernlint.lift.cuda.device_resolve import sized

    moved = recast(pointer, sized(m, source), sized(m, to))
    place, obj = (value.place, value.obj) if isinstance(value, TypedValue) else (None, None)
    if obj is not None and obj.ctype.name != to.name:
        obj = None
    attrs: dict[str, object] = {"explicit": True}
    if value.attrs.get("alternatives"):
        attrs["alternatives"] = tuple(
            (condition, retyped_pointer(m, choice, to, node)) for condition, choice in value.attrs["alternatives"]
        )
    return m.typed("cast", (value,), node, pointer=moved, ctype=to, place=place, obj=obj, attrs=attrs)


def recast(pointer: Pointer, source: CType, to: CType) -> Pointer:
    """The offset of a reinterpreted pointer: `offset * old bytes // new bytes`, kept exactly as that."""
    target = None if to.depth else to.element
    if pointer.buffer is not None and _is_placeholder(pointer):
        # a buffer nothing was known about is what it is first used as
        pointer.buffer.dtype = pointer.buffer.dtype or target
        return replace(pointer, dtype=target)
    if pointer.dtype == target and (target is not None or source.name == to.name):
        return pointer
    offset = pointer.offset
    if offset.terms and not to.is_void and not source.is_void:
        offset = rescaled(offset, source.size, to.size)
    elif to.is_void and offset.terms and not source.is_void:
        offset = offset * source.size
    casts = pointer.casts
    if pointer.dtype is not None and pointer.dtype != target:
        casts = (*casts, pointer.dtype)
    return Pointer(pointer.buffer, offset, target, (), casts)


def _is_placeholder(pointer: Pointer) -> bool:
    return (
        pointer.dtype is None
        and pointer.buffer is not None
        and pointer.buffer.dtype is None
        and not pointer.offset.terms
    )


def rescaled(offset: Expr, old: Expr, new: Expr) -> Expr:
    if old == new:
        return offset
    scaled = offset * old
    exact = scaled.divided_by(new) if len(new.terms) == 1 else None
    return exact if exact is not None else arith.floordiv(scaled, new)


# conversions


def convert(m: Machine, value: Value, to: CType, node: Node | None, explicit: bool) -> Value:
    """`value` as type `to`; the value itself when nothing changes."""
    if to.name == "auto" and not to.depth:
        return value
    if to.depth or to.extents:
        if value.pointer is not None:
            wanted = to.pointed() if to.depth else to
            if value.dtype is not None and value.dtype.is_integer:
                # an address kept in an integer counts bytes
                source = Pointer(value.pointer.buffer, value.pointer.offset, BYTE, (), value.pointer.casts)
                return m.typed(
                    "cast", (value,), node, pointer=recast(source, CType("uint8", BYTE), wanted), ctype=wanted
                )
            current = pointee(value)
            if explicit or current.element != wanted.element or current.name != wanted.name:
                return retyped_pointer(m, value, wanted, node)
            return value
        if value.access is not None:
            from kernlint.lift.cuda.memory import loaded_pointer

            return loaded_pointer(m, value, to, node)
        if value.op == "const":
            return m.typed("pointer", (value,), node, pointer=Pointer(None, ZERO, None), ctype=to.pointed())
        unknown = m.typed("pointer", (value,), node, pointer=None, ctype=to.pointed())
        unknown.pointer = Pointer(None, m.opaque_expr("unknown pointer"), to.pointed().element)
        return unknown
    element = to.element
    if element is None:
        if value.op == "call" or to.is_void or object_of(value) is not None:
            return value
        return m.value("cast", (value,), None, node, value.expr, value.cond, {"explicit": explicit, "type": to.name})
    if value.dtype == element and not value.pointer:
        return value
    return _convert_scalar(m, value, element, node, explicit)


def _convert_scalar(m: Machine, value: Value, element: ElementType, node: Node | None, explicit: bool) -> Value:
    attrs = {"explicit": explicit}
    if element.is_float:
        if value.op == "const" and element.lanes == 1 and not explicit:
            number = value.attrs.get("value")
            if isinstance(number, (int, float)):
                return m.value("const", (value,), element, node, None, None, {"value": float(number)})
        return m.value("cast", (value,), element, node, None, None, attrs)
    if element is BOOL:
        return m.value("cast", (value,), BOOL, node, None, m.cond_of(value), attrs)
    if value.pointer is not None and value.expr is None:
        return pointer_to_integer(m, value, element, node)
    expr = value.expr
    if expr is None and value.cond is not None:
        expr = m.expr_of(value)
    if expr is None:
        expr = data_dependent(m, value)
    if isinstance(value, TypedValue) and value.pointer is not None and value.dtype is not None:
        return m.typed("cast", (value,), node, pointer=value.pointer, dtype=element, expr=expr, attrs=dict(attrs))
    return m.value("cast", (value,), element, node, expr, None, attrs)


def pointer_to_integer(m: Machine, value: Value, element: ElementType, node: Node | None) -> Value:
    """An address as an integer: it keeps the pointer, counted in bytes."""
    assert value.pointer is not None
    byte = CType("uint8", BYTE)
    pointer = recast(value.pointer, pointee(value), byte)
    expr = m.opaque_expr("address")
    return m.typed(
        "cast", (value,), node, pointer=pointer, ctype=byte, dtype=element, expr=expr, attrs={"explicit": True}
    )


def data_dependent(m: Machine, value: Value) -> Expr:
    """The integer made from a floating-point value: an unnamed pure function of the loads behind it, so that it counts
    as data; unknown when anything behind it is."""
    sources: list[Expr] = []
    count = 0
    for item in ancestors(value, MAX_ANCESTORS):
        count += 1
        if item.op in ("opaque", "carry"):
            return m.opaque_expr("made from a value not understood")
        if item.access is not None:
            offset = item.access.pointer.offset
            if item.access.pointer.buffer is None or offset.is_opaque:
                return m.opaque_expr("made from a value not understood")
            sources.append(item.expr or loaded(item.access.ordinal, f"{item.access.pointer.buffer}[...]", (offset,)))
        elif item.expr is not None and item.op != "const":
            sources.append(item.expr)
    if count >= MAX_ANCESTORS or len(sources) > 8 or not sources:
        return m.opaque_expr("made from a floating-point value")
    unique = {source.key: source for source in sources if not any(a.kind is AtomKind.OPAQUE for a in source.deep_atoms)}
    made = arith.call(f"int_of_float#{m.next_ordinal()}", *[unique[key] for key in sorted(unique)])
    atom = made.single_atom
    if atom is not None:
        m.births[atom.key] = m.ordinals
    return made
