"""Execute the statements of a wrapper function symbolically: one pass, branches joined, loops widened."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kernlint.ir.condition import Condition, Connective, at_most, flag, less, negate
from kernlint.ir.expr import const
from kernlint.lift.host.calls import GROWING
from kernlint.lift.host.conditions import assume, condition_of
from kernlint.lift.host.definitions import COMPOUND, attribute_path, bodies_of
from kernlint.lift.host.expressions import evaluate
from kernlint.lift.host.sequences import expanded, integer_operation, size_at
from kernlint.lift.host.state import Frame, State, join_states
from kernlint.lift.host.value import (
    Callable,
    Given,
    HostVal,
    Int,
    KernelRef,
    Literal,
    Pieces,
    Seq,
    SizesOf,
    Tensor,
    as_int,
    seen_tensor,
)

MAX_BLOCK_NESTING = 40

# Calls whose first argument must be true for control to pass.
_CHECKS = frozenset({"torch._check", "torch._assert", "torch._check_value", "torch._check_index", "torch._check_with"})


def run_body(frame: Frame, body: Sequence[ast.stmt], nesting: int = 0) -> None:
    """Execute statements until one leaves the function."""
    for node in body:
        if not frame.state.live:
            return
        if not frame.spend() or nesting > MAX_BLOCK_NESTING:
            widen(frame, [node])
            continue
        if frame.recorder is not None:
            frame.recorder.statement(frame, node)
        _execute(frame, node, nesting)


def _execute(frame: Frame, node: ast.stmt, nesting: int) -> None:
    state = frame.state
    if isinstance(node, ast.Assign):
        value = evaluate(frame, node.value)
        for target in node.targets:
            assign(frame, target, value, node.value)
    elif isinstance(node, ast.AnnAssign):
        if node.value is not None:
            assign(frame, node.target, evaluate(frame, node.value), node.value)
    elif isinstance(node, ast.AugAssign):
        _augmented(frame, node)
    elif isinstance(node, ast.Expr):
        _expression(frame, node.value)
    elif isinstance(node, ast.Assert):
        assume(frame, node.test, True)
    elif isinstance(node, ast.If):
        _branch(frame, node, nesting)
    elif isinstance(node, ast.Return):
        frame.leave(evaluate(frame, node.value) if node.value is not None else Literal(None))
        state.live = False
    elif isinstance(node, (ast.Raise, ast.Break, ast.Continue)):
        state.live = False
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
        _loop(frame, node, nesting)
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        _with(frame, node, nesting)
    elif isinstance(node, (ast.Try, ast.TryStar)):
        _try(frame, node, nesting)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        known = frame.scope.function_at(node)
        if known is not None and known.is_jit:
            state.variables[node.name] = KernelRef(node.name, frame.scope, known)
        else:
            state.variables[node.name] = Callable(node, frame.scope, local=True)
        if frame.recorder is not None:
            frame.recorder.local_function(frame, node)
    elif isinstance(node, ast.Match):
        _match(frame, node, nesting)
    elif isinstance(node, ast.Delete):
        for target in node.targets:
            if isinstance(target, ast.Name):
                state.variables.pop(target.id, None)


def _expression(frame: Frame, node: ast.expr) -> None:
    if isinstance(node, ast.Call):
        dotted = frame.scope.dotted(node.func)
        if dotted in _CHECKS and node.args:
            assume(frame, node.args[0], True)
            return
    evaluate(frame, node)


def assign(frame: Frame, target: ast.expr, value: HostVal, source: ast.expr | None = None) -> None:
    """Bind a value to a name, an attribute, or unpack it into several."""
    if isinstance(target, ast.Name):
        frame.state.variables[target.id] = named(frame, target.id, value, source)
    elif isinstance(target, ast.Attribute):
        path = attribute_path(target)
        if path:
            frame.state.variables[path] = value
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(frame, target.elts, value, source)
    elif isinstance(target, ast.Subscript):
        tensor = seen_tensor(evaluate(frame, target.value))
        if tensor is not None and tensor.init in ("empty", "zeros", "full"):
            frame.state.replace_tensor(tensor, replace(tensor, init="computed", fill=None))
    elif isinstance(target, ast.Starred):
        assign(frame, target.value, frame.fresh_given("rest"), source)


def named(frame: Frame, name: str, value: HostVal, source: ast.expr | None) -> HostVal:
    """The value as variable `name` holds it: an unknown value is called by its first variable."""
    if isinstance(value, Given):
        if not value.anonymous:
            return value
        fresh = frame.fresh_given(name, span=frame.scope.text.span(source) if source is not None else None)
        fresh.is_tensor, fresh.is_int, fresh.is_list = value.is_tensor, value.is_int, value.is_list
        return fresh
    if not isinstance(value, Tensor):
        frame.fresh(name)
        return value
    if value.storage == name:  # x = x.contiguous(): still the caller's x, or a view of it
        return replace(value, name=name, layout=value.layout or frame.fresh(name)[0])
    key, shown = frame.fresh(name)
    return replace(value, name=shown, layout=value.layout or key, storage=value.storage or shown)


def _unpack(frame: Frame, targets: Sequence[ast.expr], value: HostVal, source: ast.expr | None) -> None:
    stars = [index for index, target in enumerate(targets) if isinstance(target, ast.Starred)]
    knowledge = frame.state.knowledge
    if isinstance(value, SizesOf) and value.start == 0 and value.stop is None:
        if not stars:
            knowledge.set_rank(value.shape, len(targets))
        elif len(stars) == 1:
            _unpack_around_star(frame, targets, stars[0], value)
            return
    if isinstance(value, Seq) and not stars:
        value = _with_known_ranks(frame, value, len(targets))
    if isinstance(value, SizesOf) and value.stop == -1 and value.start == 0 and not stars:
        knowledge.set_rank(value.shape, len(targets) + 1)
    if isinstance(value, Pieces) and value.count is None:
        value = replace(value, count=len(targets))
    items = expanded(frame, value)
    if items is not None and len(items) == len(targets) and not stars:
        written = source.elts if isinstance(source, (ast.Tuple, ast.List)) else []
        for index, (target, item) in enumerate(zip(targets, items, strict=True)):
            assign(frame, target, item, written[index] if len(written) == len(items) else None)
        return
    for target in targets:
        inner = target.value if isinstance(target, ast.Starred) else target
        if isinstance(inner, ast.Name):
            frame.state.variables[inner.id] = frame.fresh_given(inner.id)
        else:
            assign(frame, inner, frame.fresh_given("item"))


def _unpack_around_star(frame: Frame, targets: Sequence[ast.expr], star: int, value: SizesOf) -> None:
    """`*batch, m, n = x.shape`"""
    after = len(targets) - star - 1
    for index, target in enumerate(targets):
        if index < star:
            assign(frame, target, Int(size_at(frame, value, index)))
        elif index > star:
            assign(frame, target, Int(size_at(frame, value, index - len(targets))))
        elif isinstance(target, ast.Starred):
            middle = SizesOf(value.shape, star, -after if after else None, value.strides, value.layout)
            if isinstance(target.value, ast.Name):
                frame.state.variables[target.value.id] = middle


def _with_known_ranks(frame: Frame, value: Seq, wanted: int) -> Seq:
    """`b, t, h, d, v = *k.shape, w.shape[-1]` tells the rank of k."""
    unknown = [item for item in value.items if isinstance(item, SizesOf)]
    if len(unknown) != 1 or unknown[0].start < 0:
        return value
    part = unknown[0]
    dropped = part.start - (part.stop if part.stop is not None and part.stop < 0 else 0)
    if part.stop is not None and part.stop >= 0:
        return value
    frame.state.knowledge.set_rank(part.shape, wanted - (len(value.items) - 1) + dropped)
    items: list[HostVal] = []
    for item in value.items:
        items.extend((expanded(frame, item) or (item,)) if isinstance(item, SizesOf) else (item,))
    return Seq(tuple(items))


def _augmented(frame: Frame, node: ast.AugAssign) -> None:
    if not isinstance(node.target, (ast.Name, ast.Attribute)):
        assign(frame, node.target, Literal(None))
        return
    current, other = evaluate(frame, node.target), evaluate(frame, node.value)
    tensor = seen_tensor(current)
    if tensor is not None:
        frame.state.replace_tensor(tensor, replace(tensor, init="computed", fill=None))
        return
    a, b = as_int(current), as_int(other)
    value = integer_operation(frame, node.op, a, b) if a is not None and b is not None else None
    if isinstance(current, Seq) and isinstance(other, Seq) and isinstance(node.op, ast.Add):
        value = Seq(current.items + other.items, current.spans + other.spans)
    name = node.target.id if isinstance(node.target, ast.Name) else attribute_path(node.target)
    frame.state.variables[name] = value if value is not None else frame.fresh_given(name)


def _branch(frame: Frame, node: ast.If, nesting: int) -> None:
    # A chain of elif is walked in one go, so that its length is no nesting.
    arms: list[tuple[Condition, State]] = []
    outer_path, path = frame.path, frame.path
    current: ast.If | None = node
    while current is not None:
        condition = condition_of(frame, current.test)
        entry = frame.state
        if condition.op is not Connective.FALSE:
            frame.state = entry.copy()
            assume(frame, current.test, True, condition=condition)
            frame.path = (*path, condition)
            run_body(frame, current.body, nesting + 1)
            arms.append((condition, frame.state))
        frame.state = entry.copy() if arms else entry
        if condition.op is Connective.TRUE:
            frame.state.live = False
            break
        assume(frame, current.test, False, condition=condition)
        path = (*path, negate(condition))
        frame.path = path
        rest = current.orelse
        current = rest[0] if len(rest) == 1 and isinstance(rest[0], ast.If) else None
        if current is None:
            run_body(frame, rest, nesting + 1)
        elif frame.recorder is not None:
            frame.recorder.statement(frame, current)
    result = frame.state
    for condition, state in reversed(arms):
        result = join_states(frame, condition, state, result)
    frame.state, frame.path = result, outer_path


def assigned_names(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Variables and attributes the statements may assign, in source order, possibly repeated."""
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                path = attribute_path(node)
                if path:
                    yield path
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                changed = node.func.value
                if node.func.attr in GROWING and isinstance(changed, ast.Name):
                    yield changed.id


