"""Whether what padded lanes hold is what an operation across lanes needs."""

from __future__ import annotations

import enum
import math

from kernlint.analysis.padding_identity import is_identity, magnitude_by_name, needed_identity
from kernlint.analysis.padding_state import Entry, Lane, LaneState
from kernlint.finding import Confidence
from kernlint.ir.condition import Condition
from kernlint.ir.kernel import Kernel
from kernlint.ir.value import Value
from kernlint.records import dataclass

_AS_IT_IS = {"cast", "expand", "broadcast", "trans", "reshape"}
_FACTORS = 24


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


def judge(
    sink: Value, operation: str, operand: Value, entry: Entry, dims: frozenset[str] | None
) -> PaddingFault | None:
    state = entry.state
    if state.kind is Lane.UNDEFINED:
        kind = Fault.ZERO_TIMES_UNDEFINED if state.zeroed and operation == "sum" else Fault.UNDEFINED
        confidence = confidence_of(entry, dims, state, kind, operand)
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
        extremum = operation not in ("sum", "prod")
        right_fill = not extremum or state.fill is None or is_identity(operation, state.fill, None)
        kind = Fault.MOVED if right_fill else Fault.WRONG_IDENTITY
    else:
        return None
    confidence = confidence_of(entry, dims, state, kind)
    if state.kind is Lane.MOVED and operation not in ("sum", "prod"):
        confidence = min(confidence, Confidence.MEDIUM)
    if state.value == 0 and operation in ("max", "argmax"):
        # Counts, lengths and partial maxima of magnitudes are never negative, but nothing says so.
        if operand.dtype is not None and operand.dtype.is_integer and not operand.polymorphic:
            confidence = Confidence.LOW
        elif not _is_float(operand, state) or magnitude_by_name(operand, state.origin):
            confidence = min(confidence, Confidence.MEDIUM)
    return PaddingFault(kind, sink, operation, operand, entry.condition, state, confidence)


def fits_another(fault: PaddingFault, kernel: Kernel) -> bool:
    """Whether an infinite fill was chosen for another reduction of the same load, for which it is right."""
    fill = fault.state.fill
    if fill is None or not math.isinf(fill) or fault.operation not in ("sum", "prod"):
        return False
    for value in kernel.values:
        if value.op == "reduce" and value is not fault.sink and value.args:
            operand = value.args[0]
            while operand.op in _AS_IT_IS and operand.args:
                operand = operand.args[0]
            if operand is fault.origin and is_identity(str(value.attrs.get("op", "")), fill, operand):
                return True
    return False


def confidence_of(
    entry: Entry, dims: frozenset[str] | None, state: LaneState, kind: Fault, operand: Value | None = None
) -> Confidence:
    if state.soft:
        return Confidence.LOW
    if kind is Fault.ZERO_TIMES_UNDEFINED and not _is_a_factor(state.origin, operand):
        return Confidence.MEDIUM
    if entry.condition.flags or (kind is Fault.UNDEFINED and state.maybe):
        return Confidence.MEDIUM
    if dims is not None and entry.dims - dims:
        return Confidence.MEDIUM  # the padding may cover whole rows rather than parts of them
    if state.value is not None and state.value != state.value:
        return Confidence.MEDIUM
    return Confidence.HIGH


def _is_a_factor(load: Value | None, operand: Value | None) -> bool:
    """Whether a load is, but for conversions and broadcasting, a factor of the sum: `sum(a * w)`, `dot(a, w)`."""
    pending = [operand] if operand is not None else []
    for _ in range(_FACTORS):
        if not pending:
            return False
        value = pending.pop()
        if value is load:
            return True
        if value.op == "mul" or value.op in _AS_IT_IS:
            pending += value.args
    return False


def _is_float(operand: Value, state: LaneState) -> bool:
    """Whether the lanes are floating-point for certain: by type, or because the fill is written as a float."""
    if operand.dtype is not None and not operand.polymorphic:
        return operand.dtype.is_float
    access = state.origin.access if state.origin is not None else None
    fill = access.other if access is not None else None
    while fill is not None and fill.op in ("cast", "full", "broadcast") and fill.args:
        fill = fill.args[0]
    return fill is not None and isinstance(fill.attrs.get("value"), float)
