"""Which accesses can leave the extent that the kernel itself, or its launch, says the data has.

An access *escapes* along a lane when nothing guards that lane and there is evidence that the last tile is ragged:

* `sibling`: another access of the kernel guards the very same coordinate by an extent;
* `loop`: the coordinate moves with a loop that runs up to an extent in whole tiles;
* `launch`: the coordinate moves with a grid axis that the host sizes as ceil(extent / tile);
* `tile`: the tile itself is next_power_of_2(extent);
* `block pointer`: the tensor shape is given and the dimension is left out of `boundary_check`.

The evidence is dropped when the extent is known to be a multiple of the tile, when the access is one arm of a
compile-time branch whose other arm guards it, or when a proof shows that every lane stays inside.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.launches import LaunchView, is_compile_time, views
from kernlint.analysis.prove import provable
from kernlint.analysis.tiles import (
    Coordinate,
    axis_atom,
    coordinates,
    implied_bounds,
    loop_extent,
    mentions_lane,
    tile_extent,
)
from kernlint.finding import Confidence
from kernlint.ir.condition import Condition, less
from kernlint.ir.expr import AtomKind, AxisKind, Expr
from kernlint.ir.kernel import Access, Branch, Framework, Kernel
from kernlint.ir.types import Space, Span
from kernlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Escape:
    """`access` reaches past `extent` along `coordinate`."""

    access: Access
    coordinate: Coordinate
    extent: Expr
    evidence: str
    where: Span | None  # the other half: the guarded sibling, the loop, the launch
    confidence: Confidence


@dataclass(frozen=True, slots=True)
class Guarded:
    """A coordinate that some access bounds by an extent."""

    extent: Expr
    span: Span


def escapes(kernel: Kernel) -> Iterator[Escape]:
    """At most one escape per access and lane, the best supported one."""
    accesses = [access for access in kernel.accesses if is_external(access)]
    unguarded = {
        id(access): lanes
        for access in accesses
        if (lanes := [coordinate for coordinate in coordinates(access) if not _is_guarded(access, coordinate)])
    }
    if not unguarded:
        return
    siblings = guarded_coordinates(accesses)
    twins = _guarded_in_other_arm(kernel)
    perspectives = views(kernel)
    for access in accesses:
        if id(access) not in unguarded or _is_specialised(access, twins, kernel):
            continue
        for coordinate in unguarded[id(access)]:
            found = [
                escape for view in perspectives if (escape := _escape(access, coordinate, siblings, view)) is not None
            ]
            if found and not _pinned_elsewhere(found, perspectives):
                yield max(found, key=lambda escape: escape.confidence)


def is_external(access: Access) -> bool:
    """Whether it touches memory whose size the kernel does not declare."""
    buffer = access.buffer
    return buffer is not None and buffer.extents is None and access.space in (Space.GLOBAL, Space.UNKNOWN)


def guarded_coordinates(accesses: list[Access]) -> dict[str, list[Guarded]]:
    """Coordinate (by key) -> the extents accesses are guarded by, only plain ones: no axes, loads or opaque parts."""
    found: dict[str, list[Guarded]] = {}
    for access in accesses:
        for coordinate in coordinates(access):
            for bound in implied_bounds(coordinate, access.guard.conjuncts()):
                if bound.scale == 1 and not bound.foreign and is_plain_extent(bound.extent):
                    found.setdefault(sibling_key(coordinate), []).append(Guarded(bound.extent, access.span))
    return found


def sibling_key(coordinate: Coordinate) -> str:
    """Identifies a coordinate whatever dimension of the block it runs along: `r` and `r[:, None]` are siblings."""
    lane = coordinate.lane
    extent = lane.extent.key if lane.extent is not None else lane.key
    return coordinate.expr.key.replace(f"a:{lane.key}", lane.key if lane.thread else f"lane:{extent}")


def is_plain_extent(extent: Expr) -> bool:
    """A size: parameters, host values and constants, not something that varies per program or is read from memory."""
    varying = {AtomKind.AXIS, AtomKind.LOAD, AtomKind.OPAQUE, AtomKind.SELECT, AtomKind.MIN}
    return bool(extent.terms) and all(atom.kind not in varying for atom in extent.deep_atoms)


def _is_guarded(access: Access, coordinate: Coordinate) -> bool:
    if mentions_lane(access.guard, coordinate.lane):
        return True
    # A mask that was not understood may well bound the lane.
    return access.mask is not None and bool(access.mask.flags)


def _guarded_in_other_arm(kernel: Kernel) -> dict[int, tuple[set[str], set[str]]]:
    """For every branch: the buffers accessed under a mask in its two arms."""
    found: dict[int, tuple[set[str], set[str]]] = {}
    for item in kernel.body.walk():
        if isinstance(item, Branch):
            arms = tuple(
                {a.buffer.name for a in region.walk() if isinstance(a, Access) and a.mask is not None and a.buffer}
                for region in (item.then, item.otherwise)
            )
            found[id(item)] = (arms[0], arms[1])
    return found


def _is_specialised(access: Access, twins: dict[int, tuple[set[str], set[str]]], kernel: Kernel) -> bool:
    """One arm of a compile-time switch (`EVEN_N`) whose other arm does the same access under a mask."""
    name = access.buffer.name if access.buffer else ""
    for frame in access.path:
        if frame.branch is not None:
            other = twins.get(id(frame.branch), (set(), set()))[1 if frame.arm else 0]
            if name in other:
                return True
        if frame.condition.flags & set(kernel.heuristics):
            return True
    return access.mask is not None and bool(access.mask.flags & set(kernel.heuristics))


def _escape(
    access: Access, coordinate: Coordinate, siblings: dict[str, list[Guarded]], view: LaunchView
) -> Escape | None:
    known = [view.condition(part) for part in access.guard.conjuncts()]
    known += view.grid_ranges + view.facts
    inside: dict[Expr, bool] = {}  # several pieces of evidence tend to name the same extent
    for extent, evidence, where, confidence in _evidence(access, coordinate, siblings, view):
        if extent not in inside:
            inside[extent] = _stays_inside(coordinate, extent, known, view)
        if inside[extent]:
            continue
        if view.kernel.autotune is not None and view.kernel.autotune.prunes:
            confidence = min(confidence, Confidence.MEDIUM)  # pruning may leave only tiles that divide the extent
        if evidence != "block pointer" and _is_padded_by_host(access, view):
            confidence = min(confidence, Confidence.MEDIUM)
        if is_compile_time(extent, view.kernel) and view.of(extent).constant is None:
            confidence = min(confidence, Confidence.LOW)
        return Escape(access, coordinate, extent, evidence, where, confidence)
    return None


def _is_padded_by_host(access: Access, view: LaunchView) -> bool:
    """Whether the buffer is made by host operators that leave its size open: it may well be padded to whole tiles."""
    if view.launch is None or access.buffer is None:
        return False
    value = view.launch.arguments.get(access.buffer.name)
    tensor = value.tensor if value is not None else None
    if tensor is None or tensor.init != "computed":
        return False
    size = tensor.numel.single_atom if tensor.numel is not None else None
    return tensor.numel is None or (size is not None and ".numel()" in size.name)


def _stays_inside(coordinate: Coordinate, extent: Expr, known: list[Condition], view: LaunchView) -> bool:
    tile = coordinate.lane.extent
    if tile is None:
        return False
    if view.divides(tile, extent):
        return True
    goal = less(view.of(coordinate.expr), view.of(extent))
    return provable(goal, known)


_Evidence = tuple[Expr, str, Span | None, Confidence]


def _evidence(
    access: Access, coordinate: Coordinate, siblings: dict[str, list[Guarded]], view: LaunchView
) -> Iterator[_Evidence]:
    kernel = view.kernel
    bound_launch = view.launch is not None
    strong = Confidence.HIGH if bound_launch else Confidence.MEDIUM
    if access.block_offsets:
        for offset, extent in zip(access.block_offsets, access.block_shape_bounds, strict=False):
            same = offset - coordinate.shift == coordinate.expr
            if same and coordinate.is_tiled and is_plain_extent(extent) and extent != coordinate.lane.extent:
                yield extent, "block pointer", access.span, strong
        return
    if coordinate.is_tiled or kernel.framework is not Framework.CUDA:
        for guarded in siblings.get(sibling_key(coordinate), ()):
            yield guarded.extent, "sibling", guarded.span, Confidence.HIGH
    for loop in access.loops:
        reach = loop_extent(coordinate, loop)
        if reach is not None and not reach[1] and is_plain_extent(reach[0]):
            yield reach[0], "loop", loop.span, strong
    for axis in coordinate.tiles:
        if axis.kind is not AxisKind.GRID:
            continue
        step = view.of(coordinate.expr).coefficient(axis_atom(axis))
        tiles = tile_extent(view.grid(axis), step) if step is not None and step.terms else None
        if tiles is not None and not tiles[1] and view.launch is not None:
            yield tiles[0], "launch", view.launch.span, Confidence.HIGH
    tile = view.of(coordinate.lane.extent) if coordinate.lane.extent is not None else None
    atom = tile.single_atom if tile is not None else None
    if atom is not None and atom.kind is AtomKind.CALL and atom.note == "next_power_of_2" and not coordinate.tiles:
        inner = atom.args[0]
        if isinstance(inner, Expr) and view.launch is not None:
            yield inner, "tile", view.launch.span, Confidence.HIGH


def _pinned_elsewhere(found: list[Escape], perspectives: tuple[LaunchView, ...]) -> bool:
    """Whether most launches rule it out, so that the others are likely to be under a contract not written down."""
    return len(perspectives) > 2 and len(found) * 2 < len(perspectives)
