"""Where the threads of two accesses meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernlint.ir.expr import AtomKind
from kernlint.ir.kernel import Access, AccessKind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
    kinds = {atom.kind for atom in access.index.deep_atoms}
    return access.kind is AccessKind.ATOMIC and AtomKind.LOAD in kinds and AtomKind.OPAQUE not in kinds


def meeting_of(a: Touched, b: Touched, group: int) -> Meeting | None:
    """The first unit touched by threads of different groups; None when every common unit belongs to one group of
    `group` threads."""
    import numpy as np

    if a.anywhere or b.anywhere:
        return _anywhere(a, b, group)
    common = np.intersect1d(a.units, b.units)
    if common.size == 0:
        return None
    sides = []
    for units, threads in ((a.units, a.threads), (b.units, b.threads)):
        inside = np.isin(units, common)
        order = np.lexsort((threads[inside], units[inside]))
        sorted_units, sorted_threads = units[inside][order], threads[inside][order]
        starts = np.searchsorted(sorted_units, common, side="left")
        ends = np.searchsorted(sorted_units, common, side="right") - 1
        sides.append((sorted_threads[starts], sorted_threads[ends]))
    (least_a, most_a), (least_b, most_b) = sides
    low = np.minimum(least_a, least_b) // group
    high = np.maximum(most_a, most_b) // group
    racing = np.flatnonzero(low != high)
    if racing.size == 0:
        return None
    at = racing[0]
    return int(common[at]), int(least_a[at]), int(most_a[at]), int(least_b[at]), int(most_b[at])


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
