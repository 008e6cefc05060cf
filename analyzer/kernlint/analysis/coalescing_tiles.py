"""Strides of the lane axes of Triton tiles."""

from __future__ import annotations

from kernlint.analysis.launches import views
from kernlint.ir.expr import AtomKind, Axis, AxisKind, Expr, axes_of, axis_expr
from kernlint.ir.kernel import Access, Kernel

MIN_LANES = 16  # a tile axis shorter than this does not fill a request


def lane_axes(access: Access) -> list[Axis]:
    return [axis for axis in axes_of(access.index) if axis.kind is AxisKind.LANE]


def fastest_stride(access: Access, kernel: Kernel) -> int | None:
    """The smallest distance in elements between neighbours along any lane axis, when every axis's distance is a known
    constant for every launch; None when one is not, or the index is a gather."""
    if any(atom.kind in (AtomKind.LOAD, AtomKind.OPAQUE) for atom in access.index.deep_atoms):
        return None
    least: int | None = None
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
            least = stride if least is None else min(least, stride)
    return least


def _stride(index: Expr, axis: Axis) -> int | None:
    atom = axis_expr(axis).single_atom
    coefficient = index.coefficient(atom) if atom is not None else None
    value = coefficient.constant if coefficient is not None else None
    return abs(value) if value is not None else None


def has_companion(access: Access, kernel: Kernel, stride: int) -> bool:
    """Whether other accesses to the same buffer take the elements in between, as code on interleaved pairs does."""
    for other in kernel.accesses:
        if other is not access and other.buffer is access.buffer:
            distance = (other.index - access.index).constant
            if distance is not None and 0 < abs(distance) < stride:
                return True
    return False
