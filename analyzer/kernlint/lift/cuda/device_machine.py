"""The abstract machine that walks one kernel: scopes, variable states, frames, and the values and items it has made.

Variable contents are one dictionary with a stack of *layers* that remember what they overwrote: an arm of a branch or a
loop body has a layer of its own, so that what it wrote is known and taken back at a cost that depends on it alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kernlint.ir.condition import FALSE, TRUE, Condition, conj, equals_zero, flag, negate
from kernlint.ir.expr import Atom, Axis, AxisKind, Expr, axis_expr, const, launch_dim, opaque
from kernlint.ir.expr import param as param_expr
from kernlint.ir.kernel import Access, Barrier, BarrierKind, Frame, Kernel, Region
from kernlint.ir.types import BOOL, INT32, UINT32, ElementType, Space, Span
from kernlint.ir.value import Buffer, Pointer, Value
from kernlint.lift.cuda.device_model import (
    Left,
    Object,
    Place,
    Scope,
    Target,
    TypedValue,
    Variable,
    Way,
    integer,
    object_of,
    pointee,
)
from kernlint.lift.cuda.device_types import UNKNOWN, CType
from kernlint.lift.cuda.unit import FunctionDefinition, TranslationUnit

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_STEPS = 60_000  # nodes evaluated per kernel, inlined helpers included
MAX_DEPTH = 150  # nested expressions and statements
AXIS_NAMES = "xyz"


Evaluator = Callable[["Machine", "Node"], Value]
Runner = Callable[["Machine", "Node"], "Left | None"]


class Machine:
    """Mutable state of one lift."""

    def __init__(
        self,
        definition: FunctionDefinition,
        unit: TranslationUnit,
        kernel: Kernel,
        expressions: dict[str, Evaluator],
        statements: dict[str, Runner],
    ) -> None:
        self.home = unit  # where names are looked up
        self.unit = definition.unit  # where node texts and spans come from
        self.data = definition.unit.data
        self.kernel = kernel
        self.expressions = expressions
        self.statements = statements
        self.scope = Scope()
        self.state: dict[str, Value] = {}
        self.layers: list[dict[str, Value | None]] = [{}]  # what stood there before the layer wrote
        self.frames: list[Frame] = []
        self.guards: list[Condition | None] = [TRUE]  # by number of frames; None until asked for
        self.regions: list[Region] = [kernel.body]
        self.targets: list[Target] = []
        self.inlined_at: tuple[Span, ...] = ()
        self.active: list[int] = []  # node ids of the functions being inlined
        self.inlined_bytes = 0
        self.accesses: list[Access] = []
        self.epoch = 0
        self.ordinals = 0
        self.vids = 0
        self.loops = 0
        self.steps = 0
        self.depth = 0
        self.births: dict[str, int] = {}  # opaque atom key -> ordinal when made
        self.closed: dict[Atom, Expr] = {}  # carried atoms with a closed form, in order of closing
        self.symbols: dict[str, Value] = {}
        self.constants: dict[str, Value | None] = {}
        self.loads: dict[str, Expr] = {}  # read-only loads by buffer and index
        self.assignments: dict[int, dict[int, list[tuple[int, str, str]]]] = {}  # see evaluate_assigned
        self.instructions: dict[tuple[str, int], list[tuple[str, str]]] = {}  # of asm statements, by place
        self.declarations: dict[tuple[str, int], Any] = {}  # see evaluate_declare
        self.grid: dict[tuple[str, int], Expr] = {}
        self.spans: dict[tuple[str, int, int], Span] = {}
        self.unroll: bool = False  # a `#pragma unroll` stands before the next loop

    # values

    def next_ordinal(self) -> int:
        self.ordinals += 1
        return self.ordinals

    def value(
        self,
        op: str,
        args: tuple[Value, ...] = (),
        dtype: ElementType | None = None,
        node: Node | None = None,
        expr: Expr | None = None,
        cond: Condition | None = None,
        attrs: dict[str, Any] | None = None,
        span: Span | None = None,
    ) -> Value:
        self.ordinals += 1
        made = Value(op, args, dtype, (), expr, cond, span, None, None, attrs or {}, "", self.ordinals, dtype is None)
        if node is not None:
            made.span = self.span(node)
        self.kernel.values.append(made)
        return made

    def typed(
        self,
        op: str,
        args: tuple[Value, ...] = (),
        node: Node | None = None,
        *,
        pointer: Pointer | None = None,
        ctype: CType | None = None,
        obj: Object | None = None,
        dtype: ElementType | None = None,
        expr: Expr | None = None,
        place: Place | None = None,
        attrs: dict[str, Any] | None = None,
    ) -> TypedValue:
        self.ordinals += 1
        made = TypedValue(op, args, dtype, expr=expr, pointer=pointer, ordinal=self.ordinals, attrs=attrs or {})
        made.ctype, made.obj, made.place = ctype, obj, place
        if node is not None:
            made.span = self.span(node)
        self.kernel.values.append(made)
        return made

    def constant(self, number: int | float | bool, dtype: ElementType, node: Node | None = None) -> Value:
        expr = const(int(number)) if dtype.is_integer or dtype is BOOL else None
        cond = (TRUE if number else FALSE) if dtype is BOOL else None
        return self.value("const", (), dtype, node, expr, cond, {"value": number})

    def opaque_expr(self, why: str) -> Expr:
        """A fresh unknown integer."""
        key = f"v{self.next_ordinal()}"
        self.births[f"?:{key}"] = self.ordinals
        return opaque(key, why)

    def opaque(
        self,
        why: str,
        node: Node | None = None,
        dtype: ElementType | None = None,
        args: tuple[Value, ...] = (),
        count: bool = True,
    ) -> Value:
        if count:
            reasons = self.kernel.opaque_reasons
            reasons[why] = reasons.get(why, 0) + 1
        expr = None if dtype is not None and dtype.is_float else self.opaque_expr(why)
        return self.value("opaque", args, dtype, node, expr, None, {"why": why})

    def expr_of(self, value: Value) -> Expr:
        """The integer meaning of a value; a fresh unknown when it has none."""
        if value.expr is not None:
            return value.expr
        if value.cond is not None:
            from kernlint.ir.arith import select

            value.expr = select(value.cond, const(1), const(0))
        else:
            value.expr = self.opaque_expr("no integer meaning")
        return value.expr

    def cond_of(self, value: Value) -> Condition:
        """The truth of a value used as a condition."""
        if value.cond is None:
            if value.expr is not None and not (value.dtype is not None and value.dtype.is_float):
                value.cond = negate(equals_zero(value.expr))
            else:
                value.cond = flag(f"{value.name or value.op}#{value.ordinal}")
        return value.cond

    # the syntax tree

    def text(self, node: Node) -> str:
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def span(self, node: Node) -> Span:
        unit = self.unit
        if unit.use_span is not None:
            return unit.use_span
        key = (unit.source.path, node.start_byte, node.end_byte)
        found = self.spans.get(key)
        if found is None:
            found = self.spans[key] = unit.span(node)
        return found

    def eval(self, node: Node) -> Value:
        self.steps += 1
        handler = self.expressions.get(node.type)
        if handler is None:
            return self.opaque(f"expression {node.type}", node)
        if self.steps > MAX_STEPS:
            self.kernel.incomplete = f"more than {MAX_STEPS} syntax nodes to evaluate"
            return self.opaque("budget", node)
        if self.depth >= MAX_DEPTH:
            return self.opaque("nested too deep", node)
        self.depth += 1
        try:
            return handler(self, node)
        finally:
            self.depth -= 1

    def run(self, node: Node) -> Left | None:
        """Run one statement; what may have left, None when control certainly falls through."""
        self.steps += 1
        handler = self.statements.get(node.type)
        if handler is None or self.steps > MAX_STEPS:
            return None
        if self.depth >= MAX_DEPTH:
            self.kernel.incomplete = "statements nested too deep"
            return None
        self.depth += 1
        try:
            return handler(self, node)
        finally:
            self.depth -= 1

    # state

    def enter_block(self) -> Scope:
        """Open a block scope; gives the scope to return to."""
        saved = self.scope
        self.scope = Scope(parent=saved, types=saved.types)
        return saved

    def new_variable(self, name: str, ctype: CType) -> Variable:
        self.vids += 1
        variable = Variable(name, self.vids, ctype, str(self.vids))
        self.scope.names[name] = variable
        return variable

    def new_object(self, ctype: CType, path: str, symbolic: bool = False) -> Object:
        self.vids += 1
        return Object(ctype, path, self.vids, symbolic)

    def read(self, key: str) -> Value | None:
        return self.state.get(key)

    def write(self, key: str, value: Value) -> None:
        layer = self.layers[-1]
        if key not in layer:
            layer[key] = self.state.get(key)
        self.state[key] = value

    def write_all(self, values: dict[str, Value]) -> None:
        for key, value in values.items():
            self.write(key, value)

    def write_base(self, key: str, value: Value) -> None:
        """Content a variable not written so far has had from the beginning."""
        self.state[key] = value

    def push_layer(self) -> None:
        self.layers.append({})

    def pop_layer(self) -> dict[str, Value]:
        """Take back what the top layer wrote, and give it."""
        layer, state = self.layers.pop(), self.state
        writes = {key: state[key] for key in layer}
        for key, before in layer.items():
            if before is None:
                del state[key]
            else:
                state[key] = before
        return writes

    def writes_since(self, depth: int) -> dict[str, Value]:
        """Everything written in the layers from `depth` on."""
        state = self.state
        return {key: state[key] for layer in self.layers[depth:] for key in layer}

    # control

    @property
    def guard(self) -> Condition:
        guards, frames = self.guards, self.frames
        known = len(guards) - 1
        while guards[known] is None:
            known -= 1
        current = guards[known] or TRUE
        for depth in range(known, len(frames)):
            current = conj((current, frames[depth].condition))
            guards[depth + 1] = current
        return current

    def push_frame(self, frame: Frame) -> None:
        self.frames.append(frame)
        self.guards.append(None)

    def pop_frame(self) -> None:
        self.frames.pop()
        self.guards.pop()

    def emit(self, item: Any) -> None:
        self.regions[-1].items.append(item)

    def barrier(self, kind: BarrierKind, node: Node, name: str, mask: Value | None = None) -> Barrier:
        made = Barrier(
            kind, self.span(node), self.next_ordinal(), tuple(self.frames), self.guard, name, mask, self.inlined_at
        )
        self.emit(made)
        if kind in (BarrierKind.BLOCK, BarrierKind.GRID):
            self.epoch += 1
        return made

    # names that stand for themselves

    def grid_value(self, kind: str, index: int, node: Node | None) -> Value:
        """threadIdx (`t`), blockIdx (`g`), blockDim (`bd`) or gridDim (`gd`) in one dimension; uint32."""
        known = self.grid.get((kind, index))
        if known is not None:
            return self.value("param", (), UINT32, node, known, None, {"name": known.terms[0][0][0].name})
        letter = AXIS_NAMES[index]
        if kind == "t":
            extent = launch_dim("bd", index, f"blockDim.{letter}")
            expr = axis_expr(Axis(AxisKind.LANE, f"t{index}", f"threadIdx.{letter}", extent, index, True))
        elif kind == "g":
            extent = launch_dim("gd", index, f"gridDim.{letter}")
            expr = axis_expr(Axis(AxisKind.GRID, f"g{index}", f"blockIdx.{letter}", extent, index))
        else:
            expr = launch_dim(kind, index, f"{'blockDim' if kind == 'bd' else 'gridDim'}.{letter}")
        self.grid[(kind, index)] = expr
        return self.value("param", (), UINT32, node, expr, None, {"name": expr.terms[0][0][0].name})

    def symbol(self, path: str, ctype: CType = UNKNOWN, space: Space = Space.GLOBAL) -> Value:
        """A named constant of the launch or of the program: `params.stride`, `Traits::kTile`.

        When nothing is known of its type it can serve as an integer, as a pointer to a buffer of that name, and as an
        object, whichever its uses demand.
        """
        known = self.symbols.get(path)
        if known is not None:
            return known
        element = ctype.element if ctype.is_scalar else None
        made = self.typed("param", ctype=ctype, dtype=element, attrs={"name": path})
        made.name = path
        if ctype.depth or (element is None and not ctype.is_void):
            pointee = ctype.pointed()
            made.pointer = Pointer(self.buffer(path, space, pointee, None, ctype.const), const(0), pointee.element)
            made.ctype = pointee
            if not ctype.depth:
                made.obj = self.new_object(ctype, path, symbolic=True)
        if not ctype.depth and (element is None or not element.is_float):
            made.expr = param_expr(path)
        self.symbols[path] = made
        return made

    def buffer(self, name: str, space: Space, ctype: CType, node: Node | None = None, readonly: bool = False) -> Buffer:
        """A new buffer, registered under its name (with a number when the name is taken)."""
        span = self.span(node) if node is not None else self.kernel.span
        made = Buffer(name, space, None if ctype.depth else ctype.element, span, readonly=readonly)
        key, number = name, 1
        while key in self.kernel.buffers:
            number += 1
            key = f"{name}#{number}"
        made.name = key
        self.kernel.buffers[key] = made
        return made

    def reason(self, why: str) -> None:
        reasons = self.kernel.opaque_reasons
        reasons[why] = reasons.get(why, 0) + 1


__all__ = [
    "INT32",
    "Evaluator",
    "Left",
    "Machine",
    "Object",
    "Place",
    "Runner",
    "Scope",
    "Target",
    "TypedValue",
    "Variable",
    "Way",
    "integer",
    "object_of",
    "pointee",
]
