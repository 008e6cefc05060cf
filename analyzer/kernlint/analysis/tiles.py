"""Tile coordinates: which lanes of an index run along one dimension, and how far that dimension reaches.

An index such as `base + (pid*BLOCK + lane)*stride` holds the *coordinate* `pid*BLOCK + lane` with stride `stride`.  A
term belongs to a lane's coordinate when it moves in whole tiles of that lane: its quotient by the stride is a multiple
of the lane's extent.  Row offsets and batch strides are not, and stay outside.

The extent a condition implies for a coordinate X is read off the normal form: from `e >= 0` follows `X < X + e + 1`,
and that is an extent when X's own axes cancel in `X + e + 1`.  When a tile axis is left over, the condition compares
something else than X, which is how a mask on the tile-local index shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kernlint.ir.arith import as_cdiv, as_floordiv
from kernlint.ir.condition import Condition, Connective
from kernlint.ir.expr import ONE, ZERO, Atom, AtomKind, Axis, AxisKind, Expr, axes_of, axis_expr, without_factors
from kernlint.ir.kernel import Access, Loop
from kernlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Coordinate:
    """`expr` = lane + whole-tile terms, entering the index multiplied by `stride`; `shift` are constant offsets.

    `tiles` are the grid and loop axes that move it by whole tiles.
    """

    lane: Axis
    expr: Expr
    stride: Expr
    shift: int
    tiles: tuple[Axis, ...]

    @property
    def is_tiled(self) -> bool:
        return bool(self.tiles)


def axis_atom(axis: Axis) -> Atom:
    atom = axis_expr(axis).single_atom
    assert atom is not None
    return atom


def lanes_of(index: Expr) -> tuple[Axis, ...]:
    return tuple(axis for axis in axes_of(index) if axis.kind is AxisKind.LANE)


def coordinate_of(index: Expr, lane: Axis) -> Coordinate | None:
    """The coordinate of `lane` in an element index; None when the index is not linear in the lane."""
    atom = axis_atom(lane)
    stride = index.coefficient(atom)
    if stride is None or len(stride.terms) != 1:
        return None
    rest = index.without(atom)
    ((stride_factors, stride_number),) = stride.terms
    tile, shift = ZERO, 0
    for mono, coeff in rest.terms:
        factors = None if coeff % stride_number else without_factors(mono, stride_factors)
        if factors is None:
            continue
        if not mono:
            shift = coeff // stride_number
            continue
        quotient = Expr({factors: coeff // stride_number})
        if moves_whole_tiles(quotient, lane):
            tile = tile + quotient
    tiles = tuple(axis for axis in axes_of(tile) if axis.kind is not AxisKind.LANE)
    return Coordinate(lane, axis_expr(lane) + tile, stride, shift, tiles)


def moves_whole_tiles(term: Expr, lane: Axis) -> bool:
    """Whether a one-term expression is a multiple of the lane's extent times an axis or an unknown tile number."""
    (mono, coeff), *_ = term.terms
    extent = lane.extent
    if extent is not None and term.divided_by(extent) is not None:
        return True
    if lane.thread and len(mono) == 1 and mono[0].axis is not None:
        # blockIdx.x * 256 + threadIdx.x with a literal block size; in transposes blockIdx.y goes with threadIdx.x
        return mono[0].axis.kind is AxisKind.GRID and coeff >= 2
    if lane.thread and len(mono) == 2:
        axes = [atom.axis for atom in mono if atom.axis is not None]
        sizes = [atom for atom in mono if atom.kind is AtomKind.PARAM and atom.name.isupper()]
        return bool(sizes) and any(a.kind is AxisKind.GRID and a.index == lane.index for a in axes)
    return False


def coordinates(access: Access) -> tuple[Coordinate, ...]:
    """The coordinates of every lane the access's index is linear in, found once per access.

    For block pointers the dimensions are given by the source and taken from there.
    """
    found: tuple[Coordinate, ...] | None = access.attrs.get("coordinates")
    if found is None:
        found = access.attrs["coordinates"] = tuple(_coordinates(access))
    return found


def _coordinates(access: Access) -> Iterator[Coordinate]:
    if access.block_offsets:
        for offset in access.block_offsets:
            for lane in lanes_of(offset):
                found = coordinate_of(offset, lane)
                if found is not None:
                    yield Coordinate(lane, offset - found.shift, ONE, found.shift, found.tiles or _movers(offset))
        return
    for lane in lanes_of(access.index):
        found = coordinate_of(access.index, lane)
        if found is not None:
            yield found


def _movers(offset: Expr) -> tuple[Axis, ...]:
    return tuple(axis for axis in axes_of(offset) if axis.kind is not AxisKind.LANE)


@dataclass(frozen=True, slots=True)
class ImpliedBound:
    """`condition` says that `scale` times the coordinate stays below `extent`.

    `foreign` are axes of the coordinate left over in `extent`, which means the condition bounds something else.
    """

    condition: Condition
    extent: Expr
    foreign: tuple[Axis, ...]
    scale: int = 1


def implied_bounds(coordinate: Coordinate, conditions: Iterable[Condition]) -> Iterator[ImpliedBound]:
    """What the conditions say about the upper end of a coordinate; only conditions that mention its lane count."""
    atom = axis_atom(coordinate.lane)
    for condition in conditions:
        for part in condition.conjuncts():
            if part.op is not Connective.GE or part.expr is None or atom not in part.deep_atoms:
                continue
            factor = part.expr.coefficient(atom)
            if factor is None or (factor.constant or 0) >= 0:
                continue
            scale = -(factor.constant or -1)
            extent = coordinate.expr * scale + part.expr + ONE
            if extent.coefficient(atom) != Expr({}):
                continue
            foreign = tuple(axis for axis in axes_of(extent) if axis in coordinate.tiles)
            yield ImpliedBound(part, extent, foreign, scale)


def mentions_lane(condition: Condition | None, lane: Axis) -> bool:
    """Whether the truth of the condition depends on the lane."""
    return condition is not None and axis_atom(lane) in condition.deep_atoms


def tile_extent(count: Expr | None, step: Expr) -> tuple[Expr, bool] | None:
    """How far `count` tiles of `step` elements are meant to reach: (n, exact).

    `exact` is False for ceil(n / step) tiles, whose last one may be ragged, and True for n // step whole tiles.
    None when `count` does not count tiles of this size.
    """
    if count is None:
        return None
    ceiling = as_cdiv(count)
    if ceiling is not None and ceiling[1] == step:
        return ceiling[0], False
    floor = as_floordiv(count)
    if floor is not None and floor[1] == step:
        return floor[0], True
    return None


def loop_extent(coordinate: Coordinate, loop: Loop) -> tuple[Expr, bool] | None:
    """How far the loop moves the coordinate, as in `tile_extent`: the stop of `range(start, stop, step)` whose variable
    the coordinate contains, or n when the loop makes ceil(n / step) turns."""
    step = coordinate.expr.coefficient(axis_atom(loop.axis))
    if step is None or not step.terms:
        return None
    turns = tile_extent(loop.trip_count if loop.trip_count is not None else loop.axis.extent, step)
    start = coordinate.expr.without(axis_atom(loop.axis)) - axis_expr(coordinate.lane)
    if loop.stop is not None and loop.step is not None and loop.start is not None and loop.step == step:
        # the coordinate is loop variable + lane + offset, so it reaches stop + offset
        return loop.stop + start - loop.start, False
    if turns is not None:
        return turns[0] + start, turns[1]
    return None
