"""Whether what an operation made of padded lanes gets anywhere: into a store, an address or a decision.

Two ways it does not: the result is only carried into the next turn of a loop whose padded turn is the last one, or it
sits in an arm of a branch that every known launch switches off.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from kernlint.analysis.launches import views
from kernlint.analysis.padding_judge import PaddingFault
from kernlint.analysis.padding_state import is_upper_bound, loop_axes
from kernlint.analysis.prove import provable
from kernlint.ir.condition import Condition, flag, less, negate
from kernlint.ir.expr import ONE, Atom, AtomKind, Expr, axis_expr, const, of_atom
from kernlint.ir.kernel import Access, Branch, Framework, Kernel, Loop
from kernlint.ir.value import Value


class Reach:
    """Answers for the faults of one kernel; walks the value graph backwards once per loop that matters."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._loops = {loop.axis.key: loop for loop in kernel.loops}
        self._used: dict[str, set[int]] = {}
        self._settled: dict[str, bool | None] = {}

    def matters(self, fault: PaddingFault) -> bool:
        """Whether the sink is among what some output is computed from.  Values whose use cannot be followed matter:
        threads exchange through shared memory, and integers become addresses."""
        dtype = fault.sink.dtype
        if self._kernel.framework is Framework.CUDA or (dtype is not None and not dtype.is_float):
            return True
        loop = self._padded_last(fault.condition)
        key = loop.axis.key if loop is not None else ""
        if key not in self._used:
            self._used[key] = self._walk(loop)
        return id(fault.sink) in self._used[key] or id(fault.sink) not in self._anyhow

    @cached_property
    def _anyhow(self) -> set[int]:
        """Ids of the values outputs are made of when every arm and every turn counts."""
        found: set[int] = set()
        self._follow([value for value, _ in self._roots()], None, found, all_arms=True)
        return found

    def _padded_last(self, condition: Condition) -> Loop | None:
        """The loop in whose last turn alone the condition can fail."""
        axes = loop_axes(condition)
        if len(axes) != 1 or not is_upper_bound(condition):
            return None
        loop = self._loops.get(next(iter(axes)))
        if loop is None or loop.trip_count is None or any(frame.loop is not None for frame in loop.path):
            return None  # inside another loop, the turn after the last one is the first of the next round
        not_last = less(axis_expr(loop.axis) + ONE, loop.trip_count)
        cases = _cases(condition, not_last)
        return loop if all(provable(goal, [*self._kernel.facts, fact]) for goal, fact in cases) else None

    def _walk(self, last: Loop | None) -> set[int]:
        """Ids of the values outputs are made of; what the turn after `last`'s last one would read is left out."""
        found: set[int] = set()
        end = max((carry.args[1].ordinal for carry in last.carries if len(carry.args) > 1), default=0) if last else 0
        inside: list[Value] = []
        outside: list[Value] = []
        for value, loops in self._roots():
            within = value.ordinal <= end if loops is None else last in loops
            (inside if within else outside).append(value)
        self._follow(inside, last, found)
        seen: set[int] = set()
        self._follow(outside, None, seen)
        return found | seen

    def _roots(self) -> Iterator[tuple[Value, tuple[Loop, ...] | None]]:
        """Values that are stored or decide something, with the loops around that; None: where they are computed."""
        for item in self._kernel.body.walk():
            if isinstance(item, Access) and item.writes and not self._is_off(item):
                for value in (item.value, item.mask_value):
                    if value is not None:
                        yield value, item.loops
            elif isinstance(item, Branch) and item.value is not None:
                yield item.value, tuple(frame.loop for frame in item.path if frame.loop is not None)
            elif isinstance(item, Loop) and item.condition is not None:
                yield item.condition, ()
        for value in self._kernel.values:
            # Numbers turned into integers may be indices.
            index = value.op == "cast" and value.dtype is not None and value.dtype.is_integer
            if index or value.op in ("call", "opaque"):
                yield value, None

    def _follow(self, roots: list[Value], last: Loop | None, found: set[int], all_arms: bool = False) -> None:
        pending = list(roots)
        while pending:
            value = pending.pop()
            if id(value) in found:
                continue
            found.add(id(value))
            args = value.args
            if value.op == "carry" and last is not None and value.attrs.get("loop") is last:
                args = args[:1]
            elif value.op == "join" and len(args) == 2 and not all_arms:
                args = self._live_arms(value)
            pending += args
            access = value.access
            if access is not None:
                pending += [item for item in (access.mask_value, access.other) if item is not None]

    def _live_arms(self, join: Value) -> tuple[Value, ...]:
        condition = join.attrs.get("condition")
        settled = self._truth(condition) if isinstance(condition, Condition) else None
        return join.args if settled is None else join.args[:1] if settled else join.args[1:]

    def _is_off(self, access: Access) -> bool:
        return any(
            frame.loop is None and not frame.exit and self._truth(frame.condition) is False for frame in access.path
        )

    def _truth(self, condition: Condition) -> bool | None:
        """The value a compile-time switch has at every launch; None when they differ or one is not known."""
        if condition.key not in self._settled:
            self._settled[condition.key] = self._decide(condition)
        return self._settled[condition.key]

    def _decide(self, condition: Condition) -> bool | None:
        if not self._kernel.launches or not (condition.flags or condition.deep_atoms):
            return None
        truths = set()
        for view in views(self._kernel):
            known = dict(view.mapping)
            facts = list(view.facts)
            for name, argument in view.launch.arguments.items() if view.launch is not None else ():
                if isinstance(argument.literal, bool):
                    known[Atom(AtomKind.PARAM, f"p:{name}", name)] = const(int(argument.literal))
                    facts.append(flag(name) if argument.literal else negate(flag(name)))
            here = condition.substitute(known)
            if provable(here, facts):
                truths.add(True)
            elif provable(negate(here), facts):
                truths.add(False)
            else:
                return None
        return truths.pop() if len(truths) == 1 else None


def _cases(goal: Condition, fact: Condition) -> list[tuple[Condition, Condition]]:
    """Both with the first and both with the second arm of their selects, when all selects are by one condition."""
    atoms = sorted(goal.deep_atoms | fact.deep_atoms, key=lambda atom: atom.key)
    selects = [atom for atom in atoms if atom.kind is AtomKind.SELECT]
    if not selects or any(atom.args[0] != selects[0].args[0] for atom in selects):
        return [(goal, fact)]
    cases = []
    for arm in (1, 2):
        mapping = {atom: taken for atom in selects if isinstance(taken := atom.args[arm], Expr)}
        for bound in list(mapping.values()):
            mapping |= _length(bound, mapping)
        # Twice: an arm is written in the atoms that `_length` gives a meaning to.
        cases.append((goal.substitute(mapping).substitute(mapping), fact.substitute(mapping).substitute(mapping)))
    return cases


def _length(bound: Expr, known: dict[Atom, Expr]) -> dict[Atom, Expr]:
    """For a bound `end - start` read from memory: end as start + length, the length one new name."""
    ends = [mono[0] for mono, coeff in bound.terms if coeff == 1 and len(mono) == 1 and mono[0].kind is AtomKind.LOAD]
    if len(bound.terms) != 2 or len(ends) != 1 or ends[0] in known:
        return {}
    length = of_atom(Atom(AtomKind.PARAM, f"length:{bound.key}", "length"))
    return {ends[0]: length - (bound - of_atom(ends[0]))}
