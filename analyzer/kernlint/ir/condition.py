"""Conditions: boolean combinations of integer comparisons in normal form.

A comparison is always `expr >= 0` (GE) or `expr == 0` (EQ) over `kernlint.ir.expr.Expr`; everything else, such as a
floating-point test or a compile-time flag, is an opaque boolean atom (FLAG) identified by its key.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from kernlint.ir.lazy import lazy

if TYPE_CHECKING:
    from kernlint.ir.expr import Atom, Expr

MAX_CONDITION_KEY = 8000


class Connective(enum.Enum):
    GE = "ge"  # expr >= 0
    EQ = "eq"  # expr == 0
    FLAG = "flag"  # an opaque boolean
    NOT = "not"
    AND = "and"
    OR = "or"
    TRUE = "true"
    FALSE = "false"


class Condition:
    """Immutable.  Build with `less`, `at_most`, `equal`, `flag`, `conj`, `disj`, `negate`."""

    __slots__ = ("__dict__", "expr", "name", "op", "parts")

    def __init__(
        self, op: Connective, expr: Expr | None = None, name: str = "", parts: tuple[Condition, ...] = ()
    ) -> None:
        self.op = op
        self.expr = expr
        self.name = name
        self.parts = parts

    @lazy
    def key(self) -> str:
        if self.expr is not None:
            return f"{self.op.value}({self.expr.key})"
        if self.op is Connective.FLAG:
            return f"flag({self.name})"
        return f"{self.op.value}({','.join(part.key for part in self.parts)})"

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Condition) and other.key == self.key)

    def __hash__(self) -> int:
        return hash(self.key)

    @lazy
    def deep_atoms(self) -> frozenset[Atom]:
        if self.expr is not None:
            return self.expr.deep_atoms
        return frozenset().union(*[part.deep_atoms for part in self.parts])

    def substitute(self, mapping: Mapping[Atom, Expr]) -> Condition:
        from kernlint.ir.expr import substitute, substitution

        if not mapping:
            return self
        mapping = substitution(mapping)
        if self.deep_atoms.isdisjoint(mapping.atoms):
            return self
        if self.op is Connective.GE and self.expr is not None:
            return at_least_zero(substitute(self.expr, mapping))
        if self.op is Connective.EQ and self.expr is not None:
            return equals_zero(substitute(self.expr, mapping))
        parts = [part.substitute(mapping) for part in self.parts]
        if self.op is Connective.NOT:
            return negate(parts[0])
        return conj(parts) if self.op is Connective.AND else disj(parts)

    def conjuncts(self) -> tuple[Condition, ...]:
        """The conditions that must all hold; a single one unless this is an AND; none for TRUE."""
        if self.op is Connective.TRUE:
            return ()
        return self.parts if self.op is Connective.AND else (self,)

    def leaves(self) -> Iterator[Condition]:
        """Every comparison and flag below, whatever the connective."""
        if self.op in (Connective.GE, Connective.EQ, Connective.FLAG):
            yield self
        for part in self.parts:
            yield from part.leaves()

    @lazy
    def flags(self) -> frozenset[str]:
        """Names of the opaque booleans it depends on."""
        return frozenset(leaf.name for leaf in self.leaves() if leaf.op is Connective.FLAG)

    def __repr__(self) -> str:
        return show_condition(self)


TRUE = Condition(Connective.TRUE)
FALSE = Condition(Connective.FALSE)


def at_least_zero(expr: Expr) -> Condition:
    value = expr.constant
    if value is not None:
        return TRUE if value >= 0 else FALSE
    return Condition(Connective.GE, expr)


def equals_zero(expr: Expr) -> Condition:
    value = expr.constant
    if value is not None:
        return TRUE if value == 0 else FALSE
    return Condition(Connective.EQ, expr if expr.terms[0][1] > 0 else -expr)


def less(a: Expr, b: Expr) -> Condition:
    """a < b"""
    return at_least_zero(b - a - 1)


def at_most(a: Expr, b: Expr) -> Condition:
    """a <= b"""
    return at_least_zero(b - a)


def equal(a: Expr, b: Expr) -> Condition:
    return equals_zero(a - b)


def compare(op: str, a: Expr, b: Expr) -> Condition:
    """`op` is one of `< <= > >= == !=`."""
    if op == "<":
        return less(a, b)
    if op == "<=":
        return at_most(a, b)
    if op == ">":
        return less(b, a)
    if op == ">=":
        return at_most(b, a)
    return equal(a, b) if op == "==" else negate(equal(a, b))


def flag(name: str) -> Condition:
    """An opaque boolean.  Equal names mean equal truth, so make names unique per definition."""
    return Condition(Connective.FLAG, name=name)


def negate(condition: Condition) -> Condition:
    if condition.op is Connective.TRUE:
        return FALSE
    if condition.op is Connective.FALSE:
        return TRUE
    if condition.op is Connective.GE and condition.expr is not None:
        return at_least_zero(-condition.expr - 1)
    if condition.op is Connective.NOT:
        return condition.parts[0]
    if condition.op is Connective.AND:
        return disj([negate(part) for part in condition.parts])
    if condition.op is Connective.OR:
        return conj([negate(part) for part in condition.parts])
    return Condition(Connective.NOT, parts=(condition,))


def _combine(op: Connective, conditions: Iterable[Condition], unit: Condition, zero: Condition) -> Condition:
    seen: dict[str, Condition] = {}
    for condition in conditions:
        if condition.op is zero.op:
            return zero
        for part in condition.parts if condition.op is op else (condition,):
            if part.op is not unit.op:
                seen[part.key] = part
    if not seen:
        return unit
    if len(seen) == 1:
        return next(iter(seen.values()))
    result = Condition(op, parts=tuple(seen[key] for key in sorted(seen)))
    return result if len(result.key) <= MAX_CONDITION_KEY else flag(f"?budget:{abs(hash_text(result.key))}")


def hash_text(text: str) -> int:
    """A hash that is the same in every process (unlike `hash`)."""
    import zlib

    return zlib.crc32(text.encode("utf-8", "replace"))


def conj(conditions: Iterable[Condition]) -> Condition:
    return _combine(Connective.AND, conditions, TRUE, FALSE)


def disj(conditions: Iterable[Condition]) -> Condition:
    return _combine(Connective.OR, conditions, FALSE, TRUE)


def show_condition(condition: Condition) -> str:
    """Readable text: the negative terms of `expr >= 0` move to the left of `<=` or `<`."""
    from kernlint.ir.expr import Expr, show

    if condition.expr is not None:
        left = Expr({mono: -coeff for mono, coeff in condition.expr.terms if coeff < 0 and mono})
        right = Expr({mono: coeff for mono, coeff in condition.expr.terms if coeff > 0 and mono})
        offset = condition.expr.constant_term
        if condition.op is Connective.EQ:
            return f"{show(right + offset)} == {show(left)}"
        if offset == -1:
            return f"{show(left)} < {show(right)}"
        return f"{show(left)} <= {show(right + offset)}" if offset >= 0 else f"{show(left + -offset)} <= {show(right)}"
    if condition.op is Connective.FLAG:
        return condition.name
    if condition.op is Connective.NOT:
        return f"not ({show_condition(condition.parts[0])})"
    if condition.op in (Connective.AND, Connective.OR):
        word = " and " if condition.op is Connective.AND else " or "
        return word.join(
            f"({show_condition(part)})" if part.op in (Connective.AND, Connective.OR) else show_condition(part)
            for part in condition.parts
        )
    return str(condition.op.value)
