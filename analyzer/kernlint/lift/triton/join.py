"""Merging what two control paths made of a variable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernlint.ir.condition import FALSE, TRUE, Condition, conj, disj, negate
from kernlint.ir.expr import opaque
from kernlint.ir.types import BOOL
from kernlint.ir.value import BlockPointer, Pointer, Value
from kernlint.lift.triton.arithmetic import as_integer, is_static, promote
from kernlint.lift.triton.elementwise import chosen_between
from kernlint.lift.triton.names import carried
from kernlint.lift.triton.shapes import broadcast
from kernlint.lift.triton.things import NONE, DType, Pending, Static, Thing

if TYPE_CHECKING:
    from kernlint.lift.triton.state import Node, State


def joined(state: State, condition: Condition, then: Thing, otherwise: Thing, node: Node) -> Thing:
    """`then` when the condition holds, else `otherwise`."""
    if then is otherwise or condition is TRUE:
        return then
    if condition is FALSE:
        return otherwise
    if isinstance(then, Pending):
        then = carried(state, then)
    if isinstance(otherwise, Pending):
        otherwise = carried(state, otherwise)
    if isinstance(then, tuple) and isinstance(otherwise, tuple) and len(then) == len(otherwise):
        return tuple(joined(state, condition, a, b, node) for a, b in zip(then, otherwise, strict=True))
    if isinstance(then, Static) and isinstance(otherwise, Static) and then.value == otherwise.value:
        return then
    if isinstance(then, DType) and isinstance(otherwise, DType):
        same = then.type is not None and then.type == otherwise.type
        same = same or (then.type is None and otherwise.type is None and then.like is otherwise.like)
        return then if same else DType(None)  # two types meet: neither is known
    if isinstance(then, Value) and isinstance(otherwise, Value):
        return _values(state, condition, then, otherwise, node)
    for present, absent, when in ((then, otherwise, negate(condition)), (otherwise, then, condition)):
        if isinstance(present, Value) and absent is NONE:
            # a value on one path, None on the other: uses stand under the same condition
            present.attrs.setdefault("none_if", when)
            return present
    return then


def _values(state: State, condition: Condition, a: Value, b: Value, node: Node) -> Value:
    dtype, polymorphic = promote(a, b, "join")
    shape = broadcast(a.shape, b.shape)
    made = state.value(
        "join", (a, b), node=node, dtype=dtype, shape=shape, attrs={"condition": condition}, polymorphic=polymorphic
    )
    if is_static(a) and is_static(b):
        made.attrs["constexpr"] = True
    if a.block is not None and b.block is not None:
        made.block = _blocks(state, condition, a.block, b.block)
        made.pointer = made.block.pointer if made.block is not None else None
        return made
    if a.cond is not None and b.cond is not None and _is_truth(a) and _is_truth(b):
        made.cond = disj((conj((condition, a.cond)), conj((negate(condition), b.cond))))
    elif dtype is None or not dtype.is_float:
        x, y = as_integer(a), as_integer(b)
        if x is not None and y is not None:
            made.expr = chosen_between(condition, x, y)
    made.name = a.name or b.name
    return made


def _is_truth(value: Value) -> bool:
    return value.expr is None or value.dtype is BOOL


def _blocks(state: State, condition: Condition, a: BlockPointer, b: BlockPointer) -> BlockPointer | None:
    rank = len(a.offsets)
    if len(b.offsets) != rank or a.bounded != b.bounded:
        return None
    if a.pointer.buffer is b.pointer.buffer:
        base = Pointer(a.pointer.buffer, chosen_between(condition, a.pointer.offset, b.pointer.offset), a.pointer.dtype)
    else:
        base = Pointer(None, opaque(f"j{state.next_ordinal()}", "one of two block pointers"), None)
    parts = [
        tuple(chosen_between(condition, x, y) for x, y in zip(first, second, strict=True))
        for first, second in (
            (a.shape, b.shape), (a.strides, b.strides), (a.offsets, b.offsets), (a.block_shape, b.block_shape),
        )
    ]  # fmt: skip
    return BlockPointer(base, parts[0], parts[1], parts[2], parts[3], a.bounded)
