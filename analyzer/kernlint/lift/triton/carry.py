"""Loop-carried variables: finding them, and their closed forms.

A variable becomes carried when the body reads it before assigning it.  Increments that are visible before the body is
walked (`p += BLOCK * stride`, once, with loop-invariant operands) give the closed form `init + axis*increment` at once;
the others are carried as an unknown, which is replaced everywhere when it turns out to grow by an invariant amount.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from kernlint.ir import arith
from kernlint.ir.condition import Condition, conj, flag
from kernlint.ir.expr import ZERO, Atom, AtomKind, Expr, axis_expr, const, of_atom, substitute
from kernlint.ir.types import INT32
from kernlint.ir.value import BlockPointer, Value
from kernlint.lift.host.definitions import bodies_of
from kernlint.lift.triton.blocks import moved
from kernlint.lift.triton.evaluate import evaluate
from kernlint.lift.triton.join import joined
from kernlint.lift.triton.names import carried
from kernlint.lift.triton.registry import exprs_of
from kernlint.lift.triton.rewrite import rewrite
from kernlint.lift.triton.state import State, data
from kernlint.lift.triton.things import Carrier, Pending, Thing

if TYPE_CHECKING:
    LoopNode = ast.For | ast.While

# ---- what a loop assigns -------------------------------------------------------------------------------------------


class Assigned:
    """Names a loop body assigns, with the statement when there is exactly one and it always runs."""

    __slots__ = ("leaves", "names", "skips")

    def __init__(self) -> None:
        self.names: dict[str, ast.stmt | None] = {}
        self.leaves = False  # break or continue of this loop
        self.skips = False  # continue of this loop

    def add(self, name: str, statement: ast.stmt, top: bool) -> None:
        self.names[name] = statement if top and name not in self.names else None


def assigned_names(state: State, node: LoopNode) -> Assigned:
    found = state.assigned.get(id(node))
    if found is None:
        found = state.assigned[id(node)] = Assigned()
        _scan(node.body, found, True, True)
    return found


def leaves_early(state: State, node: LoopNode) -> bool:
    return assigned_names(state, node).leaves


def _scan(body: list[ast.stmt], found: Assigned, top: bool, own: bool) -> None:
    stack = [(body, top, own)]
    while stack:
        statements, top, own = stack.pop()
        for node in statements:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    _targets(target, node, found, top)
            elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
                _targets(node.target, node, found, top)
            elif isinstance(node, (ast.For, ast.While)):
                if isinstance(node, ast.For):
                    _targets(node.target, node, found, False)
                stack.append((node.body, False, False))
                stack.append((node.orelse, False, own))
            elif isinstance(node, (ast.Break, ast.Continue)) and own:
                found.leaves = True
                found.skips = found.skips or isinstance(node, ast.Continue)
            elif isinstance(node, (ast.If, ast.With, ast.Try)):
                for inner in bodies_of(node):
                    stack.append((inner, top and isinstance(node, ast.With), own))


def _targets(target: ast.expr, node: ast.stmt, found: Assigned, top: bool) -> None:
    if isinstance(target, ast.Name):
        found.add(target.id, node, top)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for item in target.elts:
            _targets(item.value if isinstance(item, ast.Starred) else item, node, found, False)


# ---- entering the loop ---------------------------------------------------------------------------------------------


def pending_env(state: State, node: LoopNode, carrier: Carrier, assigned: Assigned) -> dict[str, Thing]:
    """The names at the start of an iteration; also the increments that can be read off."""
    env = dict(state.env)
    for name, statement in assigned.names.items():
        init = env.get(name)
        if init is None or not isinstance(init, (Value, Pending, tuple)):
            continue
        if statement is not None and not assigned.skips:
            increment = _increment(state, name, statement, assigned)
            if increment is not None:
                carrier.increments[name] = increment
        env[name] = Pending(init, name, carrier)
    return env


def _increment(state: State, name: str, statement: ast.stmt, assigned: Assigned) -> Thing | None:
    amount, negative = _amount(name, statement)
    if amount is None or not _invariant(amount, assigned):
        return None
    kept, reasons = len(state.values), dict(state.opaque_reasons)
    thing = evaluate(state, amount)
    clean = state.opaque_reasons == reasons
    del state.values[kept:]  # evaluated again in the body
    state.opaque_reasons = reasons
    if not clean:
        return None
    if negative and isinstance(thing, Value) and thing.expr is not None:
        thing.expr = -thing.expr
    return thing


def _amount(name: str, node: ast.stmt) -> tuple[ast.expr | None, bool]:
    if isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Add, ast.Sub)):
        return node.value, isinstance(node.op, ast.Sub)
    if not isinstance(node, ast.Assign):
        return None, False
    value = node.value
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub)):
        if isinstance(value.left, ast.Name) and value.left.id == name:
            return value.right, isinstance(value.op, ast.Sub)
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "advance":
        base = value.args[0] if value.args else None
        if isinstance(base, ast.Name) and base.id == name and len(value.args) == 2:
            return value.args[1], False
    return None, False


_PLAIN = (ast.BinOp, ast.UnaryOp, ast.Constant, ast.Tuple, ast.List, ast.operator, ast.unaryop, ast.expr_context)


def _invariant(node: ast.expr, assigned: Assigned) -> bool:
    """Cheap arithmetic over names the loop does not assign."""
    for child in ast.walk(node):
        if isinstance(child, ast.Name):
            if child.id in assigned.names:
                return False
        elif isinstance(child, ast.Attribute):
            if child.attr not in ("cdiv", "num_programs", "to", "value", "int64", "int32") and not child.attr.isupper():
                return False
        elif not isinstance(child, (*_PLAIN, ast.Call)) or (
            isinstance(child, ast.Call) and not isinstance(child.func, ast.Attribute)
        ):
            return False
    return True


def make_carry(state: State, pending: Pending) -> Thing:
    """The value at the start of an iteration; `finish` appends what it becomes."""
    init = carried(state, pending.init) if isinstance(pending.init, Pending) else pending.init
    if pending.after is not None:
        return _after(state, pending, init, pending.after)
    pending.carrier.made.append(pending)
    if isinstance(init, tuple):
        return tuple(_carry(state, pending, item) if isinstance(item, Value) else item for item in init)
    return _carry(state, pending, init) if isinstance(init, Value) else init


def _carry(state: State, pending: Pending, init: Value) -> Value:
    loop = pending.carrier.loop
    made = state.value(
        "carry", (init,), dtype=init.dtype, shape=init.shape, attrs={"loop": loop}, polymorphic=init.polymorphic
    )
    made.span, made.name = init.span, pending.name
    loop.carries = (*loop.carries, made)
    increment = pending.carrier.increments.get(pending.name)
    axis = axis_expr(loop.axis)
    if init.block is not None:
        steps = exprs_of(increment)
        if steps is not None and len(steps) == len(init.block.offsets) and all(s is not None for s in steps):
            growth = tuple(axis * s for s in steps if s is not None)
        else:
            growth = tuple(_unknown(state, made, d) for d in range(len(init.block.offsets)))
        made.block = moved(init.block, tuple(a + b for a, b in zip(init.block.offsets, growth, strict=True)))
        made.pointer = init.pointer
        return made
    if init.cond is not None and init.expr is None:
        made.cond = flag(f"{pending.name}#{made.ordinal}")
        return made
    if init.expr is None or (init.dtype is not None and init.dtype.is_float):
        return made
    if isinstance(increment, Value) and increment.expr is not None:
        made.expr = init.expr + axis * increment.expr
        made.attrs["increment"] = increment.expr
        if made.dtype is INT32 and increment.dtype is not None and not increment.attrs.get("constexpr"):
            made.dtype = increment.dtype if increment.dtype.is_integer else made.dtype
        return made
    unknown = _unknown(state, made, 0)
    made.expr = unknown if not _may_be_pointer(init.expr) else init.expr + unknown
    return made


def _may_be_pointer(expr: Expr) -> bool:
    return any(
        coeff == 1 and len(mono) == 1 and mono[0].kind in (AtomKind.PARAM, AtomKind.SELECT)
        for mono, coeff in expr.terms
    )


def _unknown(state: State, value: Value, part: int) -> Expr:
    atom = Atom(AtomKind.OPAQUE, f"?:carry{value.ordinal}.{part}", value.name or "carried", note="loop-carried")
    value.attrs.setdefault("unknown", []).append(atom)
    return of_atom(atom)


# ---- leaving the loop ----------------------------------------------------------------------------------------------


def close(state: State, carrier: Carrier, assigned: Assigned, node: LoopNode, falls: bool) -> None:
    """Merge the ends of an iteration (the last statement and every `continue`) and link carried values to it."""
    ends = list(carrier.continued)
    if falls:
        ends.append((conj(()), state.env))
    env = dict(ends[-1][1]) if ends else state.env
    for condition, other in reversed(ends[:-1]):
        for name in assigned.names:
            a, b = other.get(name), env.get(name)
            if a is not None and b is not None and a is not b:
                env[name] = joined(state, condition, a, b, node)
    state.env = env
    for pending in list(carrier.made):
        final = env.get(pending.name, pending)
        _link(state, pending.made, carried(state, final) if isinstance(final, Pending) else final)


def _link(state: State, current: Thing | None, following: Thing) -> None:
    if isinstance(current, tuple) and isinstance(following, tuple):
        for a, b in zip(current, following, strict=False):
            _link(state, a, b)
    elif isinstance(current, Value) and current.op == "carry" and isinstance(following, Value):
        current.args = (*current.args, following)
        if following.dtype is not None and following.dtype.is_float and not (current.dtype and current.dtype.is_float):
            # an accumulator that started from a Python integer
            current.dtype, current.expr = following.dtype, None
        elif current.polymorphic is False and following.polymorphic and current.dtype is None:
            current.polymorphic = True
        if following.shape and not current.shape:
            current.shape = following.shape


def resolve(state: State, carrier: Carrier, first_value: int, first_fact: int) -> None:
    """Replace the unknowns that grow by a loop-invariant amount, everywhere in the loop."""
    mapping: dict[Atom, Expr] = {}
    axis = axis_expr(carrier.loop.axis)
    for pending in carrier.made:
        parts = pending.made if isinstance(pending.made, tuple) else (pending.made,)
        for value in parts:
            if isinstance(value, Value) and value.op == "carry" and len(value.args) == 2:
                _closed_forms(value, axis, carrier, mapping)
    if mapping:
        rewrite(carrier.loop, state.values[first_value:], mapping)
        state.facts[first_fact:] = [fact.substitute(mapping) for fact in state.facts[first_fact:]]


def _closed_forms(value: Value, axis: Expr, carrier: Carrier, mapping: dict[Atom, Expr]) -> None:
    unknowns: list[Atom] = value.attrs.get("unknown", [])
    init, following = value.args
    if not unknowns:
        return
    pairs: list[tuple[Expr, Expr]] = []
    if value.block is not None and following.block is not None and len(unknowns) == len(value.block.offsets):
        pairs = list(zip(value.block.offsets, following.block.offsets, strict=True))
    elif value.expr is not None and following.expr is not None and value.block is None:
        pairs = [(value.expr, following.expr)]
    for atom, (current, then) in zip(unknowns, pairs, strict=False):
        bare = value.block is None and current == of_atom(atom)
        start = init.expr if bare and init.expr is not None else ZERO
        growth = then - current
        if _loop_invariant(growth, carrier):
            mapping[atom] = start + axis * growth
            if value.block is None:
                value.attrs["increment"] = growth
        elif substitute(then, {atom: start}) == substitute(current, {atom: start}):
            mapping[atom] = start  # it starts there, and from there it goes there
        else:
            kept = _unchanged_where(current, then, carrier)
            if kept is not None:
                condition, holds = kept
                mapping[atom] = arith.select(condition, *((start, of_atom(atom)) if holds else (of_atom(atom), start)))


def _unchanged_where(current: Expr, then: Expr, carrier: Carrier) -> tuple[Condition, bool] | None:
    """A loop-invariant condition whose truth (or falsehood) leaves the variable as it was: `if VARLEN: n = load(...)`
    carries n's first value whenever VARLEN is off."""
    choices: dict[str, list[Atom]] = {}
    for atom in then.deep_atoms:
        if atom.kind is AtomKind.SELECT and isinstance(atom.args[0], Condition):
            choices.setdefault(atom.args[0].key, []).append(atom)
    for key in sorted(choices):
        condition = choices[key][0].args[0]
        if not isinstance(condition, Condition) or not _condition_invariant(condition, carrier):
            continue
        for holds in (False, True):
            arms = {atom: atom.args[1 if holds else 2] for atom in choices[key]}
            if substitute(then, {atom: arm for atom, arm in arms.items() if isinstance(arm, Expr)}) == current:
                return condition, holds
    return None


