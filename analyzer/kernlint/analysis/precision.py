"""Sums kept in 16 bits or fewer, and the error that costs.

    low_precision_sums(kernel)  ->  loop accumulators, reductions, scans, dots and atomics that add in a narrow type

The error laws are measured (dot products of unit-variance data against float64, relative to the root mean square of
the result): 0.30*sqrt(K)*u for K sequential additions at unit roundoff u; a running sum of same-sign data stops growing
once an addend is below half a unit in the last place of the sum, at about K = 1/u terms.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator
from dataclasses import replace

from kernlint.analysis.accumulation import accumulation
from kernlint.analysis.launches import views
from kernlint.analysis.padding_state import lane_dims
from kernlint.analysis.precision_types import Typed, Types
from kernlint.finding import Confidence
from kernlint.ir.arith import floordiv
from kernlint.ir.condition import Connective
from kernlint.ir.expr import Atom, AtomKind, Expr, axis_expr, const, substitute
from kernlint.ir.kernel import Access, AccessKind, Config, Kernel, Loop
from kernlint.ir.types import ElementType, Space
from kernlint.ir.value import Value, ancestors
from kernlint.records import dataclass

# Unit roundoff: half the distance from 1 to the next number.
UNIT_ROUNDOFF = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float8e4m3": 2.0**-4, "float8e5m2": 2.0**-3}
SEQUENTIAL_LAW = 0.30
# Up to this many additions a 16-bit sum loses about as much as rounding its result once does.
SHORT = 16
# A tree of this many loses less than twice what rounding its result once does.
SHORT_TREE = 64


class Sum(enum.Enum):
    LOOP = "accumulator"
    REDUCE = "reduction"
    SCAN = "scan"
    DOT = "dot"
    ATOMIC = "atomic addition"


@dataclass(frozen=True, slots=True)
class LowPrecisionSum:
    """`at` is the addition; `length` how many terms are added into one result, as far as known."""

    kind: Sum
    at: Value
    dtype: ElementType | None  # None: generic
    length: Expr | None
    confidence: Confidence
    name: str = ""

    @property
    def terms(self) -> int | None:
        return self.length.constant if self.length is not None else None


def relative_error(dtype: ElementType, terms: int, sequential: bool) -> float:
    """Predicted root-mean-square error of the sum relative to the result's, for zero-mean data.

    Trees round log2(K) times instead of K.
    """
    steps = terms if sequential else max(math.log2(max(terms, 2)), 1.0)
    return SEQUENTIAL_LAW * math.sqrt(steps) * UNIT_ROUNDOFF[dtype.name]


def stagnation(dtype: ElementType) -> int:
    """After about this many equal addends a running sum no longer grows."""
    return round(1 / UNIT_ROUNDOFF[dtype.name])


def low_precision_sums(kernel: Kernel) -> list[LowPrecisionSum]:
    """In program order, one per place."""
    types = Types(kernel)
    found: dict[int, LowPrecisionSum] = {}
    for candidate in _candidates(kernel, types):
        candidate = _with_terms_of_launches(candidate, kernel)
        if candidate.terms is not None and candidate.terms <= SHORT:
            continue
        found.setdefault(id(candidate.at), candidate)
    running = {id(item.at) for item in found.values() if item.kind is Sum.LOOP}
    tempered = [_tempered(item, kernel, running) for item in found.values()]
    return sorted(tempered, key=lambda item: item.at.ordinal)


def _with_terms_of_launches(found: LowPrecisionSum, kernel: Kernel) -> LowPrecisionSum:
    """With the largest number of terms any launch or configuration gives, when all of them give one."""
    if found.length is None or found.length.constant is not None:
        return found
    lengths = [view.of(found.length) for view in views(kernel)]
    tuning = kernel.autotune
    if tuning is not None and tuning.configs and tuning.complete:
        lengths = [substitute(length, _chosen(config)) for length in lengths for config in tuning.configs]
    numbers = [length.constant for length in lengths]
    known = [number for number in numbers if number is not None]
    return replace(found, length=const(max(known))) if known and len(known) == len(numbers) else found


def _chosen(config: Config) -> dict[Atom, Expr]:
    return {
        Atom(AtomKind.PARAM, f"p:{name}", name): const(value)
        for name, value in config.values.items()
        if type(value) is int
    }


def _tempered(found: LowPrecisionSum, kernel: Kernel, running: set[int]) -> LowPrecisionSum:
    """A short tree whose result goes into a running sum in 16 bits loses little beside that sum."""
    if found.kind is not Sum.REDUCE or found.terms is None or found.terms > SHORT_TREE:
        return found
    users = [value for value in kernel.values if any(arg is found.at for arg in value.args)]
    if users and all(id(user) in running for user in users):
        return replace(found, confidence=min(found.confidence, Confidence.MEDIUM))
    return found


def _candidates(kernel: Kernel, types: Types) -> Iterator[LowPrecisionSum]:
    for value in kernel.values:
        if value.op == "carry" and len(value.args) > 1:
            yield from _loop_sum(value, types)
        elif value.op in ("reduce", "scan") and value.attrs.get("op") == "sum" and value.args:
            yield from _lane_sum(value, types)
        elif value.op == "dot" and len(value.args) >= 2:
            yield from _dot_sum(value, types)
    for access in kernel.accesses:
        if access.kind is AccessKind.ATOMIC and access.op == "add":
            yield from _atomic_sum(access, types)
        elif access.kind is AccessKind.STORE and access.space in (Space.LOCAL, Space.SHARED):
            yield from _array_sum(access, types)


def _verdict(typed: Typed) -> tuple[ElementType | None, Confidence] | None:
    """The narrow type and how sure that is; None when the sum is wide or its type unknown."""
    if typed.is_low and typed.type is not None and typed.type.name in UNIT_ROUNDOFF:
        return typed.type, Confidence.MEDIUM if typed.generic else Confidence.HIGH
    if not typed.generic or typed.type is not None:
        return None
    return None, Confidence.MEDIUM if typed.given else Confidence.LOW


def _loop_sum(carry: Value, types: Types) -> Iterator[LowPrecisionSum]:
    step = accumulation(carry)
    if step is None or step.operation != "sum":
        return
    added = step.added
    if added.op == "dot" and len(added.args) == 3:
        return
    init = types.of(carry.args[0])
    if carry.args[0].attrs.get("constexpr"):
        # A Python number adapts to what is added to it.
        init = types.of(step.at)
    rounded = _rounded_each_turn(carry, step.at, types)
    verdict = (rounded, Confidence.HIGH) if rounded is not None else _verdict(init)
    if verdict is None or _is_counter(carry) or (verdict[0] is None and not _is_floating(step.at)):
        return
    if verdict[0] is None and not types.of(step.at).generic:
        return  # a carried value keeps its type, so the wide sum makes it wide
    dtype, confidence = verdict
    loop = carry.attrs.get("loop")
    yield LowPrecisionSum(
        Sum.LOOP, step.at, dtype, _trips(loop) if isinstance(loop, Loop) else None, confidence, carry.name
    )


_FLOATING = {"exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid", "erf", "div", "dot"}


def _is_floating(value: Value) -> bool:
    """Whether a value of unknown element type is visibly made of floating-point numbers, not of counts."""
    for item in ancestors(value, 80):
        literal = item.attrs.get("value") if item.op == "const" else None
        fill = item.access.other if item.access is not None else None
        if item.op in _FLOATING or isinstance(literal, float):
            return True
        if item.dtype is not None and item.dtype.is_float:
            return True
        if fill is not None and isinstance(fill.attrs.get("value"), float):
            return True
    return False


def _rounded_each_turn(carry: Value, at: Value, types: Types) -> ElementType | None:
    """The 16-bit type a wide accumulator passes through between one addition and the next."""
    for value in (carry.args[1], *at.args):
        for _ in range(4):
            if value is at or value is carry or value.op != "cast" or not value.args:
                break
            typed = types.of(value)
            if typed.is_low and not typed.generic and typed.type is not None and typed.type.name in UNIT_ROUNDOFF:
                return typed.type if _ends_at(value, (carry, at)) else None
            value = value.args[0]
    return None


def _ends_at(value: Value, ends: tuple[Value, ...]) -> bool:
    while value.op == "cast" and value.args and value not in ends:
        value = value.args[0]
    return value in ends


def _is_counter(carry: Value) -> bool:
    if carry.pointer is not None or carry.block is not None:
        return True
    if carry.dtype is not None and not carry.polymorphic:
        return not carry.dtype.is_float
    return carry.expr is not None and not carry.polymorphic


def _trips(loop: Loop) -> Expr | None:
    if loop.trip_count is not None:
        return loop.trip_count
    if loop.start is not None and loop.stop is not None and loop.step is not None:
        return floordiv(loop.stop - loop.start + loop.step - 1, loop.step)
    return _trips_by_condition(loop)


def _trips_by_condition(loop: Loop) -> Expr | None:
    """From a condition such as `start + step*axis < stop`, in normal form `rest - step*axis >= 0`."""
    condition = loop.condition.cond if loop.condition is not None else None
    if condition is None or condition.op is not Connective.GE or condition.expr is None:
        return None
    axis = axis_expr(loop.axis).single_atom
    step = condition.expr.coefficient(axis) if axis is not None else None
    if axis is None or step is None or step.constant is None or step.constant >= 0:
        return None
    return floordiv(condition.expr.without(axis), -step) + 1


def _lane_sum(value: Value, types: Types) -> Iterator[LowPrecisionSum]:
    source = value.args[0]
    if value.dtype is not None and not value.polymorphic and not _low(value.dtype):
        return
    wanted = value.attrs.get("out_dtype")
    if isinstance(wanted, ElementType) and not _low(wanted):
        return
    verdict = _verdict(types.of(source))
    if verdict is None or source.cond is not None or (verdict[0] is None and not _is_floating(source)):
        return
    if _picks_one(source):
        return
    dim = value.attrs.get("dim")
    length: Expr | None = None
    if isinstance(dim, int) and -len(source.shape) <= dim < 0:
        length = source.shape[dim]
    elif dim is None or len(source.shape) == 1:
        for extent in source.shape:
            length = extent if length is None else length * extent
    kind = Sum.REDUCE if value.op == "reduce" else Sum.SCAN
    yield LowPrecisionSum(kind, value, verdict[0], length, verdict[1], source.name)


def _picks_one(source: Value) -> bool:
    """`sum(where(lane == j, x, 0))` reads one lane; nothing is rounded."""
    while source.op in ("cast", "broadcast") and source.args:
        source = source.args[0]
    if source.op == "mul" and len(source.args) == 2:
        return any(_is_one_hot(arg) for arg in source.args)
    return source.op == "where" and _is_one_hot(source.args[0])


def _is_one_hot(value: Value) -> bool:
    while value.op == "cast" and value.args:
        value = value.args[0]
    parts = value.cond.conjuncts() if value.cond is not None else ()
    return any(part.op is Connective.EQ and lane_dims(part) for part in parts)


def _low(dtype: ElementType) -> bool:
    return dtype.is_float and dtype.bits <= 16


def _loop_of_running(value: Value) -> Loop | None:
    """The loop that carries an accumulator, perhaps converted or rescaled."""
    for item in ancestors(value, 12):
        loop = item.attrs.get("loop") if item.op == "carry" and item.pointer is None else None
        if isinstance(loop, Loop) and item.shape == value.shape:
            return loop
    return None


def _dot_sum(value: Value, types: Types) -> Iterator[LowPrecisionSum]:
    wanted = value.attrs.get("out_dtype")
    length = value.args[0].shape[-1] if value.args[0].shape else None
    loop = _loop_of_running(value.args[2]) if len(value.args) > 2 else None
    if length is not None and loop is not None:
        trips = _trips(loop)
        length = length * trips if trips is not None else None
    if isinstance(wanted, ElementType) and wanted.name in UNIT_ROUNDOFF:
        yield LowPrecisionSum(Sum.DOT, value, wanted, length, Confidence.HIGH, value.name)
    elif len(value.args) > 2 and not value.args[2].attrs.get("constexpr"):
        accumulator = types.of(value.args[2])
        if accumulator.is_low and not accumulator.generic:
            yield LowPrecisionSum(Sum.DOT, value, accumulator.type, length, Confidence.HIGH, value.args[2].name)


def _atomic_sum(access: Access, types: Types) -> Iterator[LowPrecisionSum]:
    """Atomic additions into 16 bits: every contribution is rounded to them.

    Sure where many meet in one cell: at an index read from memory, or one that is the same for all.  Programs that
    share the other cells may be few (split-K).
    """
    at = access.value
    dtype = access.dtype or access.pointer.dtype
    if access.buffer is not None and (dtype is None or dtype.name not in UNIT_ROUNDOFF):
        dtype = types.of_tensor(access.buffer.name) or dtype
    if at is None or dtype is None or dtype.name not in UNIT_ROUNDOFF:
        return
    atoms = access.index.deep_atoms
    meet = any(atom.kind is AtomKind.LOAD for atom in atoms) or not any(atom.kind is AtomKind.AXIS for atom in atoms)
    confidence = Confidence.HIGH if meet and access.index_is_known else Confidence.MEDIUM
    marker = Value("atomic", (at,), dtype, span=access.span, ordinal=access.ordinal)
    buffer = access.buffer.name if access.buffer is not None else ""
    yield LowPrecisionSum(Sum.ATOMIC, marker, dtype, None, confidence, buffer)


def _array_sum(access: Access, types: Types) -> Iterator[LowPrecisionSum]:
    """`acc[i] += x` on an array of 16-bit elements inside a loop."""
    value, dtype = access.value, access.dtype or access.pointer.dtype
    loops = access.loops
    if value is None or dtype is None or dtype.name not in UNIT_ROUNDOFF or not loops:
        return
    if access.space is Space.SHARED and len(loops) < 1:
        return
    reads = [
        v for v in ancestors(value, 40)
        if v.op == "load" and v.access is not None and v.access.buffer is access.buffer
        and v.access.index.key == access.index.key
    ]  # fmt: skip
    summed = value.op in ("add", "fma") or (value.op == "cast" and value.args[0].op in ("add", "fma"))
    if not reads or not summed or not types.of(value).is_low:
        return
    # Only a loop that leaves the element's index alone adds to it again and again.
    fixed = [loop for loop in loops if all(atom.axis != loop.axis for atom in access.index.deep_atoms)]
    if fixed:
        name = access.buffer.name if access.buffer is not None else ""
        yield LowPrecisionSum(Sum.LOOP, value, dtype, _trips(fixed[-1]), Confidence.HIGH, name)
