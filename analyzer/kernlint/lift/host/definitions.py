"""Kinds of definition a Python file has, and its statements, as plain data."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernlint.records import dataclass

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Imported:
    """`import module` (name is None) or `from <dots>module import name`."""

    module: str
    name: str | None
    level: int = 0

    @property
    def dotted(self) -> str:
        base = "." * self.level + self.module
        if self.name is None:
            return base
        return f"{base}.{self.name}" if self.module else base + self.name


@dataclass(slots=True, eq=False)
class Function:
    """A function definition anywhere in the file.  `outer` is the enclosing function, `class_name` the class.

    `wrappers` are what module-level code applies to it after its decorators, innermost first: for
    `f = triton.heuristics({...})(triton.jit(f))` the expressions `triton.jit` and `triton.heuristics({...})`."""

    node: FunctionNode
    class_name: str = ""
    outer: Function | None = None
    is_jit: bool = False
    wrappers: tuple[ast.expr, ...] = ()

    @property
    def name(self) -> str:
        return self.node.name


@dataclass(frozen=True, slots=True, eq=False)
class Class:
    node: ast.ClassDef


@dataclass(frozen=True, slots=True, eq=False)
class Assigned:
    """A module-level variable.  `value` is None when it is assigned several times or not by a plain assignment."""

    value: ast.expr | None
    annotation: ast.expr | None = None
    target: Function | None = None  # the function it is an alias of, or wraps, as defined when it was assigned


Definition = Imported | Function | Class | Assigned


def imports_of(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Imported]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.asname:
                yield alias.asname, Imported(alias.name, None)
            else:
                top = alias.name.partition(".")[0]
                yield top, Imported(top, None)
        return
    for alias in node.names:
        yield alias.asname or alias.name, Imported(node.module or "", alias.name, node.level)


def attribute_path(node: ast.expr) -> str:
    """`self.a.b` as text when it is a chain of names, else ''."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    parts.append(node.id)
    return ".".join(reversed(parts))


_LEAVES = (ast.Constant, ast.Name, ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)


def calls_in(root: ast.AST) -> list[ast.Call]:
    """Every call below a node, in source order.  A lean `ast.walk`: this is done over whole functions."""
    found: list[ast.Call] = []
    stack: list[object] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, _LEAVES) or not isinstance(node, ast.AST):
            continue
        if isinstance(node, ast.Call):
            found.append(node)
        for value in vars(node).values():
            if isinstance(value, list):
                stack.extend(value)
            elif isinstance(value, ast.AST):
                stack.append(value)
    found.sort(key=lambda call: (call.lineno, call.col_offset, -(call.end_lineno or 0), -(call.end_col_offset or 0)))
    return found


COMPOUND = (
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.With,
    ast.AsyncWith,
    ast.Try,
    ast.TryStar,
    ast.Match,
)


def bodies_of(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The statement lists inside a compound statement, in source order."""
    if isinstance(node, (ast.If, ast.For, ast.AsyncFor, ast.While)):
        yield node.body
        yield node.orelse
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        yield node.body
    elif isinstance(node, (ast.Try, ast.TryStar)):
        yield node.body
        yield node.orelse
        for handler in node.handlers:
            yield handler.body
        yield node.finalbody
    elif isinstance(node, ast.Match):
        for case in node.cases:
            yield case.body


def folded(op: ast.operator, a: object, b: object) -> int | float | None:
    if not isinstance(a, (int, float)) or not isinstance(b, (int, float)):
        return None
    try:
        if isinstance(op, ast.Add):
            return a + b
        if isinstance(op, ast.Sub):
            return a - b
        if isinstance(op, ast.Mult):
            return a * b
        if isinstance(op, ast.FloorDiv):
            return a // b
        if isinstance(op, ast.Div):
            return a / b
        if isinstance(op, ast.Mod):
            return a % b
        if isinstance(op, ast.Pow) and abs(a) <= 1024 and 0 <= b <= 128:
            power: int | float = a**b
            return power
        if isinstance(op, ast.LShift) and isinstance(a, int) and isinstance(b, int) and 0 <= b < 128:
            return a << b
    except (ArithmeticError, ValueError):
        return None
    return None
