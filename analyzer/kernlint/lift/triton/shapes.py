"""Shapes and lanes: broadcasting, indexing with None, permutations, reshapes.

A value's dimension i from the right depends only on lane axes with index -i, so moving a dimension substitutes the
axes of its integer and boolean meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kernlint.ir import arith
from kernlint.ir.condition import Condition, Connective, conj, disj, equals_zero, flag, negate
from kernlint.ir.expr import ONE, ZERO, Atom, AxisKind, Expr, const, substitute
from kernlint.ir.value import Value
from kernlint.lift.triton.state import lane

if TYPE_CHECKING:
    from kernlint.lift.triton.state import Node, State

Shape = tuple[Expr, ...]


def broadcast(a: Shape, b: Shape) -> Shape:
    """The shape of an elementwise result.  Two different symbolic extents are taken to be equal, as Triton demands."""
    if not a or a is b:
        return b
    if not b:
        return a
    if len(a) < len(b):
        a, b = b, a
    out = list(a)
    for i in range(1, len(b) + 1):
        if out[-i].constant == 1:
            out[-i] = b[-i]
    return tuple(out)


def relane(state: State, value: Value, lanes: Mapping[int, Expr | Callable[[Expr], Expr]]) -> None:
    """Substitute lane axes in the meaning of a freshly made value: dimension (negative) -> new index expression, or a
    function from the axis' extent to one."""
    if value.expr is not None:
        mapping = _mapping(value.expr, lanes)
        if mapping:
            value.expr = substitute(value.expr, mapping)
    if value.cond is not None:
        mapping = _mapping(value.cond, lanes)
        condition = value.cond.substitute(mapping) if mapping else value.cond
        value.cond = _fresh_flags(condition, value.ordinal)


def _mapping(meaning: Expr | Condition, lanes: Mapping[int, Expr | Callable[[Expr], Expr]]) -> dict[Atom, Expr]:
    mapping: dict[Atom, Expr] = {}
    for atom in meaning.deep_atoms:
        axis = atom.axis
        if axis is None or axis.kind is not AxisKind.LANE or axis.index not in lanes:
            continue
        new = lanes[axis.index]
        if isinstance(new, Expr):
            mapping[atom] = new
        elif axis.extent is not None:
            mapping[atom] = new(axis.extent)
    return mapping


def _fresh_flags(condition: Condition, ordinal: int) -> Condition:
    """Data-dependent flags (named with `#`) differ per lane, so after moving lanes they are other flags."""
    if not any("#" in name for name in condition.flags):
        return condition
    if condition.op is Connective.FLAG:
        return flag(f"{condition.name}.{ordinal}") if "#" in condition.name else condition
    if condition.op is Connective.NOT:
        return negate(_fresh_flags(condition.parts[0], ordinal))
    if condition.op in (Connective.AND, Connective.OR):
        parts = [_fresh_flags(part, ordinal) for part in condition.parts]
        return conj(parts) if condition.op is Connective.AND else disj(parts)
    return condition


def derived(state: State, op: str, source: Value, shape: Shape, node: Node, **attrs: object) -> Value:
    """A value with the source's contents in another shape; lanes are still the source's."""
    made = state.value(
        op, (source,), node=node, dtype=source.dtype, shape=shape, expr=source.expr, cond=source.cond,
        attrs=dict(attrs), polymorphic=source.polymorphic,
    )  # fmt: skip
    made.name = source.name
    return made


def permuted(state: State, op: str, source: Value, order: tuple[int, ...], node: Node) -> Value:
    """Dimension i of the result is dimension order[i] of the source."""
    rank = len(source.shape)
    if sorted(order) != list(range(rank)):
        return state.opaque("permutation not understood", node, (source,), source.shape)
    made = derived(state, op, source, tuple(source.shape[i] for i in order), node, order=order)
    lanes: dict[int, Expr | Callable[[Expr], Expr]] = {}
    for new, old in enumerate(order):
        if new != old:
            lanes[old - rank] = _moved(new - rank)
    relane(state, made, lanes)
    return made


