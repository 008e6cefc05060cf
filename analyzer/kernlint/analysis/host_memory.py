"""Tensors handed to a launch: what they hold before it, and which of them share storage."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.launches import view_of
from kernlint.ir.condition import Connective
from kernlint.ir.expr import AtomKind, Axis, AxisKind
from kernlint.ir.host import TensorFacts
from kernlint.ir.kernel import Access, AccessKind, Kernel, Launch
from kernlint.records import dataclass


@dataclass(frozen=True, slots=True)
class DirtyAccumulation:
    """`access` adds to what `tensor` held, and nothing initialised that."""

    access: Access
    param: str
    tensor: TensorFacts
    launch: Launch


def accesses_of(kernel: Kernel, param: str) -> list[Access]:
    """Every access through a pointer parameter, in program order."""
    return [a for a in kernel.accesses if a.buffer is not None and a.buffer.is_param and a.buffer.name == param]


def dirty_accumulations(launch: Launch) -> Iterator[DirtyAccumulation]:
    """Uninitialised allocations that the kernel accumulates into, one per tensor.

    Silent when the kernel stores to the buffer before it adds (a first-iteration store), when another launch of the
    same function wrote it before, or when the tuner zeroes it.
    """
    kernel = launch.kernel
    if kernel is None:
        return
    for name, value in sorted(launch.arguments.items()):
        tensor = value.tensor
        if tensor is None or tensor.init != "empty" or _written_before(launch, tensor):
            continue
        view = view_of(kernel, launch)
        touching = [a for a in accesses_of(kernel, name) if view.condition(a.guard).op is not Connective.FALSE]
        if not touching or any(a.kind is AccessKind.STORE for a in touching):
            continue
        adding = [a for a in touching if a.kind is AccessKind.ATOMIC and a.op not in ("exch", "cas", "xchg")]
        if adding:
            yield DirtyAccumulation(adding[0], name, tensor, launch)


def storage_name(tensor: TensorFacts) -> str:
    return tensor.alias_of or tensor.name


def _written_before(launch: Launch, tensor: TensorFacts) -> bool:
    """Whether an earlier launch in the same host function receives the tensor (it may well have written it)."""
    if launch.host is None:
        return False
    for other in launch.host.launches:
        if other is launch or other.span.start >= launch.span.start:
            continue
        for value in (*other.positional, *other.keywords.values(), *other.arguments.values()):
            if value.tensor is not None and storage_name(value.tensor) == storage_name(tensor):
                return True
    return False


@dataclass(frozen=True, slots=True)
class InputOverwritten:
    """A launch writes a tensor that the caller handed in to be differentiated."""

    launch: Launch
    param: str
    tensor: TensorFacts
    store: Access
    read_as: str  # the parameter it is read through


def overwritten_inputs(launch: Launch) -> Iterator[InputOverwritten]:
    """Stores into the inputs of an `autograd.Function.forward`, through an alias made in the function itself.

    Only tensors that reach the launch under another name than the input's are looked at: passing the input itself as
    the output is a visible decision, an alias made on the way is not.
    """
    kernel, function = launch.kernel, launch.host
    if kernel is None or function is None or function.name != "forward" or not function.class_name:
        return
    if "mark_dirty" in " ".join(function.calls):
        return
    inputs = set(function.parameters[1:])
    for name, value in sorted(launch.arguments.items()):
        tensor = value.tensor
        if tensor is None or not tensor.alias_of or storage_name(tensor) not in inputs or tensor.init != "given":
            continue
        stores = [a for a in accesses_of(kernel, name) if a.writes]
        readers = [
            other
            for other, v in sorted(launch.arguments.items())
            if other != name
            and v.tensor is not None
            and storage_name(v.tensor) == storage_name(tensor)
            and any(a.reads for a in accesses_of(kernel, other))
        ]
        if stores and readers:
            yield InputOverwritten(launch, name, tensor, stores[0], readers[0])


@dataclass(frozen=True, slots=True)
class RacingAddition:
    """Several programs along `axis` add floating-point numbers to one element."""

    access: Access
    axis: Axis


def racing_additions(kernel: Kernel) -> Iterator[RacingAddition]:
    """Floating-point atomic additions whose target does not tell the programs along some grid axis apart."""
    for access in kernel.accesses:
        if access.kind is not AccessKind.ATOMIC or access.op not in ("add", "sub") or access.index.is_opaque:
            continue
        dtype = access.dtype or access.pointer.dtype
        if dtype is None or not dtype.is_float:
            continue
        if any(atom.kind is AtomKind.LOAD for atom in access.index.deep_atoms):
            continue
        axis = _undistinguished_axis(access, kernel)
        if axis is not None:
            yield RacingAddition(access, axis)


def _undistinguished_axis(access: Access, kernel: Kernel) -> Axis | None:
    in_target = {a.axis.key for a in access.index.deep_atoms if a.axis is not None}
    for other in kernel.accesses:
        if other.kind is not AccessKind.LOAD:
            continue
        for atom in sorted(other.index.deep_atoms | other.guard.deep_atoms, key=lambda a: a.key):
            axis = atom.axis
            if axis is not None and axis.kind is AxisKind.GRID and axis.key not in in_target:
                return axis
    return None
