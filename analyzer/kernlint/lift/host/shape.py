"""Shapes of host tensors, with sizes as host atoms that can be identified later.

A shape is either *explicit* (a tuple of sizes) or *symbolic*: a tensor the caller gave, of which sizes are atoms such
as `h:x.shape[0]`, `h:x.shape[-1]`, `h:x.numel()`, `h:x.stride(0)`.  How these atoms relate depends on the rank and on
the checks passed so far, which `Knowledge` keeps per control-flow state; `Knowledge.canonical` rewrites atoms
accordingly.
"""

from __future__ import annotations

from dataclasses import field, replace

from kernlint.ir import arith
from kernlint.ir.condition import Condition, Connective
from kernlint.ir.expr import ONE, Atom, AtomKind, Expr, const, of_atom, substitute
from kernlint.ir.types import ElementType
from kernlint.records import dataclass

MAX_RANK = 12


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """Sizes of a tensor.  `key` makes atoms unique; `name` is what people read.  `size` is the element count when it is
    known although the rank is not (`x[0]`, `x.shape[:-1]`)."""

    key: str
    name: str
    explicit: tuple[Expr, ...] | None = None
    size: Expr | None = None
    atoms: dict[str, Expr] = field(default_factory=dict)  # its size atoms made so far


@dataclass(frozen=True, slots=True)
class SizeNote:
    """What a host atom measures: `dim` and `stride` with an index, `numel`, or `rest`, the elements per index of a dim.

    `layout` names the tensor of a stride: tensors of one shape may have different strides."""

    what: str
    shape: Shape
    index: int = 0
    layout: str = ""


def _atom(shape: Shape, what: str, index: int, suffix: str) -> Expr:
    known = shape.atoms.get(suffix)
    if known is None:
        note = SizeNote(what, shape, index)
        known = of_atom(Atom(AtomKind.HOST, f"h:{shape.key}{suffix}", f"{shape.name}{suffix}", note=note))
        shape.atoms[suffix] = known
    return known


def _dim_atom(shape: Shape, index: int) -> Expr:
    return _atom(shape, "dim", index, f".shape[{index}]")


def _stride_atom(shape: Shape, index: int, layout: str) -> Expr:
    name = f"{layout}.stride({index})"
    return of_atom(Atom(AtomKind.HOST, f"h:{name}", name, note=SizeNote("stride", shape, index, layout)))


def _rest_atom(shape: Shape, index: int) -> Expr:
    return _atom(shape, "rest", index, f".numel()//{shape.name}.shape[{index}]")


def product(factors: tuple[Expr, ...]) -> Expr:
    total = ONE
    for factor in factors:
        total = total * factor
    return total