def _moved(dim: int) -> Callable[[Expr], Expr]:
    return lambda extent: lane(dim, extent)


def with_dims(state: State, source: Value, layout: list[int | None], node: Node, op: str = "expand") -> Value:
    """`layout` lists, per result dimension, the source dimension it is, or None for a new dimension of extent 1."""
    rank, total = len(source.shape), len(layout)
    shape = tuple(ONE if old is None else source.shape[old] for old in layout)
    made = derived(state, op, source, shape, node)
    made.attrs["dims"] = tuple(new - total for new, old in enumerate(layout) if old is None)
    lanes: dict[int, Expr | Callable[[Expr], Expr]] = {}
    for new, old in enumerate(layout):
        if old is not None and old - rank != new - total:
            lanes[old - rank] = _moved(new - total)
    if lanes:
        relane(state, made, lanes)
    return made


def reshaped(state: State, source: Value, shape: Shape, node: Node, op: str = "reshape") -> Value:
    """Row-major reshape; lanes are recomputed through the flat index."""
    made = derived(state, op, source, shape, node)
    old = source.shape
    if old == shape or not old:
        return made
    meaning = made.expr if made.expr is not None else made.cond
    if meaning is None:
        return made
    if _only_unit_dims_differ(old, shape):
        lanes = _unit_reshape(old, shape)
    else:
        flat, scale = ZERO, ONE
        for i in range(1, len(shape) + 1):
            flat = flat + lane(-i, shape[-i]) * scale
            scale = scale * shape[-i]
        lanes, scale = {}, ONE
        for i in range(1, len(old) + 1):
            index = arith.floordiv(flat, scale)
            lanes[-i] = index if i == len(old) else arith.mod(index, old[-i])
            scale = scale * old[-i]
    relane(state, made, lanes)
    return made


def _only_unit_dims_differ(a: Shape, b: Shape) -> bool:
    return [e for e in a if e.constant != 1] == [e for e in b if e.constant != 1]


def _unit_reshape(old: Shape, new: Shape) -> dict[int, Expr | Callable[[Expr], Expr]]:
    sources = [i - len(old) for i, extent in enumerate(old) if extent.constant != 1]
    targets = [i - len(new) for i, extent in enumerate(new) if extent.constant != 1]
    return {a: _moved(b) for a, b in zip(sources, targets, strict=True) if a != b}


def numel(shape: Shape) -> Expr:
    total = ONE
    for extent in shape:
        total = total * extent
    return total


def flattened(state: State, source: Value, node: Node) -> Value:
    return reshaped(state, source, (numel(source.shape),), node)


def half_of_pairs(state: State, source: Value, which: int, node: Node) -> Value:
    """`x[..., which]` of a value whose last dimension is 2 (`tl.split`)."""
    made = derived(state, "split_lanes", source, source.shape[:-1], node, which=which)
    lanes: dict[int, Expr | Callable[[Expr], Expr]] = {-1: const(which)}
    for i in range(2, len(source.shape) + 1):
        lanes[-i] = _moved(1 - i)
    relane(state, made, lanes)
    return made


def joined(state: State, a: Value, b: Value, node: Node, *, interleave: bool = False) -> Value:
    """`tl.join` (a new last dimension of 2) or `tl.interleave` (the last dimension doubled)."""
    shape = broadcast(a.shape, b.shape)
    left, right = with_dims(state, a, _all(a, True), node), with_dims(state, b, _all(b, True), node)
    which = lane(-1, const(2))
    made = state.value(
        "join_lanes", (a, b), node=node, dtype=a.dtype or b.dtype, shape=(*shape, const(2)),
        polymorphic=a.polymorphic or b.polymorphic,
    )  # fmt: skip
    if left.expr is not None and right.expr is not None:
        made.expr = arith.select(equals_zero(which), left.expr, right.expr)
    if interleave and shape:
        return reshaped(state, made, (*shape[:-1], shape[-1] * 2), node)
    return made


def _all(value: Value, extra: bool) -> list[int | None]:
    return [*range(len(value.shape)), None] if extra else list(range(len(value.shape)))
