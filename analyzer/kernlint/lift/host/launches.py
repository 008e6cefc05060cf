"""Describe kernel launches found in wrapper functions: kernel, grid, arguments and what is known there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernlint.ir.condition import TRUE, Condition, Connective
from kernlint.ir.host import GridDim, HostFunction, HostValue, Launch
from kernlint.ir.types import Span
from kernlint.lift.host.calls import apply, enter
from kernlint.lift.host.definitions import attribute_path
from kernlint.lift.host.emit import host_value
from kernlint.lift.host.expressions import evaluate
from kernlint.lift.host.sequences import expanded
from kernlint.lift.host.sites import Site, Sites, header_expressions, reads_like_grid
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

# Packages with an indexing of their own before calls: `cute.compile[options](...)`.
_NOT_TRITON = frozenset({"cutlass", "numba", "jax", "torch", "typing", "numpy"})


def launches_in(frame: Frame, node: ast.stmt, sites: Sites, host: HostFunction) -> Iterator[Launch]:
    """Launches among a statement's own expressions, described in the current state."""
    for expression in header_expressions(node):
        for site in sites.of(expression):
            yield from _launches_at(frame, site, host)


def _launches_at(frame: Frame, site: Site, host: HostFunction) -> Iterator[Launch]:
    for kernel in _kernels(frame, site.kernel):
        if isinstance(kernel, KernelRef) and kernel.function is not None:
            yield _described(frame, site, kernel, host)
        elif not isinstance(kernel, (Mapping, Seq, Int)) and reads_like_grid(site.grid, site.call):
            imported = kernel.imported if isinstance(kernel, KernelRef) else None
            if imported is not None and imported[0].partition(".")[0] in _NOT_TRITON:
                continue
            reference = KernelRef(kernel.name if isinstance(kernel, KernelRef) else "", imported=imported)
            if imported is None:
                reference = KernelRef(_display(frame, site.kernel))
            yield _described(frame, site, reference, host)


def _display(frame: Frame, node: ast.expr) -> str:
    return attribute_path(node) or frame.scope.text.code(node, 60)


def _kernels(frame: Frame, node: ast.expr) -> tuple[HostVal, ...]:
    """What the launched expression may be."""
    value = evaluate(frame, node)
    if isinstance(value, Bound) and value.grid is None:
        value = value.target
    if isinstance(value, Given):
        stored = _class_attribute(frame, value)
        if stored:
            return options_of(stored)
        if isinstance(node, ast.Call) and len(node.args) == 1:  # a wrapper not known: `wrap(kernel)[grid]`
            wrapped = evaluate(frame, node.args[0])
            if isinstance(wrapped, (KernelRef, Choice)):
                return options_of([wrapped])
        return (value,)
    return options_of([value])


def _class_attribute(frame: Frame, value: Given) -> list[HostVal]:
    """The kernels that `self.kernel` is set to anywhere in the class."""
    owner, _, name = value.name.partition(".")
    definition = frame.scope.classes.get(frame.class_name)
    if owner not in ("self", "cls", "__class__", frame.class_name) or definition is None or not name:
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


def _described(frame: Frame, site: Site, kernel: KernelRef, host: HostFunction) -> Launch:
    call, grid, kernel_node = site.call, site.grid, site.kernel
    launch = Launch(
        kernel_name=kernel.function.name if kernel.function is not None else kernel.name,
        span=frame.call_span or frame.scope.text.span(call),
        host=host,
        grid=grid_of(frame, grid),
        block=(),
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
    if frame.call_site is not None:
        launch.attrs["call_span"] = frame.call_site
    launch.attrs["site"] = (frame.scope.path, call.lineno, call.col_offset)
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
        for item in items:
            made = host_value(frame, item, None)
            made.span = frame.scope.text.span(node)
            positional.append(made)
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
