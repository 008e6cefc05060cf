"""What a loop assigns."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from kernlint.lift.host.definitions import bodies_of

if TYPE_CHECKING:
    from kernlint.lift.triton.state import State

LoopNode = ast.For | ast.While


class Assigned:
    """Names a loop body assigns, with the statement when there is exactly one and it always runs."""

    __slots__ = ("leaves", "names", "skips")

    def __init__(self) -> None:
        self.names: dict[str, ast.stmt | None] = {}
        self.leaves = False  # break or continue of this loop
        self.skips = False  # continue of this loop

    def add(self, name: str, statement: ast.stmt, top: bool) -> None:
        self.names[name] = statement if top and name not in self.names else None


def assigned_names(state: State, node: LoopNode) -> Assigned:
    found = state.assigned.get(id(node))
    if found is None:
        found = state.assigned[id(node)] = Assigned()
        _scan(node.body, found, True, True)
    return found


def leaves_early(state: State, node: LoopNode) -> bool:
    return assigned_names(state, node).leaves


def _scan(body: list[ast.stmt], found: Assigned, top: bool, own: bool) -> None:
    stack = [(body, top, own)]
    while stack:
        statements, top, own = stack.pop()
        for node in statements:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    _targets(target, node, found, top)
            elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
                _targets(node.target, node, found, top)
            elif isinstance(node, (ast.For, ast.While)):
                if isinstance(node, ast.For):
                    _targets(node.target, node, found, False)
                stack.append((node.body, False, False))
                stack.append((node.orelse, False, own))
            elif isinstance(node, (ast.Break, ast.Continue)) and own:
                found.leaves = True
                found.skips = found.skips or isinstance(node, ast.Continue)
            elif isinstance(node, (ast.If, ast.With, ast.Try)):
                for inner in bodies_of(node):
                    stack.append((inner, top and isinstance(node, ast.With), own))


def _targets(target: ast.expr, node: ast.stmt, found: Assigned, top: bool) -> None:
    if isinstance(target, ast.Name):
        found.add(target.id, node, top)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for item in target.elts:
            _targets(item.value if isinstance(item, ast.Starred) else item, node, found, False)
