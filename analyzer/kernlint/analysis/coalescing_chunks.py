"""Per-thread chunks: neighbouring elements that one thread takes one after the other."""

from __future__ import annotations

from kernlint.ir.expr import AtomKind, Axis, Expr, axes_of, axis_expr
from kernlint.ir.kernel import Access, Kernel, ParamRole

MAX_CHUNK = 16  # elements


def takes_neighbours(access: Access, kernel: Kernel) -> bool:
    """Whether unrolled code has the same thread take elements next to this one, so that the compiler may join the
    accesses, or the lines are still in the cache for the next."""
    if any(loop.unrolled and _step(access.index, loop.axis) in (1, -1) for loop in access.loops):
        return True
    return any(
        abs(distance) < MAX_CHUNK
        for other in _alike(access, kernel)
        if (distance := (other.index - access.index).constant)
    )


def shifted(a: Access, b: Access) -> bool:
    """Whether two accesses touch the same pattern at a distance that is the same for all threads."""
    return not any(axis.thread for axis in axes_of(a.index - b.index))


def fills_its_chunk(access: Access, kernel: Kernel, stride: int) -> bool:
    """Whether a thread takes at least half of the `stride` elements between it and its neighbour, in unrolled code:
    then the lines are used up, if in several requests.  Fields picked out of a structure are not like that."""
    if any(loop.unrolled and _step(access.index, loop.axis) in (1, -1) for loop in access.loops):
        return True
    distances = {(other.index - access.index).constant for other in _alike(access, kernel)}
    taken = {distance for distance in distances if distance is not None and abs(distance) < abs(stride)}
    return 2 * len(taken) >= abs(stride)


def _step(index: Expr, axis: Axis) -> int | None:
    atom = axis_expr(axis).single_atom
    coefficient = index.coefficient(atom) if atom is not None else None
    return coefficient.constant if coefficient is not None else None


def _alike(access: Access, kernel: Kernel) -> list[Access]:
    """Other accesses of the same kind to the same buffer under the same control flow."""
    groups: dict[tuple[object, ...], list[Access]] | None = kernel.attrs.get("accesses alike")
    if groups is None:
        groups = kernel.attrs["accesses alike"] = {}
        for item in kernel.accesses:
            groups.setdefault(_group(item), []).append(item)
    return groups[_group(access)][:200]


def _group(access: Access) -> tuple[object, ...]:
    return (id(access.buffer), access.writes, *(id(frame.loop or frame.branch) for frame in access.path))


def is_compile_time_chunk(stride: Expr | None, kernel: Kernel) -> bool:
    """Whether the distance between threads is a compile-time parameter, as the vector length of a vector type or the
    items per thread are."""
    if stride is None:
        return False
    names = {p.name for p in kernel.params if p.role is ParamRole.CONSTEXPR}
    return any(
        a.kind is AtomKind.PARAM and (a.name in names or kernel.param(a.name) is None) for a in stride.deep_atoms
    )