def widen(frame: Frame, body: Sequence[ast.stmt]) -> None:
    """Forget what the statements may change."""
    for name in dict.fromkeys(assigned_names(body)):
        known = frame.state.variables.get(name)
        if known is not None and not (isinstance(known, Callable) and known.local):
            fresh = frame.fresh_given(name)
            fresh.is_tensor = seen_tensor(known) is not None
            fresh.is_int = isinstance(known, Int)
            fresh.is_list = isinstance(known, Seq) or (isinstance(known, Given) and known.is_list)
            frame.state.variables[name] = fresh


def _loop(frame: Frame, node: ast.For | ast.AsyncFor | ast.While, nesting: int) -> None:
    iterated = evaluate(frame, node.iter) if not isinstance(node, ast.While) else None
    widen(frame, node.body)
    entry = frame.state.copy()
    saved_path = frame.path
    if isinstance(node, ast.While):
        assume(frame, node.test, True)
    else:
        _bind_loop_variable(frame, node, iterated)
    frame.loops += 1
    run_body(frame, node.body, nesting + 1)
    frame.loops -= 1
    frame.path = saved_path
    seen = frame.state.variables
    frame.state = entry
    widen(frame, node.body)
    for name, value in seen.items():
        entry.variables.setdefault(name, value)
    if isinstance(node, ast.While) and not _breaks(node.body):
        assume(frame, node.test, False)
    run_body(frame, node.orelse, nesting + 1)


