"""What the padded lanes of one value hold: the lattice of the padding analysis.

A lane is *padded* with respect to a condition when the condition is false there, as the lanes past the end of a row are
for `cols < n`.  A value keeps one `LaneState` per condition it met, and one for its ordinary lanes.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from kernlint.ir.condition import Condition, Connective, negate
from kernlint.ir.expr import Atom, AtomKind, Axis, AxisKind, Expr, axes_of, of_atom
from kernlint.ir.value import Value
from kernlint.records import dataclass

MAX_ENTRIES = 16
# Anything at least this far out is meant as infinity: half precision ends at 65504, kernels write 1e4 .. finfo.max.
PRACTICAL_INFINITY = 1e4


class Lane(enum.Enum):
    DATA = "data"  # ordinary data, different from lane to lane
    UNIFORM = "uniform"  # defined, the same in every lane of the axis, value not known
    CONST = "const"  # a known number
    MOVED = "moved"  # was a known number, then something of unknown value was added to it
    UNDEFINED = "undefined"  # a masked load without a fill
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class LaneState:
    """`origin` is the load or select that filled the lanes with `fill`; `mover` the operation that changed them last.

    `zeroed` says that undefined lanes were multiplied by zero; `soft` that they are undefined by the letter only (block
    pointers without a padding option); `maybe` that only one arm of a branch moved them.
    """

    kind: Lane
    value: float | None = None
    fill: float | None = None
    origin: Value | None = None
    mover: Value | None = None
    zeroed: bool = False
    soft: bool = False
    maybe: bool = False

    @property
    def is_zero(self) -> bool:
        return self.kind is Lane.CONST and self.value == 0

    @property
    def is_infinite(self) -> bool:
        return self.kind is Lane.CONST and self.value is not None and math.isinf(self.value)

    @property
    def is_far_out(self) -> bool:
        """Infinite, or a number that stands in for infinity (1e9): an offset does not bring it back."""
        return self.kind is Lane.CONST and self.value is not None and abs(self.value) >= PRACTICAL_INFINITY

    def with_value(self, value: float, mover: Value) -> LaneState:
        """A known number after an operation; the mover is recorded only when the number changed."""
        if self.kind is Lane.CONST and self.value == value:
            return self
        return replace(self, kind=Lane.CONST, value=value, mover=mover)

    def moved_by(self, mover: Value) -> LaneState:
        if self.kind is Lane.MOVED:
            return self
        return replace(self, kind=Lane.MOVED, value=None, mover=mover)


DATA = LaneState(Lane.DATA)
UNIFORM = LaneState(Lane.UNIFORM)
UNKNOWN = LaneState(Lane.UNKNOWN)


def constant(value: float, origin: Value | None = None) -> LaneState:
    return LaneState(Lane.CONST, value, value, origin)


@dataclass(frozen=True, slots=True)
class Entry:
    """The state of the lanes where `condition` is false.  `dims` are the lane dimensions the condition depends on."""

    condition: Condition
    dims: frozenset[str]
    state: LaneState


@dataclass(frozen=True, slots=True)
class Padding:
    """The abstract value.  `base` describes lanes no entry covers; `varies` the lane dimensions it may differ along."""

    base: LaneState
    varies: frozenset[str] = frozenset()
    entries: tuple[Entry, ...] = ()

    def entry(self, key: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.condition.key == key), None)


OPAQUE = Padding(UNKNOWN)


def padding(base: LaneState, varies: Iterable[str], entries: Iterable[Entry]) -> Padding:
    """A value with its entries in a fixed order, those that say nothing beyond `base` left out."""
    kept: dict[str, Entry] = {}
    for entry in entries:
        if entry.state.kind not in (Lane.DATA, Lane.UNIFORM):
            kept.setdefault(entry.condition.key, entry)
    ordered = tuple(kept[key] for key in sorted(kept))
    if len(ordered) > MAX_ENTRIES:
        return Padding(UNKNOWN, frozenset(varies))
    return Padding(base, frozenset(varies), ordered)


def token(axis: Axis) -> str:
    """How a lane dimension is named here: `-1`, `-2` for tiles, `t0`.. for CUDA threads."""
    return axis.key if axis.thread else str(axis.index)


def lane_dims(thing: Expr | Condition) -> frozenset[str]:
    return frozenset(token(axis) for axis in axes_of(thing) if axis.kind is AxisKind.LANE)


def loop_axes(condition: Condition) -> frozenset[str]:
    return frozenset(axis.key for axis in axes_of(condition) if axis.kind is AxisKind.LOOP)


def is_bound(condition: Condition) -> bool:
    """Whether this is `lane < bound` or `lane >= bound` with the lane index itself, not something read from memory."""
    if condition.op is not Connective.GE or condition.expr is None:
        return False
    return any(
        atom.axis is not None and atom.axis.kind is AxisKind.LANE for mono, _ in condition.expr.terms for atom in mono
    )


def is_upper_bound(condition: Condition) -> bool:
    """Whether padded lanes come after the valid ones: the lane index counts against the bound."""
    if not is_bound(condition) or condition.expr is None:
        return False
    lanes = {a for a in condition.expr.deep_atoms if a.axis is not None and a.axis.kind is AxisKind.LANE}
    signs = [coeff for mono, coeff in condition.expr.terms if lanes.intersection(mono)]
    return all(coeff < 0 for coeff in signs)


def implies(stronger: Condition, weaker: Condition) -> bool:
    """Cheap and sound: equal, or the same comparison with a constant to spare."""
    if stronger.key == weaker.key:
        return True
    if stronger.op is Connective.OR:
        return all(implies(part, weaker) for part in stronger.parts)
    if weaker.op is Connective.OR:
        return any(implies(stronger, part) for part in weaker.parts)
    if stronger.op is Connective.AND:
        return any(implies(part, weaker) for part in stronger.parts)
    if stronger.expr is None or weaker.expr is None or weaker.op is not Connective.GE:
        return False
    slack = (weaker.expr - stronger.expr).constant
    if stronger.op is Connective.GE:
        return slack is not None and slack >= 0
    if slack is not None and slack >= 0:
        return True
    slack = (weaker.expr + stronger.expr).constant
    return slack is not None and slack >= 0


def excludes(condition: Condition, other: Condition) -> bool:
    """Whether `other` is false wherever `condition` is false."""
    return implies(other, condition)


def holds_outside(condition: Condition, other: Condition) -> bool:
    """Whether `other` is true wherever `condition` is false."""
    return implies(negate(condition), other)


def renumber(condition: Condition, moves: dict[int, int]) -> Condition:
    """The condition with its tile dimensions renamed, e.g. {-1: -2} after `x[:, None]`."""
    mapping: dict[Atom, Expr] = {}
    for atom in condition.deep_atoms:
        axis = atom.axis
        if axis is None or axis.kind is not AxisKind.LANE or axis.thread or axis.index not in moves:
            continue
        index = moves[axis.index]
        key = f"l{index}:{axis.key.partition(':')[2]}"
        mapping[atom] = of_atom(
            Atom(AtomKind.AXIS, f"a:{key}", atom.name, axis=Axis(axis.kind, key, axis.name, axis.extent, index))
        )
    return condition.substitute(mapping)


def renumber_dims(dims: Iterable[str], moves: dict[int, int]) -> frozenset[str]:
    return frozenset(str(moves.get(int(dim), int(dim))) if dim.lstrip("-").isdigit() else dim for dim in dims)


def renumbered(value: Padding, moves: dict[int, int]) -> Padding:
    if not moves:
        return value
    entries = (Entry(renumber(e.condition, moves), renumber_dims(e.dims, moves), e.state) for e in value.entries)
    return padding(value.base, renumber_dims(value.varies, moves), entries)


def conditions_of(*values: Padding) -> Iterator[Entry]:
    """Every condition the values have an entry for, each once."""
    seen: set[str] = set()
    for value in values:
        for entry in value.entries:
            if entry.condition.key not in seen:
                seen.add(entry.condition.key)
                yield entry