def _condition_invariant(condition: Condition, carrier: Carrier) -> bool:
    for name in condition.flags:
        number = name.rpartition("#")[2].partition(".")[0]
        if "#" in name and not (number.isdigit() and int(number) < carrier.first_ordinal):
            return False
    return _invariant_atoms(condition.deep_atoms, carrier)


def _loop_invariant(expr: Expr, carrier: Carrier) -> bool:
    return _invariant_atoms(expr.deep_atoms, carrier)


def _invariant_atoms(atoms: frozenset[Atom], carrier: Carrier) -> bool:
    first_loop = int(carrier.loop.axis.key[1:])
    for atom in atoms:
        if atom.kind is AtomKind.AXIS and atom.axis is not None and atom.axis.key.startswith("k"):
            if int(atom.axis.key[1:]) >= first_loop:
                return False
        elif atom.kind is AtomKind.LOAD:
            if isinstance(atom.note, int) and atom.note >= carrier.first_ordinal:
                return False
        elif atom.kind is AtomKind.CALL:
            number = str(atom.note).rpartition("#")[2]
            if number.isdigit() and int(number) >= carrier.first_ordinal:
                return False
        elif atom.kind is AtomKind.OPAQUE:
            return False
    return True


def env_after(
    state: State, carrier: Carrier, assigned: Assigned, entry: dict[str, Thing], node: LoopNode
) -> dict[str, Thing]:
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


