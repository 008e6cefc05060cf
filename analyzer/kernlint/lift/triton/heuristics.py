"""`@triton.heuristics`: what a compile-time parameter is computed from."""

from __future__ import annotations

import ast
import copy

from kernlint.ir.expr import param
from kernlint.ir.value import Value
from kernlint.lift.triton.arithmetic import truth
from kernlint.lift.triton.evaluate import evaluate
from kernlint.lift.triton.state import State
from kernlint.lift.triton.things import Callee


def read_heuristic(state: State, node: ast.expr) -> Value | None:
    """The value of `lambda args: ...` over the kernel's parameters; `cond` is its truth.  None when not understood.

    `args["N"]` is the parameter `p:N`, whether it is a pointer, a number or None.
    """
    function = node if isinstance(node, ast.Lambda) else None
    scope, env, path, guard = state.scope, state.env, state.path, state.guard
    values, reasons, region = state.values, dict(state.opaque_reasons), state.region
    state.values = []  # not part of the kernel
    state.env = {}
    try:
        if function is None:
            thing = evaluate(state, node)
            if not isinstance(thing, Callee):
                return None
            body, state.scope = _body(thing.node), thing.scope
            spec = thing.node.args
        else:
            body, spec = function.body, function.args
        if body is None or not spec.args:
            return None
        result = evaluate(state, _with_parameters(state, body, spec.args[0].arg))
        made = state.as_value(result, node)
        if made.cond is None:
            made.cond = truth(state, result, node)
        return None if made.op == "opaque" else made
    except Exception:  # a heuristic that cannot be read is no reason to lose the kernel
        return None
    finally:
        state.scope, state.env, state.path, state.guard = scope, env, path, guard
        state.values, state.opaque_reasons, state.region = values, reasons, region


def _body(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> ast.expr | None:
    if isinstance(node, ast.Lambda):
        return node.body
    last = node.body[-1]
    return last.value if len(node.body) <= 2 and isinstance(last, ast.Return) else None


class _Arguments(ast.NodeTransformer):
    """`args["N"]` and `args.get("N")` become names, which stand for the parameters."""

    def __init__(self, state: State, name: str) -> None:
        self.state = state
        self.name = name

    def _parameter(self, name: object, node: ast.expr) -> ast.expr:
        label = f"p:{name}"
        value = self.state.value("param", expr=param(str(name)), attrs={"name": str(name), "constexpr": True})
        value.name = str(name)
        self.state.env[label] = value
        return ast.copy_location(ast.Name(label, ast.Load()), node)

    def _is_arguments(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id == self.name

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if self._is_arguments(node.value) and isinstance(node.slice, ast.Constant):
            return self._parameter(node.slice.value, node)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == "get" and self._is_arguments(function.value):
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant):
                return self._parameter(first.value, node)
        return self.generic_visit(node)


def _with_parameters(state: State, body: ast.expr, name: str) -> ast.expr:
    result = _Arguments(state, name).visit(copy.deepcopy(body))
    assert isinstance(result, ast.expr)
    return result
