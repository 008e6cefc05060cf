"""Indices into declared shared and local arrays that leave them, found by evaluating every thread."""

from __future__ import annotations

import math

from kernlint.analysis.lanes_access import Touch, element_bytes, element_stride, touch
from kernlint.analysis.lanes_scenario import Scenario, scenarios
from kernlint.ir.expr import Atom, AtomKind, AxisKind, Expr
from kernlint.ir.kernel import Access, Kernel
from kernlint.ir.types import Space
from kernlint.records import dataclass


@dataclass(frozen=True, eq=False)
class Overrun:
    """`thread` touches `element` of an array that has `extent` elements.  `free` names the run-time sizes the witness
    needs to be large; empty when every launch does it."""

    access: Access
    scenario: Scenario
    thread: int
    element: int
    extent: int
    free: tuple[str, ...]


def array_overruns(kernel: Kernel) -> list[Overrun]:
    """One per access, with the launch that shows it; only what rests on no guess."""
    found: list[Overrun] = []
    names = {param.name for param in kernel.params}
    seen: set[tuple[int, str, str]] = set()
    for access in kernel.accesses:
        buffer = access.buffer
        if buffer is None or buffer.extents is None or buffer.space not in (Space.SHARED, Space.LOCAL):
            continue
        same = (id(buffer), access.index.key, access.guard.key)
        if same in seen or access.index.is_opaque or _plainly_inside(access):
            continue
        seen.add(same)
        for scenario in scenarios(kernel):
            overrun = _overrun(access, scenario, names)
            if overrun is not None:
                found.append(overrun)
                break
    return found


def _plainly_inside(access: Access) -> bool:
    """Whether constant bounds of the axes already keep the index inside, as in most unrolled loops."""
    buffer = access.buffer
    extents = [dim.constant for dim in buffer.extents or ()] if buffer is not None else []
    if None in extents or access.pointer.casts or access.width > 1:
        return False
    low = high = 0
    for mono, coeff in access.index.terms:
        if len(mono) > 1:
            return False
        top = _largest(mono[0]) if mono else 1
        if top is None:
            return False
        ends = (coeff, coeff) if not mono else (0, coeff * top)
        low, high = low + min(ends), high + max(ends)
    return low >= 0 and high < math.prod(extent for extent in extents if extent is not None)


def _largest(atom: Atom) -> int | None:
    """The largest value of an atom that starts at 0, when a constant bounds it."""
    if atom.axis is not None:
        extent = atom.axis.extent.constant if atom.axis.extent is not None else None
        return extent - 1 if extent else None
    if atom.kind is AtomKind.MOD and isinstance(atom.args[1], Expr):
        divisor = atom.args[1].constant
        return divisor - 1 if divisor else None
    return None


def _overrun(access: Access, scenario: Scenario, names: set[str]) -> Overrun | None:
    buffer = access.buffer
    if buffer is None or buffer.extents is None:
        return None
    if access.pointer.dtype is None and buffer.dtype is not None:
        return None  # seen through a type that was not understood
    at = scenario.evaluator()
    extent = 1
    for dim in buffer.extents:
        value = at.integer(dim)
        if not isinstance(value, int) or at.used_data:
            return None
        extent *= value
    if not _rests_on_no_guess(access, scenario, buffer.extents, names):
        return None
    size = element_stride(access, scenario)
    in_struct = "element_stride" in access.attrs
    # Without an element type both are counted in elements of one assumed size.
    limit = extent * (buffer.dtype.bytes if buffer.dtype is not None and not in_struct else size)
    for inside in scenario.environments(access.loops, 4):
        touched = touch(access, inside, scenario)
        if touched is None or touched.used_data:
            return None
        thread = _outside(touched, limit)
        if thread is not None:
            where = int(touched.first_byte[thread]) // size
            return Overrun(access, scenario, thread, where, limit // size, _free_sizes(access, scenario))
    return None


def _outside(touched: Touch, limit: int) -> int | None:
    """The first thread that surely touches bytes before 0 or from `limit` on."""
    import numpy as np

    first = touched.first_byte
    outside = np.flatnonzero(touched.active & ((first < 0) | (first + touched.size > limit)))
    return int(outside[0]) if outside.size else None


def _rests_on_no_guess(access: Access, scenario: Scenario, extents: tuple[Expr, ...], known: set[str]) -> bool:
    atoms = set(access.index.deep_atoms) | set(access.guard.deep_atoms)
    for extent in extents:
        atoms |= extent.deep_atoms
    if any(atom.key in scenario.assumed for atom in atoms):
        return False
    if any(atom.kind is AtomKind.PARAM and not atom.args and atom.name not in known for atom in atoms):
        return False  # not a parameter, but a constant of a template or a special register
    return scenario.block_known or not any(
        atom.kind is AtomKind.LAUNCH or (atom.axis is not None and atom.axis.thread) for atom in atoms
    )


def _free_sizes(access: Access, scenario: Scenario) -> tuple[str, ...]:
    """Run-time parameters whose value no launch fixes, in the index or in what bounds it.  A guard over other axes
    (`row < rows` around `best[k]`), or over the whole grid, lets some threads of some block through anyway."""
    bindings = scenario.launch.bindings if scenario.launch is not None else {}
    free: set[str] = set()
    relevant = set(access.index.deep_atoms)
    for part in access.guard.conjuncts():
        shared = part.deep_atoms & access.index.deep_atoms
        over_grid = any(atom.axis is not None and atom.axis.kind is AxisKind.GRID for atom in part.deep_atoms)
        if shared and (not over_grid or any(atom.kind is AtomKind.PARAM for atom in shared)):
            relevant |= part.deep_atoms
    for atom in relevant:
        if atom.kind is AtomKind.PARAM and not atom.args:
            bound = bindings.get(atom.key)
            if bound is None or bound.constant is None:
                free.add(atom.name)
    return tuple(sorted(free))


@dataclass(frozen=True, eq=False)
class Shortage:
    """`thread` touches byte `needed` - 1 of the dynamic shared memory, of which a launch passes `passed` bytes."""

    access: Access
    scenario: Scenario
    thread: int
    needed: int
    passed: int
    fixed: bool  # the number of bytes is a constant


def dynamic_shortages(kernel: Kernel) -> list[Shortage]:
    """Launches that pass fewer bytes than the kernel surely touches; one per launch."""
    found: list[Shortage] = []
    accesses = [a for a in kernel.accesses if a.buffer is not None and a.buffer.dynamic and not a.index.is_opaque]
    for scenario in scenarios(kernel):
        launch = scenario.launch
        asked = launch.shared.expr if launch is not None and launch.shared is not None else None
        passed = scenario.evaluator().integer(asked) if asked is not None else None
        if asked is None or not isinstance(passed, int) or passed <= 0:
            continue
        for access in accesses:
            shortage = _shortage(access, scenario, passed, {param.name for param in kernel.params})
            if shortage is not None:
                found.append(Shortage(access, scenario, *shortage, passed, asked.constant is not None))
                break
    return found


def _shortage(access: Access, scenario: Scenario, passed: int, names: set[str]) -> tuple[int, int] | None:
    if not element_bytes(access, scenario)[1] or not _rests_on_no_guess(access, scenario, (), names):
        return None
    for at in scenario.environments(access.loops, 4):
        touched = touch(access, at, scenario)
        if touched is None or touched.used_data:
            return None
        thread = _outside(touched, passed)
        if thread is not None:
            return thread, int(touched.first_byte[thread]) + touched.size
    return None
