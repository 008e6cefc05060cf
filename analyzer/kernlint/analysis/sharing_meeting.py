"""Where the threads of two accesses meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernlint.analysis.lanes import MAX_THREADS
from kernlint.ir.expr import AtomKind
from kernlint.ir.kernel import Access, AccessKind
from kernlint.records import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_RANGE = 1 << 20  # units; more than any block's shared memory has bytes
Meeting = tuple[int, int, int, int, int]  # unit, least and most thread of the one side, of the other


@dataclass(frozen=True, eq=False)
class Touched:
    """Units (of equal size) touched, and the thread that touches each; both of one length.  `anywhere`: which units
    depends on data, so that any thread may touch any unit, and `units` means nothing."""

    units: NDArray[np.int64]
    threads: NDArray[np.int64]
    used_data: bool = False
    anywhere: bool = False


def nothing() -> Touched:
    import numpy as np

    return Touched(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


def is_scattered_atomic(access: Access) -> bool:
    """An atomic at an index from memory, as in histograms.  That it is an atomic says that threads do meet there."""
    if access.kind is not AccessKind.ATOMIC:
        return False
    scattered = False
    for mono, _ in access.index.terms:
        inner = {atom for factor in mono for atom in {factor}.union(*(arg.deep_atoms for arg in factor.args))}
        kinds = {atom.kind for atom in inner}
        if AtomKind.OPAQUE in kinds:
            return False
        if AtomKind.LOAD in kinds:
            scattered = True
        elif any(atom.axis is not None and atom.axis.thread for atom in inner):
            return False  # each warp or thread has a part of its own
    return scattered


def meeting_of(a: Touched, b: Touched, group: int) -> Meeting | None:
    """The first unit touched by threads of different groups; None when every common unit belongs to one group of
    `group` threads."""
    import numpy as np

    if a.anywhere or b.anywhere:
        return _anywhere(a, b, group)
    if not a.units.size or not b.units.size:
        return None
    low, high = max(a.units.min(), b.units.min()), min(a.units.max(), b.units.max())
    if low > high or high - low > MAX_RANGE:
        return None
    least_a, most_a = _extremes(a, int(low), int(high))
    least_b, most_b = _extremes(b, int(low), int(high))
    both = (most_a >= 0) & (most_b >= 0)
    racing = np.flatnonzero(both & (np.minimum(least_a, least_b) // group != np.maximum(most_a, most_b) // group))
    if racing.size == 0:
        return None
    at = racing[0]
    return int(low + at), int(least_a[at]), int(most_a[at]), int(least_b[at]), int(most_b[at])


def _extremes(side: Touched, low: int, high: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Least and most thread that touches each unit of low..high; most is -1 for untouched ones."""
    import numpy as np

    inside = (side.units >= low) & (side.units <= high)
    units, threads = side.units[inside] - low, side.threads[inside]
    least = np.full(high - low + 1, MAX_THREADS, dtype=np.int64)
    most = np.full(high - low + 1, -1, dtype=np.int64)
    np.minimum.at(least, units, threads)
    np.maximum.at(most, units, threads)
    return least, most


def _anywhere(a: Touched, b: Touched, group: int) -> Meeting | None:
    """Any thread of the scattered side may meet any thread of the other at the other's units."""
    if not a.threads.size or not b.threads.size:
        return None
    fixed, scattered = (b, a) if a.anywhere else (a, b)
    unit, thread = int(fixed.units[0]), int(fixed.threads[0])
    others = scattered.threads[scattered.threads // group != thread // group]
    if not others.size or (a.anywhere and b.anywhere):
        return None
    other = int(others[0])
    return (unit, other, other, thread, thread) if scattered is a else (unit, thread, thread, other, other)


def race_threads(meeting: Meeting) -> tuple[int, int]:
    """A thread of each side that differ, furthest apart."""
    _, least_a, most_a, least_b, most_b = meeting
    return (least_a, most_b) if abs(most_b - least_a) >= abs(most_a - least_b) else (most_a, least_b)
