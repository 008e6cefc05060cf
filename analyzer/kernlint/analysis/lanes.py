"""Concrete evaluation of index expressions and conditions over the threads of a block.

A symbolic index such as `threadIdx.x*33 + k` becomes an array with one element per thread once the block's shape and a
representative value for every parameter, grid axis and loop axis are given.  What depends on data or was not
understood has no value: `integer` answers None and `truth` answers "maybe".
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from kernlint.ir.condition import Condition, Connective
from kernlint.ir.expr import Atom, AtomKind, Expr
from kernlint.records import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Lanes: TypeAlias = "int | NDArray[np.int64]"  # one number for all threads, or one per thread
Mask: TypeAlias = "bool | NDArray[np.bool_]"

WARP = 32
MAX_THREADS = 1024
MAX_DEPTH = 60
MAX_MAGNITUDE = 1 << 62
# Loaded sizes and offsets get values from here up, so that `i < length` holds for the first elements.
LOADED_BASE = 50_021


@dataclass(frozen=True)
class Block:
    """The shape of a thread block.  Threads are numbered with x fastest, as the hardware forms warps."""

    x: int
    y: int = 1
    z: int = 1

    @property
    def threads(self) -> int:
        return self.x * self.y * self.z

    @property
    def is_launchable(self) -> bool:
        return 0 < self.threads <= MAX_THREADS and 0 < self.z <= 64

    @cached_property
    def coordinates(self) -> dict[str, NDArray[np.int64]]:
        """Values of the three thread axes, shape (threads,), keyed like axis atoms."""
        import numpy as np

        linear = np.arange(self.threads, dtype=np.int64)
        return {
            "a:t0": linear % self.x,
            "a:t1": linear // self.x % self.y,
            "a:t2": linear // (self.x * self.y),
        }

    def environment(self) -> dict[str, Lanes]:
        values: dict[str, Lanes] = {"bd0": self.x, "bd1": self.y, "bd2": self.z}
        values.update(self.coordinates)
        return values

    def show(self, thread: int) -> str:
        """A thread as people write it: `threadIdx (x, y, z)` with trailing ones left out."""
        x, y, z = thread % self.x, thread // self.x % self.y, thread // (self.x * self.y)
        if self.y == 1 and self.z == 1:
            return str(x)
        return f"({x}, {y})" if self.z == 1 else f"({x}, {y}, {z})"


@dataclass
class Budget:
    """How many atoms may still be evaluated.  What is asked beyond is unknown, so that no kernel takes forever."""

    left: int = 1 << 30


class Evaluator:
    """Evaluates normal forms under `values` (atom key -> number, or one number per thread).

    `used_data` turns True when a block-uniform loaded value had to be replaced by an arbitrary representative.
    """

    def __init__(self, values: Mapping[str, Lanes], budget: Budget | None = None) -> None:
        self.values: dict[str, Lanes] = dict(values)
        self.budget = budget or Budget()
        self.used_data = False
        self._cache: dict[str, Lanes | None] = {}
        self._from_data: set[str] = set()  # keys in the cache that rest on a representative load
        self._truths: dict[str, tuple[Mask, Mask, bool]] = {}  # of conditions, with whether they rest on such a load

    def extended(self, more: Mapping[str, Lanes]) -> Evaluator:
        """The same environment with more (or other) values."""
        return Evaluator({**self.values, **more}, self.budget)

    def integer(self, expr: Expr, depth: int = 0) -> Lanes | None:
        """The value, None when unknown.  Arrays are shared with what is remembered: never write into them."""
        values = self.values
        total: Lanes | None = None
        for mono, coeff in expr.terms:
            product: Lanes | None = coeff if coeff != 1 or not mono else None  # None: no factor yet
            if not -MAX_MAGNITUDE <= coeff <= MAX_MAGNITUDE:
                return None
            for atom in mono:
                value = values.get(atom.key)
                if value is None:
                    value = self._atom(atom, depth)
                    if value is None:
                        return None
                product = value if product is None else product * value
                if isinstance(product, int) and not -MAX_MAGNITUDE <= product <= MAX_MAGNITUDE:
                    return None
            if product is None:
                return None
            total = product if total is None else total + product
            if isinstance(total, int) and not -MAX_MAGNITUDE <= total <= MAX_MAGNITUDE:
                return None
        return 0 if total is None else total

    def truth(self, condition: Condition, depth: int = 0) -> tuple[Mask, Mask]:
        """(certainly, possibly): where the condition must hold, and where it may."""
        op = condition.op
        if op is Connective.TRUE:
            return True, True
        if op is Connective.FALSE:
            return False, False
        if op is Connective.FLAG or depth >= MAX_DEPTH:
            return False, True
        known = self._truths.get(condition.key)
        if known is not None:
            self.used_data = self.used_data or known[2]
            return known[0], known[1]
        before, self.used_data = self.used_data, False
        must, may = self._connected(condition, depth)
        self._truths[condition.key] = must, may, self.used_data
        self.used_data = self.used_data or before
        return must, may

    def _connected(self, condition: Condition, depth: int) -> tuple[Mask, Mask]:
        op = condition.op
        if condition.expr is not None:
            value = self.integer(condition.expr, depth)
            if value is None:
                return False, True
            holds: Mask = value >= 0 if op is Connective.GE else value == 0
            return holds, holds
        if op is Connective.NOT:
            must, may = self.truth(condition.parts[0], depth + 1)
            return mask_not(may), mask_not(must)
        is_and = op is Connective.AND
        must, may = is_and, is_and
        for part in condition.parts:
            part_must, part_may = self.truth(part, depth + 1)
            must = mask_and(must, part_must) if is_and else mask_or(must, part_must)
            may = mask_and(may, part_may) if is_and else mask_or(may, part_may)
            if (may is False) if is_and else (must is True):
                break
        return must, may

    def _atom(self, atom: Atom, depth: int) -> Lanes | None:
        key = atom.key
        known = self.values.get(key)
        if known is not None:
            return known
        if key in self._cache:
            self.used_data = self.used_data or key in self._from_data
            return self._cache[key]
        self.budget.left -= 1
        before, self.used_data = self.used_data, False
        value = self._operation(atom, depth + 1) if depth < MAX_DEPTH and self.budget.left > 0 else None
        if self.used_data:
            self._from_data.add(key)
        self.used_data = self.used_data or before
        self._cache[key] = value
        return value

    def _operation(self, atom: Atom, depth: int) -> Lanes | None:
        if not atom.args:
            return None
        if atom.kind is AtomKind.SELECT:
            return self._select(atom, depth)
        if atom.kind is AtomKind.LOAD:
            return self._loaded(atom, depth)
        args: list[Lanes] = []
        for arg in atom.args:
            value = self.integer(arg, depth) if isinstance(arg, Expr) else None
            if value is None:
                return None
            args.append(value)
        if atom.kind is AtomKind.CALL:
            return _known_call(str(atom.note), args)
        return _binary(atom.kind, args[0], args[1]) if len(args) == 2 else None

    def _select(self, atom: Atom, depth: int) -> Lanes | None:
        condition, then, otherwise = atom.args
        if not isinstance(condition, Condition) or not isinstance(then, Expr) or not isinstance(otherwise, Expr):
            return None
        must, may = self.truth(condition, depth)
        if isinstance(must, bool) and isinstance(may, bool):
            if must is not may:
                return None
            return self.integer(then if must else otherwise, depth)
        import numpy as np

        if must is not may and np.any(np.logical_xor(must, may)):
            return None
        a, b = self.integer(then, depth), self.integer(otherwise, depth)
        if a is None or b is None:
            return None
        chosen: NDArray[np.int64] = np.where(must, a, b)
        return chosen

    def _loaded(self, atom: Atom, depth: int) -> Lanes | None:
        """A loaded value whose address is the same for the whole block is one number; which one does not matter."""
        seed = atom.key
        for arg in atom.args:
            value = self.integer(arg, depth) if isinstance(arg, Expr) else None
            if not isinstance(value, int):
                return None
            seed += f",{value}"
        self.used_data = True
        return LOADED_BASE + 2 * (zlib.crc32(seed.encode()) % 9973)


def _known_call(name: str, args: list[Lanes]) -> Lanes | None:
    if name == "abs" and len(args) == 1:
        signed = args[0]
        if isinstance(signed, int):
            return abs(signed)
        import numpy as np

        return np.abs(signed)
    if name == "next_power_of_2" and len(args) == 1 and isinstance(args[0], int):
        return 1 << max(args[0] - 1, 0).bit_length()
    if name in ("popc", "__popc") and len(args) == 1 and isinstance(args[0], int):
        return (args[0] & 0xFFFFFFFF).bit_count()
    return None


def _binary(kind: AtomKind, a: Lanes, b: Lanes) -> Lanes | None:
    if kind in (AtomKind.FLOORDIV, AtomKind.MOD):
        if b == 0 if isinstance(b, int) else (b == 0).any():
            return None
        return a // b if kind is AtomKind.FLOORDIV else a % b
    if kind in (AtomKind.SHL, AtomKind.SHR):
        if not 0 <= b <= 62 if isinstance(b, int) else (b < 0).any() or (b > 62).any():
            return None
        shifted: Lanes = a << b if kind is AtomKind.SHL else a >> b
        return shifted
    if kind in (AtomKind.MIN, AtomKind.MAX):
        if isinstance(a, int) and isinstance(b, int):
            return min(a, b) if kind is AtomKind.MIN else max(a, b)
        import numpy as np  # only where there are arrays already: it takes long to import

        lanes: NDArray[np.int64] = np.minimum(a, b) if kind is AtomKind.MIN else np.maximum(a, b)
        return lanes
    bits: Lanes
    if kind is AtomKind.BITAND:
        bits = a & b
    elif kind is AtomKind.BITOR:
        bits = a | b
    elif kind is AtomKind.XOR:
        bits = a ^ b
    else:
        return None
    return bits


def mask_and(a: Mask, b: Mask) -> Mask:
    if isinstance(a, bool):
        return b if a else False
    if isinstance(b, bool):
        return a if b else False
    return a & b


def mask_or(a: Mask, b: Mask) -> Mask:
    if isinstance(a, bool):
        return True if a else b
    if isinstance(b, bool):
        return True if b else a
    return a | b


def mask_not(a: Mask) -> Mask:
    return not a if isinstance(a, bool) else ~a


def spread(mask: Mask, threads: int) -> NDArray[np.bool_]:
    """The mask with one entry per thread.  Not to be written into."""
    import numpy as np

    if isinstance(mask, bool):
        return np.ones(threads, dtype=np.bool_) if mask else np.zeros(threads, dtype=np.bool_)
    if isinstance(mask, np.ndarray) and mask.shape == (threads,):
        return mask
    return np.broadcast_to(np.asarray(mask, dtype=np.bool_), (threads,))


def spread_lanes(lanes: Lanes, threads: int) -> NDArray[np.int64]:
    """The numbers with one entry per thread.  Not to be written into."""
    import numpy as np

    if isinstance(lanes, np.ndarray) and lanes.shape == (threads,):
        return lanes
    return np.broadcast_to(np.asarray(lanes, dtype=np.int64), (threads,))
