"""Vector accesses through reinterpreted pointers whose byte offset need not be a multiple of the vector.

What counts is the offset at the cast from float* to float4*: elements added later are whole vectors.
"""

from __future__ import annotations

from kernlint.analysis.lanes import spread, spread_lanes
from kernlint.analysis.lanes_scenario import scenarios
from kernlint.ir.condition import Condition, conj
from kernlint.ir.expr import ZERO, Atom, AtomKind, Expr
from kernlint.ir.kernel import Access, Kernel
from kernlint.ir.types import Span
from kernlint.ir.value import Value
from kernlint.records import dataclass

MAX_CHAIN = 60  # values followed from an access back to the cast


@dataclass(frozen=True, eq=False)
class Misaligned:
    """`bytes` moved at once by each thread; `term` the part of the offset that need not be a multiple; `sizes` the
    run-time numbers in it; `constant` when no run-time number is needed to misalign it.  `cast` is where the pointer
    was reinterpreted or, when a helper does that to the pointer it is given, the call with the offset."""

    access: Access
    bytes: int
    term: Expr
    sizes: tuple[Atom, ...]
    constant: bool
    cast: Span | None = None
    guessed: bool = False  # whether it rests on compile-time numbers that are not known


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
        cast = _cast_behind(access)
        source = cast.args[0].pointer if cast is not None else None
        if cast is None or source is None or source.dtype is None or source.dtype.bytes >= dtype.bytes:
            continue
        offset = source.offset * source.dtype.bytes
        terms = [Expr({mono: coeff}) for mono, coeff in offset.terms if coeff % dtype.bytes]
        if not terms or _is_checked(offset):
            continue
        fixed = [t for t in terms if not any(_is_size(a) for a in t.deep_atoms)]
        if fixed and _takes_two_residues(fixed, access, dtype.bytes, kernel):
            terms = fixed
        elif not _is_misaligned_somewhere(offset, access, dtype.bytes, kernel):
            continue
        sizes = sorted({a for term in terms for a in term.deep_atoms if _is_size(a)}, key=lambda a: a.key)
        worst = next((t for t in terms if any(_is_size(a) for a in t.deep_atoms)), terms[0])
        span = cast.span if cast.span is not None and cast.span.path == access.span.path else None
        span = _call_with(worst, cast, access) or span
        assumed = {key for scenario in scenarios(kernel) for key in scenario.assumed}
        guessed = any(atom.key in assumed for term in terms for atom in term.deep_atoms)
        found.append(Misaligned(access, dtype.bytes, worst, tuple(sizes), not sizes, span, guessed))
    return found


def _takes_two_residues(terms: list[Expr], access: Access, size: int, kernel: Kernel) -> bool:
    """Whether these terms differ modulo the vector between threads or turns: then not all are aligned, whatever is
    added to them.  Only guards over the same axes matter."""
    import numpy as np

    total = sum(terms, start=ZERO)
    axes = {atom for atom in total.deep_atoms if atom.axis is not None}
    guard = conj(part for part in access.guard.conjuncts() if not axes.isdisjoint(part.deep_atoms))
    for scenario in scenarios(kernel):
        residues: set[int] = set()
        for at in scenario.environments(access.loops, 4):
            at.used_data = False
            value = at.integer(total)
            must = spread(at.truth(guard)[0], scenario.block.threads)
            if value is None or at.used_data:
                return False
            residues |= set(np.mod(spread_lanes(value, scenario.block.threads)[must], size).tolist())
        if len(residues) < 2:
            return False
    return True


def _call_with(term: Expr, cast: Value, access: Access) -> Span | None:
    """The call that hands the misaligned pointer to the helper that reinterprets it, when one does."""
    value, span = cast.args[0], None
    leaves = {atom for atom in term.deep_atoms if not atom.args}
    for _ in range(MAX_CHAIN):
        if value.pointer is None or not leaves <= value.pointer.offset.deep_atoms:
            break
        span = value.span or span
        if not value.args:
            break
        value = value.args[0]
    if span is None:
        return None
    around = (call for call in access.inlined_at if call.path == span.path and call.start <= span.start < call.end)
    return next(around, None)


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


def _cast_behind(access: Access) -> Value | None:
    """The cast that gave the access's pointer its type."""
    value = access.attrs.get("address")
    for _ in range(MAX_CHAIN):
        if not isinstance(value, Value):
            return None
        if value.op == "cast" and value.args and value.pointer is not None:
            before = value.args[0].pointer
            if before is not None and before.dtype != value.pointer.dtype == access.pointer.dtype:
                return value
        value = value.args[0] if value.args else None
    return None


def _is_size(atom: Atom) -> bool:
    return atom.kind in (AtomKind.PARAM, AtomKind.HOST) and not atom.args


def _checks_address(guard: Condition) -> bool:
    """Whether something opaque takes part in the decision to go here: an address test, a flag from the caller."""
    return bool(guard.flags) or _is_checked(guard)


def _is_checked(part: Condition | Expr) -> bool:
    """Whether a remainder, bits or a choice that is the same for all threads is involved: code that looks after
    alignment itself."""
    for atom in part.deep_atoms:
        if atom.kind is AtomKind.OPAQUE:
            return True
        if atom.kind in (AtomKind.SELECT, AtomKind.MOD, AtomKind.BITAND):
            inner = {atom}.union(*(arg.deep_atoms for arg in atom.args))
            if not any(a.axis is not None for a in inner):
                return True
    return False
