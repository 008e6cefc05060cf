"""Strides of the lane axes of Triton tiles."""

from __future__ import annotations

from kernlint.analysis.launches import is_compile_time, views
from kernlint.ir.expr import Atom, AtomKind, Axis, AxisKind, Expr, axes_of, axis_expr
from kernlint.ir.kernel import Access, Kernel
from kernlint.records import dataclass

LARGE = 1 << 20
MIN_LANES = 16  # a tile axis shorter than this does not fill a request


@dataclass(frozen=True)
class TileStride:
    """The smallest distance between neighbours along any lane axis: `elements`, or a row length `text` of unknown but
    large size (`elements` is then LARGE)."""

    elements: int
    text: str


def fastest_stride(access: Access, kernel: Kernel) -> TileStride | None:
    """None when the distance along some axis is not known for some launch, or the index is a gather."""
    if any(atom.kind in (AtomKind.LOAD, AtomKind.OPAQUE) for atom in access.index.deep_atoms):
        return None
    least: TileStride | None = None
    for view in views(kernel):
        index = view.of(access.index)
        axes = [axis for axis in axes_of(index) if axis.kind is AxisKind.LANE]
        if not axes:
            return None
        for axis in axes:
            stride = _stride(index, axis)
            if stride is None:
                return None
            if axis.extent is not None and (axis.extent.constant or MIN_LANES) < 2:
                continue
            least = stride if least is None or stride.elements < least.elements else least
    return least


def _stride(index: Expr, axis: Axis) -> TileStride | None:
    atom = axis_expr(axis).single_atom
    coefficient = index.coefficient(atom) if atom is not None else None
    if coefficient is None:
        return None
    if coefficient.constant is not None:
        return TileStride(abs(coefficient.constant), str(abs(coefficient.constant)))
    if len(coefficient.terms) == 1 and all(_is_length(a) for a in coefficient.deep_atoms):
        return TileStride(LARGE, f"`{coefficient!r}`")
    return None


def _is_length(atom: Atom) -> bool:
    """A length a launch passes, as opposed to a stride, which may be 1."""
    return atom.kind is AtomKind.HOST and not atom.args and (".shape[" in atom.name or ".size(" in atom.name)


def walks_contiguously(access: Access, kernel: Kernel) -> bool:
    """Whether a loop of run-time length takes neighbouring elements one after the other: the axis lanes should have.

    Loops over a compile-time number of neighbours (a filter's taps, the k of a top-k) make a few sectors whole.
    """
    for loop in access.loops:
        count = loop.trip_count if loop.trip_count is not None else loop.stop
        if loop.unrolled or (count is not None and is_compile_time(count, kernel)):
            continue
        atom = axis_expr(loop.axis).single_atom
        coefficient = access.index.coefficient(atom) if atom is not None else None
        if coefficient is not None and coefficient.constant in (1, -1):
            return True
    return False


def has_companion(access: Access, kernel: Kernel, stride: int) -> bool:
    """Whether other accesses to the same buffer take the elements in between, as code on interleaved pairs does."""
    for other in kernel.accesses:
        if other is not access and other.buffer is access.buffer:
            distance = (other.index - access.index).constant
            if distance is not None and 0 < abs(distance) < stride:
                return True
    return False