def _breaks(body: Sequence[ast.stmt]) -> bool:
    """Whether a loop with this body may be left by `break`."""
    stack: list[ast.stmt] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Break):
            return True
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            stack.extend(node.orelse)
        elif isinstance(node, COMPOUND):
            for inner in bodies_of(node):
                stack.extend(inner)
    return False


def _bind_loop_variable(frame: Frame, node: ast.For | ast.AsyncFor, iterated: HostVal | None) -> None:
    if not isinstance(node.target, ast.Name):
        _unpack(frame, node.target.elts if isinstance(node.target, (ast.Tuple, ast.List)) else [], Literal(None), None)
        return
    name = node.target.id
    value = frame.fresh_given(name)
    frame.state.variables[name] = value
    call = node.iter
    if isinstance(iterated, Seq) and iterated.items and all(seen_tensor(item) is not None for item in iterated.items):
        value.is_tensor = True
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id != "range":
        return
    value.is_int = True
    bounds = [as_int(evaluate(frame, arg)) for arg in call.args]
    start = const(0) if len(bounds) == 1 else bounds[0] if bounds else None
    stop = bounds[0] if len(bounds) == 1 else bounds[1] if len(bounds) > 1 else None
    if len(bounds) == 3 and (bounds[2] is None or (bounds[2].constant or 0) <= 0):
        return
    if start is not None:
        frame.state.learn(at_most(start, value.integer))
    if stop is not None:
        frame.state.learn(less(value.integer, stop))


