"""Races on shared memory: two threads, one element, at least one write, no barrier between.

`barriers.unordered_pairs` says which accesses can follow one another without a barrier; here both are evaluated over
the threads of a block, and a race is two different threads that touch the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from kernlint.analysis.barriers import Pair, orders_threads, orders_warp, unordered_pairs
from kernlint.analysis.lanes import WARP, Block, Evaluator, mask_and, spread
from kernlint.analysis.lanes_access import Touch, moved_bytes, touch
from kernlint.analysis.lanes_iterations import environments, loop_states, successive
from kernlint.analysis.lanes_scenario import Scenario, scenarios
from kernlint.analysis.sharing_meeting import Touched, is_scattered_atomic, meeting_of, nothing, race_threads
from kernlint.analysis.sharing_values import stores_same_value
from kernlint.ir.condition import Condition
from kernlint.ir.expr import AtomKind, Expr
from kernlint.ir.kernel import Access, AccessKind, Barrier, Kernel, Loop
from kernlint.ir.value import Value
from kernlint.records import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MAX_JUDGED = 250
MAX_DEEP = 80  # with more pairs, only races that are certain are looked for
MAX_MEMO = 6000


@dataclass(frozen=True, eq=False)
class Race:
    """Two threads at one element.  `within_warp`: only lanes of one warp meet.  `same_value`: both store one value.
    `certain`: nothing was assumed about the launch, compile-time parameters or data; `assumes_data`: something was
    assumed about data; `for_any_block`: it rests only on an assumed block shape, and is there with others too."""

    pair: Pair
    scenario: Scenario
    earlier_thread: int
    later_thread: int
    element: int
    within_warp: bool
    certain: bool
    assumes_data: bool
    same_value: bool = False
    for_any_block: bool = False
    across_arrays: bool = False  # between two arrays carved out of one buffer, which overlap for the sizes chosen

    @property
    def write(self) -> Access:
        """The access to report: the later write, else the earlier one."""
        return self.pair.later if self.pair.later.writes else self.pair.earlier

    @property
    def other(self) -> Access:
        return self.pair.earlier if self.pair.later.writes else self.pair.later


def shared_races(kernel: Kernel) -> list[Race]:
    """At most one race per write and other access, in program order of the write."""
    pairs = _distinct(unordered_pairs(kernel))
    if not pairs:
        return []
    unsynced = {_key(pair) for pair in unordered_pairs(kernel, orders_warp)}
    locked = {id(loop) for loop in kernel.loops if _orders(loop)}
    found: dict[tuple[int, int], Race] = {}
    for pair in pairs[:MAX_JUDGED]:
        if pair.earlier.kind is AccessKind.ATOMIC and pair.later.kind is AccessKind.ATOMIC:
            continue
        place = (id(pair.earlier), id(pair.later))
        if place in found and found[place].certain:
            continue
        race = _judge(kernel, pair, locked, _key(pair) in unsynced, len(pairs) <= MAX_DEEP)
        if race is not None and (place not in found or race.certain):
            found[place] = race
    # Warps that all store the same values redundantly read back what they could have written themselves.
    redundant = {id(race.write) for race in found.values() if race.same_value and race.write is race.other}
    races = [
        replace(race, same_value=True) if id(race.write) in redundant and not race.other.writes else race
        for race in found.values()
    ]
    return sorted(races, key=lambda race: (race.write.ordinal, race.other.ordinal))


def _key(pair: Pair) -> tuple[int, int, int]:
    return id(pair.earlier), id(pair.later), id(pair.carried)


def _distinct(pairs: Iterable[Pair]) -> list[Pair]:
    seen: dict[tuple[object, ...], Pair] = {}
    for pair in pairs:
        seen.setdefault((*_key(pair), pair.after.key, pair.before.key), pair)
    return list(seen.values())


def _orders(loop: Loop) -> bool:
    return any(isinstance(item, Barrier) and orders_threads(item) for item in loop.body.walk())


def _judge(kernel: Kernel, pair: Pair, locked: set[int], warp_matters: bool, deep: bool) -> Race | None:
    if pair.earlier is pair.later and pair.carried is not None and id(pair.carried) not in locked:
        return None  # covered by the pair without a back edge: free loops run independently per thread
    found: Race | None = None
    for scenario in scenarios(kernel):
        race = _race_in(pair, scenario, locked, warp_matters, deep)
        if race is None or not race.certain:
            # The sizes may rule this way through the kernel out; take others.
            other = scenario.adapted(_conditions(pair))
            race = (_race_in(pair, other, locked, warp_matters, deep) if other is not None else None) or race
        if race is not None and (found is None or race.certain):
            found = race
        if found is not None and found.certain:
            break
    if found is None or (found.assumes_data and not deep):
        return None
    wide = False
    # What launches pass may keep rows of a block apart; from one turn to the next all of it is used again.
    open_shape = found.scenario.launch is None or (pair.carried is not None and not found.scenario.block_known)
    if open_shape and not found.certain and not found.assumes_data:
        parts = (pair.earlier.index, pair.earlier.guard, pair.later.index, pair.later.guard)
        guessed = {atom.key for part in parts for atom in part.deep_atoms} & found.scenario.assumed
        types = {key for key in guessed if key.startswith("p:sizeof(")}
        wide = guessed == types and _holds_for_other_blocks(pair, found.scenario, locked, warp_matters)
        if wide and types:
            smaller = found.scenario.changed(values={**found.scenario.values, **dict.fromkeys(types, 2)})
            wide = _race_in(pair, smaller, locked, warp_matters) is not None
    carved = _crosses_carved_arrays(pair)
    return replace(
        found,
        same_value=stores_same_value(kernel, pair, found.scenario, (found.earlier_thread, found.later_thread)),
        for_any_block=wide,
        across_arrays=carved,
    )


def _conditions(pair: Pair) -> list[Condition]:
    return [pair.earlier.guard, pair.later.guard, pair.after, pair.before]


def _has_unknowns(pair: Pair) -> bool:
    """Whether it may depend on data, or on something not understood, who takes part."""
    unknown = (AtomKind.LOAD, AtomKind.OPAQUE)
    return any(c.flags or any(atom.kind in unknown for atom in c.deep_atoms) for c in _conditions(pair))


def _race_in(pair: Pair, scenario: Scenario, locked: set[int], warp_matters: bool, deep: bool = False) -> Race | None:
    """`deep`: also look for races that depend on what is not known about data."""
    for possible in (False, True) if deep and _has_unknowns(pair) else (False,):
        for first, second in _outer(pair, scenario, locked):
            a = _touched(pair.earlier, first, scenario, locked, pair, earlier=True, possible=possible)
            b = a
            if pair.earlier is not pair.later or pair.carried is not None:
                b = _touched(pair.later, second, scenario, locked, pair, earlier=False, possible=possible)
            if a is None or b is None:
                return None
            meeting = meeting_of(a, b, WARP)
            within = meeting is None
            if within and warp_matters and pair.earlier is not pair.later:
                meeting = meeting_of(a, b, 1)
            if meeting is None:
                continue
            threads = race_threads(meeting)
            used = a.used_data or b.used_data
            unit = _unit(pair)
            size = max(1, moved_bytes(pair.later, scenario))
            parts: list[Expr | Condition] = [pair.earlier.index, pair.earlier.guard, pair.later.index, pair.later.guard]
            sure = not possible and not used and scenario.is_certain_about(*parts)
            return Race(pair, scenario, *threads, meeting[0] * unit // size, within, sure, possible or used)
    return None


def _outer(pair: Pair, scenario: Scenario, locked: set[int]) -> list[tuple[Evaluator, Evaluator]]:
    """Evaluators for the two accesses, with the loops they are in together at the same or neighbouring iterations."""
    common = [
        loop
        for loop, other in zip(pair.earlier.loops, pair.later.loops, strict=False)
        if loop is other and id(loop) in locked
    ]
    turning = pair.carried if pair.carried is not None and id(pair.carried) in locked else None
    if turning in common:
        common = common[: common.index(turning)]
    key = ("outer", id(turning), *map(id, common))
    if key not in scenario.memo:
        around = scenario.environments(common, 3)[:6]
        if turning is None:
            scenario.memo[key] = [(at, at) for at in around]
        else:
            scenario.memo[key] = [
                (at.extended(now), at.extended(then)) for at in around for now, then in successive(turning, at, 3)
            ]
    found: list[tuple[Evaluator, Evaluator]] = scenario.memo[key]
    return found


def _touched(
    access: Access, at: Evaluator, scenario: Scenario, locked: set[int], pair: Pair, *, earlier: bool, possible: bool
) -> Touched | None:
    """`_touch_all`, remembered: an access takes part in many pairs."""
    condition = pair.after if earlier else pair.before
    here = _what_matters(access, at, scenario, condition)
    key = ("touched", id(access), here, earlier, possible, _unit(pair), condition.key)
    if key not in scenario.memo:
        if len(scenario.memo) > MAX_MEMO:
            scenario.memo.clear()
        found = _touch_all(access, at, scenario, locked, condition, _unit(pair), earlier=earlier, possible=possible)
        scenario.memo[key] = (found, at)  # keeping `at` alive keeps its id from being taken
    known: tuple[Touched | None, Evaluator] = scenario.memo[key]
    return known[0]


def _touch_all(
    access: Access,
    at: Evaluator,
    scenario: Scenario,
    locked: set[int],
    condition: Condition,
    unit: int,
    *,
    earlier: bool,
    possible: bool,
) -> Touched | None:
    """Everything an access touches between two barriers: over all iterations of loops without barriers, and in the
    last (first) iteration of loops with barriers that it leaves (enters)."""
    import numpy as np

    found = _inside(access, at, scenario, locked, earlier=earlier)
    if found is None:
        return nothing()
    at, used = found
    touched_units: list[NDArray[np.int64]] = []
    threads: list[NDArray[np.int64]] = []
    numbers = np.arange(scenario.block.threads)
    for inner, seen in _touches(access, at, scenario):
        must, may = inner.truth(condition)
        if seen is None and is_scattered_atomic(access):
            surely = spread(mask_and(inner.truth(access.guard)[0], must), scenario.block.threads)
            touched_units.append(numbers[surely])
            threads.append(numbers[surely])
            continue
        if seen is None:
            return None
        active = np.logical_and(seen.possible, may) if possible else np.logical_and(seen.active, must)
        first, chosen = seen.first_byte[active] // unit, numbers[active]
        for step in range(max(1, seen.size // unit)):
            touched_units.append(first + step)
            threads.append(chosen)
        used = used or seen.used_data
    if not touched_units:
        return nothing()
    anywhere = is_scattered_atomic(access)
    return Touched(np.concatenate(touched_units), np.concatenate(threads), used and not anywhere, anywhere)


def _what_matters(access: Access, at: Evaluator, scenario: Scenario, condition: Condition) -> tuple[object, ...]:
    """What an environment has beyond the scenario's, and the values of that which an access or the condition, or the
    loops around the access, can depend on.  Numbers that differ between threads count by identity."""
    own = ("atoms", id(access))
    if own not in scenario.memo:
        parts: list[Expr | Condition] = [access.index, access.guard]
        for loop in access.loops:
            exprs = [loop.start, loop.stop, loop.step, loop.trip_count]
            exprs += [value.expr for carry in loop.carries for value in (carry, *carry.args)]
            parts += [expr for expr in exprs if expr is not None]
            if loop.condition is not None and loop.condition.cond is not None:
                parts.append(loop.condition.cond)
        scenario.memo[own] = {atom.key for part in parts for atom in part.deep_atoms}
    keys: set[str] = scenario.memo[own]
    asked = {atom.key for atom in condition.deep_atoms}
    added = {key: value for key, value in at.values.items() if key not in scenario.environment}
    values = [
        (key, value if isinstance(value, int) else id(value))
        for key, value in added.items()
        if key in keys or key in asked
    ]
    return tuple(added), tuple(values)


def _inside(
    access: Access, at: Evaluator, scenario: Scenario, locked: set[int], *, earlier: bool
) -> tuple[Evaluator, bool] | None:
    """`at` in the last (first) iteration of the access's loops with barriers, and whether that rests on data; None when
    one of them does not run.  Remembered, so that accesses in the same loops share one evaluator."""
    loops = [loop for loop in access.loops if f"a:{loop.axis.key}" not in at.values and id(loop) in locked]
    if not loops:
        return at, False
    key = ("inside", id(at), earlier, *map(id, loops))
    if key not in scenario.memo:
        scenario.memo[key] = (_entered(loops, at, earlier=earlier), at)
    known: tuple[tuple[Evaluator, bool] | None, Evaluator] = scenario.memo[key]
    return known[0]


def _entered(loops: list[Loop], at: Evaluator, *, earlier: bool) -> tuple[Evaluator, bool] | None:
    used = False
    for loop in loops:
        states = loop_states(loop, at)
        if not states:
            return None
        used = used or at.used_data
        at = at.extended(states[-1 if earlier else 0])
    return at, used


def _touches(access: Access, at: Evaluator, scenario: Scenario) -> Iterator[tuple[Evaluator, Touch | None]]:
    """What an access touches in each iteration of the loops around it that `at` leaves open.  Remembered: it is the
    same in all pairs the access takes part in."""
    free = [loop for loop in access.loops if f"a:{loop.axis.key}" not in at.values]
    key = ("free", id(at), *map(id, free))
    if key not in scenario.memo:
        scenario.memo[key] = (environments(free, at), at)
    inners: list[Evaluator] = scenario.memo[key][0]
    for inner in inners:
        place = ("touch", id(access), id(inner))
        if place not in scenario.memo:
            scenario.memo[place] = (touch(access, inner, scenario), inner)
        seen: Touch | None = scenario.memo[place][0]
        yield inner, seen


def _unit(pair: Pair) -> int:
    return math.gcd(moved_bytes(pair.earlier), moved_bytes(pair.later)) or 1


def _array_name(access: Access) -> str:
    """What the pointer variable behind an access is called; arrays carved out of one buffer have different ones."""
    value = access.attrs.get("address")
    for _ in range(20):
        if not isinstance(value, Value):
            break
        if value.name:
            return value.name
        value = value.args[0] if value.args else None
    return ""


def _crosses_carved_arrays(pair: Pair) -> bool:
    buffer = pair.earlier.buffer
    if buffer is None or not (buffer.dynamic or pair.earlier.pointer.casts or pair.later.pointer.casts):
        return False
    return _array_name(pair.earlier) != _array_name(pair.later)


def _holds_for_other_blocks(pair: Pair, scenario: Scenario, locked: set[int], warp_matters: bool) -> bool:
    """Whether a race found under an assumed block shape is also there with half and twice the threads, and with all
    threads along x."""
    block = scenario.block
    shapes = [Block(block.x // 2, block.y, block.z), Block(block.x * 2, block.y, block.z), Block(block.threads)]
    return all(
        _race_in(pair, scenario.changed(block=shape), locked, warp_matters) is not None
        for shape in shapes
        if shape.is_launchable
    )


def races_by_write(kernel: Kernel) -> list[list[Race]]:
    """The races of each write, for each place in the source where one is written."""
    places: dict[tuple[str, int], list[Race]] = {}
    for race in shared_races(kernel):
        places.setdefault((race.write.span.path, race.write.span.start), []).append(race)
    return list(places.values())
