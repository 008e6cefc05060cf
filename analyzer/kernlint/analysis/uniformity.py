"""Whether a value is the same for all threads of a block, for all lanes of a warp, or for one thread only."""

from __future__ import annotations

import enum
from collections.abc import Iterable

from kernlint.analysis.lanes import WARP
from kernlint.ir.condition import Condition, Connective
from kernlint.ir.expr import Atom, AtomKind, AxisKind, Expr
from kernlint.ir.kernel import Kernel
from kernlint.ir.value import Value

MAX_DEPTH = 150


class Spread(enum.IntEnum):
    """Over how many threads a value is known to be the same."""

    BLOCK = 0  # one value for the whole block
    WARP = 1  # one per warp
    THREAD = 2  # differs from thread to thread


def widest(spreads: Iterable[Spread | None]) -> Spread | None:
    """The spread of something computed from several values: as scattered as the most scattered one.  Unknown (None)
    counts unless another is already per thread."""
    result: Spread | None = Spread.BLOCK
    for spread in spreads:
        if spread is Spread.THREAD:
            return spread
        if spread is None or result is None:
            result = None
        else:
            result = max(result, spread)
    return result


class Uniformity:
    """Answers for one kernel; keep one per kernel, answers are cached."""

    def __init__(self, kernel: Kernel) -> None:
        self._values: dict[int, Spread | None] = {}
        self._active: set[int] = set()
        self._kept: list[Value] = []  # ids are only unique among values that are alive
        self._defined: dict[str, Value] = {}
        for value in kernel.values:
            atom = value.expr.single_atom if value.expr is not None else None
            if atom is not None and atom.kind is AtomKind.OPAQUE:
                self._defined.setdefault(atom.key, value)

    def of_expr(self, expr: Expr, depth: int = 0) -> Spread | None:
        return widest(self._atom(atom, depth) for atom in expr.atoms())

    def of_condition(self, condition: Condition, value: Value | None = None, depth: int = 0) -> Spread | None:
        """`value` is the condition as a value; it answers for the parts that are not integer comparisons."""
        spreads: list[Spread | None] = []
        for leaf in condition.leaves():
            if leaf.expr is not None:
                spreads.append(self.of_expr(leaf.expr, depth))
            else:
                spreads.append(None)
        result = widest(spreads)
        if result is None and value is not None:
            return self.of_value(value, depth + 1)
        return result

    def of_value(self, value: Value, depth: int = 0) -> Spread | None:
        if id(value) in self._values:
            return self._values[id(value)]
        if id(value) in self._active:
            return Spread.BLOCK  # a loop-carried value is as uniform as what goes into it
        if depth > MAX_DEPTH:
            return None
        self._kept.append(value)
        before = set(self._values)
        self._active.add(id(value))
        result = self._compute(value, depth)
        self._active.discard(id(value))
        if value.op == "carry" and result is not Spread.BLOCK:
            # What was computed on the assumption that it is uniform has to be computed again.
            for key in set(self._values) - before:
                del self._values[key]
        if not self._active or result is not Spread.BLOCK:
            self._values[id(value)] = result
        return result

    def _atom(self, atom: Atom, depth: int) -> Spread | None:
        if atom.axis is not None:
            return Spread.THREAD if atom.axis.kind is AxisKind.LANE else Spread.BLOCK
        if atom.kind in (AtomKind.PARAM, AtomKind.HOST, AtomKind.LAUNCH):
            return Spread.BLOCK
        if atom.kind is AtomKind.OPAQUE:
            defined = self._defined.get(atom.key)
            return self.of_value(defined, depth + 1) if defined is not None else None
        if depth > MAX_DEPTH or not atom.args:
            return None
        if atom.kind is AtomKind.FLOORDIV and _is_warp_number(atom):
            return Spread.WARP
        return widest(
            self.of_expr(arg, depth + 1) if isinstance(arg, Expr) else self.of_condition(arg, None, depth + 1)
            for arg in atom.args
        )

    def _compute(self, value: Value, depth: int) -> Spread | None:
        op = value.op
        if op in ("const", "param"):
            return Spread.BLOCK
        if op == "vote":
            kind = str(value.attrs.get("kind", ""))
            return (
                Spread.BLOCK if kind.startswith("block") else Spread.THREAD if kind.startswith("match") else Spread.WARP
            )
        if op == "shuffle":
            broadcast = value.attrs.get("kind") == "idx" and len(value.args) > 1
            if broadcast and self.of_value(value.args[1], depth + 1) is Spread.BLOCK:
                return Spread.WARP
            return None  # a butterfly of shuffles ends in one value for all lanes
        if any(arg.op == "shuffle" for arg in value.args):
            return None
        if op == "atomic":
            return Spread.THREAD
        if op == "load":
            return self._load(value, depth)
        if value.expr is not None and not value.expr.is_opaque:
            return self.of_expr(value.expr, depth + 1)
        if value.cond is not None and value.cond.op is not Connective.FLAG and not value.cond.flags:
            known = self.of_condition(value.cond, None, depth + 1)
            if known is not None:
                return known
        if op == "opaque":
            return Spread.BLOCK if value.attrs.get("uniform") else None
        spreads = [self.of_value(arg, depth + 1) for arg in value.args]
        if op == "join":
            condition = value.attrs.get("condition")
            if isinstance(condition, Condition):
                spreads.append(self.of_condition(condition, None, depth + 1))
            elif isinstance(condition, Value):
                spreads.append(self.of_value(condition, depth + 1))
        return widest(spreads) if spreads else None

    def _load(self, value: Value, depth: int) -> Spread | None:
        access = value.access
        if access is None:
            return None
        where = self.of_expr(access.index, depth + 1)
        # A shared-memory word read at one address by everybody after a barrier is one value.
        return where if where is not Spread.WARP else Spread.WARP


def _is_warp_number(atom: Atom) -> bool:
    """threadIdx.x divided by a multiple of the warp size, with nothing else per-thread inside."""
    top, divisor = atom.args
    if not isinstance(top, Expr) or not isinstance(divisor, Expr):
        return False
    by = divisor.constant
    lanes = [a for a in top.deep_atoms if a.axis is not None and a.axis.kind is AxisKind.LANE]
    return by is not None and by % WARP == 0 and len(lanes) == 1 and lanes[0].key == "a:t0"


def uniformity(kernel: Kernel) -> Uniformity:
    """The kernel's own instance."""
    known: Uniformity | None = kernel.attrs.get("uniformity")
    if known is None:
        known = kernel.attrs["uniformity"] = Uniformity(kernel)
    return known
