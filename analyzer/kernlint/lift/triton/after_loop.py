"""What names mean once a loop is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernlint.ir.condition import Condition, flag
from kernlint.ir.expr import Atom, Expr, axis_expr, const, substitute
from kernlint.ir.value import BlockPointer, Value
from kernlint.lift.triton.assigned import Assigned
from kernlint.lift.triton.blocks import moved
from kernlint.lift.triton.closed_forms import loop_invariant
from kernlint.lift.triton.names import carried
from kernlint.lift.triton.state import data
from kernlint.lift.triton.things import Carrier, Pending, Thing

if TYPE_CHECKING:
    from kernlint.lift.triton.state import State


def env_after(state: State, carrier: Carrier, assigned: Assigned, entry: dict[str, Thing]) -> dict[str, Thing]:
    """The names once the loop is done.  What a name became is worked out only if it is read."""
    env = dict(entry)
    for name, thing in state.env.items():
        if name in assigned.names or name not in env:
            if isinstance(thing, Pending) and thing.carrier is carrier and thing.made is None:
                env[name] = thing.init  # assigned on paths that leave only
                continue
            before = next((p for p in carrier.made if p.name == name), None)
            start = before.made if before is not None and before.made is not None else entry.get(name)
            if start is None:
                start = thing
            env[name] = Pending(start, name, carrier, after=thing)
    return env


def value_after(state: State, pending: Pending, start: Thing, last: Thing) -> Thing:
    """A name's value after the loop: `start` is its carried value (or what it was before), `last` its value at the end
    of an iteration."""
    if isinstance(last, Pending):
        last = carried(state, last)
    if isinstance(start, tuple) and isinstance(last, tuple) and len(start) == len(last):
        return tuple(value_after(state, pending, a, b) for a, b in zip(start, last, strict=True))
    if not isinstance(start, Value) or not isinstance(last, Value):
        return last
    carrier = pending.carrier
    if start is last:
        return last
    result: Thing = start if start.op == "carry" and start.attrs.get("loop") is carrier.loop else None  # type: ignore[assignment]
    if result is None:
        result = _left_over(state, carrier, start, last)
    elif start.expr is not None or start.block is not None or start.cond is not None:
        result = _final(state, carrier, start)
    for condition, env in carrier.broken:
        other = env.get(pending.name)
        if isinstance(other, Pending):
            other = carried(state, other)
        if isinstance(other, Value) and other is not start and isinstance(result, Value):
            result = _either(state, condition, other, result)
    return result


def _final(state: State, carrier: Carrier, start: Value) -> Value:
    """A carried integer, pointer or truth value once the loop is done."""
    made = state.value(
        "carry", start.args, dtype=start.dtype, shape=start.shape, attrs={"loop": carrier.loop, "after": True},
        polymorphic=start.polymorphic,
    )  # fmt: skip
    made.span, made.name = start.span, start.name
    trips = carrier.loop.trip_count if not carrier.loop.breaks else None
    at_end = (
        {axis_atom: trips} if (axis_atom := axis_expr(carrier.loop.axis).single_atom) and trips is not None else None
    )
    if start.block is not None:
        offsets = start.block.offsets
        if at_end is not None and not any(_unresolved(start, offset) for offset in offsets):
            made.block = moved(start.block, tuple(substitute(o, at_end) for o in offsets))
        else:
            made.block = moved(
                start.block, tuple(o + data(f"after{d}", made.ordinal, ()) for d, o in enumerate(offsets))
            )
        made.pointer = made.block.pointer
    elif start.expr is not None:
        if at_end is not None and not _unresolved(start, start.expr):
            made.expr = substitute(start.expr, at_end)
        else:
            made.expr = _moved_on(start, start.expr, axis_expr(carrier.loop.axis), trips, made.ordinal)
    elif start.cond is not None:
        made.cond = flag(f"{start.name}#{made.ordinal}")
    return made


def _moved_on(start: Value, expr: Expr, axis: Expr, trips: Expr | None, ordinal: int) -> Expr:
    """A carried pointer still points into its buffer; how far it got is data, as is a carried number as a whole."""
    unknowns: list[Atom] = start.attrs.get("unknown", [])
    mapping = {atom: data(f"after{part}", ordinal, start.shape) for part, atom in enumerate(unknowns)}
    turns = axis.single_atom
    if turns is not None:
        mapping[turns] = trips if trips is not None else data("turns", ordinal, ())
    return substitute(expr, mapping)


def _unresolved(start: Value, expr: Expr) -> bool:
    """Whether the carried value has no closed form in its own loop."""
    return any(atom in expr.deep_atoms for atom in start.attrs.get("unknown", ()))


def _left_over(state: State, carrier: Carrier, before: Value, last: Value) -> Value:
    """A name assigned in every iteration without being read first: its last value, or the one before the loop."""
    trips = carrier.loop.trip_count
    certain = before is last or (trips is not None and trips.constant is not None and trips.constant > 0)
    args = (last,) if certain else (last, before)
    made = state.value(
        "join", args, dtype=last.dtype, shape=last.shape, attrs={"loop": carrier.loop, "after": True},
        polymorphic=last.polymorphic,
    )  # fmt: skip
    made.span, made.name = last.span, last.name
    if last.expr is not None:
        invariant = loop_invariant(last.expr, carrier)
        made.expr = last.expr if certain and invariant else data("after", made.ordinal, last.shape)
        atom = axis_expr(carrier.loop.axis).single_atom
        if certain and not invariant and trips is not None and atom is not None and not last.expr.is_opaque:
            made.expr = substitute(last.expr, {atom: trips - const(1)})
    elif last.cond is not None:
        made.cond = flag(f"{last.name}#{made.ordinal}")
    made.block, made.pointer = last.block, last.pointer
    return made


def _either(state: State, condition: Condition, a: Value, b: Value) -> Value:
    made = state.value(
        "join", (a, b), dtype=a.dtype, shape=a.shape, attrs={"condition": condition, "after": True},
        polymorphic=a.polymorphic,
    )  # fmt: skip
    made.span, made.name = a.span, a.name
    if a.expr is not None and b.expr is not None:
        made.expr = data("either", made.ordinal, a.shape)
    made.block = a.block if isinstance(a.block, BlockPointer) else None
    return made
