"""Which programs or blocks write an element: stores whose index does not tell programs apart."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.extents import is_external
from kernlint.analysis.launches import LaunchView, view_of
from kernlint.analysis.prove import provable
from kernlint.analysis.tiles import axis_atom
from kernlint.finding import Confidence
from kernlint.ir.condition import Condition, at_most
from kernlint.ir.expr import ONE, Atom, AtomKind, Axis, AxisKind, brief
from kernlint.ir.kernel import Access, AccessKind, Kernel
from kernlint.ir.types import Space, Span
from kernlint.ir.value import Value, ancestors
from kernlint.records import dataclass


@dataclass(frozen=True, slots=True)
class SharedStore:
    """Every program along `axis` stores to the same elements of the buffer."""

    access: Access
    axis: Axis
    programs: str
    value_differs: bool  # the stored value depends on the program along that axis
    where: Span
    confidence: Confidence


def shared_stores(kernel: Kernel) -> Iterator[SharedStore]:
    """Stores that several programs of a known launch make to one element."""
    axes = _used_grid_axes(kernel)
    for launch in kernel.launches:
        view = view_of(kernel, launch)
        for access in kernel.accesses:
            if access.kind is not AccessKind.STORE or not is_external(access) or access.index.is_opaque:
                continue
            for axis in axes:
                programs = view.grid(axis)
                if programs is None or programs.is_opaque or (programs.constant or 2) <= 1:
                    continue
                if _tells_apart(access, axis) or _only_one(access, axis, view):
                    continue
                differs = access.value is not None and _depends_on(access.value, axis, kernel)
                tuned = any(f"p:{name}" in {atom.key for atom in programs.deep_atoms} for name in kernel.heuristics)
                confidence = Confidence.MEDIUM if tuned else Confidence.HIGH
                if _depends_on_configuration(access, view):
                    confidence = Confidence.LOW
                yield SharedStore(access, axis, brief(programs), differs, launch.span, confidence)


def _used_grid_axes(kernel: Kernel) -> tuple[Axis, ...]:
    """Grid axes the kernel reads at all; one it never reads is another kind of fault (or deliberate repetition)."""
    found: dict[str, Axis] = {}
    for access in kernel.accesses:
        for atom in access.index.deep_atoms | access.guard.deep_atoms:
            if atom.axis is not None and atom.axis.kind is AxisKind.GRID:
                found[atom.axis.key] = atom.axis
    return tuple(found[key] for key in sorted(found))


def _tells_apart(access: Access, axis: Axis) -> bool:
    """Whether the index or the guard depends on the axis, or on something that may."""
    atoms = access.index.deep_atoms | access.guard.deep_atoms
    if axis_atom(axis) in atoms or access.guard.flags:
        return True
    # A loaded offset (an expert's start, a row's slot) may well differ per program.
    return any(_may_vary(atom) for atom in atoms)


def _only_one(access: Access, axis: Axis, view: LaunchView) -> bool:
    """Whether the guard says that there is a single program along the axis (`if SPLIT_K == 1: store`)."""
    if view.launch is None or view.launch.grid is None or axis.index >= len(view.launch.grid):
        return False
    written = view.launch.grid[axis.index].expr
    known = [part for part in access.guard.conjuncts() if part.expr is not None]
    known += [view.condition(part) for part in known]
    programs = [size for size in (written, view.grid(axis)) if size is not None]
    return any(provable(at_most(size, ONE), known) for size in programs)


def _depends_on_configuration(access: Access, view: LaunchView) -> bool:
    """Whether the store happens only for some values of compile-time parameters that the launch leaves open."""
    return any(_is_compile_time(view.condition(part), view.kernel) for part in access.guard.conjuncts())


def _is_compile_time(condition: Condition, kernel: Kernel) -> bool:
    keys = kernel.compile_time_keys
    return bool(condition.deep_atoms) and all(atom.key in keys for atom in condition.deep_atoms)


def _may_vary(atom: Atom) -> bool:
    if atom.kind in (AtomKind.LOAD, AtomKind.OPAQUE):
        return True
    return atom.axis is not None and atom.axis.kind is AxisKind.LOOP and atom.axis.extent is None


def _depends_on(value: Value, axis: Axis, kernel: Kernel) -> bool:
    """Whether the value may differ between programs along the axis; what comes back from shared memory may when the
    kernel reads anything at such an index."""
    atom = axis_atom(axis)
    reads = any(is_external(a) and a.reads and atom in a.index.deep_atoms for a in kernel.accesses)
    for part in ancestors(value):
        if part.expr is not None and atom in part.expr.deep_atoms:
            return True
        access = part.access
        if access is not None and reads and access.space in (Space.SHARED, Space.LOCAL):
            return True
        if access is not None and (atom in access.index.deep_atoms or atom in access.guard.deep_atoms):
            return True
    return False


@dataclass(frozen=True, slots=True)
class LostUpdate:
    """`store` puts back what `load` read from the same data-dependent element, plus something: not one atomic step."""

    store: Access
    load: Access


def lost_updates(kernel: Kernel) -> Iterator[LostUpdate]:
    """Read-modify-writes at an index read from memory by each lane: two lanes with one index lose an update."""
    for store in kernel.accesses:
        if store.kind is not AccessKind.STORE or not is_external(store) or store.value is None or store.index.is_opaque:
            continue
        if not any(atom.kind is AtomKind.LOAD and _varies(atom) for atom in store.index.atoms()):
            continue
        if _lane_owns(store):
            continue
        for part in ancestors(store.value, 400):
            load = part.access
            if part.op == "load" and load is not None and load.buffer is store.buffer and load.index == store.index:
                yield LostUpdate(store, load)
                break


def _varies(atom: Atom) -> bool:
    """Whether lanes or programs read different indices, by a name that does not promise distinct ones."""
    if any(word in atom.name.lower() for word in ("sort", "perm", "order", "unique", "slot")):
        return False
    return any(a.axis is not None and a.axis.kind is not AxisKind.LOOP for arg in atom.args for a in arg.deep_atoms)


def _lane_owns(store: Access) -> bool:
    """Whether a lane's own number is added to the loaded index (a row of a page table): lanes then differ anyway."""
    return any(atom.axis is not None and atom.axis.kind is not AxisKind.LOOP for atom in store.index.atoms())
