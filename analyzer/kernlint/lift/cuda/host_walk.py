"""Walking a host function statement by statement, in execution order, collecting its launches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from kernlint.ir.condition import Condition, at_most, equal, negate
from kernlint.ir.expr import ONE, ZERO, Atom, AtomKind, Expr, host, of_atom
from kernlint.ir.host import GridDim, HostFunction, Launch, TensorFacts
from kernlint.lift.cuda import host_inline
from kernlint.lift.cuda.declarators import Declared, declared, type_text_of
from kernlint.lift.cuda.host_eval import as_dims, cast, evaluate, truth
from kernlint.lift.cuda.host_launch import set_config
from kernlint.lift.cuda.host_members import add_alias
from kernlint.lift.cuda.host_memory import adopt, container, named_allocation
from kernlint.lift.cuda.host_names import identifier_value
from kernlint.lift.cuda.host_status import StatusReader
from kernlint.lift.cuda.host_types import element_type, is_floating, is_integer, is_tensor
from kernlint.lift.cuda.host_values import UNKNOWN, Known, Lambda, State, fresh, merged
from kernlint.lift.cuda.unit import Constant, FunctionDefinition, ParameterDeclaration, TranslationUnit
from kernlint.records import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node

    from kernlint.ir.types import ElementType

MAX_WORK = 60_000  # expressions evaluated per function
MAX_LAUNCHES = 400
_EXITS = frozenset({"return_statement", "throw_statement", "break_statement", "continue_statement", "goto_statement"})
_ABORTS = frozenset({"exit", "abort", "terminate", "quick_exit", "_exit", "__builtin_unreachable", "unreachable"})
_TRANSPARENT = frozenset({"preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "ERROR", "declaration_list"})


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Where control is: statement `index` of `statements`.  `kind` is `block`, `loop`, `call` (an inlined body: its
    `return` continues after the call) or `function`."""

    unit: TranslationUnit
    statements: Sequence[Node]
    index: int
    kind: str


