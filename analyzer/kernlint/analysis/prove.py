"""Cheap proofs of integer inequalities between normal-form expressions.

`provable(goal, known)` looks for a derivation of `goal` from the known conditions and from what is true of every atom
(axes stay below their extent, remainders below their divisor, sizes are not negative).  It is sound under these
assumptions and incomplete: False means "not shown", never "false".  The search is depth-bounded, so its cost is too.

Assumed without proof, because index arithmetic means it: parameters and host integers used as sizes or strides are not
negative, and tile sizes, block and grid dimensions are at least 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kernlint.ir.condition import Condition, Connective, conj, negate
from kernlint.ir.expr import ONE, Atom, AtomKind, Expr, Monomial, const, of_atom

_DEPTH = 6
_FACTS = 48
_NONNEGATIVE = {AtomKind.PARAM, AtomKind.AXIS, AtomKind.LAUNCH, AtomKind.HOST}


def provable(goal: Condition, known: Iterable[Condition] = ()) -> bool:
    """Whether `goal` follows from `known`."""
    facts: list[Expr] = []
    keys: set[str] = set()
    for condition in known:
        for part in condition.conjuncts():
            keys.add(part.key)
            if part.op is Connective.FALSE:
                return True
            if part.expr is not None:
                facts.append(tightened(part.expr))
                if part.op is Connective.EQ:
                    facts[-1] = part.expr
                    facts.append(-part.expr)
    return _goal(goal, facts[:_FACTS], keys)


def tightened(fact: Expr) -> Expr:
    """The strongest form of `fact >= 0` when all but a negative constant is a multiple of one positive atom.

    From `a*B - b*B - 1 >= 0` and B >= 1 follows a - b >= 1, hence `a*B - b*B - B >= 0`: whole tiles differ by a tile.
    """
    rest = fact - fact.constant_term
    if fact.constant_term >= 0 or not rest.terms:
        return fact
    common = set(rest.terms[0][0]).intersection(*(mono for mono, _ in rest.terms))
    for atom in sorted(common, key=lambda a: a.key):
        if at_least_one(atom) and fact.constant_term == -1:
            return rest - of_atom(atom)
    return fact


def _goal(goal: Condition, facts: Sequence[Expr], keys: set[str]) -> bool:
    if goal.op is Connective.TRUE or goal.key in keys:
        return True
    if goal.op is Connective.AND:
        return all(_goal(part, facts, keys) for part in goal.parts)
    if goal.op is Connective.OR:
        return any(_goal(part, facts, keys) for part in goal.parts)
    if goal.op is Connective.GE and goal.expr is not None:
        return nonnegative(goal.expr, facts) or any(nonnegative(expr, facts) for expr in _undivided(goal.expr))
    if goal.op is Connective.EQ and goal.expr is not None:
        return nonnegative(goal.expr, facts) and nonnegative(-goal.expr, facts)
    return False


def _undivided(expr: Expr) -> Iterator[Expr]:
    """From c - 1 - a//b >= 0, for integers and b >= 1 the same as c*b - 1 - a >= 0."""
    for mono, coeff in expr.terms:
        if coeff != -1 or len(mono) != 1 or mono[0].kind is not AtomKind.FLOORDIV:
            continue
        dividend, divisor = mono[0].args
        if isinstance(dividend, Expr) and isinstance(divisor, Expr):
            yield (expr + of_atom(mono[0]) + ONE) * divisor - ONE - dividend


def nonnegative(expr: Expr, facts: Sequence[Expr] = (), depth: int = _DEPTH) -> bool:
    """Whether `expr >= 0` follows from `fact >= 0` for every fact."""
    return _search(expr, facts, depth, set())


