"""Which loop iterations an access is evaluated in.

Short loops are taken whole; of long ones the first few, a middle one and the last.  Variables that change in other
than equal steps (`half >>= 1`, `buffer ^= 1`) are followed by running the loop's integer arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from kernlint.analysis.lanes import Evaluator, Lanes
from kernlint.ir.expr import AtomKind, Expr
from kernlint.ir.kernel import Loop

MAX_STEPS = 40  # iterations followed in loops with simulated variables
WHOLE = 16  # loops up to this many iterations are taken whole
MAX_ENVIRONMENTS = 48

State = dict[str, Lanes]  # atom key -> value, for a loop's axis and carried variables


def trip_counts(loop: Loop, at: Evaluator) -> tuple[int, int] | None:
    """(fewest, most) iterations any thread does, None when unknown."""
    if loop.trip_count is None:
        return None
    value = at.integer(loop.trip_count)
    if value is None:
        return None
    if isinstance(value, int):
        return max(0, value), max(0, value)
    import numpy as np

    return max(0, int(np.min(value))), max(0, int(np.max(value)))


def loop_states(loop: Loop, at: Evaluator, whole: int = WHOLE) -> list[State]:
    """States of representative iterations in order; `at` holds everything outside the loop.  Empty when the loop
    does not run."""
    axis = f"a:{loop.axis.key}"
    carried = _carried(loop)
    if carried:
        return _thin(_simulate(loop, at, axis, carried), whole)
    trips = trip_counts(loop, at)
    if trips is None:
        return [{axis: i} for i in (0, 1, 2)]
    fewest, most = trips
    return [{axis: i} for i in _pick(fewest, most, whole)]


def _pick(fewest: int, most: int, whole: int) -> list[int]:
    if most <= whole:
        return list(range(most))
    chosen = {0, 1, 2, most // 2, fewest - 1, most - 1}
    return sorted(i for i in chosen if 0 <= i < most)


def _thin(states: list[State], whole: int) -> list[State]:
    if len(states) <= whole:
        return states
    return [states[i] for i in _pick(len(states), len(states), whole)]


def _carried(loop: Loop) -> dict[str, tuple[Expr, Expr]]:
    """Carried integers that are still atoms of their own: atom key -> (initial value, next value)."""
    found: dict[str, tuple[Expr, Expr]] = {}
    for value in loop.carries:
        atom = value.expr.single_atom if value.expr is not None else None
        if atom is None or atom.kind is not AtomKind.OPAQUE or len(value.args) < 2:
            continue
        first, following = value.args[0].expr, value.args[1].expr
        if first is not None and following is not None:
            found[atom.key] = (first, following)
    return found


def _simulate(loop: Loop, at: Evaluator, axis: str, carried: Mapping[str, tuple[Expr, Expr]]) -> list[State]:
    state: State = {}
    for key, (first, _) in carried.items():
        value = at.integer(first)
        if value is not None:
            state[key] = value
    trips = trip_counts(loop, at)
    stop = loop.condition.cond if loop.condition is not None else None
    states: list[State] = []
    for i in range(MAX_STEPS):
        now: State = {**state, axis: i}
        inside = at.extended(now)
        if trips is not None and i >= trips[1]:
            break
        if stop is not None:
            runs = inside.truth(stop)[1]
            if not (runs if isinstance(runs, bool) else runs.any()):
                break
        states.append(now)
        following: State = {}
        for key, (_, expr) in carried.items():
            value = inside.integer(expr)
            if value is not None:
                following[key] = value
        state = following
    return states


def environments(loops: Sequence[Loop], at: Evaluator, whole: int = WHOLE) -> list[Evaluator]:
    """Evaluators for representative combinations of iterations of nested loops, outermost first."""
    found = [at]
    for depth, loop in enumerate(loops):
        budget = max(2, whole if depth == len(loops) - 1 else min(whole, 4))
        expanded: list[Evaluator] = []
        for outer in found:
            for state in loop_states(loop, outer, budget):
                expanded.append(outer.extended(state))
                if len(expanded) >= MAX_ENVIRONMENTS:
                    break
            if len(expanded) >= MAX_ENVIRONMENTS:
                break
        found = expanded
    return found


def successive(loop: Loop, at: Evaluator, limit: int = 4) -> list[tuple[State, State]]:
    """States of neighbouring iterations (i, i+1) of a loop."""
    states = loop_states(loop, at)
    axis = f"a:{loop.axis.key}"
    pairs = [(first, second) for first, second in pairwise(states) if second[axis] == _next(first[axis])]
    return pairs[:limit] if len(pairs) <= limit else [*pairs[: limit - 1], pairs[-1]]


def _next(iteration: Lanes) -> int:
    return iteration + 1 if isinstance(iteration, int) else -1
