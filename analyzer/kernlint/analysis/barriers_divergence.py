"""Block barriers that not all threads of a block reach, or not the same number of times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernlint.analysis.lanes import Evaluator, spread, spread_lanes
from kernlint.analysis.lanes_iterations import MAX_STEPS, environments, loop_states
from kernlint.analysis.lanes_scenario import LARGE, SMALL, Scenario, scenarios
from kernlint.analysis.uniformity import Spread, uniformity
from kernlint.ir.condition import Condition
from kernlint.ir.kernel import Barrier, BarrierKind, Branch, Exit, Frame, Kernel, Loop, Region
from kernlint.ir.types import Space, Span
from kernlint.ir.value import Value, ancestors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BLOCK_WIDE = (BarrierKind.BLOCK, BarrierKind.GRID)


@dataclass(frozen=True, eq=False)
class Divergence:
    """Control that threads of one block leave each other at, with block barriers behind it.

    `kind` is `exit`, `branch` or `loop`.  `threads` are two threads that go different ways, as text, when known.
    `certain`: shown by evaluation with nothing assumed; `spread` says how far the condition differs.
    """

    kind: str
    span: Span
    barriers: tuple[Barrier, ...]
    frame: Frame
    threads: tuple[str, str] | None = None
    certain: bool = True
    spread: Spread = Spread.THREAD

    @property
    def places(self) -> list[Span]:
        """Where each barrier, or the call that leads to it, is written: in the function in which threads part.  A
        helper with barriers is fine by itself; what is at fault is calling it there."""
        return [place_behind(self.frame, barrier) for barrier in self.barriers]


@dataclass
class _Found:
    frame: Frame
    barriers: list[Barrier] = field(default_factory=list)
    prefix: tuple[Frame, ...] = ()


def divergent_barriers(kernel: Kernel) -> list[Divergence]:
    """Each place where threads part, once, with the barriers behind it in program order."""
    places: dict[tuple[str, int], _Found] = {}
    for barrier in kernel.barriers:
        if barrier.kind not in _BLOCK_WIDE:
            continue
        for depth, frame in enumerate(barrier.path):
            span = frame_span(frame)
            if span is None or (frame.branch is not None and not frame.exit and _is_balanced(frame.branch)):
                continue
            place = places.setdefault((span.path, span.start), _Found(frame, [], barrier.path[:depth]))
            place.barriers.append(barrier)
    return [divergence for place in places.values() for divergence in _judge(kernel, place)]


def frame_span(frame: Frame) -> Span | None:
    if frame.span is not None:
        return frame.span
    if frame.loop is not None:
        return frame.loop.span
    return frame.branch.span if frame.branch is not None else None


def place_behind(frame: Frame, barrier: Barrier) -> Span:
    """The barrier or, of the calls it was inlined through, the one in the same function as the frame: among these
    places, the nearest behind the frame."""
    start = frame_span(frame)
    if start is None or not barrier.inlined_at:
        return barrier.span
    places = [place for place in (*barrier.inlined_at, barrier.span) if place.path == start.path]
    behind = [place for place in places if place.start >= start.start]
    return min(behind, key=lambda place: place.start, default=barrier.span)


def _exit_span(kernel: Kernel, frame: Frame, barrier: Barrier) -> Span | None:
    """Where threads leave: the innermost branch with a thread-dependent condition around the exit."""
    outer, known = frame_span(frame), uniformity(kernel)
    if outer is None:
        return None
    for item in kernel.body.walk():
        if not isinstance(item, Exit) or not _contains(outer, item.span) or not _skips(item, barrier):
            continue
        for around in reversed(item.path):
            where = frame_span(around)
            if around.branch is None or where is None or not _contains(outer, where):
                continue
            if known.of_condition(around.condition, around.value) is not Spread.BLOCK:
                return where
    return outer


def _skips(leaving: Exit, barrier: Barrier) -> bool:
    """Whether an exit leads past a barrier: a return always, `break` and `continue` only within their loop."""
    if leaving.kind == "return":
        return True
    own = [around.loop for around in leaving.path if around.loop is not None]
    return bool(own) and any(around.loop is own[-1] for around in barrier.path)


def _contains(outer: Span, inner: Span) -> bool:
    return outer.path == inner.path and outer.start <= inner.start and inner.end <= outer.end


def _is_balanced(branch: Branch) -> bool:
    """Whether both arms meet block barriers, the same number of times as far as can be counted.  Hardware counts
    arrivals per barrier, not per source line, and specialised warps rely on that; where loops are involved, barriers
    in both arms are taken to be paired."""
    counts = [_barriers_in(branch.then), _barriers_in(branch.otherwise)]
    if None in counts:
        return 0 not in counts
    return counts[0] == counts[1] != 0


def _barriers_in(region: Region) -> int | None:
    """Block barriers met on the way through, None when loops or branches decide how many (but at least one)."""
    total = 0
    for item in region.items:
        if isinstance(item, Barrier):
            total += item.kind in _BLOCK_WIDE
        elif isinstance(item, (Loop, Branch)):
            inside = [item.body] if isinstance(item, Loop) else [item.then, item.otherwise]
            if any(isinstance(deep, Barrier) and deep.kind in _BLOCK_WIDE for part in inside for deep in part.walk()):
                return None
    return total


def _judge(kernel: Kernel, place: _Found) -> Iterator[Divergence]:
    frame, known = place.frame, uniformity(kernel)
    if frame.loop is not None:
        how = _loop_spread(kernel, frame.loop)
    else:
        how = known.of_condition(frame.condition, frame.value)
    if how is None or how is Spread.BLOCK:
        return
    kind = "loop" if frame.loop is not None else "exit" if frame.exit else "branch"
    span = _exit_span(kernel, frame, place.barriers[0]) if frame.exit else frame_span(frame)
    if span is None:
        return
    barriers = tuple(place.barriers)
    evaluable = False
    for start in (SMALL, LARGE):
        for scenario in scenarios(kernel, start):
            for at in corner_environments(scenario, place.prefix):
                answer = _parting(frame, place.prefix, at, scenario)
                if answer is None:
                    continue
                evaluable = True
                if answer:
                    threads = (scenario.block.show(answer[0]), scenario.block.show(answer[1]))
                    parts = [f.condition for f in place.prefix] + [frame.condition]
                    parts += [turning] if (turning := _turning(frame.loop)) is not None else []
                    sure = not any(atom.key in scenario.assumed for part in parts for atom in part.deep_atoms)
                    if kind == "loop" and scenario.launch is None:
                        sure = False  # how the length relates to the block is up to a launch that was not seen
                    if kind == "exit" and not _protects_something(kernel, barriers):
                        sure = False
                    yield Divergence(kind, span, barriers, frame, threads, sure, how)
                    return
    condition = frame.loop.condition if frame.loop is not None else frame.value
    if not evaluable and condition is not None:
        sure = how is Spread.THREAD and _is_own_data(kernel, condition)
        yield Divergence(kind, span, barriers, frame, None, sure, how)


def _protects_something(kernel: Kernel, barriers: tuple[Barrier, ...]) -> bool:
    """Whether there is shared memory that threads which have left would have filled, or a collective they would be
    part of.  A barrier as such has long stopped to wait for threads that have returned."""
    if any("." in barrier.name or "::" in barrier.name for barrier in barriers):
        return True
    return any(buffer.space is Space.SHARED for buffer in kernel.buffers.values())


def _is_own_data(kernel: Kernel, condition: Value) -> bool:
    """Whether a condition rests on what each thread reads from its own place in global memory, and on nothing that
    lanes exchange or that was not understood."""
    own = False
    for value in ancestors(condition, 500):
        if value.op in ("shuffle", "vote", "atomic", "opaque"):
            return False
        access = value.access if value.op == "load" else None
        if access is not None and access.space is Space.GLOBAL:
            own = own or uniformity(kernel).of_expr(access.index) is Spread.THREAD
    return own


def _loop_spread(kernel: Kernel, loop: Loop) -> Spread | None:
    known = uniformity(kernel)
    if loop.trip_count is not None and not loop.trip_count.is_opaque:
        return known.of_expr(loop.trip_count)
    if loop.condition is None:
        return None
    condition = loop.condition.cond
    return known.of_condition(condition, loop.condition) if condition is not None else known.of_value(loop.condition)


def corner_environments(scenario: Scenario, prefix: tuple[Frame, ...]) -> Iterator[Evaluator]:
    """First and last block of the grid, in representative iterations of the loops around."""
    values = scenario.values
    corners: list[dict[str, int]] = [{f"a:g{i}": 0 for i in range(3)}]
    if scenario.launch is not None:
        corners.append({f"a:g{i}": max(0, values.get(f"gd{i}", 1) - 1) for i in range(3)})
        corners.append({"a:g0": max(0, values.get("gd0", 1) - 1), "a:g1": 0, "a:g2": 0})
    loops = [frame.loop for frame in prefix if frame.loop is not None]
    for corner in corners:
        yield from environments(loops, scenario.evaluator(dict(corner)), 6)[:16]


def _parting(
    frame: Frame, prefix: tuple[Frame, ...], at: Evaluator, scenario: Scenario
) -> tuple[int, int] | tuple[()] | None:
    """Two threads that arrive at the frame together and part there; () when all go one way, None when unknown."""
    import numpy as np

    threads = scenario.block.threads
    arriving = np.ones(threads, dtype=np.bool_)
    for outer in prefix:
        arriving &= spread(at.truth(outer.condition)[1], threads)
    if frame.loop is not None and frame.loop.trip_count is not None:
        trips = at.integer(frame.loop.trip_count)
        if trips is None:
            return None
        turns = np.maximum(spread_lanes(trips, threads), 0)
        most = np.max(turns[arriving]) if arriving.any() else 0
        taking, leaving = arriving & (turns == most), arriving & (turns < most)
    elif frame.loop is not None:
        return _leaving_early(frame.loop, arriving, at)
    else:
        must, may = at.truth(frame.condition)
        if np.any(np.logical_xor(must, may)):
            return None
        taking, leaving = arriving & spread(must, threads), arriving & ~spread(may, threads)
    return _one_of_each(taking, leaving)


def _one_of_each(taking: NDArray[np.bool_], leaving: NDArray[np.bool_]) -> tuple[int, int] | tuple[()]:
    if taking.any() and leaving.any():
        return int(taking.argmax()), int(leaving.argmax())
    return ()


def _turning(loop: Loop | None) -> Condition | None:
    """What must hold for another turn of a loop that is not counted."""
    return loop.condition.cond if loop is not None and loop.condition is not None else None


def _leaving_early(loop: Loop, arriving: NDArray[np.bool_], at: Evaluator) -> tuple[int, int] | tuple[()] | None:
    """`_parting` for a loop that is not counted (`half >>= 1`): it is run, until threads disagree or all are out."""
    import numpy as np

    condition = _turning(loop)
    if condition is None:
        return None
    for state in loop_states(loop, at, MAX_STEPS):
        must, may = at.extended(state).truth(condition)
        if np.any(np.logical_xor(must, may)):
            return None
        taking = arriving & spread(must, arriving.size)
        found = _one_of_each(taking, arriving & ~taking)
        if found or not taking.any():
            return found
    return ()
