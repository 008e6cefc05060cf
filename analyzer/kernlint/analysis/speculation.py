"""Accesses whose index is valid only under a condition that is applied after the access."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.analysis.extents import is_external
from kernlint.analysis.prove import provable
from kernlint.analysis.tiles import axis_atom, lanes_of
from kernlint.finding import Confidence
from kernlint.ir.condition import Condition, Connective, at_least_zero, negate
from kernlint.ir.expr import Expr
from kernlint.ir.kernel import Access, AccessKind, Kernel
from kernlint.ir.types import Span
from kernlint.ir.value import Value
from kernlint.records import dataclass

_TRANSPARENT = {"cast", "broadcast", "expand", "reshape", "trans", "neg"}


@dataclass(frozen=True, slots=True)
class SpeculatedAccess:
    access: Access
    condition: Condition  # what the `where` tests
    where: Span
    confidence: Confidence


def speculated_accesses(kernel: Kernel) -> Iterator[SpeculatedAccess]:
    """Loads without a mask of their own that feed one arm of a `where` whose condition bounds their index."""
    for value in kernel.values:
        if value.op != "where" or len(value.args) != 3 or value.span is None:
            continue
        condition = value.args[0].cond
        if condition is None:
            continue
        for arm, holds in ((value.args[1], condition), (value.args[2], negate(condition))):
            access = _load_behind(arm)
            if access is None or not is_external(access):
                continue
            for part in holds.conjuncts():
                if _bounds_index(part, access.index) and not provable(part, access.guard.conjuncts()):
                    yield SpeculatedAccess(access, part, value.span, Confidence.HIGH)
                    break


def _load_behind(value: Value) -> Access | None:
    while value.op in _TRANSPARENT and value.args:
        value = value.args[0]
    access = value.access if value.op == "load" else None
    return access if access is not None and access.kind is AccessKind.LOAD and not access.index.is_opaque else None


def _bounds_index(condition: Condition, index: Expr) -> bool:
    """Whether the condition keeps this index inside: it bounds the very coordinate the index is made of.

    Lower bounds count when the index can be negative without the condition and not with it; upper bounds when the
    condition's coordinate is the index's own (same tile terms and shift), up to the stride.
    """
    if condition.op is not Connective.GE or condition.expr is None:
        return False
    for lane in lanes_of(index):
        atom = axis_atom(lane)
        factor = condition.expr.coefficient(atom)
        if factor is None or factor.constant not in (1, -1):
            continue
        if factor.constant == 1:
            goal = at_least_zero(index)
            if not provable(goal) and provable(goal, [condition]):
                return True
            continue
        stride = index.coefficient(atom)
        if stride is None or not stride.terms or stride.constant != 1:
            continue
        extent = index + condition.expr + 1
        if not extent.is_opaque and not any(a.axis is not None for a in extent.deep_atoms) and extent.terms:
            return True
    return False
