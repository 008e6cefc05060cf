"""Statements: assignments, branches, early exits."""

from __future__ import annotations

import ast
from collections.abc import Callable

from kernlint.ir.condition import FALSE, TRUE, Condition, conj, disj, negate
from kernlint.ir.kernel import Branch, Exit, Frame
from kernlint.ir.value import Value
from kernlint.lift.triton import loops
from kernlint.lift.triton.arithmetic import NAMES, binary, truth
from kernlint.lift.triton.evaluate import evaluate
from kernlint.lift.triton.join import joined
from kernlint.lift.triton.names import carried
from kernlint.lift.triton.program import assertion
from kernlint.lift.triton.state import MAX_DEPTH, Call, State, data
from kernlint.lift.triton.things import NONE, Callee, Pending, Thing


def run_block(state: State, body: list[ast.stmt]) -> bool:
    """Walk statements; False when control does not come out at the end."""
    for statement in body:
        state.step()
        handler = _HANDLERS.get(type(statement))
        if handler is None:
            state.opaque(f"{type(statement).__name__} statement", statement)
            continue
        if state.depth > MAX_DEPTH:
            state.opaque("nested too deeply", statement)
            return True
        state.depth += 1
        try:
            falls = handler(state, statement)
        finally:
            state.depth -= 1
        if not falls:
            return False
    return True


# ---- assignments ---------------------------------------------------------------------------------------------------


def _assign(state: State, node: ast.Assign) -> bool:
    thing = evaluate(state, node.value)
    for target in node.targets:
        bind(state, target, thing)
    return True


def bind(state: State, target: ast.expr, thing: Thing) -> None:
    if isinstance(target, ast.Name):
        if isinstance(thing, Value) and thing.op != "param":
            thing.name = target.id
        state.env[target.id] = thing
    elif isinstance(target, (ast.Tuple, ast.List)):
        for item, part in zip(target.elts, _unpacked(state, thing, target), strict=True):
            bind(state, item.value if isinstance(item, ast.Starred) else item, part)
    else:
        state.opaque("assignment to an element or attribute", target)


def _unpacked(state: State, thing: Thing, target: ast.Tuple | ast.List) -> list[Thing]:
    count = len(target.elts)
    if isinstance(thing, tuple) and len(thing) == count and not any(isinstance(e, ast.Starred) for e in target.elts):
        return list(thing)
    if isinstance(thing, Value):
        # a tuple whose making was not seen: each part is a value of its own
        parts: list[Thing] = []
        for index in range(count):
            part = state.value(
                "call", (thing,), node=target, shape=thing.shape, attrs={"name": f"item{index}"}, polymorphic=True
            )
            part.expr = data(f"item{index}", part.ordinal, thing.shape)
            parts.append(part)
        return parts
    return [state.opaque("unpacking of what is not a tuple", target) for _ in range(count)]


def _annotated(state: State, node: ast.AnnAssign) -> bool:
    if node.value is not None:
        bind(state, node.target, evaluate(state, node.value))
    return True


