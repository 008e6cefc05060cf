"""Loops and the variables they carry."""

from __future__ import annotations

import ast
from collections.abc import Callable

from kernlint.ir import arith
from kernlint.ir.condition import TRUE, Condition, Connective, less
from kernlint.ir.expr import ONE, ZERO, Axis, AxisKind, Expr, axis_expr
from kernlint.ir.kernel import Frame, Loop
from kernlint.ir.value import Value
from kernlint.lift.triton import carry
from kernlint.lift.triton.after_loop import env_after
from kernlint.lift.triton.arithmetic import truth, widest_index
from kernlint.lift.triton.assigned import assigned_names, leaves_early
from kernlint.lift.triton.closed_forms import resolve
from kernlint.lift.triton.evaluate import evaluate
from kernlint.lift.triton.state import State
from kernlint.lift.triton.things import Carrier, Ref, Thing

MAX_UNROLLED = 32
RUN_BLOCK: list[Callable[[State, list[ast.stmt]], bool]] = []  # set by `control`, which imports this module
BIND: list[Callable[[State, ast.expr, Thing], None]] = []


def run_for(state: State, node: ast.For) -> bool:
    header = node.iter
    function = evaluate(state, header.func) if isinstance(header, ast.Call) else None
    last = function.dotted.rpartition(".")[2] if isinstance(function, Ref) else ""
    if isinstance(header, ast.Call) and last in ("range", "static_range"):
        bounds = [state.as_value(evaluate(state, arg), arg) for arg in header.args[:3]]
        extra = {k.arg: state.as_value(evaluate(state, k.value), k.value) for k in header.keywords if k.arg}
        bounds += [extra[name] for name in ("arg1", "arg2", "start", "end", "stop", "step") if name in extra]
        _counted(state, node, bounds, unrolled=last == "static_range")
        return RUN_BLOCK[0](state, node.orelse)
    items = evaluate(state, header)
    if isinstance(items, tuple) and len(items) <= MAX_UNROLLED and not leaves_early(state, node):
        for item in items:
            BIND[0](state, node.target, item)
            if not RUN_BLOCK[0](state, node.body):
                return False
        return True
    loop = _new_loop(state, node, None)
    variable = state.opaque("loop over what is not a range", node.iter)
    _run_body(state, node, loop, TRUE, variable, None)
    return True


def _new_loop(state: State, node: ast.For | ast.While, trip: Expr | None) -> Loop:
    key = f"k{state.loop_count}"
    state.loop_count += 1
    name = key
    if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
        name = f"turn({node.target.id})"  # people know the variable, not the key
    axis = Axis(AxisKind.LOOP, key, name, trip)
    header = node.iter if isinstance(node, ast.For) else node.test
    loop = Loop(axis, state.span(header), path=state.path, trip_count=trip)
    state.emit(loop)
    return loop


def _counted(state: State, node: ast.For, bounds: list[Value], *, unrolled: bool) -> None:
    if len(bounds) == 1:
        start, stop, step = ZERO, bounds[0].expr, ONE
    else:
        start_value = bounds[0].expr if bounds else None
        start = start_value if start_value is not None else ZERO
        stop = bounds[1].expr if len(bounds) > 1 and start_value is not None else None
        step_value = bounds[2].expr if len(bounds) > 2 else ONE
        step = step_value if step_value is not None else ONE
        stop = stop if step_value is not None else None
    # `-BLOCK` counts down as well: sizes are positive
    backwards = bool(step.terms) and all(coefficient < 0 for _, coefficient in step.terms)
    trip = None
    if stop is not None and step.constant != 0:
        trip = arith.cdiv(start - stop, -step) if backwards else arith.cdiv(stop - start, step)
        if trip.constant is not None and trip.constant < 0:
            trip = ZERO
    loop = _new_loop(state, node, trip)
    loop.unrolled = unrolled
    if stop is not None:
        loop.start, loop.stop, loop.step = start, stop, step
    index = start + axis_expr(loop.axis) * step
    dtype = None
    if not unrolled:
        dtype = widest_index(bounds[0]) if len(bounds) == 1 else None
        for bound in bounds:
            dtype = widest_index(bound) if dtype is None or widest_index(bound).bits > dtype.bits else dtype
    variable = state.value(
        "index", tuple(bounds), node=node.target, dtype=dtype, expr=index, attrs={"loop": loop, "constexpr": unrolled}
    )
    condition: Condition = TRUE
    if stop is not None:
        condition = less(stop, index) if backwards else less(index, stop)
    if isinstance(node.target, ast.Name):
        loop.variable = variable.name = node.target.id
    _run_body(state, node, loop, condition, variable, None)


def run_while(state: State, node: ast.While) -> bool:
    loop = _new_loop(state, node, None)
    _run_body(state, node, loop, TRUE, None, node.test)
    _while_trips(loop)
    return RUN_BLOCK[0](state, node.orelse)


def _run_body(
    state: State, node: ast.For | ast.While, loop: Loop, condition: Condition, variable: Value | None,
    test: ast.expr | None,
) -> None:  # fmt: skip
    region, path, guard, entry = state.region, state.path, state.guard, state.env
    carrier = Carrier(loop, region_length=len(region.items), first_ordinal=state.next_ordinal())
    first_value, first_fact = len(state.values), len(state.facts)
    assigned = assigned_names(state, node)
    state.env = carry.pending_env(state, node, carrier, assigned)
    state.region = loop.body
    state.carriers.append(carrier)
    value: Value | None = None
    if test is not None:
        state.push(Frame(TRUE, loop=loop, span=loop.span))  # the test itself runs in the loop
        tested = evaluate(state, test)
        value = tested if isinstance(tested, Value) else None
        condition = truth(state, tested, test)
        loop.condition = value
        if loop.body.items:
            state.push(Frame(condition, value=value, span=loop.span))
        else:
            state.restore(path, guard)
    if not loop.body.items:
        state.push(Frame(condition, loop=loop, value=value, span=loop.span))
    carrier.path_length = len(state.path)
    if variable is not None and isinstance(node, ast.For):
        BIND[0](state, node.target, variable)
    falls = RUN_BLOCK[0](state, node.body)
    state.carriers.pop()
    carry.close(state, carrier, assigned, node, falls)
    state.region = region
    state.restore(path, guard)
    resolve(state, carrier, first_value, first_fact)
    state.env = env_after(state, carrier, assigned, entry)


def _while_trips(loop: Loop) -> None:
    """The trip count of `while i < n: ...; i += step`, once `i` has its closed form."""
    condition = loop.condition.cond if loop.condition is not None else None
    if condition is None or condition.op is not Connective.GE or condition.expr is None or loop.breaks:
        return
    axis = axis_expr(loop.axis)
    atom = axis.single_atom
    slope = condition.expr.coefficient(atom) if atom is not None else None
    if atom is None or slope is None or not slope.terms:
        return
    step = -slope
    if step.constant is not None and step.constant <= 0:
        return
    rest = condition.expr.without(atom)
    loop.trip_count = arith.floordiv(rest, step) + ONE
    loop.axis.extent = loop.trip_count
