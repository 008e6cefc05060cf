"""Does the grid cover the data?  Launch dimensions against the tiles the kernel takes."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.extents import is_plain_extent
from kernlint.analysis.launches import LaunchView, view_of
from kernlint.analysis.prove import provable
from kernlint.analysis.tiles import Coordinate, ImpliedBound, axis_atom, coordinates, implied_bounds
from kernlint.finding import Confidence
from kernlint.ir.arith import as_cdiv
from kernlint.ir.condition import at_most
from kernlint.ir.expr import AtomKind, Axis, AxisKind, Expr, const
from kernlint.ir.host import GridDim
from kernlint.ir.kernel import Access, AccessKind, Kernel, Launch
from kernlint.records import dataclass


@dataclass(frozen=True, slots=True)
class UncoveredTail:
    """`tiles` programs of `tile` elements along a launch dimension, for `extent` elements."""

    dimension: GridDim
    axis: Axis
    tiles: Expr
    tile: Expr
    extent: Expr
    access: Access
    literal: bool  # the grid is a constant
    confidence: Confidence


def uncovered_tails(launch: Launch) -> Iterator[UncoveredTail]:
    """Launch dimensions that are too short for sizes the host admits, one finding per dimension."""
    kernel = launch.kernel
    if kernel is None or launch.grid is None:
        return
    view = view_of(kernel, launch)
    moved = _moved_axes(kernel)
    for index, dimension in enumerate(launch.grid):
        if dimension.expr is None:
            continue
        for axis, access, coordinate in moved:
            if axis.index != index or strides_over_grid(access, axis):
                continue
            found = _tail(dimension, axis, access, coordinate, view)
            if found is not None:
                yield found
                break


def _moved_axes(kernel: Kernel) -> list[tuple[Axis, Access, Coordinate]]:
    """Grid axes that move an access by whole tiles; stores first, since what is not written shows."""
    found = []
    for access in sorted(kernel.accesses, key=lambda a: (a.kind is AccessKind.LOAD, a.ordinal)):
        if access.buffer is not None and access.buffer.extents is None:
            for coordinate in coordinates(access):
                found += [(axis, access, coordinate) for axis in coordinate.tiles if axis.kind is AxisKind.GRID]
    return found


def strides_over_grid(access: Access, axis: Axis) -> bool:
    """Whether a loop around the access moves it on by the size of the grid (grid-stride or persistent loops)."""
    for loop in access.loops:
        step = access.index.coefficient(axis_atom(loop.axis))
        parts = [part for part in (step, loop.step) if part is not None]
        if any(a.kind is AtomKind.LAUNCH and a.key.startswith("gd") for part in parts for a in part.deep_atoms):
            return True
    return any(atom.kind is AtomKind.LAUNCH and atom.key == f"gd{axis.index}" for atom in access.index.deep_atoms)


def _tail(
    dimension: GridDim, axis: Axis, access: Access, coordinate: Coordinate, view: LaunchView
) -> UncoveredTail | None:
    tiles = view.grid(axis)
    tile = view.of(coordinate.expr).coefficient(axis_atom(axis))
    if tiles is None or tile is None or not tile.terms or len(coordinate.tiles) != 1:
        return None
    floor = floor_tiles(tiles)
    if floor is not None and floor[1] == tile:
        extent = floor[0]
        if view.divides(tile, extent) or not is_plain_extent(extent) or extent.constant is not None:
            return None
        hedged = _says_rounded(extent) or _is_product_over_few(extent, tile)
        confidence = Confidence.MEDIUM if hedged else Confidence.HIGH
        return UncoveredTail(dimension, axis, tiles, tile, extent, access, False, confidence)
    size = tile.constant
    if size is None:
        return None
    coarse = as_cdiv(tiles)
    if coarse is not None and coarse[1].constant is not None and coarse[1].constant > size:
        bounds = [view.of(b.extent) for b in implied_bounds(coordinate, access.guard.conjuncts()) if is_direct(b)]
        if coarse[0] in bounds and is_plain_extent(coarse[0]) and coarse[0].constant is None:
            return UncoveredTail(dimension, axis, tiles, tile, coarse[0], access, True, Confidence.HIGH)
        return None
    cap = tiles.constant if tiles.constant is not None else _cap_of(tiles)
    if cap is None:
        return None
    for bound in implied_bounds(coordinate, access.guard.conjuncts()):
        extent = view.of(bound.extent)
        if not is_direct(bound) or extent.constant is not None or not is_plain_extent(extent):
            continue
        if not provable(at_most(extent, const(cap * size)), view.facts):
            return UncoveredTail(dimension, axis, const(cap), tile, extent, access, True, Confidence.HIGH)
    return None


def is_direct(bound: ImpliedBound) -> bool:
    """Whether the bound is on the coordinate itself, not on a multiple of it or on something else."""
    return bound.scale == 1 and not bound.foreign


def _is_product_over_few(extent: Expr, tile: Expr) -> bool:
    """A product of sizes divided among a few rows per block: one even factor makes it come out."""
    rows = tile.constant
    return len(extent.terms) == 1 and len(extent.terms[0][0]) > 1 and rows is not None and rows <= 16


def _cap_of(tiles: Expr) -> int | None:
    """c of `min(ceil(n / b), c)`: a grid that stops growing."""
    atom = tiles.single_atom
    if atom is None or atom.kind is not AtomKind.MIN:
        return None
    limits = [arg.constant for arg in atom.args if isinstance(arg, Expr) and arg.constant is not None]
    return limits[0] if len(limits) == 1 else None


def floor_tiles(tiles: Expr) -> tuple[Expr, Expr] | None:
    """(n, b) when the expression is n // b and not a rounded-up division in disguise."""
    atom = tiles.single_atom
    if atom is not None and atom.kind is AtomKind.MAX:
        open_ = [arg for arg in atom.args if isinstance(arg, Expr) and arg.constant is None]
        return floor_tiles(open_[0]) if len(open_) == 1 else None  # max(1, n // b)
    if atom is None or atom.kind is not AtomKind.FLOORDIV or as_cdiv(tiles) is not None:
        return None
    n, b = atom.args
    if not isinstance(n, Expr) or not isinstance(b, Expr):
        return None
    if n.constant_term > 0 or any(factor in n.deep_atoms for factor in b.deep_atoms):
        return None  # (n + b - 1) // b and its cousins
    return n, b


def _says_rounded(extent: Expr) -> bool:
    """Whether the size's own name says that it was rounded up to whole tiles somewhere else."""
    words = ("pad", "align", "round")
    return any(word in atom.name.lower() for atom in extent.deep_atoms for word in words)
