"""Masks that test the wrong thing: a tile-local index, an inclusive bound, or the extent of another dimension."""

from __future__ import annotations

import enum
from collections.abc import Iterator

from kernlint.analysis.extents import is_external, is_plain_extent
from kernlint.analysis.launches import LaunchView, is_compile_time, views
from kernlint.analysis.prove import provable
from kernlint.analysis.tiles import Coordinate, ImpliedBound, axis_atom, coordinates, implied_bounds, tile_extent
from kernlint.finding import Confidence
from kernlint.ir.condition import Condition, at_most, less, negate
from kernlint.ir.expr import ONE, Axis, AxisKind, Expr, axes_of, const
from kernlint.ir.kernel import Access, Kernel
from kernlint.ir.types import Span
from kernlint.ir.value import ancestors
from kernlint.records import dataclass


class Mismatch(enum.Enum):
    LOCAL = "local"  # the tile-local index is compared with a bound for the whole dimension
    INCLUSIVE = "inclusive"  # <= where < is meant
    OTHER_AXIS = "other-axis"  # the bound of another dimension
    OVERLAP = "overlap"  # the bound is wider than the distance between rows


@dataclass(frozen=True, slots=True)
class MaskMismatch:
    kind: Mismatch
    access: Access
    coordinate: Coordinate
    condition: Condition
    bound: Expr  # what the coordinate is compared with
    expected: Expr | None  # the extent of the coordinate, when known
    where: Span | None  # the launch
    confidence: Confidence


def mask_mismatches(kernel: Kernel) -> Iterator[MaskMismatch]:
    """Accesses whose guard mentions a lane but bounds it by the wrong thing, at most one per access and lane."""
    perspectives = views(kernel)
    for access in kernel.accesses:
        if not is_external(access):
            continue
        for coordinate in coordinates(access):
            bounds = list(implied_bounds(coordinate, access.guard.conjuncts()))
            if not coordinate.is_tiled:
                overlap = _overlap(access, coordinate, bounds) or _wider_than_row(
                    access, coordinate, bounds, perspectives
                )
                if overlap is not None:
                    yield overlap
                continue
            for view in perspectives:
                found = _mismatch(access, coordinate, bounds, view)
                if found is not None:
                    yield found
                    break


def _mismatch(
    access: Access, coordinate: Coordinate, bounds: list[ImpliedBound], view: LaunchView
) -> MaskMismatch | None:
    clean = [bound for bound in bounds if not bound.foreign and bound.scale == 1]
    if clean:
        return _inclusive(access, coordinate, clean, view) or _other_axis(access, coordinate, clean, view)
    return _local(access, coordinate, bounds, view)


def _overlap(access: Access, coordinate: Coordinate, bounds: list[ImpliedBound]) -> MaskMismatch | None:
    """Rows a stride apart, of which the mask admits more elements than that: a program writes into the next row."""
    if not access.writes or coordinate.stride != ONE:
        return None
    start = Expr({mono: c for mono, c in access.index.terms if not any(a.axis is not None for a in mono)})
    for axis in axes_of(access.index):
        distance = access.index.coefficient(axis_atom(axis)) if axis.kind is AxisKind.GRID else None
        if distance is None or not distance.terms or distance.constant is not None:
            continue
        # whole rows move to another row, they do not lengthen this one
        inside = Expr({mono: c for mono, c in start.terms if Expr({mono: c}).divided_by(distance) is None})
        for bound in bounds:
            wide = at_most(const(4), bound.extent)  # one and two elements are degenerate
            reach = bound.extent + (inside if is_plain_extent(inside) else 0)
            if is_plain_extent(bound.extent) and provable(less(distance, reach), [wide]):
                return MaskMismatch(
                    Mismatch.OVERLAP, access, coordinate, bound.condition, bound.extent, distance, None, Confidence.HIGH
                )
    return None


def _wider_than_row(
    access: Access, coordinate: Coordinate, bounds: list[ImpliedBound], perspectives: tuple[LaunchView, ...]
) -> MaskMismatch | None:
    """Rows of S elements under a tile of next_power_of_2(S), masked by another length: neighbours are let in."""
    if coordinate.stride != ONE or coordinate.lane.extent is None:
        return None
    for view in perspectives:
        tile = view.of(coordinate.lane.extent).single_atom
        if view.launch is None or tile is None or tile.note != "next_power_of_2":
            continue
        row = tile.args[0]
        for axis in axes_of(access.index):
            distance = access.index.coefficient(axis_atom(axis)) if axis.kind is AxisKind.GRID else None
            if distance is None or not isinstance(row, Expr) or view.of(distance) != row:
                continue
            for bound in bounds:
                limit = view.of(bound.extent)
                if is_plain_extent(limit) and not provable(at_most(limit, row), view.facts):
                    return MaskMismatch(
                        Mismatch.OVERLAP,
                        access,
                        coordinate,
                        bound.condition,
                        bound.extent,
                        distance,
                        view.launch.span,
                        Confidence.HIGH,
                    )
    return None


