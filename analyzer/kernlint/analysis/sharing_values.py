"""Whether two threads that store to one element store the same value."""

from __future__ import annotations

from kernlint.analysis.barriers import Pair
from kernlint.analysis.lanes import Evaluator
from kernlint.analysis.lanes_scenario import Scenario
from kernlint.analysis.uniformity import Spread, uniformity
from kernlint.ir.condition import Condition
from kernlint.ir.expr import Atom, AtomKind, Expr
from kernlint.ir.kernel import AccessKind, Kernel
from kernlint.ir.value import Value

MAX_ANCESTORS = 400
MAX_DEPTH = 30
_CROSS_LANE = ("shuffle", "vote", "atomic")


def stores_same_value(kernel: Kernel, pair: Pair, scenario: Scenario, threads: tuple[int, int]) -> bool:
    """Whether both accesses store what is one and the same value for these two threads."""
    a, b = pair.earlier, pair.later
    if not (a.kind is AccessKind.STORE and b.kind is AccessKind.STORE) or a.value is None or b.value is None:
        return False
    if _literal(a.value) is not None and _literal(a.value) == _literal(b.value):
        return True
    if a.value is not b.value:
        return False
    return uniformity(kernel).of_value(a.value) is Spread.BLOCK or _is_same_in(a.value, scenario, threads)


def _is_same_in(value: Value, scenario: Scenario, threads: tuple[int, int]) -> bool:
    """Whether two threads compute a value from the same addresses and numbers."""
    axes = scenario.block.coordinates
    views = [scenario.evaluator({key: int(lanes[t]) for key, lanes in axes.items()}) for t in threads]
    queue, seen = [value], {id(value)}
    for current in queue:
        if current.access is not None and current.op == "load" and _same_expr(current.access.index, views):
            continue
        if current.expr is not None and _same_expr(current.expr, views):
            continue
        # Calls that were not understood are taken for functions of their arguments.
        if current.op in _CROSS_LANE or len(seen) > MAX_ANCESTORS or (not current.args and current.op != "const"):
            return False
        for arg in current.args:
            if id(arg) not in seen:
                seen.add(id(arg))
                queue.append(arg)
    return True


def _same_expr(expr: Expr, views: list[Evaluator], depth: int = 0) -> bool:
    return all(_same_atom(atom, views, depth) for atom in expr.atoms())


def _same_atom(atom: Atom, views: list[Evaluator], depth: int) -> bool:
    """Whether an atom has the same value for both threads: by its value, or because everything in it has."""
    if atom.kind is AtomKind.OPAQUE or depth > MAX_DEPTH:
        return False
    if atom.axis is not None:
        return not atom.axis.thread or views[0].values.get(atom.key) == views[1].values.get(atom.key)
    if atom.kind is not AtomKind.LOAD and atom.args:
        numbers = [view.integer(Expr({(atom,): 1})) for view in views]
        if numbers[0] is not None and numbers[0] == numbers[1]:
            return True
    return all(
        _same_expr(arg, views, depth + 1) if isinstance(arg, Expr) else _same_condition(arg, views, depth + 1)
        for arg in atom.args
    )


def _same_condition(condition: Condition, views: list[Evaluator], depth: int) -> bool:
    return all(leaf.expr is not None and _same_expr(leaf.expr, views, depth) for leaf in condition.leaves())


def _literal(value: Value) -> object:
    while value.op == "cast" and value.args:
        value = value.args[0]
    if value.expr is not None and value.expr.constant is not None:
        return float(value.expr.constant)
    return value.attrs.get("value") if value.op == "const" else None
