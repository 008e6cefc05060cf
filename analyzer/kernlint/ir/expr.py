"""Integer index expressions in polynomial normal form.

An `Expr` is a polynomial with integer coefficients over *atoms*.  An atom is anything the polynomial does not look
inside: a parameter, an axis, a launch dimension, a loaded value, an opaque value, or a non-polynomial operation
(floor division, modulo, minimum, maximum, select, bit operations) whose arguments are again in normal form.

Two expressions denote the same polynomial if and only if their `key` is equal, so `pid * BLOCK + lane` and
`lane + BLOCK * pid` are one thing.  Everything here is immutable, deterministic and free of global state.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Union

from kernlint.ir.lazy import lazy

MAX_TERMS = 64
MAX_KEY = 6000
MAX_NUMBER = 1 << 256  # far beyond any index; numbers that multiply themselves would grow without end


class AtomKind(enum.Enum):
    """What an atom stands for.  Names are stable: they appear in `kernlint print --ir`."""

    PARAM = "param"  # a kernel parameter (run-time scalar, compile-time constant or template parameter)
    AXIS = "axis"  # a grid, lane or loop axis
    LAUNCH = "launch"  # blockDim.*, gridDim.* / num_programs
    HOST = "host"  # a host value: a variable, `x.shape[0]`, `x.numel()`
    LOAD = "load"  # a value read from memory
    OPAQUE = "opaque"  # not understood; nothing is known about it
    FLOORDIV = "floordiv"
    MOD = "mod"
    MIN = "min"
    MAX = "max"
    SELECT = "select"  # args: (condition, then, else)
    BITAND = "bitand"
    BITOR = "bitor"
    XOR = "xor"
    SHL = "shl"
    SHR = "shr"
    CALL = "call"  # a known pure function by `name`, e.g. next_power_of_2


class AxisKind(enum.Enum):
    GRID = "grid"  # blockIdx, program_id
    LANE = "lane"  # threadIdx, tl.arange
    LOOP = "loop"  # counts iterations of one loop: 0, 1, 2, ...


class Axis:
    """An index variable running over 0 .. extent-1.

    `index` is the launch dimension (0=x, 1=y, 2=z) of a grid axis or a CUDA thread axis, and the dimension counted
    from the right (-1 is the last) of a Triton lane axis.  `extent` is None when unknown.
    """

    __slots__ = ("extent", "index", "key", "kind", "name", "thread")

    def __init__(
        self, kind: AxisKind, key: str, name: str, extent: Expr | None, index: int = 0, thread: bool = False
    ) -> None:
        self.kind = kind
        self.key = key
        self.name = name
        self.extent = extent
        self.index = index
        self.thread = thread  # True for CUDA threadIdx axes

    def __repr__(self) -> str:
        return f"Axis({self.name})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Axis) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)


AtomArg = Union["Expr", "Condition"]


class Atom:
    """One indivisible factor.  `key` identifies it; `name` is what people read, by default the operation."""

    __slots__ = ("_name", "args", "axis", "bounds", "key", "kind", "note")

    def __init__(
        self,
        kind: AtomKind,
        key: str,
        name: str | None,
        args: tuple[AtomArg, ...] = (),
        axis: Axis | None = None,
        note: object = None,
    ) -> None:
        self.kind = kind
        self.key = key
        self._name = name
        self.args = args
        self.axis = axis
        self.note = note  # LOAD: the access's ordinal; OPAQUE: why it is opaque
        self.bounds: tuple[Expr, ...] | None = None  # kept by `analysis.prove.bounds_of`

    @property
    def name(self) -> str:
        if self._name is None:
            from kernlint.ir import arith

            self._name = arith.written_out(self)
        return self._name

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Atom) and other.key == self.key)

    def __hash__(self) -> int:
        return hash(self.key)


Monomial = tuple[Atom, ...]  # factors sorted by key, repeated for powers; () is the constant monomial


def _mono_key(mono: Monomial) -> str:
    size = len(mono)
    if size == 1:
        return mono[0].key
    if size == 2:
        return f"{mono[0].key}*{mono[1].key}"
    return "*".join([atom.key for atom in mono])


def without_factors(mono: Monomial, factors: Monomial) -> Monomial | None:
    """The quotient of two products, None when it is not one."""
    if not factors:
        return mono
    left = list(mono)
    for factor in factors:
        if factor not in left:
            return None
        left.remove(factor)
    return tuple(left)


_Row = tuple[int, str, Monomial, int]  # a term: factors, their joined keys, the monomial, its coefficient
_ATOM_KEY = attrgetter("key")


class Expr:
    """A polynomial over atoms.  Build with `const`, `param`, ... and the operators `+ - *`; never mutate."""

    __slots__ = ("__dict__", "_rows", "terms")

    def __init__(self, terms: dict[Monomial, int]) -> None:
        self._set([(len(mono), _mono_key(mono), mono, coeff) for mono, coeff in terms.items() if coeff])

    def _set(self, rows: list[_Row]) -> None:
        self._rows = rows
        self.terms: tuple[tuple[Monomial, int], ...]
        if len(rows) == 1:
            row = rows[0]
            self.terms = ((row[2], row[3]),)
            return
        rows.sort()  # texts differ, so monomials are never compared
        self.terms = tuple([(row[2], row[3]) for row in rows])

    @lazy
    def key(self) -> str:
        return "+".join([f"{coeff}*{text}" if size else str(coeff) for size, text, _, coeff in self._rows]) or "0"

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Expr) and other.key == self.key)

    def __hash__(self) -> int:
        return hash(self.key)

    def __add__(self, other: Expr | int) -> Expr:
        other = as_expr(other)
        if not other.terms:
            return self
        if not self.terms:
            return other
        return self._plus(other._rows)

    def _plus(self, added: list[_Row]) -> Expr:
        if len(added) == 1 and not added[0][0]:
            return self._plus_number(added[0][3])
        rows = {row[1]: row for row in self._rows}
        for row in added:
            _accumulate(rows, row)
        return _bounded(list(rows.values()))

    def _plus_number(self, number: int) -> Expr:
        """Only the constant term changes, which comes first."""
        rows = self._rows
        if not rows[0][0]:
            number += rows[0][3]
            rows = rows[1:]
        made = _from_sorted([(0, "", (), number), *rows] if number else rows)
        return _too_big(made.key) if _exceeds(made._rows) else made

    __radd__ = __add__

    def __neg__(self) -> Expr:
        return _from_sorted([(size, text, mono, -coeff) for size, text, mono, coeff in self._rows])

    def __sub__(self, other: Expr | int) -> Expr:
        other = as_expr(other)
        if not other.terms:
            return self
        if not self.terms:
            return -other
        return self._plus([(size, text, mono, -coeff) for size, text, mono, coeff in other._rows])

    def __rsub__(self, other: Expr | int) -> Expr:
        return as_expr(other) - self

    def __mul__(self, other: Expr | int) -> Expr:
        other = as_expr(other)
        if len(self.terms) * len(other.terms) > MAX_TERMS * 4:
            return _too_big(f"({self.key})*({other.key})")
        if other is ONE:
            return self
        if self is ONE:
            return other
        if len(other._rows) == 1 and not other._rows[0][0]:
            return self._times(other._rows[0][3])
        if len(self._rows) == 1 and not self._rows[0][0]:
            return other._times(self._rows[0][3])
        rows: dict[str, _Row] = {}
        for row_a in self._rows:
            for row_b in other._rows:
                coeff = row_a[3] * row_b[3]
                if not row_b[0]:
                    row = (row_a[0], row_a[1], row_a[2], coeff)
                elif not row_a[0]:
                    row = (row_b[0], row_b[1], row_b[2], coeff)
                else:
                    mono = tuple(sorted(row_a[2] + row_b[2], key=_ATOM_KEY))
                    row = (len(mono), _mono_key(mono), mono, coeff)
                _accumulate(rows, row)
        return _bounded(list(rows.values()))

    __rmul__ = __mul__

    def _times(self, number: int) -> Expr:
        """The product by a number other than 0, which leaves the terms and their order."""
        made = _from_sorted([(size, text, mono, coeff * number) for size, text, mono, coeff in self._rows])
        return _too_big(made.key) if _exceeds(made._rows) else made

    @property
    def constant(self) -> int | None:
        """The value if this is a plain integer, else None."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and not self.terms[0][0]:
            return self.terms[0][1]
        return None

    @property
    def constant_term(self) -> int:
        return self.terms[0][1] if self.terms and not self.terms[0][0] else 0

    @property
    def single_atom(self) -> Atom | None:
        """The atom if this is exactly one atom with coefficient 1, else None."""
        if len(self.terms) == 1 and self.terms[0][1] == 1 and len(self.terms[0][0]) == 1:
            return self.terms[0][0][0]
        return None

    def atoms(self) -> Iterator[Atom]:
        """Top-level atoms, without looking inside non-polynomial ones.  Deterministic, may repeat."""
        for mono, _ in self.terms:
            yield from mono

    @lazy
    def deep_atoms(self) -> frozenset[Atom]:
        """Every atom, including those inside floor divisions, selects and the like."""
        found: set[Atom] = set()
        for mono, _ in self.terms:
            for atom in mono:
                found.add(atom)
                for arg in atom.args:
                    found |= arg.deep_atoms
        return frozenset(found)

    def depends_on(self, atom: Atom) -> bool:
        return atom in self.deep_atoms

    @lazy
    def is_opaque(self) -> bool:
        """True when any part of it was not understood (loads are understood: they are data)."""
        return any(atom.kind is AtomKind.OPAQUE for atom in self.deep_atoms)

    def coefficient(self, atom: Atom) -> Expr | None:
        """The factor of `atom` when the expression is linear in it, 0 when it does not occur, None when non-linear."""
        if atom not in self.deep_atoms:
            return ZERO
        key = atom.key
        terms: dict[Monomial, int] = {}
        for mono, coeff in self.terms:
            power = 0
            for factor in mono:
                if factor.key == key:
                    power += 1
                elif factor.args and _inside(factor, atom):
                    return None
            if power > 1:
                return None
            if power:
                terms[tuple([factor for factor in mono if factor.key != key])] = coeff
        return Expr(terms)

    def without(self, atom: Atom) -> Expr:
        """The terms in which `atom` is not a factor."""
        if atom not in self.deep_atoms:
            return self
        return Expr({mono: coeff for mono, coeff in self.terms if atom not in mono})

    def divided_by(self, divisor: Expr) -> Expr | None:
        """The exact quotient by a one-term divisor, or None when any term is not divisible."""
        if len(divisor.terms) != 1:
            return ONE if divisor == self else None
        ((mono_d, coeff_d),) = divisor.terms
        terms: dict[Monomial, int] = {}
        for mono, coeff in self.terms:
            rest = None if coeff % coeff_d else without_factors(mono, mono_d)
            if rest is None:
                return None
            terms[rest] = coeff // coeff_d
        return Expr(terms)

    def __repr__(self) -> str:
        return show(self)


