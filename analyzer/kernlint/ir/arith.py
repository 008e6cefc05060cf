"""Non-polynomial integer operations in normal form.

Division and modulo follow *floor* semantics.  C truncates towards zero; the two agree for non-negative operands, which
index arithmetic almost always has, and an analysis that needs the difference must ask for the sign.
"""

from __future__ import annotations

from collections.abc import Callable

from kernlint.ir.condition import Condition, Connective
from kernlint.ir.expr import (
    ONE,
    ZERO,
    Atom,
    AtomArg,
    AtomKind,
    Expr,
    Monomial,
    const,
    of_atom,
    substitute,
    without_factors,
)


def _make(kind: AtomKind, *args: AtomArg) -> Expr:
    key = f"{kind.value}({','.join([arg.key for arg in args])})"
    return of_atom(Atom(kind, key, None, args))


_SIGNS = {
    AtomKind.FLOORDIV: "//",
    AtomKind.MOD: "%",
    AtomKind.BITAND: "&",
    AtomKind.BITOR: "|",
    AtomKind.XOR: "^",
    AtomKind.SHL: "<<",
    AtomKind.SHR: ">>",
}


def written_out(atom: Atom) -> str:
    """The operation as people read it: `(n // BLOCK)`, `min(a, b)`."""
    sign = _SIGNS.get(atom.kind)
    if sign is not None:
        return f" {sign} ".join([_nest(arg) for arg in atom.args if isinstance(arg, Expr)]).join("()")
    name = atom.note if atom.kind is AtomKind.CALL else atom.kind.value
    return f"{name}({', '.join([repr(arg) for arg in atom.args])})"


def _nest(expr: Expr) -> str:
    text = repr(expr)
    return text if expr.single_atom is not None or (expr.constant or -1) >= 0 else f"({text})"


