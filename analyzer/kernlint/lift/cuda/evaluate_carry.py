"""The start of a loop: a carried value in place of every variable it assigns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernlint.ir.expr import Atom, Expr, axis_expr, opaque
from kernlint.ir.kernel import Loop
from kernlint.ir.value import Pointer, Value
from kernlint.lift.cuda.device_machine import (
    Machine,
    TypedValue,
    Variable,
    object_of,
)
from kernlint.lift.cuda.evaluate_assigned import assigned_names, loop_step
from kernlint.lift.cuda.unit import TranslationUnit
from kernlint.records import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(slots=True, eq=False)
class Carried:
    key: str
    variable: Variable | None
    init: Value
    value: Value
    atom: Atom | None  # stands for the integer (or pointer offset) while the body runs
    known: bool = False  # already in closed form: start + axis*step


@dataclass(frozen=True, slots=True)
class Body:
    """A loop body that stands elsewhere than its header, and what it assigns."""

    node: Node
    unit: TranslationUnit
    names: dict[str, bool]


def carry(
    m: Machine, node: Node, loop: Loop, update: Node | None, body: Node | None, elsewhere: Body | None = None
) -> list[Carried]:
    """Put a carried value in place of every variable assigned in the loop, in a new layer."""
    names = assigned_names(m, node)
    if elsewhere is not None:
        names = {**names, **elsewhere.names}
    layer: dict[str, Value] = {}
    found: list[Carried] = []
    step = loop_step(m, update, body, names) if update is not None else None
    if step is not None and elsewhere is not None and elsewhere.names.get(step[0]):
        step = None
    if step is not None:
        loop.axis.name = f"turn({step[0]})"
    axis = axis_expr(loop.axis)
    for name, direct in names.items():
        variable = m.scope.lookup(name)
        if not isinstance(variable, Variable):
            receiver = m.scope.receiver()
            if receiver is not None and name in receiver.written:
                _carry_key(m, f"{receiver.vid}.{name}", None, loop, layer, found)
            continue
        place = variable.place
        if variable.ctype.const and not variable.ctype.depth and variable.buffer is None:
            continue
        if place is not None:
            if place.key:
                _carry_key(m, place.key, variable, loop, layer, found)
            continue
        if variable.buffer is not None:
            key = f"[{variable.buffer.name}]"
            if m.read(key) is not None:
                layer[key] = TypedValue("tuple", items={})
            continue
        held = m.read(variable.key)
        if held is None:
            continue
        if not direct and held.pointer is not None:
            behind = held.place if isinstance(held, TypedValue) else None
            if behind is not None and behind.key:
                _carry_key(m, behind.key, None, loop, layer, found)
            continue
        if step is not None and step[0] == name and held.expr is not None and held.pointer is None:
            value = m.value("carry", (held,), held.dtype, None, held.expr + axis * step[1], None, {"loop": loop})
            value.name = name
            layer[variable.key] = value
            found.append(Carried(variable.key, variable, held, value, None, True))
            loop.start, loop.step, loop.variable = held.expr, step[1], name
            continue
        _carry_variable(m, variable, held, loop, layer, found)
    m.push_layer()
    m.write_all(layer)
    loop.carries = tuple(item.value for item in found)
    return found


def _carry_variable(
    m: Machine, variable: Variable, held: Value, loop: Loop, layer: dict[str, Value], found: list[Carried]
) -> None:
    obj = object_of(held)
    if obj is not None and (held.pointer is None or held.op == "param"):
        if obj.buffer is not None:
            layer[f"[{obj.buffer.name}]"] = TypedValue("tuple", items={})
        for name in sorted(obj.written):
            key = f"{obj.vid}.{name}"
            if m.read(key) is not None:
                _carry_key(m, key, variable, loop, layer, found)
        return
    _carry_key(m, variable.key, variable, loop, layer, found)
    if held.dtype is not None and held.dtype.lanes > 1:
        for lane in range(held.dtype.lanes):
            if m.read(f"{variable.key}.{lane}") is not None:
                _carry_key(m, f"{variable.key}.{lane}", variable, loop, layer, found)


def _carry_key(
    m: Machine, key: str, variable: Variable | None, loop: Loop, layer: dict[str, Value], found: list[Carried]
) -> None:
    held = m.read(key)
    if held is None or key in layer:
        return
    if object_of(held) is not None and held.pointer is None and held.expr is None:
        return
    behind = held.place if isinstance(held, TypedValue) and held.pointer is not None else None
    if behind is not None:  # a pointer to a register variable: what it points to is carried
        if behind.key and behind.key != key:
            _carry_key(m, behind.key, None, loop, layer, found)
        return
    number = m.next_ordinal()
    name = f"carry:{number}"
    atom: Atom | None = None
    expr: Expr | None = None
    pointer: Pointer | None = None
    is_float = held.dtype is not None and held.dtype.is_float
    if held.pointer is not None or (not is_float and (held.expr is not None or held.cond is not None)):
        unknown = opaque(name, "carried")
        atom = unknown.single_atom
        m.births[f"?:{name}"] = number
        if held.pointer is not None:
            old = held.pointer
            pointer = Pointer(old.buffer, old.offset + unknown, old.dtype, (), old.casts)
        if held.expr is not None or held.cond is not None:
            expr = unknown
    if pointer is not None:
        value: Value = m.typed("carry", (held,), None, pointer=pointer, dtype=held.dtype, expr=expr)
        assert isinstance(value, TypedValue)
        if isinstance(held, TypedValue):
            value.ctype, value.place = held.ctype, None
        value.attrs["loop"] = loop
    else:
        value = m.value("carry", (held,), held.dtype, None, expr, None, {"loop": loop})
    value.name = held.name or (variable.name if variable is not None else "")
    layer[key] = value
    found.append(Carried(key, variable, held, value, atom))
