"""How far neighbouring threads are apart, symbolically, and whether that distance is known to be large."""

from __future__ import annotations

from kernlint.analysis.lanes import WARP
from kernlint.analysis.lanes_access import element_stride, moved_bytes
from kernlint.analysis.lanes_scenario import scenarios
from kernlint.ir.condition import Condition
from kernlint.ir.expr import Atom, AtomKind, Axis, AxisKind, Expr, axis_expr
from kernlint.ir.kernel import Access, Kernel, ParamRole

_THREAD_X = axis_expr(Axis(AxisKind.LANE, "t0", "threadIdx.x", None, 0, True)).single_atom
_WORD_BYTES = 4
# A parameter named so may well be 1.
_STRIDE_WORDS = ("stride", "step", "inc", "pitch", "jump", "dilation", "interval")


def lane_stride(access: Access) -> Expr | None:
    """Elements between threads with neighbouring threadIdx.x; None when the index is not linear in it."""
    return access.index.coefficient(_THREAD_X) if _THREAD_X is not None else None


def takes_neighbouring_words(access: Access, kernel: Kernel) -> bool:
    """Whether each warp surely takes words of at most four bytes side by side, as in `x[first + threadIdx.x]`.

    A full warp's words lie in at most five sectors, of which at least two are needed."""
    stride = lane_stride(access)
    if stride is None or stride.constant != 1 or _THREAD_X is None:
        return False
    linear = ((_THREAD_X,), 1)
    if any(term != linear and any(_is_per_thread(atom) for atom in term[0]) for term in access.index.terms):
        return False
    return all(
        (scenario.block.x % WARP == 0 or scenario.block.x == scenario.block.threads)
        and moved_bytes(access, scenario) == element_stride(access, scenario) <= _WORD_BYTES
        for scenario in scenarios(kernel)
    )


def is_gather(access: Access) -> bool:
    """Whether the index depends on data that each thread loads for itself, or was not understood.  A loaded number
    that is the same for all threads (`slot[blockIdx.x]`) moves the whole request."""
    return any(
        atom.kind is AtomKind.OPAQUE or (atom.kind is AtomKind.LOAD and (not atom.args or _is_per_thread(atom)))
        for atom in access.index.deep_atoms
    )


def has_stride_of_unknown_size(index: Expr, kernel: Kernel) -> bool:
    """Whether something per-thread is multiplied by a parameter that may be 1."""
    for mono, _ in index.terms:
        per_thread = [atom for atom in mono if _is_per_thread(atom)]
        if per_thread and any(a.kind is AtomKind.PARAM and not _is_size(a, kernel) for a in mono):
            return True
    return False


def _is_per_thread(atom: Atom) -> bool:
    inner = {atom}.union(*(arg.deep_atoms for arg in atom.args))
    return any(a.axis is not None and a.axis.thread for a in inner)


def is_large(stride: Expr, kernel: Kernel) -> bool:
    """Whether a stride is a constant, or a product with sizes in it: lengths that bound loops or guards."""
    for atom in stride.deep_atoms:
        if atom.kind is AtomKind.PARAM and not _is_size(atom, kernel):
            return False
        if atom.kind not in (AtomKind.PARAM, AtomKind.AXIS, AtomKind.LAUNCH):
            return False
    return True


def _is_size(atom: Atom, kernel: Kernel) -> bool:
    name = atom.name.lower()
    if any(word in name for word in _STRIDE_WORDS):
        return False
    param = kernel.param(atom.name)
    if param is not None and param.role is ParamRole.CONSTEXPR:
        return True
    return atom in _bounding_atoms(kernel) or name.startswith(("ld", "num_", "n_")) or name.endswith(("dim", "size"))


def _bounding_atoms(kernel: Kernel) -> frozenset[Atom]:
    """Parameters that bound something: in guards of accesses or stops of loops, or as what indices are taken apart by
    (`slot // page`, `slot % page`)."""
    known: frozenset[Atom] | None = kernel.attrs.get("bounding_atoms")
    if known is None:
        found: set[Atom] = set()
        guards: set[Condition] = {access.guard for access in kernel.accesses}
        for guard in guards:
            found |= {a for a in guard.deep_atoms if a.kind is AtomKind.PARAM}
        divisions = {
            atom
            for access in kernel.accesses
            for atom in access.index.deep_atoms
            if atom.kind in (AtomKind.FLOORDIV, AtomKind.MOD)
        }
        for division in divisions:
            found |= {a for a in division.args[1].deep_atoms if a.kind is AtomKind.PARAM}
        for loop in kernel.loops:
            if loop.stop is not None:
                found |= {a for a in loop.stop.deep_atoms if a.kind is AtomKind.PARAM}
        for atom in {atom for atom in found if atom.args}:
            found |= {inner for arg in atom.args for inner in arg.deep_atoms}
        known = kernel.attrs["bounding_atoms"] = frozenset(found)
    return known
