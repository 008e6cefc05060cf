"""Find kernel launches in wrapper functions and describe them.

A launch is `kernel[grid](...)`, `kernel.run(..., grid=...)` or `kernel.warmup(..., grid=...)`, wherever in an
expression it stands: assigned, returned, in a lambda given to a benchmark.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterator

from kernlint.ir.condition import TRUE, Condition, Connective
from kernlint.ir.host import GridDim, HostFunction, HostValue, Launch
from kernlint.ir.types import Span
from kernlint.lift.host.calls import apply, enter
from kernlint.lift.host.emit import host_value
from kernlint.lift.host.expressions import attribute_path, evaluate, expanded
from kernlint.lift.host.scope import PythonScope
from kernlint.lift.host.state import Frame, State, join_values, options_of
from kernlint.lift.host.value import (
    Bound,
    Callable,
    Choice,
    Given,
    HostVal,
    Int,
    KernelRef,
    Mapping,
    Meta,
    Seq,
    as_int,
)

_LAUNCH_METHODS = frozenset({"run", "warmup"})
_OPTIONS = frozenset({"num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion"})


def candidate_lines(scope: PythonScope) -> list[int]:
    """Lines on which a launch may be written, by text: an index followed by a call, `.run(`, `.warmup(`."""
    data = scope.source.data
    lines: set[int] = set()
    for mark in (b"](", b".run(", b".warmup("):
        at = data.find(mark)
        while at >= 0:
            lines.add(scope.source.line_of(at))
            at = data.find(mark, at + 1)
    return sorted(lines)


def touches(lines: list[int], node: ast.stmt | ast.expr) -> bool:
    """Whether any of the sorted lines lies in the node."""
    at = bisect_left(lines, node.lineno)
    return at < len(lines) and lines[at] <= (node.end_lineno or node.lineno)


def header_expressions(node: ast.stmt) -> Iterator[ast.expr]:
    """The expressions a statement evaluates itself, without those of statements inside it."""
    if isinstance(node, (ast.If, ast.While)):
        yield node.test
    elif isinstance(node, (ast.For, ast.AsyncFor)):
        yield node.iter
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        for item in node.items:
            yield item.context_expr
    elif isinstance(node, (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return)):
        if node.value is not None:
            yield node.value
    elif isinstance(node, ast.Assert):
        yield node.test


def launches_in(frame: Frame, node: ast.stmt, lines: list[int], host: HostFunction) -> Iterator[Launch]:
    """Launches among a statement's own expressions, described in the current state."""
    for expression in header_expressions(node):
        if not touches(lines, expression):
            continue
        calls = [part for part in ast.walk(expression) if isinstance(part, ast.Call)]
        for call in sorted(calls, key=lambda call: (call.lineno, call.col_offset, -(call.end_col_offset or 0))):
            yield from _launches_of(frame, call, host)


def _launches_of(frame: Frame, call: ast.Call, host: HostFunction) -> Iterator[Launch]:
    func = call.func
    grid: ast.expr | None = None
    kernel_node: ast.expr
    if isinstance(func, ast.Subscript):
        kernel_node, grid = func.value, func.slice
    elif isinstance(func, ast.Attribute) and func.attr in _LAUNCH_METHODS:
        kernel_node = func.value
        if isinstance(func.value, ast.Subscript):
            kernel_node, grid = func.value.value, func.value.slice
        grid = next((keyword.value for keyword in call.keywords if keyword.arg == "grid"), grid)
        if grid is None:
            return
    else:
        return
    for kernel in _kernels(frame, kernel_node):
        if isinstance(kernel, KernelRef) and kernel.function is not None:
            yield _described(frame, call, grid, kernel, kernel_node, host)
        elif _looks_like_launch(frame, call, grid, kernel):
            reference = kernel if isinstance(kernel, KernelRef) else KernelRef(_display(frame, kernel_node))
            yield _described(frame, call, grid, reference, kernel_node, host)


