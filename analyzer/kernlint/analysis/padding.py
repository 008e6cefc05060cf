"""Which padded lanes reach a cross-lane operation, and whether they hold what that operation needs.

    padding_faults(kernel)  ->  every reduction, dot, scan, sort and loop accumulation whose padded lanes are undefined,
                                hold a number other than the operation's identity, or were moved off it

The analysis interprets the value graph over `padding_state.Padding`, in program order, with a fixed point over loops.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from kernlint.analysis.accumulation import Accumulation, accumulation
from kernlint.analysis.launches import LaunchView, views
from kernlint.analysis.padding_interpret import PaddingResult, interpret
from kernlint.analysis.padding_judge import Fault, PaddingFault, confidence_of, judge
from kernlint.analysis.padding_reach import Reach
from kernlint.analysis.padding_shift import Shifts
from kernlint.analysis.padding_state import Entry, Lane, LaneState, excludes, is_upper_bound, loop_axes
from kernlint.analysis.padding_threads import exchange_faults, initial_fault, thread_exchanges
from kernlint.analysis.padding_transfer import contraction, reduced_dims
from kernlint.analysis.prove import provable
from kernlint.finding import Confidence
from kernlint.ir.condition import TRUE, Condition
from kernlint.ir.expr import Atom, AtomKind, Axis, AxisKind, Expr, axis_expr, const, substitute
from kernlint.ir.kernel import Framework, Kernel, Loop
from kernlint.ir.value import Value, ancestors
from kernlint.target.vendors import fills_masked_lanes_with_zero

_SINKS = {"reduce", "dot", "scan", "sort"}


def padding_faults(kernel: Kernel) -> list[PaddingFault]:
    """Faults in program order of the operations that combine the lanes; one per operation, condition and operand."""
    if not _has_padding(kernel):
        return []
    sinks = _sinks(kernel)
    carries = [value for value in kernel.values if value.op == "carry" and len(value.args) > 1]
    exchanges = thread_exchanges(kernel) if kernel.framework is Framework.CUDA else []
    faults = [fault for carry in carries if (fault := initial_fault(carry, kernel)) is not None]
    carries = [carry for carry in carries if _accumulated(carry) is not None]  # the others cannot fail
    if sinks or carries or exchanges:
        result = interpret([*sinks, *carries, *(exchange.source for exchange in exchanges)])
        for sink in sinks:
            faults += _faults_at(sink, result)
        reduced = {id(value) for sink in sinks if sink.op == "reduce" for value in ancestors(sink, 400)}
        for carry in carries:
            faults += _faults_of_accumulation(carry, result, id(carry) in reduced)
        for exchange in exchanges:
            faults += exchange_faults(exchange, result)
    if not faults:
        return []
    if fills_masked_lanes_with_zero(kernel.span.path):
        faults = [fault for fault in faults if not _right_with_zeros(fault)]
    always = _AlwaysTrue(kernel)
    faults = [fault for fault in faults if fault.condition is TRUE or not always.holds(fault.condition)]
    reach = Reach(kernel)
    faults = [fault for fault in faults if reach.matters(fault)]
    loops = {loop.axis.key: loop for loop in kernel.loops}
    shifts = Shifts(kernel)
    faults = [_tempered(fault, kernel, loops, shifts) for fault in faults]
    return sorted(faults, key=lambda fault: (fault.sink.ordinal, fault.condition.key, fault.kind.value))


def _sinks(kernel: Kernel) -> list[Value]:
    """Operations across lanes.  Of a reduction over several tensors at once (value and index) only the first operand
    decides; the others come along with the lane it picks."""
    found: list[Value] = []
    previous: Value | None = None
    for value in kernel.values:
        if value.op not in _SINKS:
            continue
        companion = previous is not None and value.op == previous.op and value.span == previous.span
        if not (companion and previous is not None and value.ordinal - previous.ordinal <= 2):
            found.append(value)
        previous = value
    return found


def _right_with_zeros(fault: PaddingFault) -> bool:
    return fault.kind is Fault.ZERO_TIMES_UNDEFINED or (
        fault.kind is Fault.UNDEFINED and fault.operation in ("sum", "dot")
    )


def _tempered(fault: PaddingFault, kernel: Kernel, loops: dict[str, Loop], shifts: Shifts) -> PaddingFault:
    """Less sure of what the surroundings may make harmless.

    A loop that ends at the program's own position (the keys before a query block) is bounded by something other than
    the mask, which may then never fail.  A tensor made by the wrapper itself may hold partial results of known sign.  A
    running maximum from 0 that only shifts exponents fails by underflow alone, when all data are far below 0.  For a
    minimum or a product 0 is as wrong when all data are positive as it is otherwise.
    """
    extremum_of_zero = (
        fault.kind is Fault.WRONG_IDENTITY and fault.state.value == 0 and fault.operation in ("max", "argmax")
    )
    if extremum_of_zero and (_is_intermediate(fault.origin, kernel) or _works_on_magnitudes(kernel)):
        fault = replace(fault, confidence=min(fault.confidence, Confidence.MEDIUM))
    if extremum_of_zero and fault.condition is TRUE and shifts.only_shifts(fault.sink):
        fault = replace(fault, confidence=min(fault.confidence, Confidence.MEDIUM))
    for key in loop_axes(fault.condition):
        stop = loops[key].stop if key in loops else None
        if stop is not None and _depends_on_position(stop):
            most = Confidence.MEDIUM if fault.kind is Fault.UNDEFINED else Confidence.LOW
            return replace(fault, confidence=min(fault.confidence, most))
    return fault


def _works_on_magnitudes(kernel: Kernel) -> bool:
    """Kernels that reduce absolute values in several steps say so in their name."""
    return any(part in kernel.name.lower() for part in ("norm", "abs", "amax", "quant"))


def _is_intermediate(load: Value | None, kernel: Kernel) -> bool:
    """Whether every launch passes memory the wrapper allocated: what another kernel left there."""
    access = load.access if load is not None else None
    if access is None or access.buffer is None:
        return False
    tensors = [launch.arguments[access.buffer.name].tensor for launch in kernel.launches
               if access.buffer.name in launch.arguments]  # fmt: skip
    return bool(tensors) and all(tensor is not None and tensor.init in ("empty", "zeros", "full") for tensor in tensors)


def _depends_on_position(expr: Expr | Condition) -> bool:
    """Whether it moves with the program, other than through sizes read from memory; True for what is not known."""
    if isinstance(expr, Condition):
        return any(part.expr is not None and _depends_on_position(part.expr) for part in expr.leaves())
    for atom in expr.atoms():
        if atom.kind is AtomKind.OPAQUE or (atom.axis is not None and atom.axis.kind is AxisKind.GRID):
            return True
        if atom.kind is not AtomKind.LOAD and any(_depends_on_position(arg) for arg in atom.args):
            return True
    return False


def _has_padding(kernel: Kernel) -> bool:
    masked = any(value.op == "load" and value.access is not None and value.access.mask is not None
                 for value in kernel.values)  # fmt: skip
    return masked or any(value.op in ("where", "join", "carry") for value in kernel.values)


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
        fault = judge(sink, operation, operand, entry, dims)
        if fault is not None:
            found.append(fault)
    return found


def _combined_dims(sink: Value, operand: Value) -> frozenset[str] | None:
    if sink.op == "reduce":
        return reduced_dims(sink, operand)
    dim = sink.attrs.get("dim")
    return frozenset({str(dim)}) if isinstance(dim, int) and dim < 0 and len(operand.shape) > 1 else None


def _dot_fault(sink: Value, entry: Entry, left: LaneState, right: LaneState) -> list[PaddingFault]:
    found = []
    for bad, other, operand in ((left, right, 0), (right, left, 1)):
        if bad.kind is Lane.UNDEFINED:
            kind = Fault.ZERO_TIMES_UNDEFINED if other.is_zero else Fault.UNDEFINED
            confidence = confidence_of(entry, None, bad, kind, sink.args[operand])
            if other.kind is Lane.UNKNOWN:
                confidence = min(confidence, Confidence.MEDIUM)
            found.append(PaddingFault(kind, sink, "dot", sink.args[operand], entry.condition, bad, confidence))
    if found:
        return found
    if left.is_zero or right.is_zero or Lane.UNKNOWN in (left.kind, right.kind):
        return []
    for state, operand in ((left, 0), (right, 1)):
        if state.kind is Lane.MOVED and not (left.maybe and right.maybe):
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


def _accumulated(carry: Value) -> Accumulation | None:
    """What a loop adds to the carried value where padded lanes would count."""
    if not isinstance(carry.attrs.get("loop"), Loop):
        return None
    step = accumulation(carry)
    if step is None or step.operation not in ("sum", "prod", "max", "min") or step.at.op in ("fma", "dot"):
        return None
    return step


def _faults_of_accumulation(carry: Value, result: PaddingResult, is_reduced: bool) -> list[PaddingFault]:
    """`acc += x` in a loop, where x has lanes padded in some iterations only: acc keeps what they held.

    Lanes that an operation moved count only when the accumulator's lanes are reduced to one number afterwards.
    """
    loop, step = carry.attrs["loop"], _accumulated(carry)
    if step is None:
        return []
    found = []
    for entry in result.of(step.added).entries:
        if loop.axis.key not in loop_axes(entry.condition):
            continue
        if any(excludes(entry.condition, guard) for guard in step.guards):
            continue
        fault = judge(step.at, step.operation, step.added, entry, None)
        if fault is not None and (is_reduced or fault.kind is not Fault.MOVED):
            found.append(fault)
    return found


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
        if not self._kernel.launches and not self._kernel.heuristics:
            return False
        return all(self._holds_in(view, condition) for view in views(self._kernel))

    def _holds_in(self, view: LaunchView, condition: Condition) -> bool:
        """With the launch's arguments, and heuristics and defaults for compile-time parameters it leaves out."""
        mapping = dict(view.mapping)
        for name, value in self._kernel.heuristics.items():
            number = value.attrs.get("value") if value is not None and value.op == "const" else None
            computed = const(number) if type(number) is int else value.expr if value is not None else None
            if computed is not None and (view.launch is None or name not in view.launch.arguments):
                mapping.setdefault(Atom(AtomKind.PARAM, f"p:{name}", name), substitute(computed, view.mapping))
        for param in self._kernel.params:
            number = param.default.attrs.get("value") if param.default is not None else None
            passed = view.launch is not None and param.name in view.launch.arguments
            if isinstance(number, int) and param.is_compile_time and not passed:
                mapping.setdefault(Atom(AtomKind.PARAM, f"p:{param.name}", param.name), const(number))
        for atom in sorted(condition.deep_atoms, key=lambda atom: atom.key):
            # The extents of axes are in the kernel's own terms as well.
            axis = atom.axis
            if axis is not None and axis.extent is not None and atom not in mapping:
                extent = substitute(axis.extent, mapping)
                if extent != axis.extent:
                    twin = Axis(axis.kind, f"{axis.key}'", axis.name, extent, axis.index, axis.thread)
                    mapping[atom] = axis_expr(twin)
        return provable(condition.substitute(mapping), view.facts)


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