def _inside(atom: Atom, wanted: Atom) -> bool:
    for arg in atom.args:  # noqa: SIM110  (asked very often: a generator would cost more than the answer)
        if wanted in arg.deep_atoms:
            return True
    return False


def _too_big(text: str) -> Expr:
    return opaque("budget:" + hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest(), "too large")


def _accumulate(rows: dict[str, _Row], row: _Row) -> None:
    """Add a term to a sum held by text."""
    text = row[1]
    present = rows.get(text)
    if present is None:
        rows[text] = row
        return
    coeff = present[3] + row[3]
    if coeff:
        rows[text] = (row[0], text, row[2], coeff)
    else:
        del rows[text]


def _from_sorted(rows: list[_Row]) -> Expr:
    """From rows in the order of another expression."""
    made = Expr.__new__(Expr)
    made._rows = rows
    made.terms = tuple([(row[2], row[3]) for row in rows])
    return made


def _exceeds(rows: list[_Row]) -> bool:
    if any(abs(row[3]) >= MAX_NUMBER for row in rows):
        return True
    if len(rows) == 1:
        return len(rows[0][1]) > MAX_KEY
    return len(rows) > MAX_TERMS or sum([len(row[1]) for row in rows]) > MAX_KEY


def _bounded(rows: list[_Row]) -> Expr:
    made = Expr.__new__(Expr)
    made._set(rows)
    return _too_big(made.key) if _exceeds(rows) else made


