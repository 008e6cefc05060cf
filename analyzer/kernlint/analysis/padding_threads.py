"""Reductions across CUDA threads, and running extrema that start at the wrong number.

A CUDA value is one lane per thread: `float v = i < n ? x[i] : 0.0f` is a tile padded along threadIdx.  The lanes are
combined by warp shuffles, through shared memory, or by block-wide helpers (which the front end lifts as `reduce`).
"""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.accumulation import OPERATIONS, accumulation
from kernlint.analysis.padding_identity import is_identity, is_magnitude_name, magnitude_by_name
from kernlint.analysis.padding_interpret import PaddingResult
from kernlint.analysis.padding_judge import Fault, PaddingFault, judge
from kernlint.analysis.padding_state import constant, excludes
from kernlint.analysis.padding_transfer import is_exchange
from kernlint.finding import Confidence
from kernlint.ir.condition import TRUE, Condition
from kernlint.ir.expr import of_atom, substitute
from kernlint.ir.kernel import Access, AccessKind, Kernel
from kernlint.ir.types import Space
from kernlint.ir.value import Buffer, Value
from kernlint.records import dataclass

_DEPTH = 6


@dataclass(frozen=True, slots=True)
class Exchange:
    """`at` combines `source` of different threads with `operation`; only threads where `guard` holds take part.
    `store` puts it into shared memory when it goes that way."""

    operation: str
    source: Value
    at: Value
    guard: Condition = TRUE
    store: Access | None = None


def thread_exchanges(kernel: Kernel) -> list[Exchange]:
    """In program order of the combining operations."""
    found = [*_shuffled(kernel), *_through_shared(kernel), *_voted(kernel)]
    return sorted(found, key=lambda item: (item.at.ordinal, item.source.ordinal))


def _shuffled(kernel: Kernel) -> Iterator[Exchange]:
    """`v = max(v, __shfl_xor_sync(mask, v, d))`"""
    for value in kernel.values:
        operation = OPERATIONS.get(value.op)
        if operation is None or len(value.args) != 2:
            continue
        for arg, own in (value.args, value.args[::-1]):
            moved = _seen_through(arg)
            if is_exchange(moved) and moved.args:
                source = _before_loops(moved.args[0])
                # Combined with its own neighbour's; anything else is arithmetic on a shuffled value.
                if source is _before_loops(_seen_through(own)) or source is _before_loops(own):
                    yield Exchange(operation, source, value)


def _voted(kernel: Kernel) -> Iterator[Exchange]:
    """`__reduce_max_sync` and its kin."""
    for value in kernel.values:
        if value.op == "vote" and value.attrs.get("kind") == "redux" and value.args:
            name = str(value.attrs.get("name", ""))
            operation = {"add": "sum", "max": "max", "min": "min"}.get(name.removeprefix("__reduce_").split("_")[0])
            if operation is not None:
                yield Exchange(operation, value.args[0], value)


def _through_shared(kernel: Kernel) -> Iterator[Exchange]:
    """Every thread stores its value in a shared array; others load and combine them with one operation."""
    combined: dict[int, list[tuple[str, Value]]] = {}
    own: set[int] = set()
    for value in kernel.values:
        operation = OPERATIONS.get(value.op)
        if operation is None or len(value.args) != 2 or value.op == "sub":
            continue
        sources = [_shared_source(arg) for arg in value.args]
        for buffer, other in ((sources[0], value.args[1]), (sources[1], value.args[0])):
            running = _seen_through(other)
            if buffer is not None and (buffer is _shared_source(other) or running.op == "carry"):
                combined.setdefault(id(buffer), []).append((operation, value))
                own.add(id(value))
    if not combined:
        return
    filled: dict[int, list[Access]] = {}
    for access in kernel.accesses:
        if access.kind is not AccessKind.STORE or access.space is not Space.SHARED or access.value is None:
            continue
        if id(_seen_through(access.value)) not in own:
            filled.setdefault(id(access.buffer), []).append(access)
    for key in combined:
        for access in filled.get(key, ()):
            reading = _reading(access, filled[key], combined[key])
            if reading is not None and access.value is not None:
                yield Exchange(reading[0], access.value, reading[1], access.guard, access)


