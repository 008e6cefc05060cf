"""A small Triton in NumPy that records which elements a kernel touches, and the same read off a lifted kernel."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from kernlint.ir.condition import Condition, Connective
from kernlint.ir.expr import Atom, AtomKind, AxisKind, Expr
from kernlint.ir.kernel import Access, Kernel

Touched = Counter[tuple[str, str, int]]  # (kind, buffer, element) -> times


def memory(buffer: str, element: Any) -> Any:
    """What lies at an element: small, and different from buffer to buffer."""
    return (np.asarray(element) * 7 + len(buffer) * 3) % 5


class Tensor(np.ndarray):
    def to(self, *_: Any, **__: Any) -> Tensor:
        return self


def tensor(value: Any) -> Any:
    array = np.asarray(value)
    return (array if array.dtype == np.bool_ else array.astype(np.int64)).view(Tensor)


class Pointer:
    def __init__(self, name: str, offset: Any = 0) -> None:
        self.name, self.offset = name, tensor(offset)

    def __add__(self, other: Any) -> Pointer:
        return Pointer(self.name, self.offset + other)

    __radd__ = __add__

    def __getitem__(self, item: Any) -> Pointer:
        return Pointer(self.name, self.offset[item])


class Block:
    def __init__(self, base: Pointer, shape: Any, strides: Any, offsets: Any, block_shape: Any, order: Any) -> None:
        self.base, self.shape, self.strides, self.block = base, shape, strides, block_shape
        self.offsets = tuple(int(o) for o in offsets)

    def reach(self, checked: Any) -> tuple[Any, Any]:
        rank = len(self.shape)
        at, mask = self.base.offset, np.ones(self.block, dtype=bool)
        for d in range(rank):
            lanes = np.arange(self.block[d]).reshape([-1 if i == d else 1 for i in range(rank)]) + self.offsets[d]
            at = at + lanes * self.strides[d]
            if d in checked:
                mask = mask & (lanes >= 0) & (lanes < self.shape[d])
        return np.broadcast_to(at, self.block), mask


class Language:
    """The `tl` and `triton` a kernel sees."""

    int64 = int32 = float32 = constexpr = None

    def __init__(self, program: tuple[int, ...], grid: tuple[int, ...]) -> None:
        self.program, self.grid = program, grid
        self.touched: Touched = Counter()

    def jit(self, function: Any) -> Any:
        return function

    def program_id(self, axis: int) -> Any:
        return tensor(self.program[axis])

    def num_programs(self, axis: int) -> Any:
        return tensor(self.grid[axis])

    def arange(self, start: int, end: int) -> Any:
        return tensor(np.arange(start, end))

    def cdiv(self, a: Any, b: Any) -> Any:
        return -(-a // b)

    range = staticmethod(range)
    static_range = staticmethod(range)
    where = staticmethod(lambda c, a, b: tensor(np.where(c, a, b)))
    minimum = staticmethod(lambda a, b: tensor(np.minimum(a, b)))
    maximum = staticmethod(lambda a, b: tensor(np.maximum(a, b)))
    zeros = staticmethod(lambda shape, dtype=None: tensor(np.zeros(shape)))
    trans = staticmethod(lambda x: tensor(np.swapaxes(x, -1, -2)))
    permute = staticmethod(lambda x, *order: tensor(np.transpose(x, order)))
    expand_dims = staticmethod(lambda x, axis: tensor(np.expand_dims(x, axis)))
    broadcast_to = staticmethod(lambda x, shape: tensor(np.broadcast_to(x, shape)))
    reshape = staticmethod(lambda x, shape: tensor(np.reshape(x, shape)))
    ravel = staticmethod(lambda x: tensor(np.ravel(x)))
    join = staticmethod(lambda a, b: tensor(np.stack([a, b], -1)))
    interleave = staticmethod(lambda a, b: tensor(np.stack([a, b], -1).reshape(*a.shape[:-1], -1)))
    split = staticmethod(lambda x: (tensor(x[..., 0]), tensor(x[..., 1])))
    flip = staticmethod(lambda x, dim: tensor(np.flip(x, dim)))
    multiple_of = staticmethod(lambda x, _: x)
    make_block_ptr = staticmethod(Block)

    @staticmethod
    def advance(block: Block, steps: Any) -> Block:
        moved = tuple(a + b for a, b in zip(block.offsets, steps, strict=True))
        return Block(block.base, block.shape, block.strides, moved, block.block, None)

    def load(self, at: Any, mask: Any = None, other: Any = 0, boundary_check: Any = ()) -> Any:
        offsets, active, name = self._touch("load", at, mask, boundary_check)
        return tensor(np.where(active, memory(name, offsets), other if other is not None else 0))

    def store(self, at: Any, value: Any, mask: Any = None, boundary_check: Any = ()) -> None:
        self._touch("store", at, mask, boundary_check)

    def _touch(self, kind: str, at: Any, mask: Any, checked: Any) -> tuple[Any, Any, str]:
        if isinstance(at, Block):
            offsets, active = at.reach(checked)
            name = at.base.name
        else:
            offsets, active = np.broadcast_arrays(at.offset, True if mask is None else mask)
            name = at.name
        for offset in np.asarray(offsets)[np.asarray(active)].ravel():
            self.touched[kind, name, int(offset)] += 1
        return offsets, active, name


def run(text: str, arguments: Mapping[str, Any], grid: tuple[int, ...]) -> Touched:
    """Every element the kernel touches when the whole grid runs."""
    total: Touched = Counter()
    for program in itertools.product(*[range(n) for n in grid]):
        language = Language(program, grid)
        space: dict[str, Any] = {"tl": language, "triton": language}
        exec(text, space)  # our own test kernels
        values = {k: Pointer(k) if v is None else v for k, v in arguments.items()}
        space["kernel"](**values)
        total += language.touched
    return total


# ---- the same, from the lifted kernel ------------------------------------------------------------------------------


def predicted(kernel: Kernel, arguments: Mapping[str, Any], grid: tuple[int, ...]) -> Touched:
    """Every element the lifted kernel says it touches."""
    total: Touched = Counter()
    names = {access.ordinal: str(access.buffer) for access in kernel.accesses}
    for program in itertools.product(*[range(n) for n in grid]):
        scalars: dict[str, Any] = {f"p:{k}": v for k, v in arguments.items() if v is not None}
        scalars |= {f"a:g{i}": p for i, p in enumerate(program)} | {f"gd{i}": n for i, n in enumerate(grid)}
        for access in kernel.accesses:
            for values in _iterations(access, scalars, names):
                total.update(_lanes(access, values, names))
    return total


def _iterations(access: Access, scalars: dict[str, Any], names: dict[int, str]) -> Iterator[dict[str, Any]]:
    def inner(depth: int, values: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if depth == len(access.loops):
            yield values
            return
        loop = access.loops[depth]
        assert loop.trip_count is not None
        for turn in range(max(0, int(evaluate(loop.trip_count, values, names)))):
            yield from inner(depth + 1, {**values, f"a:{loop.axis.key}": turn})

    yield from inner(0, scalars)


def _lanes(access: Access, values: dict[str, Any], names: dict[int, str]) -> Touched:
    shape = [int(evaluate(extent, values, names)) for extent in access.shape]
    rank = len(shape)
    values = {**values, "shape": shape, "rank": rank}
    index = np.broadcast_to(evaluate(access.index, values, names), shape)
    active = np.broadcast_to(holds(access.guard, values, names), shape)
    return Counter((access.kind.value, str(access.buffer), int(at)) for at in index[active].ravel())


def evaluate(expr: Expr, values: Mapping[str, Any], names: Mapping[int, str]) -> Any:
    total: Any = 0
    for mono, coeff in expr.terms:
        product: Any = coeff
        for atom in mono:
            product = product * _atom(atom, values, names)
        total = total + product
    return total


def _atom(atom: Atom, values: Mapping[str, Any], names: Mapping[int, str]) -> Any:
    if atom.key in values:
        return values[atom.key]
    if atom.axis is not None and atom.axis.kind is AxisKind.LANE:
        dim = values["rank"] + atom.axis.index
        lanes = np.arange(values["shape"][dim])
        assert atom.axis.extent is not None
        assert int(evaluate(atom.axis.extent, values, names)) == len(lanes)
        return lanes.reshape([-1 if d == dim else 1 for d in range(values["rank"])])
    parts = [evaluate(arg, values, names) if isinstance(arg, Expr) else holds(arg, values, names) for arg in atom.args]
    if atom.kind is AtomKind.LOAD:
        assert isinstance(atom.note, int)
        return memory(names[atom.note], parts[0])
    operations: dict[AtomKind, Any] = {
        AtomKind.FLOORDIV: np.floor_divide, AtomKind.MOD: np.mod, AtomKind.MIN: np.minimum, AtomKind.MAX: np.maximum,
        AtomKind.SELECT: np.where, AtomKind.XOR: np.bitwise_xor, AtomKind.BITAND: np.bitwise_and,
    }  # fmt: skip
    return operations[atom.kind](*parts)


def holds(condition: Condition, values: Mapping[str, Any], names: Mapping[int, str]) -> Any:
    parts = [holds(part, values, names) for part in condition.parts]
    if condition.op is Connective.AND:
        return np.logical_and.reduce(np.broadcast_arrays(*parts))
    if condition.op is Connective.OR:
        return np.logical_or.reduce(np.broadcast_arrays(*parts))
    if condition.op is Connective.NOT:
        return np.logical_not(parts[0])
    if condition.op is Connective.FLAG:
        return bool(values[f"p:{condition.name}"])
    if condition.expr is None:
        return condition.op is Connective.TRUE
    value = evaluate(condition.expr, values, names)
    return np.asarray(value >= 0 if condition.op is Connective.GE else value == 0)