def as_expr(value: Expr | int) -> Expr:
    return value if isinstance(value, Expr) else const(value)


def const(value: int) -> Expr:
    value = int(value)
    known = _SMALL.get(value)
    if known is None:
        known = Expr({(): value})
        if -64 <= value <= 1024:
            _SMALL[value] = known
    return known


_SMALL: dict[int, Expr] = {}  # shared: expressions are immutable


ZERO = const(0)
ONE = const(1)


def of_atom(atom: Atom) -> Expr:
    mono = (atom,)
    made = Expr.__new__(Expr)
    made._rows = [(1, atom.key, mono, 1)]
    made.terms = ((mono, 1),)
    return made


def param(name: str) -> Expr:
    """A kernel parameter.  Its atom's key is `p:NAME`."""
    return of_atom(Atom(AtomKind.PARAM, f"p:{name}", name))


def host(name: str) -> Expr:
    """A host value such as `n` or `x.shape[0]`.  Its atom's key is `h:NAME`."""
    return of_atom(Atom(AtomKind.HOST, f"h:{name}", name))


def launch_dim(which: str, index: int, name: str) -> Expr:
    """`which` is `bd` (blockDim) or `gd` (gridDim, num_programs)."""
    return of_atom(Atom(AtomKind.LAUNCH, f"{which}{index}", name))


