"""Loop-carried variables: finding them, and their closed forms.

A variable becomes carried when the body reads it before assigning it.  Increments that are visible before the body is
walked (`p += BLOCK * stride`, once, with loop-invariant operands) give the closed form `init + axis*increment` at once;
the others are carried as an unknown, which is replaced everywhere when it turns out to grow by an invariant amount.
"""

from __future__ import annotations

import ast

from kernlint.ir.condition import conj, flag
from kernlint.ir.expr import Atom, AtomKind, Expr, axis_expr, of_atom
from kernlint.ir.types import INT32
from kernlint.ir.value import Value
from kernlint.lift.triton.after_loop import value_after
from kernlint.lift.triton.assigned import Assigned, LoopNode
from kernlint.lift.triton.blocks import moved
from kernlint.lift.triton.evaluate import evaluate
from kernlint.lift.triton.join import joined
from kernlint.lift.triton.names import carried
from kernlint.lift.triton.registry import exprs_of
from kernlint.lift.triton.state import State
from kernlint.lift.triton.things import Carrier, Pending, Thing

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
        return value_after(state, pending, init, pending.after)
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