def _display(frame: Frame, node: ast.expr) -> str:
    return attribute_path(node) or frame.scope.text.code(node, 60)


def _kernels(frame: Frame, node: ast.expr) -> tuple[HostVal, ...]:
    """What the launched expression may be."""
    value = evaluate(frame, node)
    if isinstance(value, Bound) and value.grid is None:
        value = value.target
    if isinstance(value, Given):
        stored = _class_attribute(frame, value)
        return options_of(stored) if stored else (value,)
    return options_of([value])


def _class_attribute(frame: Frame, value: Given) -> list[HostVal]:
    """The kernels that `self.kernel` is set to anywhere in the class."""
    owner, _, name = value.name.partition(".")
    definition = frame.scope.classes.get(frame.class_name)
    if owner not in ("self", "cls") or definition is None or not name:
        return []
    found: list[HostVal] = []
    for node in ast.walk(definition):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            path = attribute_path(target)
            if path in (f"self.{name}", f"cls.{name}", name):
                empty = Frame(frame.scope, State(), frame.budget, depth=frame.depth + 1)
                stored = evaluate(empty, node.value)
                found.extend(item for item in options_of([stored]) if isinstance(item, KernelRef))
    return found


def _looks_like_launch(frame: Frame, call: ast.Call, grid: ast.expr, kernel: HostVal) -> bool:
    """Whether a call of an indexed value that is not known to be a kernel reads like a launch."""
    if isinstance(kernel, (Mapping, Seq, Int)):
        return False
    names = {keyword.arg or "" for keyword in call.keywords}
    if names & _OPTIONS or isinstance(grid, ast.Lambda):
        return True
    if isinstance(grid, ast.Name) and "grid" in grid.id.lower():
        return True
    constants = any(len(name) > 1 and name.isupper() for name in names)
    return isinstance(grid, ast.Tuple) and (constants or isinstance(kernel, KernelRef))


def _described(
    frame: Frame, call: ast.Call, grid: ast.expr, kernel: KernelRef, kernel_node: ast.expr, host: HostFunction
) -> Launch:
    launch = Launch(
        kernel_name=kernel.function.name if kernel.function is not None else kernel.name,
        span=frame.scope.text.span(call),
        host=host,
        grid=grid_of(frame, grid),
        in_loop=frame.loops > 0,
        device_guarded=frame.guarded,
    )
    if kernel.function is not None and kernel.scope is not None:
        launch.attrs["kernel_path"] = kernel.scope.path
        launch.attrs["kernel_offset"] = kernel.scope.text.name_span(kernel.function.node).start
        if kernel.scope is not frame.scope:
            launch.import_from = _import_source(frame, kernel_node, kernel)
    elif kernel.imported is not None:
        launch.import_from = kernel.imported
    launch.attrs["kernel_span"] = frame.scope.text.span(kernel_node)
    launch.attrs["grid_span"] = frame.scope.text.span(grid)
    _arguments(frame, call, launch, evaluate(frame, kernel_node))
    knowledge = frame.state.knowledge
    facts = (knowledge.canonical_condition(fact) for fact in frame.state.facts)
    launch.facts = [fact for fact in facts if fact.op is not Connective.TRUE]
    launch.divisible = [(knowledge.canonical(a), knowledge.canonical(b)) for a, b in frame.state.divisible]
    return launch


def _import_source(frame: Frame, node: ast.expr, kernel: KernelRef) -> tuple[str, str]:
    from kernlint.lift.host.definitions import Imported

    name = node.id if isinstance(node, ast.Name) else attribute_path(node).partition(".")[0]
    definition = frame.scope.names.get(name)
    module = "." * definition.level + definition.module if isinstance(definition, Imported) else ""
    return module, kernel.function.name if kernel.function is not None else kernel.name


