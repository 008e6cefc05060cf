"""Loops: iteration axes, carried variables and their closed forms."""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernlint.ir import arith
from kernlint.ir.condition import FALSE, TRUE, Connective, flag
from kernlint.ir.expr import Atom, AtomKind, Axis, AxisKind, Expr, axis_expr, const, opaque, substitute
from kernlint.ir.kernel import Frame, Loop
from kernlint.ir.value import Pointer, Value
from kernlint.lift.cuda.device_machine import (
    Left,
    Machine,
    Target,
    TypedValue,
    Variable,
    Way,
    births_after,
    object_of,
)
from kernlint.lift.cuda.device_resolve import within
from kernlint.lift.cuda.device_state import merge_ways
from kernlint.lift.cuda.evaluate_assigned import assigned_names, loop_step
from kernlint.lift.cuda.macros import Expansion
from kernlint.lift.cuda.unit import TranslationUnit

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(slots=True, eq=False)
class _Carried:
    key: str
    variable: Variable | None
    init: Value
    value: Value
    atom: Atom | None  # stands for the integer (or pointer offset) while the body runs
    known: bool = False  # already in closed form: start + axis*step


def loop_statement(m: Machine, node: Node) -> Left | None:
    unrolled, m.unroll = m.unroll, False
    saved = m.enter_block()
    left = _for_range(m, node) if node.type == "for_range_loop" else _loop(m, node, unrolled)
    m.scope = saved
    return left


def headed_loop(m: Machine, header: Expansion, body: Node) -> Left | None:
    """A loop whose header a macro wrote: `header`'s last statement is the loop, without a body of its own."""
    unrolled, m.unroll = m.unroll, False
    saved = m.enter_block()
    outer = m.unit
    names = assigned_names(m, body)
    with within(m, header.unit, m.scope):
        for node in header.nodes[:-1]:
            m.run(node)
        left = _loop(m, header.nodes[-1], unrolled, _Body(body, outer, names))
    m.scope = saved
    return left


@dataclass(frozen=True, slots=True)
class _Body:
    """A loop body that stands elsewhere than its header, and what it assigns."""

    node: Node
    unit: TranslationUnit
    names: dict[str, bool]


def _loop(m: Machine, node: Node, unrolled: bool, elsewhere: _Body | None = None) -> Left | None:
    initializer = node.child_by_field_name("initializer")
    if initializer is not None:
        if initializer.type in m.statements:
            m.run(initializer)
        else:
            m.eval(initializer)
    body = node.child_by_field_name("body")
    condition_node = node.child_by_field_name("condition")
    update = node.child_by_field_name("update")
    axis = Axis(AxisKind.LOOP, f"k{m.loops}", f"k{m.loops}", None)
    m.loops += 1
    header_end = body.start_byte if body is not None and node.type != "do_statement" else node.end_byte
    loop = Loop(axis, m.unit.span_of(node.start_byte, header_end), path=tuple(m.frames), unrolled=unrolled)
    m.emit(loop)
    mark, vid_mark = m.ordinals, m.vids
    carried = _carry(m, node, loop, update, body, elsewhere)
    target = Target("loop", len(m.layers) - 1, len(m.frames) + 1)
    m.targets.append(target)
    m.regions.append(loop.body)
    test: Value | None = None
    m.push_frame(Frame(TRUE, loop=loop))
    if condition_node is not None and node.type != "do_statement":
        from kernlint.lift.cuda.control import condition_value

        test = condition_value(m, condition_node)
    cond = m.cond_of(test) if test is not None else TRUE
    m.pop_frame()
    loop.condition = test
    m.push_frame(Frame(cond, loop=loop, value=test, span=loop.span))
    left: Left | None = None
    if elsewhere is not None:
        with within(m, elsewhere.unit, m.scope):
            left = m.run(elsewhere.node)
    elif body is not None and cond.op is not Connective.FALSE:
        left = m.run(body)
    ends = left is not None and (left.returns.op is Connective.TRUE or left.jumps.op is Connective.TRUE)
    _merge_continues(m, target, ends)
    if update is not None:
        m.eval(update)
    if node.type == "do_statement" and condition_node is not None:
        test = m.eval(condition_node)
        loop.condition = test
    m.pop_frame()
    m.regions.pop()
    m.targets.pop()
    loop.breaks = tuple(target.breaks_taken)
    _finish(m, loop, carried, target, mark, vid_mark, test if node.type != "do_statement" else None)
    if left is not None and left.returns.op is not Connective.FALSE:
        return Left(flag(f"returned in loop {axis.name}#{m.next_ordinal()}"), FALSE, left.value)
    return None


