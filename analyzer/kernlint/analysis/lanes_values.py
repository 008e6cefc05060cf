"""Representative numbers for sizes nobody fixed: distinct primes that respect what is known about them.

Primes keep accidental relations (a row length that divides the block, two equal extents) out of concrete evaluation;
known relations (`n % 4 == 0`, `cols <= 1024`, `n == 128`) are honoured.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from kernlint.analysis.lanes import Evaluator
from kernlint.ir.condition import Condition, Connective
from kernlint.ir.expr import Atom, AtomKind, Expr
from kernlint.records import dataclass

LARGE = 100_003  # sizes that leave no guard of a first tile false
TYPE_BYTES = 4  # of a type that is not known
SMALL = 37  # sizes smaller than any block, so that edges show


@dataclass
class Limits:
    """What is known about one size: inclusive bounds, an exact value, a divisor."""

    low: int | None = None
    high: int | None = None
    exact: int | None = None
    multiple: int = 1


def _is_prime(n: int) -> bool:
    return n > 1 and all(n % d for d in range(2, math.isqrt(n) + 1))


@cache
def prime_from(start: int) -> int:
    """The least prime >= start."""
    while not _is_prime(start):
        start += 1
    return start


@cache
def prime_up_to(stop: int) -> int:
    """The largest prime <= stop, or stop itself when there is none."""
    n = stop
    while n > 1 and not _is_prime(n):
        n -= 1
    return n if n > 1 else stop


def limits_of(facts: Iterable[Condition], divisible: Iterable[tuple[Expr, Expr]] = ()) -> dict[str, Limits]:
    """Limits by atom key, from conditions over one atom each and from known divisibilities."""
    found: dict[str, Limits] = {}
    for fact in facts:
        for part in fact.conjuncts():
            _learn(part, found)
    for a, b in divisible:
        atom, divisor = a.single_atom, b.constant
        if atom is not None and divisor:
            limits = found.setdefault(atom.key, Limits())
            limits.multiple = math.lcm(limits.multiple, abs(divisor))
    return found


def _learn(fact: Condition, found: dict[str, Limits]) -> None:
    expr = fact.expr
    if expr is None or len(expr.terms) > 2:
        return
    atoms = list(expr.atoms())
    if len(atoms) != 1:
        return
    atom, k = atoms[0], expr.constant_term
    coeff = expr.terms[-1][1]
    if atom.kind is AtomKind.MOD and fact.op is Connective.EQ and k == 0:
        base, divisor = atom.args
        if isinstance(base, Expr) and isinstance(divisor, Expr) and base.single_atom and divisor.constant:
            limits = found.setdefault(base.single_atom.key, Limits())
            limits.multiple = math.lcm(limits.multiple, abs(divisor.constant))
        return
    if atom.args:
        return
    limits = found.setdefault(atom.key, Limits())
    if fact.op is Connective.EQ and k % coeff == 0:
        limits.exact = -k // coeff
    elif fact.op is Connective.GE and coeff < 0:
        high = k // -coeff
        limits.high = high if limits.high is None else min(limits.high, high)
    elif fact.op is Connective.GE:
        low = -(k // coeff)
        limits.low = low if limits.low is None else max(limits.low, low)


def size_within(limits: Limits, wanted: int) -> int:
    """A prime near `wanted`, moved into the limits."""
    if limits.exact is not None:
        return limits.exact
    size = prime_from(wanted)
    if limits.low is not None and size < limits.low:
        size = prime_from(limits.low)
    if limits.high is not None and size > limits.high:
        size = prime_up_to(max(limits.high, 1))
    if limits.multiple > 1:
        factor = max(1, size // limits.multiple)
        if factor > 2 and factor % 2 == 0:
            factor -= 1  # an odd multiple, so that it is not a multiple of more than is known
        size = factor * limits.multiple
    return size


def is_program_constant(atom: Atom) -> bool:
    """Whether an atom is a constant of the program, by how it is written: `sizeof(T)`, `Traits::kTile`."""
    return any(mark in atom.name for mark in ("sizeof(", "::", "<"))


def choose_sizes(
    atoms: Iterable[Atom], facts: Sequence[Condition], limits: Mapping[str, Limits], start: int
) -> dict[str, int]:
    """One number per atom key, all different where nothing fixes them."""
    sizes: dict[str, int] = {}
    wanted = start
    for atom in sorted(set(atoms), key=lambda a: a.key):
        if atom.name.startswith("sizeof("):
            sizes[atom.key] = TYPE_BYTES
            continue
        sizes[atom.key] = size_within(limits.get(atom.key, Limits()), wanted)
        wanted = prime_from(wanted + 1) if start == LARGE else prime_from(wanted + 3)
    for fact in facts:  # equations between sizes, such as hidden == heads * dim, define one of them
        for part in fact.conjuncts():
            _solve(part, sizes, limits)
    return sizes


def _solve(fact: Condition, sizes: dict[str, int], limits: Mapping[str, Limits]) -> None:
    if fact.op is not Connective.EQ or fact.expr is None or len(fact.expr.deep_atoms) < 2:
        return
    for mono, coeff in fact.expr.terms:
        if len(mono) != 1 or abs(coeff) != 1 or mono[0].key not in sizes or limits.get(mono[0].key, Limits()).exact:
            continue
        atom = mono[0]
        if fact.expr.coefficient(atom) is None:
            continue
        rest = Evaluator(sizes).integer(fact.expr.without(atom))
        if isinstance(rest, int) and -rest * coeff > 0:
            sizes[atom.key] = -rest * coeff
            return