def _arguments(frame: Frame, call: ast.Call, launch: Launch, kernel: HostVal) -> None:
    positional: list[HostValue] = []
    if isinstance(kernel, Bound):
        positional += [host_value(frame, value, node) for value, node in kernel.args]
        launch.keywords |= {name: host_value(frame, value, node) for name, value, node in kernel.keywords}
    for node in call.args:
        value = evaluate(frame, node)
        if not isinstance(node, ast.Starred):
            positional.append(host_value(frame, value, node))
            continue
        items = expanded(frame, value)
        if items is None:
            launch.attrs["starred"] = True  # further positions are unknown
            break
        positional += [host_value(frame, item, node.value) for item in items]
    launch.positional = tuple(positional)
    for keyword in call.keywords:
        value = evaluate(frame, keyword.value)
        if keyword.arg is not None:
            if not (keyword.arg == "grid" and isinstance(call.func, ast.Attribute)):
                launch.keywords[keyword.arg] = host_value(frame, value, keyword.value)
        elif isinstance(value, Mapping):
            for name, item in value.items.items():
                launch.keywords[name] = host_value(frame, item, keyword.value)
            launch.attrs["splat"] = not value.complete or launch.attrs.get("splat", False)
        else:
            launch.attrs["splat"] = True  # further keywords are unknown
    launch.num_warps = _constant_option(launch, "num_warps")
    launch.num_stages = _constant_option(launch, "num_stages")


def _constant_option(launch: Launch, name: str) -> int | None:
    value = launch.keywords.get(name)
    return value.expr.constant if value is not None and value.expr is not None else None


def grid_of(frame: Frame, node: ast.expr) -> tuple[GridDim, ...] | None:
    """The dimensions of a grid: a tuple, an integer, or a function of the compile-time parameters; None if unknown."""
    return _dimensions(frame, evaluate(frame, node), frame.scope.text.span(node))


def _dimensions(frame: Frame, value: HostVal, span: Span) -> tuple[GridDim, ...] | None:
    if isinstance(value, Bound) and value.grid is None:
        entered = enter(frame, ast.Call(ast.Name("grid"), [], [], lineno=1, col_offset=0), value, [Meta()], {})
        return _dimensions(frame, entered, span) if entered is not None else None
    if isinstance(value, Callable):
        returned = apply(frame, value, [Meta()], {}, None)
        return _dimensions(frame, returned, span) if returned is not None else None
    if isinstance(value, Choice):
        return _either_grid(frame, value, span)
    if isinstance(value, Seq):
        items = value.items
        whole = expanded(frame, value)
        if whole is None:
            return None
        spans = value.spans if len(value.spans) == len(items) == len(whole) else (span,) * len(whole)
        return tuple(_dimension(frame, item, where) for item, where in zip(whole, spans, strict=True))
    if isinstance(value, Int):
        return (_dimension(frame, value, span),)
    items_of_shape = expanded(frame, value)
    if items_of_shape is not None:
        return tuple(_dimension(frame, item, span) for item in items_of_shape)
    return None


def _dimension(frame: Frame, value: HostVal, span: Span) -> GridDim:
    size = as_int(value)
    return GridDim(frame.state.knowledge.canonical(size) if size is not None else None, span)


def _either_grid(frame: Frame, choice: Choice, span: Span) -> tuple[GridDim, ...] | None:
    """The grid when it is one of two, chosen by a condition the host computed."""
    grids = [_dimensions(frame, option, span) for option in choice.options]
    known = [grid for grid in grids if grid is not None]
    if len(known) != len(grids) or len({len(grid) for grid in known}) != 1:
        return None
    condition: Condition = choice.condition or TRUE
    if choice.condition is None or len(known) != 2:
        texts = {tuple(dim.expr.key if dim.expr is not None else "?" for dim in grid) for grid in known}
        return known[0] if len(texts) == 1 else None
    joined = []
    for a, b in zip(*known, strict=True):
        value: HostVal | None = None
        if a.expr is not None and b.expr is not None:
            value = join_values(frame, "grid", condition, Int(a.expr), Int(b.expr))
        joined.append(GridDim(as_int(value), a.span))
    return tuple(joined)
