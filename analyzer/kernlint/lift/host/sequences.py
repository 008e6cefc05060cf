"""Integer arithmetic and sequences of host code: sizes of tensors, tuples with spliced shapes."""

from __future__ import annotations

import ast

from kernlint.ir import arith
from kernlint.ir.expr import Expr, const
from kernlint.lift.host.state import Frame
from kernlint.lift.host.value import HostVal, Int, Pieces, Quotient, Seq, SizesOf


def expanded(frame: Frame, value: HostVal) -> tuple[HostVal, ...] | None:
    """The items of a sequence of known length."""
    if isinstance(value, Seq):
        return value.items if not any(isinstance(item, SizesOf) for item in value.items) else None
    if isinstance(value, Pieces):
        return tuple(value.piece(index) for index in range(value.count)) if value.count is not None else None
    if isinstance(value, SizesOf):
        rank = frame.state.knowledge.rank(value.shape)
        if rank is None:
            return None
        return tuple(Int(size_at(frame, value, index)) for index in range(rank)[value.start : value.stop])
    return None


def size_at(frame: Frame, sizes: SizesOf, index: int) -> Expr:
    """Entry `index` of the *whole* `x.shape` or `x.stride()`."""
    knowledge = frame.state.knowledge
    if sizes.strides:
        return knowledge.stride(sizes.shape, index, sizes.layout, sizes.contiguous)
    return knowledge.dim(sizes.shape, index)


def integer_operation(frame: Frame, op: ast.operator, a: Expr, b: Expr) -> HostVal | None:
    """`a op b` for integers; None when the operation is not understood."""
    if isinstance(op, ast.Add):
        return Int(a + b)
    if isinstance(op, ast.Sub):
        return Int(a - b)
    if isinstance(op, ast.Mult):
        return Int(a * b)
    if isinstance(op, ast.FloorDiv) and b.constant != 0:
        return Int(frame.state.knowledge.divide(a, b))
    if isinstance(op, ast.Mod) and b.constant != 0:
        return Int(arith.mod(a, b))
    if isinstance(op, ast.Div):
        return Quotient(a, b)
    if isinstance(op, ast.LShift):
        return Int(_power(b) * a if b.constant is None and a.constant is not None else arith.shl(a, b))
    if isinstance(op, ast.RShift):
        return Int(arith.shr(a, b))
    if isinstance(op, ast.BitAnd):
        return Int(arith.bitand(a, b))
    if isinstance(op, ast.BitOr):
        return Int(arith.bitor(a, b))
    if isinstance(op, ast.BitXor):
        return Int(arith.xor(a, b))
    if isinstance(op, ast.Pow):
        base, exponent = a.constant, b.constant
        if exponent is not None and 0 <= exponent <= (128 if base is not None else 4):
            total = const(1)
            for _ in range(exponent):
                total = total * a
            return Int(total)
        if base == 2:
            return Int(_power(b))
    return None


def _power(exponent: Expr) -> Expr:
    return arith.shl(const(1), exponent)


def entry_of(frame: Frame, sizes: SizesOf, index: int) -> Expr | None:
    """Entry `index` of `x.shape[start:stop]`; None when it lies outside or cannot be told without the rank."""
    rank = frame.state.knowledge.rank(sizes.shape)
    if sizes.start == 0 and sizes.stop is None:
        return size_at(frame, sizes, index)
    if rank is not None:
        picked = range(rank)[sizes.start : sizes.stop]
        return size_at(frame, sizes, picked[index]) if -len(picked) <= index < len(picked) else None
    if sizes.start >= 0 and index >= 0:
        return size_at(frame, sizes, sizes.start + index)
    if sizes.stop is not None and sizes.stop < 0 and index < 0:
        return size_at(frame, sizes, sizes.stop + index)
    if sizes.stop is None and sizes.start < 0 and sizes.start <= index < -sizes.start:
        return size_at(frame, sizes, index if index < 0 else sizes.start + index)
    return None


def sliced(sizes: SizesOf, start: int, stop: int | None) -> SizesOf | None:
    """`x.shape[start:stop]`; None for a slice of a slice."""
    if sizes.start != 0 or sizes.stop is not None:
        return None
    return SizesOf(sizes.shape, start, stop, sizes.strides, sizes.layout, sizes.contiguous)
