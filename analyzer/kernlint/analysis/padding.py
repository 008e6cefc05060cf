"""Which padded lanes reach a cross-lane operation, and whether they hold what that operation needs.

    padding_faults(kernel)  ->  every reduction, dot, scan, sort and loop accumulation whose padded lanes are undefined,
                                hold a number other than the operation's identity, or were moved off it

The analysis interprets the value graph over `padding_state.Padding`, in program order, with a fixed point over loops.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kernlint.analysis.launches import views
from kernlint.analysis.padding_identity import is_identity, needed_identity
from kernlint.analysis.padding_state import (
    DATA,
    OPAQUE,
    UNKNOWN,
    Entry,
    Lane,
    LaneState,
    Padding,
    conditions_of,
    is_upper_bound,
    loop_axes,
    padding,
)
from kernlint.analysis.padding_transfer import contraction, reduced_dims, state_at, transfer
from kernlint.analysis.prove import provable
from kernlint.finding import Confidence
from kernlint.ir.condition import Condition
from kernlint.ir.kernel import Kernel, Loop
from kernlint.ir.value import Value

_SINKS = {"reduce", "dot", "scan", "sort"}
_PASSES = 4


class Fault(enum.Enum):
    UNDEFINED = "undefined"
    WRONG_IDENTITY = "wrong identity"
    MOVED = "moved"
    ZERO_TIMES_UNDEFINED = "zero times undefined"


@dataclass(frozen=True, slots=True)
class PaddingFault:
    """`sink` combines the lanes with `operation` (`sum`, `max`, `dot`, ...); `state` is what the lanes outside
    `condition` hold there; `operand` is the value that holds it."""

    kind: Fault
    sink: Value
    operation: str
    operand: Value
    condition: Condition
    state: LaneState
    confidence: Confidence

    @property
    def origin(self) -> Value | None:
        return self.state.origin


@dataclass(frozen=True, slots=True)
class PaddingResult:
    states: dict[int, Padding]  # by id(value)

    def of(self, value: Value) -> Padding:
        return self.states.get(id(value), OPAQUE)


def padding_faults(kernel: Kernel) -> list[PaddingFault]:
    """Faults in program order of the operations that combine the lanes; one per operation, condition and operand."""
    sinks = [value for value in kernel.values if value.op in _SINKS]
    carries = [value for value in kernel.values if value.op == "carry" and len(value.args) > 1]
    if not _has_padding(kernel) or not (sinks or carries):
        return []
    result = interpret(kernel, sinks + carries)
    faults: list[PaddingFault] = []
    for sink in sinks:
        faults += _faults_at(sink, result)
    for carry in carries:
        faults += _faults_of_accumulation(carry, result)
    always = _AlwaysTrue(kernel)
    faults = [fault for fault in faults if not always.holds(fault.condition)]
    return sorted(faults, key=lambda fault: (fault.sink.ordinal, fault.condition.key, fault.kind.value))


def _has_padding(kernel: Kernel) -> bool:
    masked = any(value.op == "load" and value.access is not None and value.access.mask is not None
                 for value in kernel.values)  # fmt: skip
    return masked or any(value.op in ("where", "join") for value in kernel.values)


def interpret(kernel: Kernel, roots: Sequence[Value]) -> PaddingResult:
    """The abstract value of everything the roots are computed from."""
    order = _in_order(roots)
    states: dict[int, Padding] = {}

    def look(value: Value) -> Padding:
        return states.get(id(value), OPAQUE)

    for turn in range(_PASSES):
        changed = False
        for value in order:
            if value.op == "carry":
                new = _carried(value, states, last=turn == _PASSES - 1)
                changed = changed or new != states.get(id(value))
            elif turn and not _depends_on_loops(value, states):
                continue
            else:
                new = transfer(value, look)
            states[id(value)] = new
        if not changed or not any(value.op == "carry" for value in order):
            break
    return PaddingResult(states)


def _depends_on_loops(value: Value, states: dict[int, Padding]) -> bool:
    return bool(value.args) or id(value) not in states


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
            needed: Iterable[Value] = value.args
            if value.op == "carry":
                needed = value.args[:1]
                pending.extend(value.args[1:])
            elif value.access is not None:
                access = value.access
                needed = [*value.args, *(v for v in (access.mask_value, access.other) if v is not None)]
            stack.extend((arg, False) for arg in needed)
    return sorted(order, key=lambda value: value.ordinal) if _numbered(order) else order


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


def _faults_at(sink: Value, result: PaddingResult) -> list[PaddingFault]:
    found: list[PaddingFault] = []
    if sink.op == "dot":
        if len(sink.args) < 2:
            return []
        for entry, left, right in contraction(sink, result.of):
            found += _dot_fault(sink, entry, left, right)
        return found
    operand = sink.args[0] if sink.args else None
    if operand is None:
        return []
    dims = _combined_dims(sink, operand)
    for entry in result.of(operand).entries:
        if not entry.dims or (dims is not None and not entry.dims & dims):
            continue
        if sink.op == "scan" and not sink.attrs.get("reverse") and is_upper_bound(entry.condition):
            continue  # a prefix over the valid lanes never sees the padding behind them
        operation = str(sink.attrs.get("op", "")) if sink.op != "sort" else "sort"
        fault = _fault(sink, operation, operand, entry, dims)
        if fault is not None:
            found.append(fault)
    return found


def _combined_dims(sink: Value, operand: Value) -> frozenset[str] | None:
    if sink.op == "reduce":
        return reduced_dims(sink, operand)
    dim = sink.attrs.get("dim")
    return frozenset({str(dim)}) if isinstance(dim, int) and dim < 0 and len(operand.shape) > 1 else None


def _dot_fault(sink: Value, entry: Entry, left: LaneState, right: LaneState) -> list[PaddingFault]:
    if left.kind is Lane.UNDEFINED or right.kind is Lane.UNDEFINED:
        bad, other, operand = (left, right, 0) if left.kind is Lane.UNDEFINED else (right, left, 1)
        kind = Fault.ZERO_TIMES_UNDEFINED if other.is_zero else Fault.UNDEFINED
        confidence = _confidence(entry, None, bad, kind)
        return [PaddingFault(kind, sink, "dot", sink.args[operand], entry.condition, bad, confidence)]
    if left.is_zero or right.is_zero or Lane.UNKNOWN in (left.kind, right.kind):
        return []
    for state, operand in ((left, 0), (right, 1)):
        if state.kind is Lane.MOVED:
            return [
                PaddingFault(Fault.MOVED, sink, "dot", sink.args[operand], entry.condition, state, Confidence.MEDIUM)
            ]
    if left.kind is Lane.CONST and right.kind is Lane.CONST:
        operand = 0 if left.origin is not None else 1
        return [
            PaddingFault(
                Fault.WRONG_IDENTITY, sink, "dot", sink.args[operand], entry.condition, (left, right)[operand],
                Confidence.MEDIUM,
            )
        ]  # fmt: skip
    return []


def _fault(
    sink: Value, operation: str, operand: Value, entry: Entry, dims: frozenset[str] | None
) -> PaddingFault | None:
    state = entry.state
    if state.kind is Lane.UNDEFINED:
        kind = Fault.ZERO_TIMES_UNDEFINED if state.zeroed and operation == "sum" else Fault.UNDEFINED
        confidence = _confidence(entry, dims, state, kind)
        return PaddingFault(kind, sink, operation, operand, entry.condition, state, confidence)
    identity = needed_identity(operation)
    if identity is None or state.origin is None:
        return None
    if state.kind is Lane.CONST and state.value is not None:
        if is_identity(operation, state.value, operand):
            return None
        was_identity = state.fill is not None and state.mover is not None and is_identity(operation, state.fill, None)
        kind = Fault.MOVED if was_identity else Fault.WRONG_IDENTITY
    elif state.kind is Lane.MOVED:
        # 0 shifted by a bias before a maximum is a fill that was never right.
        right_fill = state.fill is None or is_identity(operation, state.fill, None)
        kind = Fault.MOVED if right_fill else Fault.WRONG_IDENTITY
    else:
        return None
    confidence = _confidence(entry, dims, state, kind)
    if state.kind is Lane.MOVED and operation not in ("sum", "prod"):
        confidence = min(confidence, Confidence.MEDIUM)
    return PaddingFault(kind, sink, operation, operand, entry.condition, state, confidence)


def _confidence(entry: Entry, dims: frozenset[str] | None, state: LaneState, kind: Fault) -> Confidence:
    if state.soft:
        return Confidence.LOW
    if kind is Fault.ZERO_TIMES_UNDEFINED or entry.condition.flags:
        return Confidence.MEDIUM
    if dims is not None and entry.dims - dims:
        return Confidence.MEDIUM  # the padding may cover whole rows rather than parts of them
    if state.value is not None and state.value != state.value:
        return Confidence.MEDIUM
    return Confidence.HIGH


def _faults_of_accumulation(carry: Value, result: PaddingResult) -> list[PaddingFault]:
    """`acc += x` in a loop, where x has lanes padded in some iterations only: acc keeps what they held."""
    loop = carry.attrs.get("loop")
    if not isinstance(loop, Loop):
        return []
    step = accumulation(carry)
    if step is None or step.operation not in ("sum", "max", "min", "prod"):
        return []
    found = []
    for entry in result.of(step.added).entries:
        if loop.axis.key not in loop_axes(entry.condition):
            continue
        fault = _fault(step.at, step.operation, step.added, entry, None)
        if fault is not None and fault.kind is not Fault.MOVED:
            found.append(fault)
    return found


@dataclass(frozen=True, slots=True)
class Accumulation:
    """`carry = operation(carry, added)`, done by the value `at`."""

    operation: str
    added: Value
    at: Value


_ACCUMULATE = {"add": "sum", "max": "max", "min": "min", "mul": "prod", "sub": "sum"}


def accumulation(carry: Value) -> Accumulation | None:
    """How a loop accumulates into a carried value, when it does so in one plain step."""
    value, depth = carry.args[1], 0
    while depth < 8:
        depth += 1
        if value.op == "cast":
            value = value.args[0]
        elif value.op in _ACCUMULATE and len(value.args) == 2:
            for own, added in ((value.args[0], value.args[1]), (value.args[1], value.args[0])):
                if _is_running(own, carry) and (value.op != "sub" or own is value.args[0]):
                    return Accumulation(_ACCUMULATE[value.op], added, value)
            return None
        elif value.op == "carry" and len(value.args) > 1 and value.args[0] is carry:
            return accumulation(value)
        else:
            return None
    return None


def _is_running(value: Value, carry: Value) -> bool:
    """The carried value itself, perhaps converted or rescaled."""
    for _ in range(4):
        if value is carry:
            return True
        if value.op == "cast" and value.args:
            value = value.args[0]
        elif value.op == "mul" and len(value.args) == 2:
            value = value.args[0] if value.args[0].op in ("carry", "cast") else value.args[1]
        else:
            return False
    return value is carry


class _AlwaysTrue:
    """Conditions no lane can fail: the tile is exactly as wide as the bound, or every launch makes it so."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._known: dict[str, bool] = {}

    def holds(self, condition: Condition) -> bool:
        if condition.key not in self._known:
            self._known[condition.key] = provable(condition, self._kernel.facts) or self._by_launches(condition)
        return self._known[condition.key]

    def _by_launches(self, condition: Condition) -> bool:
        if not self._kernel.launches:
            return False
        return all(provable(view.condition(condition), view.facts) for view in views(self._kernel))


def cached_faults(kernel: Kernel, cache: dict[Any, Any]) -> list[PaddingFault]:
    """`padding_faults`, computed once per kernel and cache."""
    key = ("padding_faults", id(kernel))
    if key not in cache:
        cache[key] = padding_faults(kernel)
    found: list[PaddingFault] = cache[key]
    return found


def first_per_origin(faults: Iterable[PaddingFault], kind: Fault) -> list[PaddingFault]:
    """The surest fault of this kind for every load (or select) that made the padding, in program order."""
    found: dict[int, PaddingFault] = {}
    for fault in faults:
        if fault.kind is kind and fault.origin is not None:
            known = found.get(id(fault.origin))
            if known is None or fault.confidence > known.confidence:
                found[id(fault.origin)] = fault
    return sorted(found.values(), key=lambda fault: (fault.sink.ordinal, fault.condition.key))
