"""The fixed point: what every value of a kernel holds in its padded lanes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kernlint.analysis.padding_state import (
    DATA,
    OPAQUE,
    UNKNOWN,
    Entry,
    Lane,
    LaneState,
    Padding,
    conditions_of,
    loop_axes,
    padding,
)
from kernlint.analysis.padding_transfer import is_exchange, state_at, transfer
from kernlint.ir.kernel import Loop
from kernlint.ir.value import Value
from kernlint.records import dataclass

_PASSES = 4


@dataclass(frozen=True, slots=True)
class PaddingResult:
    states: dict[int, Padding]  # by id(value)

    def of(self, value: Value) -> Padding:
        return self.states.get(id(value), OPAQUE)


def interpret(roots: Sequence[Value]) -> PaddingResult:
    """The abstract value of everything the roots are computed from."""
    order = _in_order(roots)
    needed = [tuple([id(arg) for arg in _inputs(value)]) for value in order]
    states: dict[int, Padding] = {}

    def look(value: Value) -> Padding:
        return states.get(id(value), OPAQUE)

    for turn in range(_PASSES):
        changed: set[int] = set()
        for value, inputs in zip(order, needed, strict=True):
            if value.op == "carry":
                new = _carried(value, states, last=turn == _PASSES - 1)
            elif turn and changed.isdisjoint(inputs):
                continue
            else:
                new = transfer(value, look)
            if not turn or new != states.get(id(value)):
                states[id(value)] = new
                changed.add(id(value))
        if turn and not changed:
            break
    return PaddingResult(states)


def _in_order(roots: Sequence[Value]) -> list[Value]:
    """Everything the roots need, arguments first; a carry comes before its own next value."""
    order: list[Value] = []
    state: dict[int, bool] = {}
    pending = list(roots)
    while pending:
        stack = [(pending.pop(), False)]
        while stack:
            value, done = stack.pop()
            if done:
                order.append(value)
                continue
            if id(value) in state:
                continue
            state[id(value)] = True
            stack.append((value, True))
            if value.op == "carry":
                pending.extend(value.args[1:])
            stack.extend((arg, False) for arg in _inputs(value))
    return sorted(order, key=lambda value: value.ordinal) if _numbered(order) else order


def _inputs(value: Value) -> Iterable[Value]:
    """What the value is computed from in one turn of a loop."""
    if value.op == "carry":
        return value.args[:1]
    access = value.access
    if access is None:
        return value.args
    return [*value.args, *(item for item in (access.mask_value, access.other) if item is not None)]


def _numbered(order: Sequence[Value]) -> bool:
    """Whether ordinals give program order (arguments before their users)."""
    return all(
        arg.ordinal < value.ordinal
        for value in order
        for arg in (value.args[:1] if value.op == "carry" else value.args)
    )


def _carried(carry: Value, states: dict[int, Padding], last: bool) -> Padding:
    init = states.get(id(carry.args[0]), OPAQUE) if carry.args else OPAQUE
    following = states.get(id(carry.args[1])) if len(carry.args) > 1 else None
    if following is None:
        return init
    if any(is_exchange(arg) for arg in carry.args[1].args):
        return Padding(DATA)  # after the loop every lane holds the same reduction
    loop = carry.attrs.get("loop")
    axis = loop.axis.key if isinstance(loop, Loop) else ""
    merged = []
    previous = states.get(id(carry), init)
    for e in conditions_of(init, following, previous):
        if axis and axis in loop_axes(e.condition):
            continue  # these lanes hold data of other iterations; the accumulation itself is checked
        first, second = state_at(init, carry.args[0], e), state_at(following, carry.args[1], e)
        if first.kind in (Lane.DATA, Lane.UNIFORM):
            first = second
        state = first if _same(first, second) else _widen(first, second)
        if last and state != state_at(previous, carry, e):
            state = UNKNOWN
        merged.append(Entry(e.condition, e.dims, state))
    base = init.base if init.base == following.base else (UNKNOWN if UNKNOWN in (init.base, following.base) else DATA)
    return padding(base, init.varies | following.varies, merged)


def _same(a: LaneState, b: LaneState) -> bool:
    return a.kind is b.kind and a.value == b.value and a.kind is not Lane.UNKNOWN


def _widen(a: LaneState, b: LaneState) -> LaneState:
    if Lane.UNDEFINED in (a.kind, b.kind):
        return a if a.kind is Lane.UNDEFINED else b
    if b.kind in (Lane.DATA, Lane.UNIFORM):
        return UNKNOWN
    return b if b.kind is Lane.MOVED and a.kind is Lane.CONST else UNKNOWN