class Walker:
    """One walk of one host function.  `program` is the unit being linted, `unit` the text the current nodes are of."""

    def __init__(self, program: TranslationUnit, function: FunctionDefinition, record: HostFunction) -> None:
        self.program = program
        self.unit = function.unit
        self.function = function
        self.host = record
        self.budget = MAX_WORK
        self.depth = 0
        self.macro_depth = 0
        self.inline_depth = 0
        self.member_depth = 0
        self.quiet = 0  # above 0, launches are not recorded (a helper is only asked for its value)
        self.frames: list[Frame] = []
        self.launches: list[Launch] = []
        self.seen: set[tuple[object, ...]] = set()
        self.entered: set[int] = set()
        self.tied: dict[int, set[str]] = {}  # offsets of what attributes are set for -> the kernels it may be
        self.pending: list[tuple[Lambda, Node, State, tuple[Frame, ...]]] = []
        self.types: dict[str, tuple[ElementType, ...]] = {}  # what type parameters of the function may be
        self.status = StatusReader(program)
        self._constants: dict[int, Expr | None] = {}

    def text(self, node: Node) -> str:
        return self.unit.text(node)

    def evaluate(self, node: Node | None, state: State) -> Known:
        return evaluate(self, node, state)

    @contextmanager
    def inside(self, unit: TranslationUnit) -> Iterator[None]:
        """Nodes met meanwhile belong to another unit: a macro expansion, an included helper."""
        outer, self.unit = self.unit, unit
        try:
            yield
        finally:
            self.unit = outer

    def run(self) -> None:
        state = State(types=self.types)
        for template in self.function.template_parameters:
            if template.kind == "value":
                state.variables[template.name] = Known(expr=host(template.name), root=template.name, text=template.name)
        for parameter in self.function.parameters:
            state.variables[parameter.name] = self.parameter(parameter)
        statements = self.function.body.named_children
        self.block(statements, state, kind="function")
        for function, _node, then, frames in self.pending:
            if id(function) not in self.entered:
                self.frames = list(frames)
                self.enter_lambda(function, _node, then)

    def parameter(self, parameter: ParameterDeclaration) -> Known:
        """A parameter as the function sees it: an integer, a dim3, a tensor, or something known by name only."""
        name, kind = parameter.name, parameter.type_text
        span = self.unit.span(parameter.node)
        if kind.rpartition("::")[2] in ("dim3", "uint3"):
            dims = tuple(GridDim(host(f"{name}.{axis}"), span) for axis in "xyz")
            return Known(dims=dims, root=name, text=name)
        if is_tensor(kind):
            return Known(tensor=TensorFacts(name, span=span), root=name, text=name)
        if parameter.is_pointer:
            tensor = TensorFacts(name, dtype=element_type(kind), span=span)
            return Known(tensor=tensor, root=name, text=name)
        if is_floating(kind):
            return Known(floating=True, root=name, text=name, dtype=element_type(kind))
        if is_integer(kind):
            cond = negate(equal(host(name), ZERO)) if kind == "bool" else None
            return Known(expr=host(name), cond=cond, root=name, text=name, dtype=element_type(kind))
        return Known(root=name, text=name)

    # -- statements

    def block(self, statements: Sequence[Node], state: State, kind: str = "block", scoped: bool = True) -> None:
        """Statements in order; names declared inside do not outlive a scoped block."""
        before = dict(state.variables) if scoped and kind != "function" else None
        types, aliases = state.types, state.aliases
        shadowed: set[str] = set()
        for index, statement in enumerate(statements):
            if self.budget <= 0:
                break
            if statement.type == "declaration" and before is not None:
                shadowed.update(item.name for item in declared(self.unit, statement))
            self.frames.append(Frame(self.unit, statements, index, kind))
            try:
                self.statement(statement, state)
            finally:
                self.frames.pop()
            if state.dead:
                break
        if before is not None:
            state.types, state.aliases = types, aliases
            for name in shadowed:
                if name in before:
                    state.variables[name] = before[name]
                else:
                    state.variables.pop(name, None)

    def statement(self, node: Node, state: State) -> None:
        kind = node.type
        if kind == "compound_statement":
            self.block(node.named_children, state)
        elif kind == "declaration":
            self.declaration(node, state)
        elif kind in ("alias_declaration", "type_definition"):
            add_alias(self, node, state)
        elif kind == "if_statement":
            self.if_statement(node, state)
        elif kind in ("for_statement", "while_statement", "do_statement", "for_range_loop"):
            self.loop(node, state)
        elif kind == "switch_statement":
            self.switch(node, state)
        elif kind in _EXITS:
            for child in node.named_children:
                evaluate(self, child, state)
            state.dead = True
        elif kind in _TRANSPARENT:
            self.alternatives(node, state)
        elif kind == "try_statement":
            for child in node.named_children:
                if child.type == "compound_statement":
                    self.block(child.named_children, state)
        elif kind in ("labeled_statement", "attributed_statement", "else_clause"):
            for child in node.named_children[-1:]:
                self.statement(child, state)
        elif kind == "expression_statement":
            for child in node.named_children:
                value = evaluate(self, child, state)
                self.aborts(child, state)
                if value.function is not None:
                    self.enter_lambda(value.function, child, state)
        elif kind.endswith(("_expression", "_literal")) or kind == "identifier":
            evaluate(self, node, state)

    def aborts(self, node: Node, state: State) -> None:
        """`exit(1);` and the like end the path."""
        function = node.child_by_field_name("function") if node.type == "call_expression" else None
        if function is not None and self.text(function).rpartition("::")[2] in _ABORTS:
            state.dead = True

    def alternatives(self, node: Node, state: State) -> None:
        """A preprocessor conditional among statements: its branches are alternatives, none of them certain."""
        arms = [child for child in node.named_children if child.type in ("preproc_else", "preproc_elif")]
        skip = {child.id for child in arms}
        skip |= {c.id for f in ("condition", "name") if (c := node.child_by_field_name(f)) is not None}
        body = [child for child in node.named_children if child.id not in skip]
        if node.type in ("ERROR", "declaration_list") or not arms:
            self.block(body, state, scoped=False)
            return
        other = state.copy()
        self.block(body, state, scoped=False)
        for arm in arms:
            self.statement(arm, other)
        self.become(state, merged(None, state, other, self.unit.span(node).start))

    def become(self, state: State, result: State) -> None:
        state.variables, state.facts = result.variables, result.facts
        state.attributes, state.dead = result.attributes, result.dead

    def declaration(self, node: Node, state: State) -> None:
        type_text = type_text_of(self.unit, node)
        for item in declared(self.unit, node):
            if item.is_function and item.value is None:
                self.vexing(node, item, type_text, state)
                continue
            value = evaluate(self, item.value, state) if item.value is not None else UNKNOWN
            if item.value is not None and item.value.type == "argument_list":
                values = [evaluate(self, child, state) for child in item.value.named_children]
                value = values[0] if len(values) == 1 else Known(items=tuple(values), span=self.unit.span(item.value))
            state.set(item.name, self.declared_value(item, value, type_text))
            if type_text.endswith("cudaLaunchConfig_t"):
                set_config(self, item.name, item.value, state)
            if value.function is not None:
                self.pending.append((value.function, node, state.copy(), tuple(self.frames)))

    def vexing(self, node: Node, item: Declared, type_text: str, state: State) -> None:
        """`dim3 grid(a, b);` reads as a function declaration when its arguments are plain names."""
        declarator = node.child_by_field_name("declarator")
        parameters = declarator.child_by_field_name("parameters") if declarator is not None else None
        if type_text.rpartition("::")[2] != "dim3" or parameters is None:
            if parameters is not None and parameters.named_child_count:
                kind = parameters.named_children[0].child_by_field_name("type")
                count = state.variables.get(self.text(kind), UNKNOWN) if kind is not None else UNKNOWN
                held = container(self, type_text, count, item.name, item.node)
                if held is not None:
                    state.set(item.name, held)
            return
        dims = []
        for child in parameters.named_children:
            kind = child.child_by_field_name("type")
            known = state.variables.get(self.text(kind)) if kind is not None else None
            if known is None and kind is not None:
                known = (
                    evaluate(self, kind, state)
                    if kind.type != "type_identifier"
                    else identifier_value(self, kind, state)
                )
            if known is not None and known.dims is not None and parameters.named_child_count == 1:
                state.set(item.name, known)
                return
            dims.append(GridDim(known.expr if known is not None else None, self.unit.span(child)))
        state.set(item.name, Known(dims=tuple(dims[:3]), text=item.name))

    def declared_value(self, item: Declared, value: Known, type_text: str) -> Known:
        """What a variable of this type holds after its initialiser."""
        name, offset = item.name, self.unit.span(item.node).start
        value = named_allocation(value, name)
        last = type_text.rpartition("::")[2]
        if item.array_sizes or item.pointer_depth:
            return replace(value, root=value.root or name, span=None)
        held = container(self, type_text, value, name, item.node)
        if held is not None:
            return held
        if last == "dim3":
            if value.span is None:
                span = self.unit.span(item.node)
                return Known(dims=(GridDim(ONE, span),), text=name)
            return replace(as_dims(value), root=name, span=None, text=name)
        if value.tensor is not None or is_tensor(type_text):
            tensor = value.tensor or TensorFacts(name, span=self.unit.span(item.node))
            return Known(tensor=tensor, root=value.root or f"{name}@{offset}", text=name)
        if value.kernels or value.function is not None or value.dims is not None or value.items is not None:
            if value.items is not None and len(value.items) == 1 and is_integer(type_text):
                return replace(cast(value.items[0], type_text), root=f"{name}@{offset}", span=None, text=name)
            return replace(value, span=None)
        if is_floating(type_text):
            return replace(value, floating=True, root=f"{name}@{offset}", span=None, text=name)
        if is_integer(type_text):
            value = cast(value, type_text)
            if value.expr is None and value.cond is None:
                return fresh(name, offset, replace(value, span=None))
            return replace(value, root=value.root or f"{name}@{offset}", span=None, text=name)
        return replace(value, root=value.root or f"{name}@{offset}", span=None, text=name)

    def add_fact(self, state: State, condition: Condition) -> None:
        state.facts = (*state.facts, *(part for part in condition.conjuncts() if part not in state.facts))

    def if_statement(self, node: Node, state: State) -> None:
        clause = node.child_by_field_name("condition")
        condition = self.condition(clause, state)
        consequence, alternative = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
        other = state.copy()
        self.add_fact(state, condition)
        self.add_fact(other, negate(condition))
        if consequence is not None:
            self.block((consequence,), state)
        if alternative is not None:
            self.block((alternative,), other)
        self.become(state, merged(condition, state, other, self.unit.span(node).start))

    def condition(self, clause: Node | None, state: State) -> Condition:
        """The condition of a clause, after its initialiser has run."""
        if clause is None:
            return truth(self, UNKNOWN, clause)
        initializer = clause.child_by_field_name("initializer")
        if initializer is not None:
            for child in initializer.named_children if initializer.type == "init_statement" else (initializer,):
                self.statement(child, state)
        value = clause.child_by_field_name("value") or clause
        if value.type == "declaration":
            self.declaration(value, state)
            return truth(self, UNKNOWN, value)
        return truth(self, evaluate(self, value, state), value)

    def loop(self, node: Node, state: State) -> None:
        """A loop body is walked once, with everything it assigns unknown; its range holds inside."""
        body = node.child_by_field_name("body")
        condition = node.child_by_field_name("condition")
        if (
            node.type == "do_statement"
            and condition is not None
            and self.text(condition).strip("() ") in ("0", "false")
        ):
            if body is not None:  # the `do { ... } while (0)` of a macro
                self.block((body,), state)
            return
        inner = state.copy()
        initializer = node.child_by_field_name("initializer")
        if initializer is not None:
            self.statement(initializer, inner)
        start: dict[str, Known] = dict(inner.variables)
        for name, offset in host_inline.assigned_names(self.unit, node):
            if name in inner.variables:
                inner.set(name, self.loop_variable(name, offset, inner.variables[name]))
                if name in state.variables:
                    state.set(name, fresh(name, offset + 1, Known(floating=state.variables[name].floating)))
        self.range_facts(node, inner, start)
        inner.loops += 1
        if body is not None:
            self.block((body,), inner, kind="loop")
            adopt(state, inner)
        if node.type == "do_statement" and condition is not None:
            evaluate(self, condition, inner)

    def loop_variable(self, name: str, offset: int, before: Known) -> Known:
        """A variable that changes from iteration to iteration: an integer with its own name, or nothing known."""
        if before.expr is None or before.floating:
            return fresh(name, offset, Known(floating=before.floating))
        expr = of_atom(Atom(AtomKind.HOST, f"h:{name}@{offset}", name))
        return Known(expr=expr, root=f"{name}@{offset}", text=name)

    def range_facts(self, node: Node, inner: State, start: dict[str, Known]) -> None:
        clause = node.child_by_field_name("condition")
        if clause is None or node.type == "do_statement":
            return
        self.add_fact(inner, self.condition(clause, inner))
        update = node.child_by_field_name("update")
        if update is None or update.type != "update_expression" or "++" not in self.text(update):
            return
        argument = update.child_by_field_name("argument")
        name = self.text(argument) if argument is not None else ""
        first, now = start.get(name), inner.variables.get(name)
        if first is not None and now is not None and first.expr is not None and now.expr is not None:
            self.add_fact(inner, at_most(first.expr, now.expr))

    def switch(self, node: Node, state: State) -> None:
        clause, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        value = evaluate(self, clause, state) if clause is not None else UNKNOWN
        if body is None:
            return
        before = state.copy()
        result: State | None = None
        for case in body.named_children:
            if case.type != "case_statement":
                continue
            arm = before.copy()
            label = case.child_by_field_name("value")
            statements = [child for child in case.named_children if label is None or child.id != label.id]
            known = evaluate(self, label, arm) if label is not None else UNKNOWN
            if known.expr is not None and value.expr is not None and statements:
                self.add_fact(arm, equal(value.expr, known.expr))
            self.block(statements, arm)
            if arm.dead and statements and _last_is_break(statements):
                arm.dead = False
            result = arm if result is None else merged(None, result, arm, self.unit.span(case).start)
        if result is not None:
            self.become(state, merged(None, result, before, self.unit.span(node).start))

    # -- calls (see host_calls)

    def argument_texts(self, arguments: Node | None) -> list[str]:
        """The texts of a call's arguments, as a macro gets them."""
        return self.unit.argument_texts(arguments) if arguments is not None else []

    def branch_of_unknown(self, node: Node, state: State) -> None:
        """A block handed to a macro: run perhaps, with what is known here."""
        inner = state.copy()
        self.block((node,), inner)
        adopt(state, inner)

    def call_lambda(self, function: Lambda, values: list[Known], node: Node, state: State) -> Known:
        return host_inline.call_lambda(self, function, values, node, state)

    def enter_lambda(self, function: Lambda, node: Node, state: State) -> None:
        """A lambda handed to a call: its body runs, its parameters are known by name."""
        host_inline.enter_lambda(self, function, node, state)

    def inline(self, name: str, values: list[Known], node: Node, state: State) -> Known | None:
        return host_inline.inline(self, name, values, node, state)

    def constant_value(self, constant: Constant) -> Expr | None:
        return host_inline.constant_value(self, constant, self._constants)

    def emit(self, launch: Launch, call: Node | None) -> None:
        """Record a launch, once, with its status.  `call` is the call node of a launch function."""
        key = (launch.span, launch.kernel_name, tuple(value.text for value in launch.template_arguments))
        if self.quiet or key in self.seen or len(self.launches) >= MAX_LAUNCHES:
            return
        self.seen.add(key)
        launch.status, launch.status_span = self.status.of(self.frames, self.function, call, self.unit)
        if launch.status == "unchecked":
            launch.attrs["other calls checked"] = self.status.checks_calls(self.function)
        self.launches.append(launch)


def _last_is_break(statements: Sequence[Node]) -> bool:
    last = statements[-1]
    while last.type == "compound_statement" and last.named_child_count:
        last = last.named_children[-1]
    return last.type == "break_statement"