@dataclass(slots=True)
class Knowledge:
    """What one control-flow state knows about sizes: ranks, equal shapes, and equations between host atoms."""

    ranks: dict[str, int] = field(default_factory=dict)  # shape key -> rank
    same: dict[str, Shape] = field(default_factory=dict)  # shape key -> the shape it equals
    splits: dict[str, int] = field(default_factory=dict)  # shape key -> dim of which numel is a multiple by `rest`
    equal: dict[Atom, Expr] = field(default_factory=dict)  # host atom -> what it equals
    dtypes: dict[str, ElementType | str] = field(default_factory=dict)  # element type by name, or the name it equals
    layouts: dict[str, tuple[Expr, ...]] = field(default_factory=dict)  # strides by layout; true in every state

    def copy(self) -> Knowledge:
        return replace(
            self,
            ranks=dict(self.ranks),
            same=dict(self.same),
            splits=dict(self.splits),
            equal=dict(self.equal),
            dtypes=dict(self.dtypes),
        )

    def common(self, other: Knowledge) -> Knowledge:
        """What both states know, for the code after a branch."""
        return Knowledge(
            {key: rank for key, rank in self.ranks.items() if other.ranks.get(key) == rank},
            {key: shape for key, shape in self.same.items() if other.same.get(key) is shape},
            {**self.splits, **other.splits},
            {atom: expr for atom, expr in self.equal.items() if other.equal.get(atom) == expr},
            {name: dtype for name, dtype in self.dtypes.items() if other.dtypes.get(name) == dtype},
            self.layouts,
        )

    def dtype(self, known: ElementType | str | None) -> ElementType | str | None:
        """An element type, followed through equalities: a name that stays a name is that of an unknown type."""
        for _ in range(MAX_RANK):
            if not isinstance(known, str) or known not in self.dtypes:
                break
            known = self.dtypes[known]
        return known

    def equate_dtypes(self, a: ElementType | str | None, b: ElementType | str | None) -> None:
        a, b = self.dtype(a), self.dtype(b)
        if isinstance(a, str) and b is not None and a != b:
            self.dtypes[a] = b
        elif isinstance(b, str) and a is not None and a != b:
            self.dtypes[b] = a

    def root(self, shape: Shape) -> Shape:
        for _ in range(MAX_RANK):
            if shape.key not in self.same:
                break
            shape = self.same[shape.key]
        return shape

    def rank(self, shape: Shape) -> int | None:
        shape = self.root(shape)
        return len(shape.explicit) if shape.explicit is not None else self.ranks.get(shape.key)

    def set_rank(self, shape: Shape, rank: int) -> None:
        shape = self.root(shape)
        if shape.explicit is None and 0 <= rank <= MAX_RANK:
            self.ranks[shape.key] = rank

    def dims(self, shape: Shape) -> tuple[Expr, ...] | None:
        """All sizes, outermost first, when the rank is known."""
        shape = self.root(shape)
        if shape.explicit is not None:
            return tuple(self.canonical(size) for size in shape.explicit)
        rank = self.ranks.get(shape.key)
        return None if rank is None else tuple(self.dim(shape, index) for index in range(rank))

    def dim(self, shape: Shape, index: int) -> Expr:
        shape = self.root(shape)
        rank = self.rank(shape)
        if rank is not None and -rank <= index < 0:
            index += rank
        if shape.explicit is not None:
            if 0 <= index < len(shape.explicit):
                return self.canonical(shape.explicit[index])
            return _dim_atom(shape, index)
        return self._solved(_dim_atom(shape, index))

    def numel(self, shape: Shape) -> Expr:
        shape = self.root(shape)
        dims = self.dims(shape)
        if dims is not None:
            return product(dims)
        if shape.size is not None:
            return self.canonical(shape.size)
        solved = self._solved(_atom(shape, "numel", 0, ".numel()"))
        note = solved.single_atom.note if solved.single_atom is not None else None
        if isinstance(note, SizeNote) and note.what == "numel" and shape.key in self.splits:
            index = self.splits[shape.key]
            return self.dim(shape, index) * self.rest(shape, index)
        return solved

    def rest(self, shape: Shape, index: int) -> Expr:
        """numel / dim(index), exactly: the number of rows of a matrix for index -1."""
        shape = self.root(shape)
        dims = self.dims(shape)
        if dims is not None and -len(dims) <= index < len(dims):
            index %= len(dims)
            return product(dims[:index] + dims[index + 1 :])
        if shape.size is None:
            self.splits.setdefault(shape.key, index)
            if self.splits[shape.key] == index:
                return self._solved(_rest_atom(shape, index))
        return arith.floordiv(self.numel(shape), self.dim(shape, index))

    def stride(self, shape: Shape, index: int, layout: str, contiguous: bool | None) -> Expr:
        """The stride of a dimension in elements; of a contiguous tensor, the product of the sizes after it."""
        known = self.layouts.get(layout)
        if known is not None and -len(known) <= index < len(known):
            return self.canonical(known[index])
        root = self.root(shape)
        rank = self.rank(root)
        if contiguous and root.explicit is None and rank is None:
            if index == -1:
                return ONE
            if -MAX_RANK <= index < 0:
                return product(tuple(self.dim(root, later) for later in range(index + 1, 0)))
            if index == 0:
                return self.rest(root, 0)
        if rank is not None and -rank <= index < 0:
            index += rank
        dims = self.dims(root)
        if contiguous and dims is not None and 0 <= index < len(dims):
            return product(dims[index + 1 :])
        return self._solved(_stride_atom(shape, index, layout))

    def divide(self, a: Expr, b: Expr) -> Expr:
        """a // b, exact when a is a tensor's element count and b one of its sizes."""
        a, b = self.canonical(a), self.canonical(b)
        whole, part = _note(a), _note(b)
        sizes = whole is not None and part is not None and whole.what == "numel" and part.what == "dim"
        if sizes and whole is not None and part is not None and self.root(whole.shape) is self.root(part.shape):
            return self.rest(whole.shape, part.index)
        return arith.floordiv(a, b)

    def _solved(self, expr: Expr) -> Expr:
        return substitute(expr, self.equal) if self.equal else expr

    def canonical(self, expr: Expr) -> Expr:
        """The same value in terms of the fewest atoms this state needs."""
        if expr.constant is not None:
            return expr
        mapping = self._mapping(expr)
        expr = substitute(expr, mapping) if mapping else expr
        return self._solved(expr)

    def canonical_condition(self, condition: Condition) -> Condition:
        mapping = self._mapping(condition)
        condition = condition.substitute(mapping) if mapping else condition
        return condition.substitute(self.equal) if self.equal else condition

    def _mapping(self, value: Expr | Condition) -> dict[Atom, Expr]:
        mapping: dict[Atom, Expr] = {}
        for atom in value.deep_atoms:
            note = atom.note
            if atom.kind is not AtomKind.HOST or not isinstance(note, SizeNote):
                continue
            if note.what == "dim":
                better = self.dim(note.shape, note.index)
            elif note.what == "numel":
                better = self.numel(note.shape)
            elif note.what == "rest":
                better = self.rest(note.shape, note.index)
            else:
                rank = self.rank(note.shape)
                index = note.index + rank if rank is not None and -rank <= note.index < 0 else note.index
                better = self._solved(_stride_atom(note.shape, index, note.layout))
            if better.single_atom != atom:
                mapping[atom] = better
        return mapping

    def equate(self, a: Expr, b: Expr) -> None:
        """Learn a == b: the longest-named host atom that occurs once, linearly, is expressed by the rest."""
        difference = self.canonical(a) - self.canonical(b)
        candidates = [
            atom
            for mono, coeff in difference.terms
            if len(mono) == 1 and abs(coeff) == 1 and (atom := mono[0]).kind is AtomKind.HOST
        ]
        for atom in sorted(candidates, key=lambda atom: (len(atom.name), atom.key), reverse=True):
            factor, rest = difference.coefficient(atom), difference.without(atom)
            if factor is None or factor.constant not in (1, -1) or rest.depends_on(atom):
                continue
            solved = -rest if factor.constant == 1 else rest
            self.equal = {known: substitute(expr, {atom: solved}) for known, expr in self.equal.items()}
            self.equal[atom] = solved
            return

    def equate_shapes(self, a: Shape, b: Shape) -> None:
        a, b = self.root(a), self.root(b)
        if a is b:
            return
        for known, other in ((a, b), (b, a)):
            dims = self.dims(known)
            if dims is not None and other.explicit is None:
                self.set_rank(other, len(dims))
                for index, size in enumerate(dims):
                    self.equate(self.dim(other, index), size)
                return
        if a.explicit is not None and b.explicit is not None:
            if len(a.explicit) == len(b.explicit):
                for x, y in zip(a.explicit, b.explicit, strict=True):
                    self.equate(x, y)
            return
        self.same[b.key] = a


def _note(expr: Expr) -> SizeNote | None:
    atom = expr.single_atom
    return atom.note if atom is not None and isinstance(atom.note, SizeNote) else None


def learn_equations(knowledge: Knowledge, condition: Condition) -> None:
    """Solve the equations among a condition's conjuncts."""
    for part in condition.conjuncts():
        if part.op is Connective.EQ and part.expr is not None:
            knowledge.equate(part.expr, const(0))
