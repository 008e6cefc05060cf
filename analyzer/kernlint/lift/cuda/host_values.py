"""What is known about a host variable, and the state of a host function while it is read."""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from kernlint.ir.arith import select
from kernlint.ir.condition import Condition, flag
from kernlint.ir.expr import Atom, AtomKind, Expr, host, of_atom
from kernlint.ir.host import GridDim, HostValue, TensorFacts
from kernlint.ir.types import ElementType, Span
from kernlint.records import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node

    from kernlint.lift.cuda.unit import TranslationUnit


@dataclass(frozen=True, slots=True, eq=False)
class KernelRef:
    """A kernel named by an expression: `ns::foo<T, 4>`; `condition` tells when a choice means this one."""

    name: str
    template_arguments: tuple[Known, ...] = ()
    condition: Condition | None = None
    key: str = ""  # name and template arguments, normalised


@dataclass(frozen=True, slots=True, eq=False)
class Lambda:
    """A lambda bound to a local name."""

    node: Node
    unit: TranslationUnit


@dataclass(slots=True, eq=False)
class Known:
    """What is known about one host value; unknown parts are None.  Never changed once made.

    `expr` is its integer meaning, `cond` its truth, `dims` the components of a dim3, `ratio` an exact quotient that has
    not been rounded yet (`n / 256.0`), `kernels` the kernels a function pointer may name, `items` an array initialiser,
    `root` the name under which members and sizes of it are known (`x` in `x.size(0)`).
    """

    expr: Expr | None = None
    cond: Condition | None = None
    literal: Any = None
    is_literal: bool = False
    dims: tuple[GridDim, ...] | None = None
    ratio: tuple[Expr, Expr] | None = None
    floating: bool = False
    kernels: tuple[KernelRef, ...] = ()
    items: tuple[Known, ...] | None = None
    tensor: TensorFacts | None = None
    function: Lambda | None = None
    dtype: ElementType | None = None
    root: str = ""
    address_of: str = ""  # the variable in `&x`
    span: Span | None = None
    text: str = ""

    def at(self, span: Span, text: str) -> Known:
        """The same value, written at `span` as `text`."""
        return Known(
            self.expr,
            self.cond,
            self.literal,
            self.is_literal,
            self.dims,
            self.ratio,
            self.floating,
            self.kernels,
            self.items,
            self.tensor,
            self.function,
            self.dtype,
            self.root,
            self.address_of,
            span,
            text,
        )

    def as_host_value(self) -> HostValue:
        tensor = self.tensor
        return HostValue(
            expr=self.expr if not self.floating and tensor is None else None,
            tensor=tensor,
            literal=self.literal,
            is_literal=self.is_literal,
            cond=self.cond,
            items=tuple(item.as_host_value() for item in self.items) if self.items is not None else None,
            dtype=self.dtype,
            span=self.span,
            text=self.text,
        )


UNKNOWN = Known()
_VERSION = re.compile(r"@\d+")


@dataclass(slots=True)
class State:
    """Variables by name (members as `config.gridDim`), facts in force, and attributes set on kernels."""

    variables: dict[str, Known] = field(default_factory=dict)
    facts: tuple[Condition, ...] = ()
    attributes: dict[str, dict[str, HostValue]] = field(default_factory=dict)
    loops: int = 0
    types: dict[str, tuple[ElementType, ...]] = field(default_factory=dict)  # a type's name -> what it may be here
    aliases: dict[str, str] = field(default_factory=dict)  # local `using` names -> the type as written
    dead: bool = False  # control cannot be here: after a return, throw, break or continue

    def copy(self) -> State:
        return State(
            dict(self.variables), self.facts, dict(self.attributes), self.loops, self.types, self.aliases, self.dead
        )

    def set(self, name: str, value: Known) -> None:
        """Assign a variable; what was known of its members is forgotten."""
        prefix = name + "."
        if any(key.startswith(prefix) for key in self.variables):
            for key in [key for key in self.variables if key.startswith(prefix)]:
                del self.variables[key]
        self.variables[name] = value


def host_part(text: str) -> Expr:
    """A host integer known by its text.  Versions of variables (`x@120.size(0)`) tell values apart, unshown."""
    return of_atom(Atom(AtomKind.HOST, f"h:{text}", _VERSION.sub("", text)))


def fresh(name: str, offset: int, known: Known = UNKNOWN) -> Known:
    """A new, not understood value of `name` defined at `offset`: an integer of which nothing is known."""
    key = f"?:host:{name}@{offset}"
    expr = of_atom(Atom(AtomKind.OPAQUE, key, name, note="not understood on the host"))
    return replace(known, expr=expr, root=f"{name}@{offset}", text=name)


def named(name: str) -> Known:
    """A host integer known by its name."""
    return Known(expr=host(name), root=name, text=name)


def merged(condition: Condition | None, then: State, otherwise: State, offset: int) -> State:
    """The state after a branch: what both arms agree on, selects where they differ."""
    if then.dead:
        return otherwise
    if otherwise.dead:
        return then
    result = State(loops=then.loops, types=then.types, aliases=then.aliases)
    then_facts = {fact.key for fact in then.facts}
    result.facts = tuple(fact for fact in otherwise.facts if fact.key in then_facts)
    result.attributes = {**otherwise.attributes, **then.attributes}
    for name, one in then.variables.items():
        other = otherwise.variables.get(name)
        if other is None:
            if "." in name:  # a member set in one arm only has no value in the other
                result.variables[name] = one
            continue
        result.variables[name] = one if one is other else _joined(condition, one, other, name, offset)
    for name, other in otherwise.variables.items():
        if "." in name and name not in then.variables:
            result.variables[name] = other
    return result


def _joined(condition: Condition | None, one: Known, other: Known, name: str, offset: int) -> Known:
    if one.kernels or other.kernels:
        refs = {ref.key: ref for ref in (*one.kernels, *other.kernels)}
        return Known(kernels=tuple(refs.values()), text=name)
    chosen = condition or flag(f"host-branch@{offset}")
    if one.dims is not None and other.dims is not None:
        dims = []
        for index in range(3):
            a, b = _component(one.dims, index), _component(other.dims, index)
            expr = select(chosen, a, b) if a is not None and b is not None else None
            span = (one.dims[index] if index < len(one.dims) else one.dims[0]).span
            dims.append(GridDim(expr, span))
        return Known(dims=tuple(dims), text=name)
    if one.expr is not None and other.expr is not None and not one.floating and not other.floating:
        expr = one.expr if one.expr == other.expr else select(chosen, one.expr, other.expr)
        root = one.root if one.root == other.root else f"{name}@{offset}"
        return Known(expr=expr, root=root, text=name)
    if one.tensor is not None and other.tensor is not None:
        return Known(tensor=TensorFacts(name, init="given"), root=f"{name}@{offset}", text=name)
    for held, null in ((one, other), (other, one)):  # `float* p = nullptr; if (wanted) allocate(&p);`
        if held.tensor is not None and null.is_literal and null.literal is None:
            return held
    return Known(floating=one.floating or other.floating, root=f"{name}@{offset}", text=name)


def _component(dims: tuple[GridDim, ...], index: int) -> Expr | None:
    from kernlint.ir.expr import ONE

    return dims[index].expr if index < len(dims) else ONE