def _augmented(state: State, node: ast.AugAssign) -> bool:
    if not isinstance(node.target, ast.Name):
        evaluate(state, node.value)
        state.opaque("assignment to an element or attribute", node.target)
        return True
    current = evaluate(state, ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
    operand = evaluate(state, node.value)
    name = NAMES[type(node.op)]
    # the whole statement is the operation's place
    bind(state, node.target, binary(state, name if name != "dot" else "mul", current, operand, node))
    return True


def _expression(state: State, node: ast.Expr) -> bool:
    if not isinstance(node.value, ast.Constant):
        evaluate(state, node.value)
    return True


# ---- branches ------------------------------------------------------------------------------------------------------


def _if(state: State, node: ast.If) -> bool:
    test = evaluate(state, node.test)
    condition = state.decided(truth(state, test, node.test))
    if condition is TRUE:
        return run_block(state, node.body)
    if condition is FALSE:
        return run_block(state, node.orelse)
    value = test if isinstance(test, Value) else None
    span = state.span(node.test)
    branch = Branch(condition, span, value, path=state.path)
    state.emit(branch)
    region, path, guard, env = state.region, state.path, state.guard, state.env
    outcomes: list[tuple[bool, dict[str, Thing], Condition]] = []
    for arm, body in ((True, node.body), (False, node.orelse)):
        state.region = branch.then if arm else branch.otherwise
        state.env = dict(env)
        arm_condition = condition if arm else negate(condition)
        state.push(Frame(arm_condition, branch=branch, arm=arm, value=value, span=span))
        falls = run_block(state, body)
        outcomes.append((falls, state.env, conj(frame.condition for frame in state.path[len(path) :])))
        state.restore(path, guard)
    state.region = region
    (then_falls, then_env, then_reach), (else_falls, else_env, else_reach) = outcomes
    if then_falls and else_falls:
        state.env = merged(state, condition, then_env, else_env, node)
        left = disj((then_reach, else_reach))
        if then_reach is not condition or else_reach.key != negate(condition).key:
            state.push(Frame(left, exit=True, value=value, span=span))
        return True
    if not then_falls and not else_falls:
        return False
    state.env = then_env if then_falls else else_env
    state.push(Frame(then_reach if then_falls else else_reach, exit=True, arm=then_falls, value=value, span=span))
    return True


def merged(
    state: State, condition: Condition, then: dict[str, Thing], otherwise: dict[str, Thing], node: ast.stmt
) -> dict[str, Thing]:
    """The names after a branch both of whose arms come out.  A name only one arm defines keeps that meaning."""
    result = dict(otherwise)
    for name, thing in then.items():
        other = result.get(name)
        if other is None:
            result[name] = thing
        elif other is not thing:
            result[name] = joined(state, condition, thing, other, node)
    return result


# ---- exits ---------------------------------------------------------------------------------------------------------


def _return(state: State, node: ast.Return) -> bool:
    thing: Thing = evaluate(state, node.value) if node.value is not None else NONE
    activation = state.activations[-1]
    frames = state.path[activation.path_length :]
    activation.returns.append((conj(frame.condition for frame in frames), thing))
    if len(state.activations) == 1 and state.path:
        _exit(state, "return", node)
    return False


def _exit(state: State, kind: str, node: ast.stmt) -> None:
    state.emit(Exit(kind, state.span(node), state.path, state.guard, state.next_ordinal()))


def _break(state: State, node: ast.stmt) -> bool:
    if state.carriers:
        carrier = state.carriers[-1]
        kind = "break" if isinstance(node, ast.Break) else "continue"
        condition = conj(frame.condition for frame in state.path[carrier.path_length :])
        if kind == "break":
            carrier.loop.breaks = (*carrier.loop.breaks, condition)
            carrier.broken.append((condition, state.env))
        else:
            carrier.continued.append((condition, state.env))
        _exit(state, kind, node)
    return False


def _raise(state: State, node: ast.stmt) -> bool:
    return False


# ---- others --------------------------------------------------------------------------------------------------------


def _nothing(state: State, node: ast.stmt) -> bool:
    return True


def _assert(state: State, node: ast.Assert) -> bool:
    assertion(state, Call("py.assert", [evaluate(state, node.test)], {}, node.test))
    return True


def _with(state: State, node: ast.With) -> bool:
    for item in node.items:
        evaluate(state, item.context_expr)
    return run_block(state, node.body)


def _try(state: State, node: ast.Try) -> bool:
    return run_block(state, node.body) and run_block(state, node.finalbody)


def _function(state: State, node: ast.FunctionDef) -> bool:
    state.env[node.name] = Callee(state.scope, node, True, dict(state.env))
    return True


def settle(state: State, thing: Thing) -> Thing:
    """A loop variable that was never read counts as carried once its value leaves the function."""
    return carried(state, thing) if isinstance(thing, Pending) else thing


_HANDLERS: dict[type[ast.stmt], Callable[..., bool]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Expr: _expression,
    ast.If: _if,
    ast.For: loops.run_for,
    ast.While: loops.run_while,
    ast.Return: _return,
    ast.Break: _break,
    ast.Continue: _break,
    ast.Raise: _raise,
    ast.Pass: _nothing,
    ast.Import: _nothing,
    ast.ImportFrom: _nothing,
    ast.Global: _nothing,
    ast.Nonlocal: _nothing,
    ast.Delete: _nothing,
    ast.Assert: _assert,
    ast.With: _with,
    ast.Try: _try,
    ast.FunctionDef: _function,
}
loops.RUN_BLOCK.append(run_block)
loops.BIND.append(bind)