def floordiv(a: Expr, b: Expr) -> Expr:
    """a // b, with multiples of b pulled out: (a + k*b) // b = k + a // b."""
    divisor, value = b.constant, a.constant
    if divisor == 1:
        return a
    if divisor and value is not None:
        return const(value // divisor)
    if not a.terms:
        return ZERO
    whole, rest = _split_multiples(a, b)
    if not rest.terms:
        return whole
    value = rest.constant
    if divisor and value is not None:
        return whole + (value // divisor)
    inner = rest.single_atom
    if divisor and divisor > 0 and inner is not None and inner.kind is AtomKind.FLOORDIV:
        first, second = inner.args
        if isinstance(first, Expr) and isinstance(second, Expr) and (second.constant or 0) > 0:
            return whole + floordiv(first, second * divisor)
    return whole + _make(AtomKind.FLOORDIV, rest, b)


def _split_multiples(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """a = whole*b + rest, taking terms that are syntactic multiples of b; constants keep rest's constant in 0..|b|-1
    for constant b, and a constant multiple of a symbolic b is not split."""
    divisor = b.constant
    if len(b.terms) != 1:
        # A sum can be divided only as a whole.
        return ZERO, a
    ((mono_b, coeff_b),) = b.terms
    whole: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for mono, coeff in a.terms:
        if divisor:
            quotient, remainder = divmod(coeff, abs(divisor))
            whole[mono] = quotient if divisor > 0 else -quotient
            rest[mono] = remainder
            continue
        exact = None if coeff % coeff_b else without_factors(mono, mono_b)
        if exact is None:
            rest[mono] = coeff
        else:
            whole[exact] = coeff // coeff_b
    return (Expr(whole), Expr(rest)) if any(whole.values()) else (ZERO, a)


def mod(a: Expr, b: Expr) -> Expr:
    """a % b, with multiples of b dropped."""
    divisor, value = b.constant, a.constant
    if divisor == 1:
        return ZERO
    if divisor and value is not None:
        return const(value % divisor)
    _, rest = _split_multiples(a, b)
    value = rest.constant
    if not rest.terms:
        return ZERO
    if divisor and value is not None:
        return const(value % divisor)
    return _make(AtomKind.MOD, rest, b)


def cdiv(a: Expr, b: Expr) -> Expr:
    """Ceiling division, as floordiv(a + b - 1, b)."""
    return floordiv(a + b - ONE, b)


def as_cdiv(expr: Expr) -> tuple[Expr, Expr] | None:
    """(n, b) when the expression is ceil(n / b) for some b other than 1, in any of its spellings."""
    atoms = [atom for atom in expr.atoms() if atom.kind is AtomKind.FLOORDIV]
    if len(atoms) != 1 or expr.coefficient(atoms[0]) != ONE:
        return None
    top, b = atoms[0].args
    if not isinstance(top, Expr) or not isinstance(b, Expr):
        return None
    # expr = whole + top // b = (top + whole*b) // b, which is cdiv(n, b) for n = top + whole*b - b + 1.
    n = top + expr.without(atoms[0]) * b - b + ONE
    if b.constant is None:
        return None if b.deep_atoms & n.deep_atoms else (n, b)
    # n = m + 1 is `m // b + 1`, which covers m and one tile more; n = m - b + 1 is a plain floor division.
    return (n, b) if 1 - b.constant < n.constant_term <= 0 else None


def as_floordiv(expr: Expr) -> tuple[Expr, Expr] | None:
    """(n, b) when the expression is exactly n // b."""
    atom = expr.single_atom
    if atom is None or atom.kind is not AtomKind.FLOORDIV:
        return None
    n, b = atom.args
    return (n, b) if isinstance(n, Expr) and isinstance(b, Expr) else None


def minimum(a: Expr, b: Expr) -> Expr:
    difference = (a - b).constant
    if difference is not None:
        return a if difference <= 0 else b
    a, b = sorted((a, b), key=lambda e: e.key)
    return _make(AtomKind.MIN, a, b)


def maximum(a: Expr, b: Expr) -> Expr:
    difference = (a - b).constant
    if difference is not None:
        return a if difference >= 0 else b
    a, b = sorted((a, b), key=lambda e: e.key)
    return _make(AtomKind.MAX, a, b)


def select(condition: Condition, a: Expr, b: Expr) -> Expr:
    if a == b or condition.op is Connective.TRUE:
        return a
    if condition.op is Connective.FALSE:
        return b
    a, b = assuming(a, condition, True), assuming(b, condition, False)
    if a == b:
        return a
    if condition.op is Connective.GE and condition.expr is not None:
        # x if x <= y else y, and its three sisters, are minima and maxima
        if condition.expr in (b - a, b - a - ONE):
            return minimum(a, b)
        if condition.expr in (a - b, a - b - ONE):
            return maximum(a, b)
    return _make(AtomKind.SELECT, condition, a, b)


def assuming(expr: Expr, condition: Condition, holds: bool) -> Expr:
    """The expression where the condition is known: selects on it become the arm taken."""
    mapping: dict[Atom, Expr] = {}
    for atom in expr.deep_atoms:
        if atom.kind is AtomKind.SELECT and atom.args[0] == condition:
            arm = atom.args[1 if holds else 2]
            if isinstance(arm, Expr):
                mapping[atom] = arm
    return substitute(expr, mapping) if mapping else expr


def bitand(a: Expr, b: Expr) -> Expr:
    """a & b; masking with 2^k - 1 is a modulo."""
    for x, y in ((a, b), (b, a)):
        mask = y.constant
        if mask is not None and mask >= 0 and (mask & (mask + 1)) == 0:
            return mod(x, const(mask + 1))
    return _bitwise(AtomKind.BITAND, lambda x, y: x & y, a, b)


def bitor(a: Expr, b: Expr) -> Expr:
    return _bitwise(AtomKind.BITOR, lambda x, y: x | y, a, b)


def xor(a: Expr, b: Expr) -> Expr:
    return _bitwise(AtomKind.XOR, lambda x, y: x ^ y, a, b)


def _bitwise(kind: AtomKind, fold: Callable[[int, int], int], a: Expr, b: Expr) -> Expr:
    x, y = a.constant, b.constant
    if x is not None and y is not None:
        return const(fold(x, y))
    a, b = sorted((a, b), key=lambda e: e.key)
    return _make(kind, a, b)


def shl(a: Expr, b: Expr) -> Expr:
    amount = b.constant
    if amount is not None and 0 <= amount < 63:
        return a * (1 << amount)
    return _make(AtomKind.SHL, a, b)


def shr(a: Expr, b: Expr) -> Expr:
    amount = b.constant
    if amount is not None and 0 <= amount < 63:
        return floordiv(a, const(1 << amount))
    return _make(AtomKind.SHR, a, b)


def call(name: str, *args: Expr) -> Expr:
    """A known pure integer function; folds constants where it can."""
    values = [arg.constant for arg in args]
    if name == "next_power_of_2" and values[0] is not None:
        return const(1 << max(values[0] - 1, 0).bit_length())
    if name == "abs" and values[0] is not None:
        return const(abs(values[0]))
    key = f"{name}({','.join(arg.key for arg in args)})"
    return of_atom(Atom(AtomKind.CALL, key, None, args, note=name))


MAKERS: dict[AtomKind, Callable[..., Expr]] = {
    AtomKind.FLOORDIV: floordiv,
    AtomKind.MOD: mod,
    AtomKind.MIN: minimum,
    AtomKind.MAX: maximum,
    AtomKind.SELECT: select,
    AtomKind.BITAND: bitand,
    AtomKind.BITOR: bitor,
    AtomKind.XOR: xor,
    AtomKind.SHL: shl,
    AtomKind.SHR: shr,
}
