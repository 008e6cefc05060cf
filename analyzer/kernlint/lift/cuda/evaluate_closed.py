"""The end of a loop: closed forms of carried variables, bounds, and what the variables hold afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kernlint.ir import arith
from kernlint.ir.expr import Atom, AtomKind, AxisKind, Expr, axis_expr, const, substitute
from kernlint.ir.kernel import Loop
from kernlint.ir.value import Pointer, Value
from kernlint.lift.cuda.device_machine import (
    Machine,
    Target,
    TypedValue,
    object_of,
)
from kernlint.lift.cuda.evaluate_carry import Carried

if TYPE_CHECKING:
    pass


def _counter(m: Machine, loop: Loop, carried: list[Carried], closed: dict[Atom, Expr], test: Value | None) -> None:
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


def finish_loop(
    m: Machine,
    loop: Loop,
    carried: list[Carried],
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
            own = _births_after(m, atoms, mark)
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


def _delta(item: Carried, following: Value) -> Expr | None:
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
    carried: list[Carried],
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


def _moved(m: Machine, item: Carried, amount: Expr, closed: dict[Atom, Expr]) -> Value:
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


def _last(m: Machine, item: Carried) -> Value:
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


def _births_after(m: Machine, atoms: Iterable[Atom], mark: int) -> bool:
    """Whether any of these atoms was made after the ordinal `mark`."""
    for atom in atoms:
        if atom.kind in (AtomKind.OPAQUE, AtomKind.CALL):
            if m.births.get(atom.key, 0) > mark:
                return True
        elif atom.kind is AtomKind.LOAD and isinstance(atom.note, int) and atom.note > mark:
            return True
    return False
