"""Vector accesses through reinterpreted pointers whose element offset need not be a multiple of the vector.

A pointer to float4 made from a pointer to float counts `floordiv(4*offset, 16)` elements; when the offset is a
multiple the division disappears or can be shown to be exact, and when it is not the address is rounded in the IR but
misaligned on the device.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kernlint.analysis.prove import divisibility_facts
from kernlint.ir.condition import Condition, Connective
from kernlint.ir.expr import Atom, AtomKind, Expr, Monomial
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
    known = [(a, b) for a, b in divisibility_facts(kernel.facts)]
    for access in kernel.accesses:
        dtype = access.pointer.dtype
        if dtype is None or dtype.bytes < 4 or not access.pointer.casts or access.buffer is None:
            continue
        if access.pointer.casts[-1].bytes >= dtype.bytes or _checks_address(access.guard):
            continue
        for atom in access.index.atoms():
            problem = _inexact(atom, dtype.bytes, [*known, *divisibility_facts([access.guard])])
            if problem is None or _checks_address(atom):
                continue
            sizes = tuple(sorted((a for a in problem.deep_atoms if _is_size(a)), key=lambda a: a.key))
            unknown = any(a.kind in (AtomKind.OPAQUE, AtomKind.LOAD, AtomKind.SELECT) for a in problem.deep_atoms)
            if not unknown:
                found.append(Misaligned(access, dtype.bytes, problem, sizes, not sizes, _cast_span(access)))
                break
    return found


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


def _inexact(atom: Atom, size: int, known: Iterable[tuple[Expr, Expr]]) -> Expr | None:
    """The first term of a rounded byte offset that is not known to be a multiple of `size`."""
    if atom.kind is not AtomKind.FLOORDIV:
        return None
    top, divisor = atom.args
    if not isinstance(top, Expr) or not isinstance(divisor, Expr) or divisor.constant != size:
        return None
    multiples = {a.single_atom.key: b.constant for a, b in known if a.single_atom is not None and b.constant}
    for mono, coeff in top.terms:
        if not _is_multiple(mono, coeff, size, multiples):
            return Expr({mono: coeff})
    return None


def _is_multiple(mono: Monomial, coeff: int, size: int, multiples: dict[str, int]) -> bool:
    total = coeff
    for atom in mono:
        total *= multiples.get(atom.key) or 1
    return total % size == 0


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
