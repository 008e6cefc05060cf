"""The state of a wrapper function at one point: variables, facts, and joins after branches."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import field, replace
from typing import Protocol

from kernlint.ir import arith
from kernlint.ir.condition import FALSE, TRUE, Condition, Connective, conj, disj, equals_zero, flag, negate
from kernlint.ir.expr import AtomKind, Expr
from kernlint.ir.types import Span
from kernlint.lift.host.scope import PythonScope
from kernlint.lift.host.shape import Knowledge, learn_equations
from kernlint.lift.host.value import (
    Callable,
    Choice,
    Given,
    HostVal,
    Int,
    KernelRef,
    Literal,
    Mapping,
    Seq,
    Tensor,
    Truth,
    as_int,
    given,
    seen_tensor,
)
from kernlint.records import dataclass

MAX_FACTS = 64
MAX_SELECT = 2000  # characters of the keys of a value chosen by conditions; a longer one is a new unknown value


@dataclass(slots=True, eq=False)
class State:
    """Variables by name (`self.n` for attributes assigned or read), what is known, and facts that hold here.

    `live` is False after a return or raise."""

    variables: dict[str, HostVal] = field(default_factory=dict)
    knowledge: Knowledge = field(default_factory=Knowledge)
    facts: tuple[Condition, ...] = ()
    divisible: tuple[tuple[Expr, Expr], ...] = ()
    live: bool = True

    def copy(self) -> State:
        return replace(self, variables=dict(self.variables), knowledge=self.knowledge.copy())

    def learn(self, condition: Condition) -> None:
        """From here on the condition holds."""
        for part in condition.conjuncts():
            if part.op is Connective.TRUE or len(self.facts) >= MAX_FACTS:
                continue
            self.facts += (part,)
            if part.op is Connective.EQ and part.expr is not None:
                divided = _divisibility(part.expr)
                if divided is not None:
                    self.divisible += (divided,)
        learn_equations(self.knowledge, condition)

    def replace_tensor(self, old: Tensor, new: Tensor) -> None:
        """Update every variable that holds this tensor object; `new` keeps its identity."""
        for name, value in self.variables.items():
            tensor = value.tensor if isinstance(value, Given) else value
            if isinstance(tensor, Tensor) and tensor.identity == old.identity:
                self.variables[name] = replace(new, name=tensor.name)


def _divisibility(expr: Expr) -> tuple[Expr, Expr] | None:
    """(a, b) when the equation `expr == 0` says that b divides a."""
    atom = expr.single_atom
    if atom is None or atom.kind is not AtomKind.MOD:
        return None
    a, b = atom.args
    return (a, b) if isinstance(a, Expr) and isinstance(b, Expr) else None


class Recorder(Protocol):
    """Told of each statement before it is executed, and of local functions: finds launches in them."""

    def statement(self, frame: Frame, node: ast.stmt) -> None: ...

    def enters(self, scope: PythonScope, node: ast.stmt) -> bool:
        """Whether launches inside this function are to be recorded at its calls."""
        ...

    def local_function(self, frame: Frame, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None: ...


@dataclass(slots=True, eq=False)
class Frame:
    """The evaluation of one function body.

    `depth` counts functions entered; `budget` limits the work of all of them; `nesting` that of one expression."""

    scope: PythonScope
    state: State
    budget: list[int]
    depth: int = 0
    guarded: bool = False
    nesting: int = 0
    loops: int = 0
    class_name: str = ""
    returns: list[tuple[Condition, HostVal]] = field(default_factory=list)
    versions: dict[str, int] = field(default_factory=dict)
    caller: Frame | None = None
    prefix: str = ""  # makes the atoms of a function entered through a call distinct
    path: tuple[Condition, ...] = ()  # conditions of the branches around the current statement, in this function
    final: State | None = None  # what holds at every return seen so far
    recorder: Recorder | None = None
    call_site: Span | None = None  # where the function was entered from, when launches in it are recorded
    call_span: Span | None = None  # the same when the function stands in another file: its launches are reported there

    def fresh(self, name: str) -> tuple[str, str]:
        """(key, display name) for a new definition of a variable."""
        version = self.versions.get(name, 0) + 1
        self.versions[name] = version
        shown = name if version == 1 else f"{name}'{version if version > 2 else ''}"
        return self.prefix + shown, shown

    def fresh_given(self, name: str, *, span: Span | None = None, init: str = "computed") -> Given:
        key, shown = self.fresh(name)
        return given(key, shown, span=span, init=init)

    def unknown(self, node: ast.expr, init: str = "computed") -> Given:
        """The value of an expression that is not understood; the same node is the same value."""
        span = self.scope.text.span(node)
        text = self.scope.text.code_at(span, 60)
        value = given(f"{self.prefix}{text}@{node.lineno}:{node.col_offset}", text, span=span, init=init)
        value.anonymous = True
        return value

    def leave(self, value: HostVal) -> None:
        """A return of this value."""
        self.returns.append((conj(self.path), value))
        if self.final is None:
            self.final = self.state.copy()
        else:
            self.final = join_states(self, TRUE, self.final, self.state)

    def spend(self, amount: int = 1) -> bool:
        """False when the work allowed for this function is used up."""
        self.budget[0] -= amount
        return self.budget[0] > 0


def join_states(frame: Frame, condition: Condition, then: State, other: State) -> State:
    """The state after `if condition: <then> else: <other>`."""
    if not then.live:
        return other
    if not other.live:
        return then
    joined = State(knowledge=then.knowledge.common(other.knowledge))
    for name, value in then.variables.items():
        second = other.variables.get(name)
        joined.variables[name] = value if second is None else join_values(frame, name, condition, value, second)
    for name, value in other.variables.items():
        joined.variables.setdefault(name, value)
    others = {fact.key for fact in other.facts}
    joined.facts = tuple(fact for fact in then.facts if fact.key in others)
    pairs = {(a.key, b.key) for a, b in other.divisible}
    joined.divisible = tuple((a, b) for a, b in then.divisible if (a.key, b.key) in pairs)
    return joined


def join_values(frame: Frame, name: str, condition: Condition, a: HostVal, b: HostVal) -> HostVal:
    """`a` when the condition holds, else `b`."""
    if a is b:
        return a
    if isinstance(a, Literal) and isinstance(b, Literal) and a.value == b.value and type(a.value) is type(b.value):
        return a
    if _is_none(a):
        return b
    if _is_none(b):
        return a
    first, second = seen_tensor(a), seen_tensor(b)
    if first is not None or second is not None:
        first = first or (a.tensor if isinstance(a, Given) else None)
        second = second or (b.tensor if isinstance(b, Given) else None)
        if first is not None and second is not None:
            return _join_tensors(frame, first, second)
        return frame.fresh_given(name)
    if isinstance(a, Truth) or isinstance(b, Truth) or (isinstance(a, Literal) and isinstance(b, Literal)):
        x, y = truth_of(a), truth_of(b)
        if x is not None and y is not None:
            return Truth(either(condition, x, y))
        return frame.fresh_given(name)
    if isinstance(a, Seq) and isinstance(b, Seq) and len(a.items) == len(b.items):
        items = tuple(join_values(frame, name, condition, x, y) for x, y in zip(a.items, b.items, strict=True))
        return Seq(items, a.spans)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        shared = [key for key in a.items if key in b.items]
        merged = {key: join_values(frame, f"{name}.{key}", condition, a.items[key], b.items[key]) for key in shared}
        whole = a.complete and b.complete and len(shared) == len(a.items) == len(b.items)
        return Mapping(merged, whole)
    kinds = (KernelRef, Choice)
    if isinstance(a, kinds) and isinstance(b, Given):
        return a  # or something unknown in its place, such as a tuned copy
    if isinstance(a, Given) and isinstance(b, kinds):
        return b
    if isinstance(a, kinds) and isinstance(b, kinds):
        return _choice(condition, a, b)
    if isinstance(a, (Int, Given)) and isinstance(b, (Int, Given)) and (_is_int(a) or _is_int(b)):
        x_int, y_int = as_int(a), as_int(b)
        if x_int is not None and y_int is not None:
            size = len(condition.key) + len(x_int.key) + len(y_int.key)
            return Int(arith.select(condition, x_int, y_int)) if size <= MAX_SELECT else frame.fresh_given(name)
    grids = (Seq, Callable)  # a grid may be a tuple in one branch and a function in the other
    if (type(a) is type(b) and not isinstance(a, (Int, Given))) or (isinstance(a, grids) and isinstance(b, grids)):
        return _choice(condition, a, b)
    return frame.fresh_given(name)


def _choice(condition: Condition, a: HostVal, b: HostVal) -> Choice:
    nested = isinstance(a, Choice) or isinstance(b, Choice)
    return Choice(options_of([a, b]), None if nested else condition)


def options_of(values: Iterable[HostVal]) -> tuple[HostVal, ...]:
    """The values without nesting of choices, at most eight."""
    found: list[HostVal] = []
    for value in values:
        found.extend(value.options if isinstance(value, Choice) else (value,))
    return tuple(dict.fromkeys(found))[:8]


def _is_int(value: HostVal) -> bool:
    return isinstance(value, Int) or (isinstance(value, Given) and value.is_int)


def _is_none(value: HostVal) -> bool:
    return isinstance(value, Literal) and value.value is None


def _join_tensors(frame: Frame, a: Tensor, b: Tensor) -> Tensor:
    if a.identity == b.identity and a == b:
        return a
    contiguous = a.contiguous if a.contiguous == b.contiguous else None
    same_shape = a.shape is b.shape or frame.state.knowledge.root(a.shape) is frame.state.knowledge.root(b.shape)
    if same_shape:
        shape = a.shape
    else:
        key, shown = frame.fresh(a.name or "tensor")
        shape = type(a.shape)(key, shown)
    allocated = _allocated_unless_given(a, b)
    joined = replace(
        allocated or a,
        shape=shape,
        dtype=a.dtype if a.dtype == b.dtype else None,
        contiguous=contiguous,
        init=a.init if a.init == b.init else allocated.init if allocated is not None else "computed",
        fill=a.fill if a.fill == b.fill else None,
        storage=a.storage if a.storage == b.storage else "",
        layout=a.layout if a.layout == b.layout else "",
    )
    return joined if a.identity == b.identity else joined.changed()


def _allocated_unless_given(a: Tensor, b: Tensor) -> Tensor | None:
    """The tensor that a wrapper allocates uninitialised when its caller passed none (`if out is None: ...`)."""
    for made, other in ((a, b), (b, a)):
        if made.init == "empty" and other.init == "given":
            return made
    return None


def truth_of(value: HostVal) -> Condition | None:
    if isinstance(value, Truth):
        return value.condition
    if isinstance(value, Literal):
        return TRUE if value.value else FALSE
    if isinstance(value, Int):
        return negate(equals_zero(value.expr))
    if isinstance(value, Given):
        return flag(f"h:{value.key}")
    return None


def either(condition: Condition, then: Condition, other: Condition) -> Condition:
    """`then if condition else other`"""
    return disj((conj((condition, then)), conj((negate(condition), other))))
