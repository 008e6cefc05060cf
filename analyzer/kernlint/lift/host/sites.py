"""Where a file launches kernels, by syntax alone: decides which functions are worth evaluating.

A launch is `kernel[grid](...)`, `kernel.run(..., grid=...)` or `kernel.warmup(..., grid=...)`, wherever in an
expression it stands: assigned, returned, in a lambda given to a benchmark.
"""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from kernlint.lift.host.definitions import FunctionNode, Imported, calls_in
from kernlint.lift.host.scope import PythonScope
from kernlint.records import dataclass

LAUNCH_METHODS = frozenset({"run", "warmup"})
OPTIONS = frozenset({"num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion"})
_GENERICS = frozenset({"dict", "list", "tuple", "set", "type", "frozenset", "defaultdict", "deque", "OrderedDict"})


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """One launch expression: what is launched, and on which grid."""

    call: ast.Call
    kernel: ast.expr
    grid: ast.expr


def site_of(call: ast.Call) -> Site | None:
    """The launch a call is by its form; None when it has none of the forms."""
    func = call.func
    if isinstance(func, ast.Subscript):
        return Site(call, func.value, func.slice)
    if not isinstance(func, ast.Attribute) or func.attr not in LAUNCH_METHODS:
        return None
    grid = next((keyword.value for keyword in call.keywords if keyword.arg == "grid"), None)
    if grid is not None:
        return Site(call, func.value, grid)
    if isinstance(func.value, ast.Subscript) and reads_like_grid(func.value.slice, call):
        return Site(call, func.value.value, func.value.slice)
    return None


def reads_like_grid(grid: ast.expr, call: ast.Call) -> bool:
    """Whether an index before a call is written as a grid is."""
    names = {keyword.arg or "" for keyword in call.keywords}
    if names & OPTIONS or isinstance(grid, ast.Lambda):
        return True
    if isinstance(grid, ast.Name):
        return "grid" in grid.id.lower()
    if isinstance(grid, ast.Attribute):
        return "grid" in grid.attr.lower()
    return isinstance(grid, ast.Tuple) and not any(isinstance(item, ast.Slice) for item in grid.elts)


def _may_launch(scope: PythonScope, site: Site) -> bool:
    if isinstance(site.kernel, ast.Name) and site.kernel.id in _GENERICS:
        return False
    if scope.jit_function(site.kernel) is not None:
        return True
    if not reads_like_grid(site.grid, site.call) and isinstance(site.call.func, ast.Subscript):
        return False
    if isinstance(site.kernel, ast.Name):
        definition = scope.names.get(site.kernel.id)
        if isinstance(definition, Imported) and definition.module.partition(".")[0] in ("typing", "collections"):
            return False
    return True


def _candidate_lines(scope: PythonScope) -> list[int]:
    """Lines on which a launch may be written, by text: an index followed by a call, `.run(`, `.warmup(`."""
    data = scope.source.data
    lines: set[int] = set()
    marks = (b"](", b".run(", b".warmup(") if b"grid" in data else (b"](",)
    for mark in marks:
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


@dataclass(frozen=True, slots=True, eq=False)
class Sites:
    """The launch sites of one file, in source order, and the calls of the statements around them."""

    found: list[Site]
    lines: list[int]  # of `found`, the same length
    calls: list[ast.Call]
    launchers: frozenset[FunctionNode]  # functions that launch a kernel, or on a grid, given as a parameter

    def within(self, node: ast.stmt | ast.expr) -> bool:
        """Whether a launch is written in the node."""
        return touches(self.lines, node)

    def of(self, node: ast.stmt | ast.expr) -> list[Site]:
        """The launches written in the node."""
        start, end = (node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or 0)
        first = bisect_left(self.lines, node.lineno)
        last = bisect_right(self.lines, end[0])
        return [site for site in self.found[first:last] if start <= (site.call.lineno, site.call.col_offset) < end]


def sites_of(scope: PythonScope) -> Sites:
    """Find the launch sites of a file, once."""
    candidates = _candidate_lines(scope)
    calls = [call for statement in scope.tree.body if touches(candidates, statement) for call in calls_in(statement)]
    found = [site for call in calls if (site := site_of(call)) is not None and _may_launch(scope, site)]
    lines = [site.call.lineno for site in found]
    launchers = set()
    for function in scope.functions:
        if function.is_jit or not touches(lines, function.node):
            continue
        arguments = function.node.args
        names = {arg.arg for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
        if any(_uses_parameter(site, names) for site in found if _contains(function.node, site.call)):
            launchers.add(function.node)
    return Sites(found, lines, calls, frozenset(launchers))


def _uses_parameter(site: Site, names: set[str]) -> bool:
    parts = [site.kernel, site.grid]
    if isinstance(site.kernel, ast.Call):  # wrap(kernel)[grid](...)
        parts += site.kernel.args
    return any(isinstance(part, ast.Name) and part.id in names for part in parts)


def _contains(outer: FunctionNode, inner: ast.Call) -> bool:
    return outer.lineno <= inner.lineno <= (outer.end_lineno or outer.lineno)