def _search(expr: Expr, facts: Sequence[Expr], depth: int, seen: set[str]) -> bool:
    negative = [(mono, coeff) for mono, coeff in expr.terms if coeff < 0 or not _mono_nonnegative(mono)]
    if not negative:
        return True
    if depth == 0 or expr.key in seen or len(seen) > 200:
        return False
    seen.add(expr.key)
    if _lower_bounds_suffice(expr):
        return True
    # Remove one troublesome term by subtracting a non-negative multiple of something known to be non-negative.
    for mono, coeff in negative[:3]:
        for fact in _helpers(expr, mono, coeff, facts):
            scaled = _cancel(expr, mono, coeff, fact)
            if scaled is not None and _search(scaled, facts, depth - 1, seen):
                return True
    if len(negative) == 1 and not negative[0][0]:
        # Only the constant is too small: put lower bounds in the place of what is positive.
        for mono, coeff in expr.terms[1:]:
            for fact in _helpers(expr, mono, coeff, facts):
                scaled = _cancel(expr, mono, coeff, fact)
                if scaled is not None and _search(scaled, facts, depth - 1, seen):
                    return True
    return False


def _lower_bounds_suffice(expr: Expr) -> bool:
    """Whether the negative constant is outweighed by atoms that are at least 1."""
    total = expr.constant_term
    for mono, coeff in expr.terms:
        if not mono:
            continue
        if coeff < 0 or not _mono_nonnegative(mono):
            return False
        if all(at_least_one(atom) for atom in mono):
            total += coeff
    return total >= 0


def at_least_one(atom: Atom) -> bool:
    """Tile sizes, block and grid dimensions, next powers of two."""
    if atom.kind is AtomKind.LAUNCH:
        return True
    if atom.kind is AtomKind.CALL:
        return atom.note == "next_power_of_2"
    return atom.kind is AtomKind.PARAM and atom.name.isupper()


def _mono_nonnegative(mono: Monomial) -> bool:
    counts: dict[str, int] = {}
    for atom in mono:
        counts[atom.key] = counts.get(atom.key, 0) + 1
    return all(atom_nonnegative(atom) or counts[atom.key] % 2 == 0 for atom in mono)


def atom_nonnegative(atom: Atom) -> bool:
    if atom.kind in _NONNEGATIVE:
        return True
    args = [arg for arg in atom.args if isinstance(arg, Expr)]
    if atom.kind is AtomKind.MOD:
        return True
    if atom.kind in (AtomKind.FLOORDIV, AtomKind.MIN, AtomKind.SHR, AtomKind.SHL, AtomKind.BITOR, AtomKind.XOR):
        return all(_plainly_nonnegative(arg) for arg in args)
    if atom.kind in (AtomKind.MAX, AtomKind.BITAND):
        return any(_plainly_nonnegative(arg) for arg in args)
    if atom.kind is AtomKind.SELECT:
        return all(_plainly_nonnegative(arg) for arg in args)
    return atom.kind is AtomKind.CALL and atom.note in {"next_power_of_2", "abs", "popcount"}


def _plainly_nonnegative(expr: Expr) -> bool:
    if all(coeff >= 0 and _mono_nonnegative(mono) for mono, coeff in expr.terms):
        return True
    return _lower_bounds_suffice(expr)


def _helpers(expr: Expr, mono: Monomial, coeff: int, facts: Sequence[Expr]) -> Iterator[Expr]:
    """Expressions known to be >= 0 in which a factor of `mono` occurs with the same sign as `coeff`."""
    wanted = set(mono)

    def fits(fact: Expr) -> bool:
        return any(other and (c < 0) == (coeff < 0) and set(other) <= wanted for other, c in fact.terms)

    yield from filter(fits, facts)
    for atom in mono:
        yield from bounds_of(atom)
    for atom in expr.atoms():
        if atom.args and atom not in wanted:
            yield from filter(fits, bounds_of(atom))


def bounds_of(atom: Atom) -> tuple[Expr, ...]:
    """Expressions that are >= 0 because of what the atom is, found once per atom."""
    if atom.axis is not None:
        return tuple(_bounds(atom))  # a loop's extent may be learnt later
    if atom.bounds is None:
        atom.bounds = tuple(_bounds(atom))
    return atom.bounds


