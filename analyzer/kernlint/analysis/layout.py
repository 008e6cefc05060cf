"""Tensors indexed by strides that are not their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kernlint.analysis.host_memory import accesses_of, storage_name
from kernlint.analysis.launches import LaunchView, view_of
from kernlint.analysis.tiles import axis_atom, coordinates, lanes_of
from kernlint.ir.expr import ONE, AxisKind, axes_of
from kernlint.ir.host import TensorFacts
from kernlint.ir.kernel import Access, Launch
from kernlint.records import dataclass


@dataclass(frozen=True, slots=True)
class BorrowedLayout:
    """`access` walks `tensor`, of unknown layout, by the rows of `owner`, whose layout was made contiguous.

    `owner` is None when `tensor` is known not to be contiguous and is walked as one flat array.
    """

    param: str
    tensor: TensorFacts
    owner: TensorFacts | None
    access: Access
    launch: Launch


def borrowed_layouts(launch: Launch) -> Iterator[BorrowedLayout]:
    """Parameters whose layout nobody checks although a sibling's is, and that are indexed by the sibling's row length.

    Layout is taken as unknown only for tensors the function was given; views and results of host operators are left
    alone.  The sibling must have been made contiguous, or checked, in the same function: that shows what the author
    expects of callers.
    """
    kernel = launch.kernel
    if kernel is None:
        return
    view = view_of(kernel, launch)
    tensors = {name: v.tensor for name, v in launch.arguments.items() if v.tensor is not None}
    owners = [t for t in tensors.values() if t.contiguous is True and t.init in ("given", "computed")]
    for name, tensor in sorted(tensors.items()):
        if tensor.contiguous is False:
            flat = next((a for a in accesses_of(kernel, name) if _ignores_strides(a, tensor, view)), None)
            if flat is not None:
                yield BorrowedLayout(name, tensor, None, flat, launch)
            continue
        if tensor.contiguous is True and tensor.init in ("empty", "zeros", "full"):
            foreign = (
                None if _is_backward(launch) else _foreign_strides(accesses_of(kernel, name), tensor, tensors, view)
            )
            if foreign is not None:
                yield BorrowedLayout(name, tensor, foreign[0], foreign[1], launch)
            continue
        if tensor.contiguous is not None or tensor.init != "given" or tensor.alias_of:
            continue
        for access in accesses_of(kernel, name):
            owner = _owner(access, tensor, owners, view)
            if owner is not None:
                yield BorrowedLayout(name, tensor, owner, access, launch)
                break


def _is_backward(launch: Launch) -> bool:
    """Whether the function differentiates: what it was given was made, densely, by its forward."""
    host = launch.host
    if host is None:
        return False
    return "ctx" in host.parameters or any(word in host.name.lower() for word in ("backward", "bwd"))


def _foreign_strides(
    accesses: list[Access], tensor: TensorFacts, tensors: Mapping[str, TensorFacts], view: LaunchView
) -> tuple[TensorFacts, Access] | None:
    """A fresh, dense tensor walked by `x.stride(i)` of a tensor whose layout nobody checked."""
    loose = [t for t in tensors.values() if t.contiguous is None and t.init == "given" and not t.alias_of]
    for access in accesses:
        strides = {a.name for a in view.of(access.index).atoms() if ".stride(" in a.name}
        if any(name.startswith(f"{storage_name(tensor)}.") for name in strides):
            continue
        for other in loose:
            if any(name.startswith(f"{other.name}.stride(") for name in strides):
                return other, access
    return None


def _ignores_strides(access: Access, tensor: TensorFacts, view: LaunchView) -> bool:
    """Whether the index walks the tensor as if it were contiguous: flat, or by row lengths that are not its strides."""
    if _is_flat(access):
        return True
    if tensor.strides is None or access.index.is_opaque or not lanes_of(access.index):
        return False
    own = {stride for stride in tensor.strides if stride is not None}
    steps = {view.of(factor) for axis in axes_of(access.index) if (factor := access.index.coefficient(axis_atom(axis)))}
    runtime = {step for step in steps if step.terms and step.constant is None}
    if len(own) < len(tensor.strides) or not runtime or tensor.shape is None:
        return False
    lengths = {extent for extent in tensor.shape if extent is not None}
    dense = ONE  # strides it would have if it were contiguous
    for extent in reversed(tensor.shape):
        dense = dense * extent if extent is not None else dense
        lengths.add(dense)
    return runtime <= lengths and not (runtime & own)


def _is_flat(access: Access) -> bool:
    """Whether the index is one tiled coordinate with stride 1 and nothing else."""
    found = coordinates(access)
    return (
        len(found) == 1
        and found[0].is_tiled
        and found[0].stride == ONE
        and found[0].expr + found[0].shift == access.index
    )


def _owner(access: Access, tensor: TensorFacts, owners: list[TensorFacts], view: LaunchView) -> TensorFacts | None:
    """The sibling whose stride or row length multiplies the row of this access."""
    lanes = lanes_of(access.index)
    rows = [a for a in access.index.deep_atoms if a.axis is not None and a.axis.kind is AxisKind.GRID]
    if not lanes or not rows or access.index.is_opaque:
        return None
    atoms = {atom.name for atom in view.host_atoms(access.index)}
    if any(_belongs(name, storage_name(tensor)) for name in atoms):
        return None
    for owner in owners:
        if any(_belongs(name, owner.name) for name in atoms):
            return owner
    return None


def _belongs(atom: str, tensor: str) -> bool:
    return atom.startswith((f"{tensor}.stride(", f"{tensor}.shape[", f"{tensor}.size("))
