"""The state of lifting one jit function: where we are, what names mean, what has been produced."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any

from kernlint.ir.condition import FALSE, TRUE, Condition, Connective, conj, flag, negate
from kernlint.ir.expr import (
    Atom,
    AtomKind,
    Axis,
    AxisKind,
    Expr,
    axis_expr,
    const,
    host,
    of_atom,
    opaque,
    param,
    substitute,
)
from kernlint.ir.kernel import Access, Barrier, Branch, Exit, Frame, Loop, Param, Region
from kernlint.ir.types import BOOL, FLOAT32, INT32, INT64, ElementType, Span
from kernlint.ir.value import Buffer, Value
from kernlint.lift.triton.things import Base, Bound, Callee, Carrier, Pending, Ref, Static, Thing
from kernlint.records import dataclass

if TYPE_CHECKING:
    from kernlint.lift.host.scope import PythonScope

MAX_STEPS = 40_000  # expressions evaluated per kernel, inlining included
MAX_DEPTH = 120  # nested expressions, statements and inlined calls together
MAX_INLINE = 8  # calls within calls
MAX_CALLS = 800  # inlined calls per kernel

Node = ast.stmt | ast.expr | ast.arg | ast.keyword


class BudgetExceededError(Exception):
    """The kernel is too large to lift whole; what was lifted so far is kept."""


@dataclass(slots=True)
class Activation:
    """One function being walked: the kernel itself or an inlined helper."""

    callee: Callee | None
    path_length: int
    returns: list[tuple[Condition, Thing]] = field(default_factory=list)


@dataclass(slots=True)
class Call:
    """A call with its arguments evaluated; `node` is the call as written."""

    name: str
    args: list[Thing]
    kwargs: dict[str, Thing]
    node: ast.expr

    def get(self, position: int, name: str) -> Thing | None:
        """The argument given by keyword or at this position, None when it was left out."""
        if name in self.kwargs:
            return self.kwargs[name]
        return self.args[position] if 0 <= position < len(self.args) else None


class State:
    """Mutable, private to one `lift` of one function."""

    __slots__ = (
        "activations",
        "assigned",
        "attrs",
        "bases",
        "body",
        "buffers",
        "call_function",
        "called",
        "calls",
        "carriers",
        "depth",
        "descriptors",
        "env",
        "epoch",
        "facts",
        "globals",
        "guard",
        "guards",
        "inlined_at",
        "inlined_from",
        "integer_params",
        "loop_count",
        "make_carry",
        "opaque_reasons",
        "ordinal",
        "params",
        "path",
        "pointer_params",
        "region",
        "scope",
        "steps",
        "values",
    )

    def __init__(self, scope: PythonScope) -> None:
        self.scope = scope
        self.env: dict[str, Thing] = {}
        self.params: dict[str, Param] = {}
        self.buffers: dict[str, Buffer] = {}
        self.bases: dict[str, Base] = {}  # atom key -> what a reinterpreted pointer points to
        self.values: list[Value] = []
        self.body = Region()
        self.region = self.body
        self.path: tuple[Frame, ...] = ()
        self.guard: Condition = TRUE
        self.guards: dict[tuple[int, int], tuple[Condition, Condition, Condition]] = {}
        self.facts: list[Condition] = []
        self.attrs: dict[str, Any] = {}
        self.opaque_reasons: dict[str, int] = {}
        self.inlined_from: set[str] = set()  # other files whose functions were inlined
        self.inlined_at: tuple[Span, ...] = ()
        self.activations: list[Activation] = []
        self.carriers: list[Carrier] = []
        self.assigned: dict[int, Any] = {}  # loop node -> names it assigns
        self.globals: dict[tuple[str, str], Thing] = {}  # (file, name) -> meaning
        self.called: set[int] = set()  # ids of function nodes inlined
        self.pointer_params: set[str] = set()
        self.descriptors: set[str] = set()
        self.integer_params: set[str] = set()
        self.ordinal = 0
        self.loop_count = 0
        self.calls = 0
        self.epoch = 0
        self.steps = 0
        self.depth = 0
        self.call_function: Callable[[State, Callee, Call], Thing] = _no_call
        self.make_carry: Callable[[State, Pending], Thing] = _no_carry

    # ---- places ----------------------------------------------------------------------------------------------------

    def span(self, node: Node) -> Span:
        return self.scope.text.span(node)

    def code(self, node: ast.expr) -> str:
        return self.scope.text.code(node, 60)

    def next_ordinal(self) -> int:
        self.ordinal += 1
        return self.ordinal

    def step(self) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise BudgetExceededError("larger than the lifting budget")

    # ---- control flow ----------------------------------------------------------------------------------------------

    def push(self, frame: Frame) -> None:
        self.path = (*self.path, frame)
        if frame.condition is not TRUE:
            self.guard = self.both(self.guard, frame.condition)

    def restore(self, path: tuple[Frame, ...], guard: Condition) -> None:
        self.path, self.guard = path, guard

    def both(self, a: Condition, b: Condition) -> Condition:
        """Their conjunction, remembered: many accesses share one mask and one path."""
        if a is TRUE or a is b:
            return b
        if b is TRUE:
            return a
        key = (id(a), id(b))
        found = self.guards.get(key)
        if found is None:
            found = self.guards[key] = (conj((a, b)), a, b)  # a and b kept alive, so that their ids stay theirs
        return found[0]

    def decided(self, condition: Condition) -> Condition:
        """TRUE or FALSE when the path here already says so."""
        if condition.op in (Connective.TRUE, Connective.FALSE) or self.guard is TRUE:
            return condition
        opposite = negate(condition).key
        for part in self.guard.conjuncts():
            if part.key == condition.key:
                return TRUE
            if part.key == opposite:
                return FALSE
        return condition

    def under_guard(self, expr: Expr) -> Expr:
        """The expression with the selects decided that the path here decides."""
        if self.guard is TRUE:
            return expr
        mapping: dict[Atom, Expr] = {}
        for atom in expr.deep_atoms:
            if atom.kind is AtomKind.SELECT and isinstance(atom.args[0], Condition):
                known = self.decided(atom.args[0])
                arm = atom.args[1] if known is TRUE else atom.args[2] if known is FALSE else None
                if isinstance(arm, Expr):
                    mapping[atom] = arm
        return substitute(expr, mapping) if mapping else expr

    def emit(self, item: Access | Barrier | Loop | Branch | Exit) -> None:
        self.region.items.append(item)

    # ---- values ----------------------------------------------------------------------------------------------------

    def value(
        self,
        op: str,
        args: tuple[Value, ...] = (),
        *,
        node: Node | None = None,
        dtype: ElementType | None = None,
        shape: tuple[Expr, ...] = (),
        expr: Expr | None = None,
        cond: Condition | None = None,
        attrs: dict[str, Any] | None = None,
        polymorphic: bool = False,
    ) -> Value:
        self.ordinal += 1
        made = Value(
            op,
            args,
            dtype,
            shape,
            expr,
            cond,
            self.scope.text.span(node) if node is not None else None,
            None,
            None,
            attrs if attrs is not None else {},
            "",
            self.ordinal,
            polymorphic,
        )
        self.values.append(made)
        return made

    def constant(self, value: int | float | bool, node: Node | None = None) -> Value:
        attrs = {"value": value, "constexpr": True}
        if isinstance(value, bool):
            return self.value(
                "const", node=node, dtype=BOOL, expr=const(int(value)), cond=TRUE if value else FALSE, attrs=attrs
            )
        if isinstance(value, int):
            small = -(2**31) <= value < 2**31
            return self.value("const", node=node, dtype=INT32 if small else INT64, expr=const(value), attrs=attrs)
        return self.value("const", node=node, dtype=FLOAT32, attrs=attrs)

    def integer(self, expr: Expr, node: Node | None = None, *, static: bool = True) -> Value:
        """A scalar integer value with this meaning; `static` when it is known at compile time."""
        known = expr.constant
        if known is not None and static:
            return self.constant(known, node)
        attrs: dict[str, Any] = {"constexpr": True} if static else {}
        return self.value(
            "call", node=node, dtype=None if static else INT32, expr=expr, attrs={**attrs, "name": "expr"}
        )

    def opaque(
        self, why: str, node: Node | None = None, args: tuple[Value, ...] = (), shape: tuple[Expr, ...] = ()
    ) -> Value:
        """A value nothing is known about; counted by reason."""
        self.opaque_reasons[why] = self.opaque_reasons.get(why, 0) + 1
        made = self.value("opaque", args, node=node, shape=shape, attrs={"why": why})
        made.expr = opaque(f"o{made.ordinal}", why)
        return made

    def as_value(self, thing: Thing | None, node: Node | None = None) -> Value:
        """The value itself, or an opaque one standing for something that is not a number."""
        if isinstance(thing, Value):
            return thing
        if thing is None or (isinstance(thing, Static) and thing.value is None):
            return self.value("opaque", node=node, attrs={"why": "None", "none": True})
        if isinstance(thing, tuple):
            items = tuple(self.as_value(item, node) for item in thing)
            return self.value("tuple", items, node=node)
        if isinstance(thing, Ref):
            return self.global_constant(thing.dotted, node)
        if isinstance(thing, Bound) and isinstance(thing.receiver, Value) and thing.name == "numel":
            return self.integer(self.numel(thing.receiver), node)
        why = f"{type(thing).__name__.lower()} used as a number"
        return self.opaque(why, node)

    def numel(self, value: Value) -> Expr:
        """How many elements a block has; a symbol of its own for a parameter."""
        if value.op == "param" and not value.shape:
            return param(f"{value.attrs['name']}.numel")
        total = const(1)
        for extent in value.shape:
            total = total * extent
        return total

    def global_constant(self, name: str, node: Node | None = None) -> Value:
        """A module-level constant whose value is not known: compile-time, one value throughout."""
        attrs: dict[str, Any] = {"constexpr": True, "name": name, "global": True}
        return self.value("call", node=node, expr=host(name), cond=flag(name), attrs=attrs)


def _no_call(state: State, callee: Callee, call: Call) -> Thing:
    return state.opaque("call", call.node)


def _no_carry(state: State, pending: Pending) -> Thing:
    return pending.init


def data(name: str, ordinal: int, shape: tuple[Expr, ...]) -> Expr:
    """The integer meaning of a computed value (a sum, a sort): data, one per definition and lane."""
    lanes = tuple(lane(dim - len(shape), extent) for dim, extent in enumerate(shape))
    args = tuple(expr for expr in lanes if expr.terms)
    note = f"{name}#{ordinal}"
    key = f"{note}({','.join(arg.key for arg in args)})"
    return of_atom(Atom(AtomKind.CALL, key, note, args, note=note))


_LANE_NAMES = {-1: "", -2: "[:, None]", -3: "[:, None, None]"}


def lane(dim: int, extent: Expr) -> Expr:
    """The lane number along dimension `dim`, counted from the right (-1 is the last)."""
    if extent.constant == 1:
        return const(0)
    name = f"arange({extent!r}){_LANE_NAMES.get(dim, f'@{dim}')}"
    return axis_expr(Axis(AxisKind.LANE, f"l{dim}:{extent.key}", name, extent, dim))
