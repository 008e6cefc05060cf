"""Names that a kernel defined inside a function takes from that function."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernlint.lift.host.definitions import COMPOUND, Function, bodies_of
from kernlint.lift.host.scope import PythonScope
from kernlint.lift.triton.evaluate import evaluate
from kernlint.lift.triton.names import readable
from kernlint.lift.triton.state import State
from kernlint.lift.triton.things import Callee, Thing


def closure_of(state: State, function: Function, made: dict[int, dict[str, Thing]]) -> dict[str, Thing]:
    """Functions and readable constants of the functions around it, innermost last; `made` remembers them."""
    outer = function.outer
    if outer is None:
        return {}
    found = made.get(id(outer))
    if found is None:
        found = made[id(outer)] = dict(closure_of(state, outer, made))
        _fill(state, outer, found)
    return found


def _fill(state: State, outer: Function, names: dict[str, Thing]) -> None:
    jit = {id(f.node): f.is_jit for f in state.scope.functions if f.outer is outer}
    env, values = state.env, state.values
    state.values = []
    try:
        for node in _statements(outer.node.body):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                names[node.name] = Callee(state.scope, node, jit.get(id(node), False), names)
            elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                state.env = names
                if name in names:
                    del names[name]  # assigned more than once: not a constant
                elif _constant(state.scope, node.value):
                    names[name] = evaluate(state, node.value)
    finally:
        state.env, state.values = env, values


def _constant(scope: PythonScope, node: ast.expr) -> bool:
    return not isinstance(node, ast.Name) and readable(scope, node, 0)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    stack = [iter(body)]
    while stack:
        node = next(stack[-1], None)
        if node is None:
            stack.pop()
            continue
        yield node
        if isinstance(node, COMPOUND):
            stack.extend(iter(inner) for inner in reversed(list(bodies_of(node))))