def _after(state: State, pending: Pending, start: Thing, last: Thing) -> Thing:
    """A name's value after the loop: `start` is its carried value (or what it was before), `last` its value at the end
    of an iteration."""
    if isinstance(last, Pending):
        last = carried(state, last)
    if isinstance(start, tuple) and isinstance(last, tuple) and len(start) == len(last):
        return tuple(_after(state, pending, a, b) for a, b in zip(start, last, strict=True))
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
        if at_end is not None and not any(_unresolved(o) for o in offsets):
            made.block = moved(start.block, tuple(substitute(o, at_end) for o in offsets))
        else:
            made.block = moved(
                start.block, tuple(o + data(f"after{d}", made.ordinal, ()) for d, o in enumerate(offsets))
            )
        made.pointer = made.block.pointer
    elif start.expr is not None:
        if at_end is not None and not _unresolved(start.expr):
            made.expr = substitute(start.expr, at_end)
        else:
            made.expr = data("after", made.ordinal, start.shape)
    elif start.cond is not None:
        made.cond = flag(f"{start.name}#{made.ordinal}")
    return made


def _unresolved(expr: Expr) -> bool:
    return any(atom.kind is AtomKind.OPAQUE and atom.note == "loop-carried" for atom in expr.deep_atoms)


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
        invariant = _loop_invariant(last.expr, carrier)
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
