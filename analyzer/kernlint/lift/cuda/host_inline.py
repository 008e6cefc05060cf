"""Inlining in host code: helper functions for their value, launch helpers for their launches, lambdas, constants."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernlint.ir.expr import ONE, ZERO, Expr
from kernlint.lift.cuda.declarators import parameters_of
from kernlint.lift.cuda.host_eval import cast, evaluate
from kernlint.lift.cuda.host_memory import adopt
from kernlint.lift.cuda.host_values import UNKNOWN, Known, Lambda, State
from kernlint.lift.cuda.parser import first_named
from kernlint.lift.cuda.unit import Constant, FunctionDefinition, ParameterDeclaration, TranslationUnit

if TYPE_CHECKING:
    from tree_sitter import Node

    from kernlint.lift.cuda.host_walk import Walker

MAX_INLINE = 5


def inline(w: Walker, name: str, values: list[Known], node: Node, state: State) -> Known | None:
    """A call of a function of the program: walked for its launches when it is handed a kernel, evaluated for its value
    when it is a small helper; None when it is neither."""
    functions = [f for f in w.program.functions.get(name, ()) if not f.is_kernel and _accepts(f, len(values))]
    if len(functions) != 1 or w.inline_depth >= MAX_INLINE:
        return None
    function = functions[0]
    body = function.unit.data[function.body.start_byte : function.body.end_byte]
    launches = function.launches
    if launches and not any(value.kernels for value in values):
        return None
    if not launches and len(body) > 1500:
        return None
    inner = State(_bound(function.parameters, values), state.facts, state.attributes, state.loops, state.types)
    for parameter, value in zip(function.parameters, values, strict=False):
        prefix = (value.address_of or value.text) + "."
        for path, member in state.variables.items():
            if path.startswith(prefix):
                inner.variables[f"{parameter.name}.{path[len(prefix) :]}"] = member
    for parameter in function.parameters[len(values) :]:
        if parameter.default is not None:
            with w.inside(function.unit):
                inner.variables[parameter.name] = evaluate(w, parameter.default, State())
    for template in function.template_parameters:
        if template.kind == "value":
            inner.variables.setdefault(template.name, UNKNOWN)
    if launches:
        _run(w, function.unit, function.body.named_children, inner, node)
        return UNKNOWN
    return _value_of(w, function, inner)


def _accepts(function: FunctionDefinition, count: int) -> bool:
    parameters = function.parameters
    if any(parameter.pack for parameter in parameters):
        return count >= len(parameters) - 1
    required = sum(1 for parameter in parameters if parameter.default is None)
    return required <= count <= len(parameters)


def _bound(parameters: tuple[ParameterDeclaration, ...], values: list[Known]) -> dict[str, Known]:
    """Arguments by parameter name; integers passed as integers stay exact, a pack takes the rest."""
    found: dict[str, Known] = {}
    for index, parameter in enumerate(parameters):
        if parameter.pack:
            found[parameter.name] = Known(items=tuple(values[index:]))
            break
        value = values[index] if index < len(values) else UNKNOWN
        found[parameter.name] = cast(value, parameter.type_text) if not parameter.is_pointer else value
    return found


def _run(w: Walker, unit: TranslationUnit, statements: list[Node], state: State, node: Node) -> None:
    w.inline_depth += 1
    try:
        with w.inside(unit):
            w.block(statements, state, kind="call", scoped=False)
    finally:
        w.inline_depth -= 1
    del node


def _value_of(w: Walker, function: FunctionDefinition, state: State) -> Known | None:
    """The value a helper returns when its body is declarations and one return."""
    statements = [child for child in function.body.named_children if child.type != "comment"]
    if not statements or statements[-1].type != "return_statement":
        return None
    if any(
        child.type not in ("declaration", "static_assert_declaration", "expression_statement", "using_declaration")
        for child in statements[:-1]
    ):
        return None
    w.inline_depth += 1
    w.quiet += 1
    try:
        with w.inside(function.unit):
            for child in statements[:-1]:
                w.statement(child, state)
            found = evaluate(w, first_named(statements[-1]), state)
    finally:
        w.inline_depth -= 1
        w.quiet -= 1
    if found.tensor is not None and found.tensor.init != "given":  # a helper that allocates
        return Known(tensor=replace(found.tensor, name=f"@{found.tensor.name}"), root=found.root)
    if found.expr is None and found.dims is None and found.ratio is None and found.cond is None:
        return None
    found = replace(found, span=None, text="")
    return cast(found, function.return_type) if found.dims is None and function.return_type != "auto" else found


def call_lambda(w: Walker, function: Lambda, values: list[Known], node: Node, state: State) -> Known:
    """A call of a local lambda: its body runs here with its parameters bound."""
    if w.inline_depth >= MAX_INLINE:
        return UNKNOWN
    w.entered.add(id(function))
    body = function.node.child_by_field_name("body")
    inner = state.copy()
    inner.variables.update(_bound(_lambda_parameters(function), values))
    statements = [child for child in body.named_children if child.type != "comment"] if body is not None else []
    if len(statements) == 1 and statements[0].type == "return_statement":
        w.inline_depth += 1
        try:
            with w.inside(function.unit):
                return replace(evaluate(w, first_named(statements[0]), inner), span=None, text="")
        finally:
            w.inline_depth -= 1
            adopt(state, inner)
    _run(w, function.unit, statements, inner, node)
    adopt(state, inner)
    return UNKNOWN


def enter_lambda(w: Walker, function: Lambda, node: Node, state: State) -> None:
    """A lambda that someone else calls: its body runs with what is known here, its parameters known by name."""
    if w.inline_depth >= MAX_INLINE or id(function) in w.entered:
        return
    w.entered.add(id(function))
    body = function.node.child_by_field_name("body")
    if body is None:
        return
    inner = state.copy()
    with w.inside(function.unit):
        for parameter in _lambda_parameters(function):
            inner.variables[parameter.name] = w.parameter(parameter)
    _run(w, function.unit, body.named_children, inner, node)
    adopt(state, inner)


def _lambda_parameters(function: Lambda) -> tuple[ParameterDeclaration, ...]:
    declarator = function.node.child_by_field_name("declarator")
    parameters = declarator.child_by_field_name("parameters") if declarator is not None else None
    return parameters_of(function.unit, parameters) if parameters is not None else ()


def constant_value(w: Walker, constant: Constant, cache: dict[int, Expr | None]) -> Expr | None:
    """The integer value of a file-scope constant or enumerator, or None."""
    chain: list[Constant] = []
    current: Constant | None = constant
    while current is not None and id(current) not in cache and len(chain) < 4000:
        chain.append(current)
        if current.value is not None or not current.is_enumerator:
            break
        current = current.previous
    for one in reversed(chain):
        cache[id(one)] = None  # a constant defined by itself has no value
        if one.value is not None:
            cache[id(one)] = _evaluated(w, one)
        elif one.is_enumerator:
            before = cache.get(id(one.previous)) if one.previous is not None else None
            cache[id(one)] = ZERO if one.previous is None else (before + ONE if before is not None else None)
    return cache.get(id(constant))


def _evaluated(w: Walker, constant: Constant) -> Expr | None:
    w.quiet += 1
    try:
        with w.inside(constant.unit):
            found = evaluate(w, constant.value, State())
    finally:
        w.quiet -= 1
    if found.items is not None and len(found.items) == 1:
        found = found.items[0]
    value = cast(found, constant.type_text).expr
    # A member constant that depends on template parameters has one value per instantiation: not a constant.
    return value if value is not None and value.constant is not None else None


def assigned_names(unit: TranslationUnit, node: Node) -> list[tuple[str, int]]:
    """Variables (and `x.y` members) assigned anywhere below, with the offset of the first assignment, by name."""
    found: dict[str, int] = {}
    pending = [node]
    while pending:
        current = pending.pop()
        target: Node | None = None
        if current.type == "assignment_expression":
            target = current.child_by_field_name("left")
        elif current.type == "update_expression" or (
            current.type == "pointer_expression" and unit.text(current).startswith("&")
        ):
            target = current.child_by_field_name("argument")
        if target is not None and target.type in ("identifier", "field_expression"):
            name = unit.text(target)
            where = unit.span(target).start
            found[name] = min(where, found.get(name, where))
            base = name.partition(".")[0]
            if "." in name and "->" not in name:
                found[base] = min(where, found.get(base, where))
        pending.extend(current.named_children)
    return sorted(found.items())