def _with(frame: Frame, node: ast.With | ast.AsyncWith, nesting: int) -> None:
    saved = frame.guarded
    for item in node.items:
        value = evaluate(frame, item.context_expr)
        if guards_device(frame, item.context_expr):
            frame.guarded = True
        if item.optional_vars is not None:
            assign(frame, item.optional_vars, value, item.context_expr)
    run_body(frame, node.body, nesting + 1)
    frame.guarded = saved


def guards_device(frame: Frame, node: ast.expr) -> bool:
    """Whether a context manager makes a tensor's device current: `torch.cuda.device(x.device)` and projects' own."""
    if isinstance(node, ast.Call):
        func = node.func
        last = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
        return "device" in last.lower() and bool(node.args)
    return False


def _try(frame: Frame, node: ast.Try | ast.TryStar, nesting: int) -> None:
    before = frame.state.copy()
    run_body(frame, node.body, nesting + 1)
    if frame.state.live:
        run_body(frame, node.orelse, nesting + 1)
    result = frame.state
    for handler in node.handlers:
        frame.state = before.copy()
        widen(frame, node.body)
        run_body(frame, handler.body, nesting + 1)
        result = join_states(frame, flag(f"exception@{handler.lineno}"), frame.state, result)
    frame.state = result
    live = frame.state.live
    frame.state.live = True
    run_body(frame, node.finalbody, nesting + 1)
    frame.state.live = frame.state.live and live


def _match(frame: Frame, node: ast.Match, nesting: int) -> None:
    before = frame.state
    result = before.copy()
    for index, case in enumerate(node.cases):
        frame.state = before.copy()
        widen(frame, case.body)
        run_body(frame, case.body, nesting + 1)
        result = join_states(frame, flag(f"match@{node.lineno}:{index}"), frame.state, result)
    frame.state = result


def is_simple(function: ast.FunctionDef | ast.AsyncFunctionDef, limit: int) -> bool:
    """Whether a function is short and returns plainly, so that it may be entered at a call."""
    if isinstance(function, ast.AsyncFunctionDef):
        return False
    count = 0
    stack: list[ast.stmt] = list(function.body)
    while stack:
        node = stack.pop()
        count += 1
        if count > limit:
            return False
        if isinstance(node, ast.Expr) and isinstance(node.value, (ast.Yield, ast.YieldFrom)):
            return False
        if isinstance(node, COMPOUND):
            for body in bodies_of(node):
                stack.extend(body)
    return True