def _merge_continues(m: Machine, target: Target, ends: bool) -> None:
    """At the end of the body: the states of every `continue` and of falling off the end become one."""
    if not target.ways:
        return
    writes = m.pop_layer()
    m.push_layer()
    ways = list(target.ways)
    if not ends:
        ways.append(Way(TRUE, writes))
    merge_ways(m, ways)


def _carry(
    m: Machine, node: Node, loop: Loop, update: Node | None, body: Node | None, elsewhere: _Body | None = None
) -> list[_Carried]:
    """Put a carried value in place of every variable assigned in the loop, in a new layer."""
    names = assigned_names(m, node)
    if elsewhere is not None:
        names = {**names, **elsewhere.names}
    layer: dict[str, Value] = {}
    found: list[_Carried] = []
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
            found.append(_Carried(variable.key, variable, held, value, None, True))
            loop.start, loop.step, loop.variable = held.expr, step[1], name
            continue
        _carry_variable(m, variable, held, loop, layer, found)
    m.push_layer()
    m.write_all(layer)
    loop.carries = tuple(item.value for item in found)
    return found


def _carry_variable(
    m: Machine, variable: Variable, held: Value, loop: Loop, layer: dict[str, Value], found: list[_Carried]
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
    m: Machine, key: str, variable: Variable | None, loop: Loop, layer: dict[str, Value], found: list[_Carried]
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
    found.append(_Carried(key, variable, held, value, atom))


def _counter(m: Machine, loop: Loop, carried: list[_Carried], closed: dict[Atom, Expr], test: Value | None) -> None:
    """Take as loop variable the one the condition bounds, when the header does not name it (`while (i < n)`)."""
    if loop.step is not None or test is None:
        _bounds(loop, closed, test)
        return
    atoms = {item.atom: item for item in carried if item.atom is not None and item.value.pointer is None}
    for atom, form in closed.items():
        item = atoms.get(atom)
        step = form.coefficient(_axis_atom(loop)) if item is not None else None
        if item is None or step is None or not step.terms:
            continue
        loop.start, loop.step, loop.variable = form.without(_axis_atom(loop)), step, item.value.name
        _bounds(loop, closed, test)
        if loop.stop is not None:
            return
    loop.start = loop.step = None
    loop.variable = ""


def _axis_atom(loop: Loop) -> Atom:
    atom = axis_expr(loop.axis).single_atom
    assert atom is not None
    return atom


def _bounds(loop: Loop, closed: dict[Atom, Expr], test: Value | None) -> None:
    """start, stop, step and trip count from `variable op bound`."""
    if loop.step is None or loop.start is None or test is None:
        return
    axis_atom = _axis_atom(loop)
    comparisons = [test]
    while comparisons:
        current = comparisons.pop()
        if current.op == "and":
            comparisons.extend(reversed(current.args))
            continue
        if current.op != "cmp" or len(current.args) != 2:
            continue
        if current.args[0].expr is None or current.args[1].expr is None:
            continue
        left, right = (substitute(argument.expr, closed) for argument in current.args if argument.expr is not None)
        sign = str(current.attrs.get("op"))
        if axis_atom in right.deep_atoms:
            left, right = right, left
            sign = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(sign, sign)
        if axis_atom in right.deep_atoms:
            continue
        coefficient = left.coefficient(axis_atom)
        if coefficient is None or coefficient != loop.step:
            continue
        shift = left.without(axis_atom) - loop.start
        bound = right - shift
        step = loop.step.constant
        downwards = step is not None and step < 0
        if sign in ("<", "<=") and not downwards:
            loop.stop = bound + (1 if sign == "<=" else 0)
            trips = arith.cdiv(loop.stop - loop.start, loop.step)
        elif sign in (">", ">=") and (downwards or step is None):
            loop.stop = bound - (1 if sign == ">=" else 0)
            trips = arith.cdiv(loop.start - loop.stop, -loop.step)
        elif sign == "!=" and step in (1, -1):
            loop.stop = bound
            trips = (loop.stop - loop.start) * step
        else:
            continue
        loop.axis.extent = trips
        if current is test and not loop.breaks:
            loop.trip_count = trips
        return


def _finish(
    m: Machine,
    loop: Loop,
    carried: list[_Carried],
    target: Target,
    mark: int,
    vid_mark: int,
    test: Value | None = None,
) -> None:
    """After the body: closed forms, `next` values, and what the variables hold after the loop."""
    writes = m.pop_layer()
    axis = axis_expr(loop.axis)
    axis_atom = axis.single_atom
    assert axis_atom is not None
    closed: dict[Atom, Expr] = {}
    deltas: dict[str, Expr] = {}
    nexts = {item.key: writes.get(item.key, item.value) for item in carried}
    for item in carried:
        item.value.args = (item.init, nexts[item.key])
        if item.known:
            deltas[item.key] = loop.step or const(0)
    open_items = [item for item in carried if item.atom is not None and not item.known]
    progress = True
    while progress and open_items:
        progress = False
        pending = {item.atom for item in open_items}
        for item in list(open_items):
            delta = _delta(item, nexts[item.key])
            if delta is None:
                continue
            delta = substitute(delta, closed)
            atoms = delta.deep_atoms
            own = births_after(m, atoms, mark)
            if own or axis_atom in atoms or not pending.isdisjoint(atoms) or _inner_axis(atoms, loop):
                continue
            assert item.atom is not None
            if delta.terms and loop.axis.name == loop.axis.key and item.value.name.isidentifier():
                loop.axis.name = f"turn({item.value.name})"
                axis = axis_expr(loop.axis)
            init = item.init.expr if item.init.pointer is None or item.init.expr is not None else None
            base = const(0) if item.init.pointer is not None else (init or m.expr_of(item.init))
            closed[item.atom] = base + axis * delta
            deltas[item.key] = delta
            open_items.remove(item)
            progress = True
    m.closed.update(closed)
    _counter(m, loop, carried, closed, test)
    _after(m, loop, carried, writes, closed, deltas, target, vid_mark)


def _inner_axis(atoms: frozenset[Atom], loop: Loop) -> bool:
    """Whether any iteration axis of this loop or one inside it occurs."""
    first = int(loop.axis.key[1:])
    for atom in atoms:
        if atom.axis is not None and atom.axis.kind is AxisKind.LOOP and int(atom.axis.key[1:]) >= first:
            return True
    return False


def _delta(item: _Carried, following: Value) -> Expr | None:
    """How much one iteration adds; None when that is not an integer."""
    value = item.value
    if following is value:
        return const(0)
    if value.pointer is not None:
        other = following.pointer
        if other is None or other.buffer is not value.pointer.buffer or other.dtype != value.pointer.dtype:
            return None
        return other.offset - value.pointer.offset
    if following.expr is None or value.expr is None:
        return None
    return following.expr - value.expr


def _after(
    m: Machine,
    loop: Loop,
    carried: list[_Carried],
    writes: dict[str, Value],
    closed: dict[Atom, Expr],
    deltas: dict[str, Expr],
    target: Target,
    vid_mark: int,
) -> None:
    """Write to the enclosing layer what each variable holds after the loop."""
    by_key = {item.key: item for item in carried}
    for way in target.breaks:
        for key, value in way.writes.items():
            if key not in writes or key not in by_key:
                writes.setdefault(key, value)
    for key, value in writes.items():
        item = by_key.get(key)
        if key.startswith("["):
            if m.read(key) is not None:
                m.write(key, TypedValue("tuple", items={}))
            continue
        if item is None:
            owner = key.split(".")[0].split("<")[0]
            if owner.isdigit() and int(owner) > vid_mark:
                continue
            m.write(key, _unknown_after(m, value))
            continue
        delta = deltas.get(key)
        if delta is not None and not delta.terms:
            m.write(key, item.init)
        elif delta is not None and loop.trip_count is not None and not target.breaks:
            m.write(key, _moved(m, item, delta * arith.maximum(loop.trip_count, const(0)), closed))
        elif value is item.value:
            m.write(key, item.init)
        else:
            m.write(key, _last(m, item))


def _moved(m: Machine, item: _Carried, amount: Expr, closed: dict[Atom, Expr]) -> Value:
    """The value after all iterations of a variable that moves by a constant."""
    init = item.init
    if init.pointer is not None:
        pointer = init.pointer
        made = m.typed("join", (item.value,), None, dtype=init.dtype)
        made.pointer = Pointer(pointer.buffer, pointer.offset + amount, pointer.dtype, (), pointer.casts)
        made.ctype = init.ctype if isinstance(init, TypedValue) else None
        made.expr = init.expr + amount if init.expr is not None else None
        made.name = item.value.name
        return made
    value = m.value("join", (item.value,), init.dtype, None, m.expr_of(init) + amount)
    value.name = item.value.name
    return value


def _last(m: Machine, item: _Carried) -> Value:
    """The value after a loop whose number of iterations is not known."""
    held = item.value
    if held.pointer is not None:
        pointer = held.pointer
        made = m.typed("join", (held,), None, dtype=held.dtype)
        made.pointer = Pointer(pointer.buffer, m.opaque_expr("after a loop"), pointer.dtype, (), pointer.casts)
        made.ctype = held.ctype if isinstance(held, TypedValue) else None
        made.expr = m.opaque_expr("after a loop") if held.expr is not None else None
        made.name = held.name
        return made
    if held.expr is None:
        return held
    value = m.value("join", (held,), held.dtype, None, m.opaque_expr("after a loop"))
    value.name = held.name
    return value


def _unknown_after(m: Machine, value: Value) -> Value:
    """A variable assigned in the loop that was not seen to be: whatever it held last."""
    if value.pointer is None and value.expr is None:
        return value
    obj = object_of(value)
    if obj is not None and value.pointer is None:
        return value
    made = m.typed("join", (value,), None, dtype=value.dtype)
    if value.pointer is not None:
        same = value.pointer
        made.pointer = Pointer(same.buffer, m.opaque_expr("after a loop"), same.dtype, (), same.casts)
        made.ctype = value.ctype if isinstance(value, TypedValue) else None
    if value.expr is not None:
        made.expr = m.opaque_expr("after a loop")
    return made


def _for_range(m: Machine, node: Node) -> Left | None:
    """`for (auto& x : array)`: one access per element, by the iteration axis."""
    from kernlint.ir.types import INT32
    from kernlint.lift.cuda import memory
    from kernlint.lift.cuda.declarators import declared
    from kernlint.lift.cuda.device_types import CType

    right, body = node.child_by_field_name("right"), node.child_by_field_name("body")
    if right is None or body is None:
        return None
    base = m.eval(right)
    axis = Axis(AxisKind.LOOP, f"k{m.loops}", f"k{m.loops}", None)
    m.loops += 1
    loop = Loop(axis, m.unit.span_of(node.start_byte, body.start_byte), path=tuple(m.frames))
    ctype = base.ctype if isinstance(base, TypedValue) else None
    if ctype is not None and ctype.extents:
        axis.extent = loop.trip_count = loop.stop = ctype.extents[0]
        loop.start, loop.step = const(0), const(1)
    m.emit(loop)
    mark, vid_mark = m.ordinals, m.vids
    carried = _carry(m, node, loop, None, body)
    target = Target("loop", len(m.layers) - 1, len(m.frames) + 1)
    m.targets.append(target)
    m.regions.append(loop.body)
    m.push_frame(Frame(TRUE, loop=loop, span=loop.span))
    index = m.value("carry", (), INT32, None, axis_expr(axis), None, {"loop": loop})
    for item in declared(m.unit, node)[:1]:
        place = memory.subscript(m, base, index, right)
        variable = m.new_variable(item.name, CType("auto"))
        if item.is_reference and (place.address is not None or place.key):
            variable.place, variable.ctype = place, place.ctype
        else:
            m.write(variable.key, memory.load(m, place, right))
    left = m.run(body)
    ends = left is not None and (left.returns.op is Connective.TRUE or left.jumps.op is Connective.TRUE)
    _merge_continues(m, target, ends)
    m.pop_frame()
    m.regions.pop()
    m.targets.pop()
    loop.breaks = tuple(target.breaks_taken)
    _finish(m, loop, carried, target, mark, vid_mark)
    if left is not None and left.returns.op is not Connective.FALSE:
        return Left(flag(f"returned in loop {axis.name}#{m.next_ordinal()}"), FALSE, left.value)
    return None


__all__ = ["AtomKind", "bisect", "loop_statement"]