def _bounds(atom: Atom) -> Iterator[Expr]:
    self_ = of_atom(atom)
    if atom.axis is not None and atom.axis.extent is not None:
        yield atom.axis.extent - ONE - self_
        yield self_
        return
    args = [arg for arg in atom.args if isinstance(arg, Expr)]
    if atom.kind is AtomKind.MOD:
        yield args[1] - ONE - self_
        if _plainly_nonnegative(args[0]):
            yield args[0] - self_
    elif atom.kind is AtomKind.FLOORDIV:
        yield args[0] - self_ * args[1]
        yield self_ * args[1] + args[1] - ONE - args[0]
        if _plainly_nonnegative(args[0]):
            yield args[0] - self_
    elif atom.kind is AtomKind.MIN:
        yield args[0] - self_
        yield args[1] - self_
    elif atom.kind is AtomKind.MAX:
        yield self_ - args[0]
        yield self_ - args[1]
    elif atom.kind is AtomKind.CALL and atom.note == "next_power_of_2":
        yield self_ - args[0]
        yield args[0] * const(2) - self_
    elif atom.kind is AtomKind.SELECT and len(args) == 2:
        # Between the two arms: useful only when both arms share the bound that is asked for.
        difference = (args[0] - args[1]).constant
        if difference is not None:
            low, high = (args[1], args[0]) if difference >= 0 else (args[0], args[1])
            yield self_ - low
            yield high - self_


def _cancel(expr: Expr, mono: Monomial, coeff: int, fact: Expr) -> Expr | None:
    """expr*m - q*fact for a non-negative q that removes the term, where m >= 1; None when it cannot be done."""
    for other, c in fact.terms:
        if not other or (c < 0) != (coeff < 0):
            continue
        rest = list(mono)
        for factor in other:
            if factor not in rest:
                break
            rest.remove(factor)
        else:
            if not _mono_nonnegative(tuple(rest)):
                continue
            quotient = Expr({tuple(rest): abs(coeff)})
            return expr * abs(c) - quotient * fact
    return None


def contradicts(conditions: Iterable[Condition]) -> bool:
    """Whether the conditions can be shown to exclude each other."""
    parts = list(conj(conditions).conjuncts())
    return any(provable(negate(part), [p for p in parts if p is not part]) for part in parts if part.expr is not None)


def divisible(a: Expr, b: Expr, known: Iterable[tuple[Expr, Expr]] = ()) -> bool:
    """Whether b divides a: syntactically, by constants, or because `known` lists (multiple, divisor) pairs."""
    if not a.terms:
        return True
    divisor = b.constant
    if divisor is not None and divisor != 0 and all(coeff % divisor == 0 for _, coeff in a.terms):
        return True
    if a.divided_by(b) is not None:
        return True
    remaining = a
    for multiple, by in known:
        by_value = by.constant
        covers = by == b or (divisor is not None and by_value is not None and divisor != 0 and by_value % divisor == 0)
        if covers or (by.divided_by(b) is not None):
            for mono, coeff in list(remaining.terms):
                if mono and Expr({mono: coeff}).divided_by(multiple) is not None:
                    remaining = remaining - Expr({mono: coeff})
            if remaining == multiple or not remaining.terms:
                return True
    return bool(remaining.terms) is False or (remaining != a and divisible(remaining, b))


def divisibility_facts(conditions: Iterable[Condition]) -> list[tuple[Expr, Expr]]:
    """(a, b) for every known `a % b == 0`, also when written as `a - (a // b) * b == 0`."""
    found: list[tuple[Expr, Expr]] = []
    for condition in conditions:
        for part in condition.conjuncts():
            if part.op is not Connective.EQ or part.expr is None:
                continue
            atom = part.expr.single_atom
            if atom is not None and atom.kind is AtomKind.MOD:
                a, b = atom.args
                if isinstance(a, Expr) and isinstance(b, Expr):
                    found.append((a, b))
    return found
