"""Inlining: helpers marked `@triton.jit`, and plain functions and lambdas that kernels call."""

from __future__ import annotations

import ast

from kernlint.ir.condition import Condition, conj, negate
from kernlint.lift.triton import carry
from kernlint.lift.triton.control import run_block, settle
from kernlint.lift.triton.evaluate import evaluate
from kernlint.lift.triton.join import joined
from kernlint.lift.triton.state import MAX_CALLS, MAX_INLINE, Activation, Call, State
from kernlint.lift.triton.things import NONE, Callee, Thing


def call_function(state: State, callee: Callee, call: Call) -> Thing:
    """What a call of a known function returns; the accesses inside it are emitted here."""
    state.called.add(id(callee.node))
    if callee.scope is not state.scope:
        state.inlined_from.add(callee.scope.path)
    if len(state.activations) > MAX_INLINE or any(
        active.callee is not None and active.callee.node is callee.node for active in state.activations
    ):
        return state.opaque("recursive or too deep calls", call.node)
    state.calls += 1
    if state.calls > MAX_CALLS:
        return state.opaque("too many calls", call.node)
    env = dict(callee.closure) if callee.closure is not None else {}
    env.update(_arguments(state, callee, call))
    scope, outer, path, guard, inlined = state.scope, state.env, state.path, state.guard, state.inlined_at
    if not callee.is_lambda:
        state.inlined_at = (*inlined, state.span(call.node))
    carriers = state.carriers
    state.scope, state.env, state.carriers = callee.scope, env, []
    activation = Activation(callee, len(path))
    state.activations.append(activation)
    try:
        if isinstance(callee.node, ast.Lambda):
            return evaluate(state, callee.node.body)
        falls = run_block(state, callee.node.body)
        return result_of(state, activation, falls, callee.node)
    finally:
        state.activations.pop()
        state.scope, state.env, state.carriers, state.inlined_at = scope, outer, carriers, inlined
        state.restore(path, guard)


def result_of(state: State, activation: Activation, falls: bool, node: ast.stmt) -> Thing:
    """Every `return` merged under the conditions that lead to it."""
    returns = activation.returns
    if not returns:
        return NONE
    result = settle(state, returns[-1][1])
    for position in range(len(returns) - 2, -1, -1):
        condition, thing = returns[position]
        result = joined(state, _beyond(condition, returns[:position]), settle(state, thing), result, node)
    return result


def _beyond(condition: Condition, earlier: list[tuple[Condition, Thing]]) -> Condition:
    """The condition without what follows from the earlier returns not having been taken."""
    known = {negate(taken).key for taken, _ in earlier}
    return conj(part for part in condition.conjuncts() if part.key not in known) if known else condition


def _arguments(state: State, callee: Callee, call: Call) -> dict[str, Thing]:
    spec = callee.node.args
    names = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    env: dict[str, Thing] = {}
    positional = list(call.args)
    env.update(zip(names, positional, strict=False))
    if spec.vararg is not None:
        env[spec.vararg.arg] = tuple(positional[len(names) :])
    every = names + [arg.arg for arg in spec.kwonlyargs]
    for name in every:
        if name in call.kwargs:
            env[name] = call.kwargs[name]
    defaults = dict(zip(names[len(names) - len(spec.defaults) :], spec.defaults, strict=True))
    defaults |= {a.arg: d for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None}
    for name in every:
        if name in env:
            continue
        default = defaults.get(name)
        env[name] = (
            default_of(state, callee, default) if default is not None else state.opaque("missing argument", call.node)
        )
    return env


def default_of(state: State, callee: Callee, default: ast.expr) -> Thing:
    """A parameter's default, as its own file means it."""
    scope, env = state.scope, state.env
    state.scope, state.env = callee.scope, dict(callee.closure or {})
    try:
        return evaluate(state, default)
    finally:
        state.scope, state.env = scope, env


def prepare(state: State) -> None:
    """Close the circle: expressions call functions, functions are statements, statements hold expressions."""
    state.call_function = call_function
    state.make_carry = carry.make_carry
