"""Vector accesses through reinterpreted pointers whose element offset need not be a multiple of the vector.

A pointer to float4 made from a pointer to float counts `floordiv(4*offset, 16)` elements; when the offset is a
multiple the division disappears or can be shown to be exact, and when it is not the address is rounded in the IR but
misaligned on the device.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kernlint.analysis.lanes_scenario import scenarios
from kernlint.ir.condition import Condition, Connective
from kernlint.ir.expr import Atom, AtomKind, Expr
from kernlint.ir.kernel import Access, Kernel
from kernlint.ir.types import Span
from kernlint.ir.value import Value, ancestors


@dataclass(frozen=True, eq=False)
class Misaligned:
    """`bytes` moved at once by each thread; `term` the part of the offset that need not be a multiple; `sizes` the
    run-time numbers in it; `constant` when no run-time number is needed to misalign it."""

    access: Access
    bytes: int
    term: Expr
    sizes: tuple[Atom, ...]
    constant: bool
    cast: Span | None = None  # where the pointer was reinterpreted


def misaligned_accesses(kernel: Kernel) -> list[Misaligned]:
    """Accesses with an offset nothing shows to be a multiple of the vector and nothing in the kernel checks."""
    found: list[Misaligned] = []
    seen: set[tuple[int, str, str]] = set()
    for access in kernel.accesses:
        dtype = access.pointer.dtype
        if dtype is None or dtype.bytes < 4 or not access.pointer.casts or access.buffer is None:
            continue
        same = (id(access.buffer), access.index.key, access.guard.key)
        if access.pointer.casts[-1].bytes >= dtype.bytes or _checks_address(access.guard) or same in seen:
            continue
        seen.add(same)
        for atom in access.index.atoms():
            offset = _byte_offset(atom, dtype.bytes)
            if offset is None or _checks_address(atom):
                continue
            terms = [Expr({m: c}) for m, c in offset.terms if c % dtype.bytes]
            if terms and _is_misaligned_somewhere(offset, access, dtype.bytes, kernel):
                sizes = sorted({a for term in terms for a in term.deep_atoms if _is_size(a)}, key=lambda a: a.key)
                worst = next((t for t in terms if any(_is_size(a) for a in t.deep_atoms)), terms[0])
                found.append(Misaligned(access, dtype.bytes, worst, tuple(sizes), not sizes, _cast_span(access)))
                break
    return found


def _is_misaligned_somewhere(offset: Expr, access: Access, size: int, kernel: Kernel) -> bool:
    """Whether some thread that surely does the access has a byte offset that is no multiple, in every known launch.
    Sizes are primes unless something is known about them."""
    import numpy as np

    for scenario in scenarios(kernel):
        shown = False
        for at in scenario.environments(access.loops, 4):
            at.used_data = False
            value = at.integer(offset)
            must, _ = at.truth(access.guard)
            if value is None or at.used_data:
                return False
            if np.any(np.logical_and(must, np.not_equal(np.mod(value, size), 0))):
                shown = True
                break
        if not shown:
            return False
    return True


def _cast_span(access: Access) -> Span | None:
    """The cast that gave the access's pointer its type."""
    address = access.attrs.get("address")
    if not isinstance(address, Value):
        return None
    for value in ancestors(address, 60):
        if value.op == "cast" and value.pointer is not None and value.pointer.dtype == access.pointer.dtype:
            return value.span if value.span is not None and value.span.path == access.span.path else None
    return None


def _is_size(atom: Atom) -> bool:
    return atom.kind in (AtomKind.PARAM, AtomKind.HOST) and not atom.args


def _byte_offset(atom: Atom, size: int) -> Expr | None:
    """The byte offset in `floordiv(offset, size)`."""
    if atom.kind is not AtomKind.FLOORDIV:
        return None
    top, divisor = atom.args
    if not isinstance(top, Expr) or not isinstance(divisor, Expr) or divisor.constant != size:
        return None
    return top


def _checks_address(part: Condition | Atom) -> bool:
    """Whether something opaque takes part in the decision: an address test, a flag handed in by the caller."""
    leaves: Iterator[Condition] = part.leaves() if isinstance(part, Condition) else iter(())
    if any(leaf.op is Connective.FLAG for leaf in leaves):
        return True
    atoms = part.deep_atoms if isinstance(part, Condition) else frozenset({part}) | _inside(part)
    if any(atom.kind in (AtomKind.OPAQUE, AtomKind.BITAND) for atom in atoms):
        return True
    return any(
        atom.kind in (AtomKind.SELECT, AtomKind.MOD)
        and not any(a.axis is not None for a in frozenset({atom}) | _inside(atom))
        for atom in atoms
    )


def _inside(atom: Atom) -> frozenset[Atom]:
    found: frozenset[Atom] = frozenset()
    for arg in atom.args:
        found |= arg.deep_atoms
    return found
