"""Warp intrinsics (`__shfl_down_sync`, `__ballot_sync`, `__syncwarp`) whose mask names lanes that do not come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernlint.analysis.barriers_divergence import corner_environments, frame_span, place_behind
from kernlint.analysis.lanes import WARP, Evaluator, spread, spread_lanes
from kernlint.analysis.lanes_scenario import LARGE, SMALL, Scenario, scenarios
from kernlint.ir.expr import AtomKind
from kernlint.ir.kernel import Barrier, BarrierKind, Frame, Kernel
from kernlint.ir.types import Span
from kernlint.ir.value import Value
from kernlint.records import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ALL = (1 << WARP) - 1


@dataclass(frozen=True, eq=False)
class Missing:
    """A warp that splits at `frame`; of its lanes, `present` reaches the intrinsic and `absent`, which the mask names,
    does not.  `reads_absent`: a lane takes the value of one that is not there, so that the result is undefined.
    `certain`: nothing was assumed; `for_any_size`: no run-time number takes part in the decision."""

    barrier: Barrier
    frame: Frame
    span: Span
    present: str
    absent: str
    reads_absent: bool
    certain: bool
    for_any_size: bool


def missing_lanes(kernel: Kernel) -> list[Missing]:
    """One per place where warps split, in program order."""
    found: dict[tuple[str, int], Missing] = {}
    shuffles: dict[int, Value] | None = None
    for barrier in kernel.barriers:
        if barrier.kind is not BarrierKind.WARP or not barrier.path or not _names_all_lanes(barrier):
            continue
        if not any(atom.axis is not None and atom.axis.thread for atom in barrier.guard.deep_atoms):
            continue
        if shuffles is None:
            shuffles = {id(v.attrs["barrier"]): v for v in kernel.values if v.op == "shuffle" and "barrier" in v.attrs}
        problem = next(_problems(kernel, barrier, shuffles.get(id(barrier))), None)
        span = frame_span(problem.frame) if problem is not None else None
        if problem is not None and span is not None:
            known = found.get((span.path, span.start))
            if known is None or (problem.reads_absent and not known.reads_absent):
                found[(span.path, span.start)] = problem
    return list(found.values())


def _names_all_lanes(barrier: Barrier) -> bool:
    """Whether the mask is the constant full one."""
    if barrier.mask is None:
        return barrier.name == "__syncwarp"
    expr = barrier.mask.expr
    return expr is not None and expr.constant is not None and expr.constant & _ALL == _ALL


def _problems(kernel: Kernel, barrier: Barrier, shuffle: Value | None) -> Iterator[Missing]:
    for start in (SMALL, LARGE):
        for scenario in scenarios(kernel, start):
            for at in corner_environments(scenario, barrier.path):
                problem = _problem_at(kernel, barrier, shuffle, at, scenario)
                if problem is not None:
                    yield problem


def _problem_at(
    kernel: Kernel, barrier: Barrier, shuffle: Value | None, at: Evaluator, scenario: Scenario
) -> Missing | None:
    import numpy as np

    threads = scenario.block.threads
    here = np.ones(threads, dtype=np.bool_)
    alive = here
    parting: Frame | None = None
    for frame in barrier.path:
        must, may = at.truth(frame.condition)
        if must is not may and np.any(np.logical_xor(must, may)):
            return None
        before, here = here, here & spread(must, threads)
        if frame.exit:
            alive = alive & spread(must, threads)  # threads that have returned need not come
        harmless = (frame.exit and shuffle is None) or _meets_in_other_arm(frame)
        if parting is None and not harmless and _partial_warps(before, here).any():
            parting = frame
    if parting is None:
        return None
    sources = _sources(shuffle, at, threads) if shuffle is not None else None
    reading = here & ~here[sources] if sources is not None else np.zeros_like(here)
    split = _partial_warps(alive, here)
    if reading.any():
        present = int(reading.argmax())
        absent = int(sources[present]) if sources is not None else present
    elif parting.exit or not split.any():
        return None
    else:
        present, absent = int((split & here).argmax()), int((split & alive & ~here).argmax())
    atoms = {atom for frame in barrier.path for atom in frame.condition.deep_atoms}
    sizes = any(atom.kind in (AtomKind.PARAM, AtomKind.HOST, AtomKind.LOAD, AtomKind.OPAQUE) for atom in atoms)
    certain = scenario.block_known and not any(atom.key in scenario.assumed for atom in atoms) and not at.used_data
    place = place_behind(parting, barrier)
    show = scenario.block.show
    return Missing(barrier, parting, place, show(present), show(absent), bool(reading.any()), certain, not sizes)


def _partial_warps(before: NDArray[np.bool_], after: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Marks all threads of warps of which some lanes came along and others did not."""
    import numpy as np

    marked = np.zeros_like(before)
    for first in range(0, before.size, WARP):
        lanes = slice(first, first + WARP)
        if after[lanes].any() and (before[lanes] & ~after[lanes]).any():
            marked[lanes] = True
    return marked


def _meets_in_other_arm(frame: Frame) -> bool:
    """Whether the other arm has warp intrinsics too: lanes may be meant to meet there."""
    if frame.branch is None or frame.exit:
        return False
    other = frame.branch.otherwise if frame.arm else frame.branch.then
    return any(isinstance(item, Barrier) for item in other.walk())


def _sources(shuffle: Value, at: Evaluator, threads: int) -> NDArray[np.int64] | None:
    """The thread whose value each thread takes, (threads,); None when not known."""
    import numpy as np

    by = shuffle.args[1].expr if len(shuffle.args) > 1 else None
    distance = at.integer(by) if by is not None else None
    wide = shuffle.attrs.get("width")
    width = at.integer(wide.expr) if isinstance(wide, Value) and wide.expr is not None else WARP
    if distance is None or not isinstance(width, int) or width not in (2, 4, 8, 16, 32):
        return None
    own = np.arange(threads, dtype=np.int64)
    lane = own % WARP
    step = spread_lanes(distance, threads)
    group = lane // width * width
    kind = shuffle.attrs.get("kind")
    if kind == "down":
        wanted = lane + step
    elif kind == "up":
        wanted = lane - step
    elif kind in ("xor", "bfly"):
        wanted = lane ^ np.maximum(step, 0)
    elif kind == "idx":
        wanted = group + step % width
    else:
        return None
    inside = (wanted >= group) & (wanted < group + width)
    if kind in ("xor", "bfly"):
        inside = wanted < group + width
    source = own - lane + np.where(inside, wanted, lane)
    return np.where(source < threads, source, own)