def _reading(store: Access, stores: list[Access], combined: list[tuple[str, Value]]) -> tuple[str, Value] | None:
    """What combines the elements a store fills: all that combines the array or, in an array used for several
    reductions one after the other, what comes before it is filled again.  None when that is not one operation."""
    if len({operation for operation, _ in combined}) > 1:
        end = min((other.ordinal for other in stores if other.ordinal > store.ordinal), default=None)
        combined = [
            (operation, at)
            for operation, at in combined
            if at.ordinal > store.ordinal and (end is None or at.ordinal < end)
        ]
    return combined[0] if len({operation for operation, _ in combined}) == 1 else None


def _shared_source(value: Value) -> Buffer | None:
    value = _seen_through(value)
    access = value.access
    return access.buffer if value.op == "load" and access is not None and access.space is Space.SHARED else None


def _seen_through(value: Value) -> Value:
    while value.op == "cast" and value.args:
        value = value.args[0]
    return value


def _before_loops(value: Value) -> Value:
    """The value a shuffle loop starts from."""
    for _ in range(_DEPTH):
        if (value.op == "carry" and value.args) or (value.op == "cast" and value.args and value.args[0].op == "carry"):
            value = value.args[0]
        else:
            break
    return value


def exchange_faults(exchange: Exchange, result: PaddingResult) -> Iterator[PaddingFault]:
    for entry in result.of(exchange.source).entries:
        takes_part = not any(excludes(entry.condition, part) for part in exchange.guard.conjuncts())
        takes_part = takes_part and not _only_valid_read(exchange, entry.condition)
        if takes_part and any(dim.startswith("t") for dim in entry.dims):
            fault = judge(exchange.at, exchange.operation, exchange.source, entry, None)
            if fault is not None:
                yield fault


def _only_valid_read(exchange: Exchange, condition: Condition) -> bool:
    """Whether every element combined was stored by a thread for which the condition holds: element t + k is read where
    the condition is known for thread t + k."""
    store = exchange.store
    loads = [load.access for arg in exchange.at.args if (load := _seen_through(arg)).op == "load"]
    shared = [load for load in loads if load is not None and store is not None and load.buffer is store.buffer]
    return bool(shared) and store is not None and all(_valid(load, store, condition) for load in shared)


def _valid(load: Access, store: Access, condition: Condition) -> bool:
    distance = load.index - store.index
    for atom in store.index.deep_atoms:
        if atom.axis is None or not atom.axis.thread:
            continue
        there = {atom: of_atom(atom) + distance}
        if substitute(store.index, there) == load.index:
            elsewhere = condition.substitute(there)
            return any(excludes(elsewhere, part) for part in load.guard.conjuncts())
    return False


def initial_fault(carry: Value, kernel: Kernel) -> PaddingFault | None:
    """A running maximum that starts at 0 never goes below it; a running minimum never above.

    Sure only for floating-point input of the kernel itself: in most code that starts at 0 the data cannot be negative
    (partial maxima of magnitudes, scales, probabilities), and nothing but a name says so.
    """
    step = accumulation(carry)
    if step is None or step.operation not in ("max", "min"):
        return None
    start = _literal(carry.args[0])
    number = start.attrs.get("value") if start is not None else None
    if start is None or not isinstance(number, int | float) or is_identity(step.operation, number, step.added):
        return None
    if number != 0:
        return None  # a bound of the author's own
    dtype = step.at.dtype
    surely_float = dtype is not None and dtype.is_float and not step.at.polymorphic
    named = magnitude_by_name(step.added, carry) or is_magnitude_name(kernel.name)
    confidence = Confidence.HIGH if surely_float and _is_input(step.added) and not named else Confidence.MEDIUM
    if dtype is not None and not dtype.is_float:
        confidence = Confidence.LOW
    state = constant(float(number), carry.args[0])
    return PaddingFault(Fault.WRONG_IDENTITY, step.at, step.operation, carry, TRUE, state, confidence)


def _is_input(value: Value) -> bool:
    """A plain load from a tensor parameter."""
    access = _seen_through(value).access
    return access is not None and access.buffer is not None and access.buffer.is_param


def _literal(value: Value) -> Value | None:
    for _ in range(_DEPTH):
        if value.op == "const":
            return value
        if value.op not in ("cast", "full", "broadcast") or not value.args:
            return None
        value = value.args[0]
    return None