def _local(access: Access, coordinate: Coordinate, bounds: list[ImpliedBound], view: LaunchView) -> MaskMismatch | None:
    """`lane < n` where the index is `(tile*BLOCK + lane)*stride`: every tile but the first reads as if it were it."""
    tile = coordinate.lane.extent
    for bound in bounds:
        parts = bound.condition.deep_atoms
        if any(axis_atom(axis) in parts for axis in coordinate.tiles) or tile is None:
            continue
        local = _bound_of_lane(bound.condition, coordinate.lane)
        if local is None or not is_plain_extent(local) or is_compile_time(local, view.kernel):
            continue
        if provable(at_most(view.of(local), view.of(tile)), view.facts):
            continue  # one row of at most BLOCK elements, padded to BLOCK
        reaches = [extent for axis in coordinate.tiles if (extent := _grid_extent(coordinate, axis, view)) is not None]
        if view.launch is None:
            confidence = Confidence.MEDIUM
        elif view.of(local) in reaches:
            confidence = Confidence.HIGH
        else:
            confidence = Confidence.LOW
        where = view.launch.span if view.launch is not None else None
        return MaskMismatch(Mismatch.LOCAL, access, coordinate, bound.condition, local, local, where, confidence)
    return None


def _bound_of_lane(condition: Condition, lane: Axis) -> Expr | None:
    """n of `lane < n`."""
    if condition.expr is None or condition.expr.coefficient(axis_atom(lane)) != -ONE:
        return None
    return condition.expr.without(axis_atom(lane)) + ONE


def _grid_extent(coordinate: Coordinate, axis: Axis, view: LaunchView) -> Expr | None:
    """n when the launch makes ceil(n / tile) programs along an axis that moves the coordinate by a tile."""
    if axis.kind is not AxisKind.GRID:
        return None
    step = view.of(coordinate.expr).coefficient(axis_atom(axis))
    tiles = tile_extent(view.grid(axis), step) if step is not None and step.terms else None
    return tiles[0] if tiles is not None else None


def _inclusive(
    access: Access, coordinate: Coordinate, clean: list[ImpliedBound], view: LaunchView
) -> MaskMismatch | None:
    """`i <= n` although the launch covers n elements."""
    if view.launch is None:
        return None
    for axis in coordinate.tiles:
        reach = _grid_extent(coordinate, axis, view)
        if reach is None or len(coordinate.tiles) != 1:
            continue
        tight = [bound for bound in clean if view.of(bound.extent) == reach]
        for bound in clean:
            if view.of(bound.extent) == reach + ONE and not tight:
                return MaskMismatch(
                    Mismatch.INCLUSIVE,
                    access,
                    coordinate,
                    bound.condition,
                    bound.extent - ONE,
                    bound.extent - ONE,
                    view.launch.span,
                    Confidence.HIGH,
                )
    return None


def _other_axis(
    access: Access, coordinate: Coordinate, clean: list[ImpliedBound], view: LaunchView
) -> MaskMismatch | None:
    """The bound is the extent that the launch gives to another grid axis."""
    if view.launch is None or len(coordinate.tiles) != 1 or len(clean) != 1:
        return None
    own = _grid_extent(coordinate, coordinate.tiles[0], view)
    bound = view.of(clean[0].extent)
    if own is None or own == bound or not is_plain_extent(clean[0].extent):
        return None
    known = view.facts
    if provable(at_most(bound, own), known) or provable(at_most(own, bound), known):
        return None
    for other in coordinates(access):
        for axis in other.tiles:
            if axis != coordinate.tiles[0] and _grid_extent(other, axis, view) == bound:
                return MaskMismatch(
                    Mismatch.OTHER_AXIS,
                    access,
                    coordinate,
                    clean[0].condition,
                    clean[0].extent,
                    own,
                    view.launch.span,
                    Confidence.HIGH,
                )
    return None


def comparison_span(access: Access, condition: Condition) -> Span | None:
    """Where the source makes the comparison that became this part of the access's guard.

    The comparison is usually made on a one-dimensional tile and expanded afterwards, so lanes are compared by their
    extent, whatever their dimension.
    """
    wanted = condition_identity(condition)
    roots = [frame.value for frame in access.path if frame.value is not None]
    if access.mask_value is not None:
        roots.insert(0, access.mask_value)
    for root in roots:
        for value in ancestors(root, 200):
            if value.op != "cmp" or value.cond is None or value.span is None:
                continue
            if wanted in (condition_identity(value.cond), condition_identity(negate(value.cond))):
                return value.span
    return None


def condition_identity(condition: Condition) -> str:
    """The condition's key with Triton lanes named by their extent alone."""
    key = condition.key
    for axis in axes_of(condition):
        if axis.kind is AxisKind.LANE and not axis.thread and axis.extent is not None:
            key = key.replace(f"a:{axis.key}", f"lane:{axis.extent.key}")
    return key
