"""Accesses beside the guarded coordinate: before the first element, after the last, or wider than the guard.

* `below`: for the first program or block, at lane 0 and the first turn of every loop, the guard holds and the index is
  negative (`x[i - 1]` under `i < n`).
* `above`: the guard bounds a coordinate by n and the index is that coordinate plus a positive shift (`x[i + 1]`).
* `vector`: a vector access of w elements is guarded by its first element only (`4*i < n` for a `float4`).
"""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.extents import is_external, is_plain_extent
from kernlint.analysis.launches import LaunchView, views
from kernlint.analysis.prove import provable
from kernlint.analysis.tiles import Coordinate, axis_atom, coordinates, implied_bounds
from kernlint.finding import Confidence
from kernlint.ir.condition import Condition, Connective, at_most, conj
from kernlint.ir.expr import ONE, ZERO, Atom, AtomKind, Expr, axes_of, const, substitute
from kernlint.ir.kernel import Access, AccessKind, Kernel
from kernlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Stray:
    """`access` leaves its data beside the guard.  `index` is where the first stray element lies, `extent` the guard's
    bound (None below zero)."""

    kind: str
    access: Access
    index: Expr
    extent: Expr | None
    confidence: Confidence


def strays(kernel: Kernel) -> Iterator[Stray]:
    """At most one per access."""
    perspectives = views(kernel)
    plain = _elementwise_buffers(kernel)
    for access in kernel.accesses:
        if not is_external(access) or access.index.is_opaque or access.guard.flags or access.block_offsets:
            continue
        found = _below(access) or _vector(access, perspectives) or _above(access, plain, perspectives)
        if found is not None:
            yield found


def _below(access: Access) -> Stray | None:
    """The index at the origin of all axes, when it is negative there and the guard holds there."""
    if any(atom.kind in (AtomKind.LOAD, AtomKind.OPAQUE) for atom in access.index.deep_atoms):
        return None
    origin: dict[Atom, Expr] = {axis_atom(axis): ZERO for axis in axes_of(access.index) + axes_of(access.guard)}
    if not origin:
        return None
    index = substitute(access.index, origin)
    value = index.constant
    if value is not None and value >= 0:
        return None
    guard = access.guard.substitute(origin)
    if not _may_hold(guard):
        return None
    negative = at_most(index, const(-1))
    if value is None and not provable(negative, guard.conjuncts()):
        return None
    return Stray("below", access, index, None, Confidence.HIGH)


def _may_hold(guard: Condition) -> bool:
    """Whether nothing in the guard at the origin rules it out or was not understood."""
    if guard.op is Connective.FALSE:
        return False
    for part in guard.conjuncts():
        if part.op is Connective.OR or any(a.kind in (AtomKind.LOAD, AtomKind.OPAQUE) for a in part.deep_atoms):
            return False
        # `0 >= pad` and the like: true for some sizes only, and then the index may well be fine
        if part.expr is not None and all(coeff <= 0 for _, coeff in part.expr.terms):
            return False
    return True


def _elementwise_buffers(kernel: Kernel) -> dict[str, set[str]]:
    """Buffer -> keys of the indices it is read at.  A stencil reads its centre as well; an offset table does not."""
    found: dict[str, set[str]] = {}
    for access in kernel.accesses:
        if access.buffer is not None and access.kind is AccessKind.LOAD:
            found.setdefault(access.buffer.name, set()).add(access.index.key)
    return found


def _above(access: Access, read_at: dict[str, set[str]], perspectives: tuple[LaunchView, ...]) -> Stray | None:
    """`x[i + k]` under `i < n` where `x[i]` is read under the same guard: element n is read."""
    buffer = access.buffer
    dtype = access.dtype or access.pointer.dtype
    if buffer is None or access.kind is not AccessKind.LOAD or (dtype is not None and dtype.is_integer):
        return None
    for coordinate in coordinates(access):
        if coordinate.shift <= 0 or coordinate.stride != ONE or not coordinate.is_tiled:
            continue
        if (access.index - coordinate.shift).key not in read_at.get(buffer.name, set()):
            continue
        if access.index - coordinate.shift != coordinate.expr:
            continue  # a row in between: the neighbour is in the next row, not behind the end
        extent = _tightest(coordinate, access.guard.conjuncts())
        if extent is None or extent.constant_term:
            continue  # `i < n - 1` already leaves room for the neighbour
        beyond = at_most(coordinate.expr + coordinate.shift, extent - ONE)
        if not any(provable(view.condition(beyond), _known(access, view)) for view in perspectives):
            return Stray("above", access, extent + (coordinate.shift - 1), extent, Confidence.HIGH)
    return None


def _tightest(coordinate: Coordinate, guard: tuple[Condition, ...]) -> Expr | None:
    bounds = [
        b.extent
        for b in implied_bounds(coordinate, guard)
        if b.scale == 1 and not b.foreign and is_plain_extent(b.extent)
    ]
    return bounds[0] if len(bounds) == 1 else None


def _vector(access: Access, perspectives: tuple[LaunchView, ...]) -> Stray | None:
    """A vector whose first element alone is guarded: the guard's coordinate moves by the vector's length per lane."""
    dtype = access.pointer.dtype
    lanes = dtype.lanes if dtype is not None else 1
    if lanes <= 1:
        return None
    for coordinate in coordinates(access):
        if coordinate.stride != ONE:
            continue
        for part in access.guard.conjuncts():
            factor = part.expr.coefficient(axis_atom(coordinate.lane)) if part.expr is not None else None
            if part.op is not Connective.GE or part.expr is None or factor is None or factor.constant != -lanes:
                continue
            first = coordinate.expr * lanes
            extent = first + part.expr + ONE
            if not is_plain_extent(extent) or extent.constant_term:
                continue
            last = at_most(first + (lanes - 1), extent - ONE)
            for view in perspectives:
                if not provable(view.condition(last), _known(access, view)) and not view.divides(const(lanes), extent):
                    return Stray("vector", access, first + (lanes - 1), extent, Confidence.HIGH)
    return None


def _known(access: Access, view: LaunchView) -> list[Condition]:
    return [view.condition(part) for part in conj([access.guard]).conjuncts()] + view.grid_ranges + view.facts