def opaque(key: str, why: str = "") -> Expr:
    """A value nothing is known about.  Equal keys mean equal values, so make keys unique per definition."""
    return of_atom(Atom(AtomKind.OPAQUE, f"?:{key}", f"?{key}", note=why))


def loaded(ordinal: int, name: str, lanes: tuple[AtomArg, ...] = ()) -> Expr:
    """The integer read by the access with this ordinal; `lanes` are the index expressions it depends on."""
    return of_atom(Atom(AtomKind.LOAD, f"ld:{ordinal}", name, lanes, note=ordinal))


def axis_expr(axis: Axis) -> Expr:
    return of_atom(Atom(AtomKind.AXIS, f"a:{axis.key}", axis.name, axis=axis))


def axes_of(expr: Expr | Condition) -> tuple[Axis, ...]:
    """Every axis it depends on, sorted by key."""
    found = {atom.axis.key: atom.axis for atom in expr.deep_atoms if atom.axis is not None}
    return tuple(found[key] for key in sorted(found))


class Substitution(dict["Atom", "Expr"]):
    """Atoms and what takes their place, never changed once made; remembers what operations over them became."""

    __slots__ = ("atoms", "made")

    def __init__(self, mapping: Mapping[Atom, Expr]) -> None:
        super().__init__(mapping)
        self.atoms = frozenset(mapping)
        self.made: dict[str, Expr | None] = {}


def substitution(mapping: Mapping[Atom, Expr]) -> Substitution:
    return mapping if isinstance(mapping, Substitution) else Substitution(mapping)


def substitute(expr: Expr, mapping: Mapping[Atom, Expr]) -> Expr:
    """Replace atoms everywhere, also inside non-polynomial atoms, and renormalise."""
    if not mapping:
        return expr
    mapping = substitution(mapping)
    if expr.deep_atoms.isdisjoint(mapping.atoms):
        return expr
    kept: list[_Row] = []  # terms without any of these atoms stay what they are
    changed: list[Expr] = []
    for row in expr._rows:
        factors: list[Expr] | None = None
        for place, atom in enumerate(row[2]):
            made = _replaced(atom, mapping)
            if made is not None:
                if factors is None:
                    factors = [of_atom(earlier) for earlier in row[2][:place]]
                factors.append(made)
            elif factors is not None:
                factors.append(of_atom(atom))
        if factors is None:
            kept.append(row)
            continue
        product = const(row[3])
        for factor in factors:
            product = product * factor
        changed.append(product)
    total = _from_sorted(kept)
    for product in changed:
        total = total + product
    return total


def _replaced(atom: Atom, mapping: Substitution) -> Expr | None:
    """What the atom becomes, None when nothing about it changes."""
    key = atom.key
    if key in mapping.made:
        return mapping.made[key]
    found = mapping.get(atom)
    if found is None:
        atoms = mapping.atoms
        for arg in atom.args:
            if not arg.deep_atoms.isdisjoint(atoms):
                args = tuple(
                    substitute(arg, mapping) if isinstance(arg, Expr) else arg.substitute(mapping) for arg in atom.args
                )
                found = rebuild(atom, args)
                break
    mapping.made[key] = found
    return found


def rebuild(atom: Atom, args: tuple[AtomArg, ...]) -> Expr:
    """The same operation over other arguments, in normal form."""
    from kernlint.ir import arith

    maker: Callable[..., Expr] | None = arith.MAKERS.get(atom.kind)
    if maker is not None:
        return maker(*args)
    if atom.kind is AtomKind.CALL:
        return arith.call(str(atom.note), *[arg for arg in args if isinstance(arg, Expr)])
    key = f"{atom.key}({','.join(arg.key for arg in args)})" if atom.kind is AtomKind.LOAD else atom.key
    return of_atom(Atom(atom.kind, key, atom.name, args, atom.axis, atom.note))


def show(expr: Expr) -> str:
    """Readable text, largest terms first, constants last."""
    parts: list[str] = []
    for mono, coeff in sorted(expr.terms, key=lambda item: (-len(item[0]), _mono_key(item[0]))):
        body = "*".join(atom.name for atom in mono)
        size = abs(coeff)
        text = body if body and size == 1 else (f"{size}*{body}" if body else str(size))
        sign = "-" if coeff < 0 else "+"
        parts.append(f" {sign} {text}" if parts else (f"-{text}" if coeff < 0 else text))
    return "".join(parts) or "0"


def brief(expr: Expr | None, limit: int = 60) -> str:
    """Readable text for messages, cut at `limit` characters; `?` for an unknown expression."""
    text = "?" if expr is None else show(expr)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


from kernlint.ir.condition import Condition  # noqa: E402  (the two normal forms are mutually recursive)
