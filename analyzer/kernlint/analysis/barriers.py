"""Which shared-memory accesses can follow one another with no barrier between, on some path through a kernel.

The region tree is folded from the inside out.  Each part is summed up by the accesses reachable from its entry
without a barrier (`first`), those that reach its exit without one (`last`), and the condition under which control
passes through it without one (`clear`).  Putting parts in sequence pairs the `last` of the one with the `first` of the
next; a loop pairs its own `last` with its own `first`, in the next iteration.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from kernlint.ir.condition import FALSE, TRUE, Condition, Connective, conj, disj, negate
from kernlint.ir.expr import axes_of
from kernlint.ir.kernel import Access, Barrier, BarrierKind, Branch, Exit, Kernel, Loop, Region
from kernlint.ir.types import Space
from kernlint.records import dataclass

MAX_PAIRS = 3000
MAX_REACH = 120  # accesses kept on each side

# A wait of this kind makes a thread's own copies visible to itself; it does not order threads.
_OWN_WAITS = ("cp_async", "cp.async", "pipeline_wait", "memcpy_async_wait", "__pipeline")

Reached = tuple[Access, Condition]  # an access, and what must hold for the way to it to be free of barriers


@dataclass(frozen=True, eq=False)
class Pair:
    """Two accesses with no barrier between on some path, `earlier` before `later` in the flow of control.

    `after` must hold behind `earlier`, `before` in front of `later`.  `carried`: the later one belongs to the next
    iteration of this loop.  `concurrent`: they are in opposite arms of one branch, taken by different threads.
    """

    earlier: Access
    later: Access
    after: Condition = TRUE
    before: Condition = TRUE
    carried: Loop | None = None
    concurrent: bool = False


@dataclass
class _Flow:
    first: list[Reached] = field(default_factory=list)
    last: list[Reached] = field(default_factory=list)
    clear: Condition = TRUE
    falls: bool = True  # whether control can reach the end
    # The same for control that leaves through `break` and `continue`.
    broken: list[Reached] = field(default_factory=list)
    continued: list[Reached] = field(default_factory=list)


def orders_threads(barrier: Barrier) -> bool:
    """Whether a barrier orders the accesses of all threads of the block.

    Named barriers and waits on memory barriers order some threads; which ones is not modelled, so they count.
    """
    if barrier.kind in (BarrierKind.BLOCK, BarrierKind.GRID, BarrierKind.NAMED):
        return True
    return barrier.kind is BarrierKind.WAIT and not any(word in barrier.name for word in _OWN_WAITS)


def orders_warp(barrier: Barrier) -> bool:
    """Whether a barrier orders at least the lanes of a warp."""
    return orders_threads(barrier) or barrier.kind is BarrierKind.WARP


def unordered_pairs(kernel: Kernel, orders: Callable[[Barrier], bool] = orders_threads) -> list[Pair]:
    """Pairs of accesses to one shared buffer, at least one of them a write, that no barrier separates.  An access
    that writes is also paired with itself, for other threads doing the same access."""
    folder = _Folder(orders)
    folder.region(kernel.body)
    return folder.pairs


class _Folder:
    def __init__(self, orders: Callable[[Barrier], bool]) -> None:
        self.orders = orders
        self.pairs: list[Pair] = []

    def region(self, region: Region) -> _Flow:
        total = _Flow()
        for item in region.items:
            if not total.falls:
                break
            self._append(total, self._item(item))
        return total

    def _item(self, item: Access | Barrier | Loop | Branch | Exit) -> _Flow:
        if isinstance(item, Access):
            if item.space is not Space.SHARED or item.buffer is None:
                return _Flow()
            if item.writes:
                self._pair(Pair(item, item))
            return _Flow([(item, TRUE)], [(item, TRUE)])
        if isinstance(item, Barrier):
            return _Flow(clear=FALSE if self.orders(item) else TRUE)
        if isinstance(item, Branch):
            return self._branch(item)
        if isinstance(item, Loop):
            return self._loop(item)
        return _Flow(falls=False)

    def _append(self, total: _Flow, part: _Flow) -> None:
        self._cross(total.last, part.first)
        total.first = _capped(total.first + _under(part.first, total.clear))
        total.last = _capped(_under(total.last, part.clear) + part.last)
        total.broken = _capped(total.broken + part.broken)
        total.continued = _capped(total.continued + part.continued)
        total.clear = conj([total.clear, part.clear])
        total.falls = total.falls and part.falls

    def _branch(self, branch: Branch) -> _Flow:
        arms = (self.region(branch.then), self.region(branch.otherwise))
        if _splits_threads(branch.condition) and not _has_partial_sync(branch):
            for a, in_a in arms[0].first:
                for b, in_b in arms[1].first:
                    self._pair(Pair(a, b, in_a, in_b, concurrent=True))
        found = _Flow(falls=arms[0].falls or arms[1].falls)
        ways: list[Condition] = []
        for arm, region, taken in zip(
            arms, (branch.then, branch.otherwise), (branch.condition, negate(branch.condition)), strict=True
        ):
            found.first += arm.first
            found.broken += arm.broken
            found.continued += arm.continued
            if arm.falls:
                found.last += arm.last
                ways.append(arm.clear if arm.clear.op is Connective.FALSE else conj([taken, arm.clear]))
                continue
            kind = next((item.kind for item in region.items if isinstance(item, Exit)), "")
            leaving = found.broken if kind == "break" else found.continued if kind == "continue" else []
            leaving += arm.last
        whole = all(arm.clear.op is Connective.TRUE for arm in arms if arm.falls)
        found.clear = TRUE if whole else disj(ways)
        return found

    def _loop(self, loop: Loop) -> _Flow:
        body = self.region(loop.body)
        at_end = body.last if body.falls else []
        turning = at_end + body.continued
        for a, after in turning:
            for b, before in body.first:
                self._pair(Pair(a, b, after, before, carried=loop))
        varies = any(axis.key == loop.axis.key for axis in axes_of(body.clear))
        # A loop with a barrier is taken to run at least once.
        clear = FALSE if varies else body.clear
        return _Flow(body.first, _capped(body.last + body.continued + body.broken), clear)

    def _cross(self, earlier: list[Reached], later: list[Reached]) -> None:
        for a, after in earlier:
            for b, before in later:
                self._pair(Pair(a, b, after, before))

    def _pair(self, pair: Pair) -> None:
        same = pair.earlier.buffer is pair.later.buffer
        if same and (pair.earlier.writes or pair.later.writes) and len(self.pairs) < MAX_PAIRS:
            self.pairs.append(pair)


def _under(reached: list[Reached], clear: Condition) -> list[Reached]:
    if clear.op is Connective.TRUE:
        return list(reached)
    if clear.op is Connective.FALSE:
        return []
    return [(access, conj([condition, clear])) for access, condition in reached]


def _capped(reached: list[Reached]) -> list[Reached]:
    """At most `MAX_REACH`, without repeats: an access twice on the list differs only in the way to it."""
    if len(reached) <= 1:
        return reached
    seen: set[tuple[int, str]] = set()
    kept: list[Reached] = []
    for access, condition in reached:
        key = (id(access), condition.key)
        if key not in seen:
            seen.add(key)
            kept.append((access, condition))
    return kept[:MAX_REACH]


def _splits_threads(condition: Condition) -> bool:
    return any(axis.thread for axis in axes_of(condition))


def _has_partial_sync(branch: Branch) -> bool:
    """Named barriers and waits inside an arm: the arms are synchronised with each other in a way not modelled."""
    return any(
        isinstance(item, Barrier) and item.kind in (BarrierKind.NAMED, BarrierKind.WAIT)
        for arm in (branch.then, branch.otherwise)
        for item in arm.walk()
    )
