"""Substituting atoms in everything a loop contains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernlint.ir.condition import Condition
from kernlint.ir.expr import Atom, Expr, substitute, substitution
from kernlint.ir.kernel import Access, Barrier, Branch, Exit, Frame, Loop
from kernlint.ir.value import BlockPointer, Pointer, Value

Mapped = Mapping[Atom, Expr]


def rewrite(loop: Loop, values: Sequence[Value], mapping: Mapped) -> None:
    """Replace atoms in the loop's items and in these values, in place."""
    mapping = substitution(mapping)
    for value in values:
        _value(value, mapping)
    frames: set[int] = set()
    depth = len(loop.path)
    for item in loop.body.walk():
        for frame in item.path[depth:]:
            if id(frame) not in frames:
                frames.add(id(frame))
                _frame(frame, mapping)
        if isinstance(item, Access):
            _access(item, mapping)
        elif isinstance(item, (Barrier, Exit)):
            item.guard = item.guard.substitute(mapping)
        elif isinstance(item, Branch):
            item.condition = item.condition.substitute(mapping)
        elif isinstance(item, Loop):
            _loop(item, mapping)
    loop.breaks = tuple(condition.substitute(mapping) for condition in loop.breaks)


def _value(value: Value, mapping: Mapped) -> None:
    if value.expr is not None:
        value.expr = substitute(value.expr, mapping)
    if value.cond is not None:
        value.cond = value.cond.substitute(mapping)
    if value.pointer is not None:
        value.pointer = _pointer(value.pointer, mapping)
    if value.block is not None:
        value.block = _block(value.block, mapping)
    condition = value.attrs.get("condition")
    if isinstance(condition, Condition):
        value.attrs["condition"] = condition.substitute(mapping)


def _pointer(pointer: Pointer, mapping: Mapped) -> Pointer:
    offset = substitute(pointer.offset, mapping)
    if offset is pointer.offset and not pointer.indices:
        return pointer
    return Pointer(pointer.buffer, offset, pointer.dtype, _all(pointer.indices, mapping), pointer.casts)


def _all(exprs: tuple[Expr, ...], mapping: Mapped) -> tuple[Expr, ...]:
    return tuple(substitute(expr, mapping) for expr in exprs)


def _block(block: BlockPointer, mapping: Mapped) -> BlockPointer:
    return BlockPointer(
        _pointer(block.pointer, mapping), _all(block.shape, mapping), _all(block.strides, mapping),
        _all(block.offsets, mapping), block.block_shape, block.bounded,
    )  # fmt: skip


def _frame(frame: Frame, mapping: Mapped) -> None:
    condition = frame.condition.substitute(mapping)
    if condition is not frame.condition:
        object.__setattr__(frame, "condition", condition)  # shared by every path below it


def _access(access: Access, mapping: Mapped) -> None:
    access.pointer = _pointer(access.pointer, mapping)
    access.guard = access.guard.substitute(mapping)
    if access.mask is not None:
        access.mask = access.mask.substitute(mapping)
    access.block_offsets = _all(access.block_offsets, mapping)
    access.block_shape_bounds = _all(access.block_shape_bounds, mapping)
    block = access.attrs.get("block")
    if isinstance(block, BlockPointer):
        access.attrs["block"] = _block(block, mapping)


def _loop(loop: Loop, mapping: Mapped) -> None:
    loop.start = substitute(loop.start, mapping) if loop.start is not None else None
    loop.stop = substitute(loop.stop, mapping) if loop.stop is not None else None
    loop.step = substitute(loop.step, mapping) if loop.step is not None else None
    if loop.trip_count is not None:
        loop.trip_count = substitute(loop.trip_count, mapping)
        loop.axis.extent = loop.trip_count
    loop.breaks = tuple(condition.substitute(mapping) for condition in loop.breaks)
