"""Shared-memory bank conflicts, counted exactly.

Shared memory has 32 banks of 4 bytes; successive words go to successive banks, and a bank serves one word per pass
(CUDA C++ Programming Guide, "Compute Capability 5.x", "Shared Memory").  Lanes that want the same word are served
together.  Requests of 8 bytes per lane are served by half-warps, of 16 bytes by quarter-warps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernlint.analysis.lanes import WARP
from kernlint.analysis.lanes_access import Touch, element_bytes, touch
from kernlint.analysis.lanes_scenario import Scenario
from kernlint.ir.kernel import Access
from kernlint.records import dataclass
from kernlint.target.limits import BANK_BYTES, SHARED_BANKS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

VECTOR_BYTES = 16  # the widest access of one thread


@dataclass(frozen=True)
class Conflict:
    """`ways` is the most words wanted of one bank in one pass group; `passes` and `ideal` count the passes of the
    worst warp, as it is and without conflicts; `warp` and `lanes` say where."""

    ways: int
    passes: int
    ideal: int
    warp: int
    lanes: int

    @property
    def extra(self) -> int:
        return self.passes - self.ideal


def lanes_per_group(size: int) -> int:
    """Lanes served together when each moves `size` bytes."""
    if size <= 4:
        return WARP
    return WARP // 2 if size <= 8 else WARP // 4


def group_ways(first_byte: NDArray[np.int64], size: int) -> int:
    """Passes that one group of lanes needs: the most distinct words in one bank.  `first_byte` holds active lanes."""
    import numpy as np

    if first_byte.size == 0:
        return 0
    words = max(1, -(-size // BANK_BYTES))
    wanted = np.unique((first_byte[:, None] // BANK_BYTES + np.arange(words)).ravel())
    return int(np.bincount(wanted % SHARED_BANKS, minlength=1).max())


def warp_conflict(touched: Touch, warp: int) -> Conflict:
    """The conflict among one warp's active lanes."""
    start, stop = warp * WARP, min((warp + 1) * WARP, touched.first_byte.size)
    group = lanes_per_group(touched.size)
    ways = passes = ideal = 0
    for at in range(start, stop, group):
        lanes = slice(at, min(at + group, stop))
        needed = group_ways(touched.first_byte[lanes][touched.active[lanes]], touched.size)
        ways, passes, ideal = max(ways, needed), passes + needed, ideal + (needed > 0)
    return Conflict(ways, passes, ideal, warp, int(touched.active[start:stop].sum()))


def worst_conflict(access: Access, scenario: Scenario, joined: bool = False) -> Conflict | None:
    """The worst warp over representative iterations; None when the index is unknown or nobody surely gets there.
    `joined`: as if the compiler had made accesses of 16 bytes out of neighbouring ones."""
    worst: Conflict | None = None
    seen: set[tuple[bytes, bytes]] = set()
    for at in scenario.environments(access.loops):
        touched = touch(access, at, scenario)
        if touched is None:
            return None
        if touched.used_data or not touched.active.any():
            continue
        if joined and touched.size < VECTOR_BYTES:
            touched = replace(touched, first_byte=touched.first_byte // VECTOR_BYTES * VECTOR_BYTES, size=VECTOR_BYTES)
        for warp in range(-(-scenario.block.threads // WARP)):
            lanes = slice(warp * WARP, (warp + 1) * WARP)
            pattern = _pattern(touched.first_byte[lanes], touched.active[lanes])
            if pattern in seen:
                continue
            seen.add(pattern)
            found = warp_conflict(touched, warp)
            if found.lanes and (worst is None or (found.ways, found.passes) > (worst.ways, worst.passes)):
                worst = found
    return worst


def _pattern(first_byte: NDArray[np.int64], active: NDArray[np.bool_]) -> tuple[bytes, bytes]:
    """Equal for requests that conflict alike: a shift by whole words only renames the banks."""
    base = int(first_byte[0]) // BANK_BYTES * BANK_BYTES
    return (first_byte - base).tobytes(), active.tobytes()


def is_certain(access: Access, scenario: Scenario) -> bool:
    """Whether block shape, element size and index rest on no guess."""
    return scenario.is_certain_about(access.index, access.guard) and element_bytes(access, scenario)[1]
