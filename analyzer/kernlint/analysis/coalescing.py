"""Sectors that a warp's global-memory request moves, against the fewest that could hold its data.

A request is served in sectors of 32 bytes.  32 lanes reading neighbouring floats need four; the same floats 48 bytes
apart need 32, each of which carries 28 bytes nobody asked for in this request.
"""

from __future__ import annotations

from kernlint.analysis.lanes import WARP
from kernlint.analysis.lanes_access import Touch, touch
from kernlint.analysis.lanes_scenario import Scenario
from kernlint.ir.kernel import Access
from kernlint.records import dataclass
from kernlint.target.limits import SECTOR_BYTES

# A warp with fewer active lanes is not worth a remark.
FEWEST_LANES = 16


@dataclass(frozen=True)
class Request:
    """One warp's request: sectors moved, the least possible, active lanes, and the distance in bytes between
    neighbouring lanes (None when it differs)."""

    sectors: int
    minimum: int
    lanes: int
    stride: int | None
    size: int

    @property
    def ratio(self) -> float:
        return self.sectors / self.minimum if self.minimum else 1.0


def warp_request(touched: Touch, warp: int) -> Request | None:
    """The request of one warp; None when no lane surely takes part."""
    import numpy as np

    lanes = slice(warp * WARP, (warp + 1) * WARP)
    first = touched.first_byte[lanes][touched.active[lanes]]
    if first.size == 0:
        return None
    spanned = max(1, -(-touched.size // SECTOR_BYTES))
    ends = np.concatenate([first[:, None] + np.arange(spanned) * SECTOR_BYTES, first[:, None] + touched.size - 1], 1)
    sectors = len(set((np.minimum(ends, first[:, None] + touched.size - 1) // SECTOR_BYTES).ravel().tolist()))
    wanted = len(set(first.tolist())) * touched.size
    steps = set(np.diff(first).tolist())
    stride = steps.pop() if len(steps) == 1 else None
    return Request(sectors, max(1, -(-wanted // SECTOR_BYTES)), int(first.size), stride, touched.size)


def worst_request(access: Access, scenario: Scenario) -> Request | None:
    """The request of the fullest warp, the same over the first iterations; None when the index is unknown or only a
    few lanes take part.  Loaded numbers that are the same for all threads are taken as any number."""
    best: Request | None = None
    for at in scenario.environments(access.loops, 2)[:8]:
        touched = touch(access, at, scenario)
        if touched is None:
            return None
        for warp in (0, scenario.block.threads // WARP // 2):
            found = warp_request(touched, warp)
            if found is None or found.lanes < FEWEST_LANES:
                continue
            if best is None or found.lanes > best.lanes or (found.lanes == best.lanes and found.ratio < best.ratio):
                best = found
    return best
