"""Reading lists of autotuning configurations without running anything.

A tiny evaluator for what such lists are made of: literals, comprehensions, `itertools.product`, list sums, and
functions of the same project that build and return one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from kernlint.lift.host.definitions import Assigned, Function
from kernlint.lift.host.scope import PythonScope
from kernlint.lift.triton.static_values import (
    MAX_ITEMS,
    Fixed,
    Items,
    Mapping,
    Settings,
    Thing,
    Unknown,
    binary,
    compared,
    product,
    subscript,
)
from kernlint.records import dataclass

MAX_DEPTH = 40


@dataclass(slots=True)
class _Reader:
    scope: PythonScope
    env: dict[str, Thing] = field(default_factory=dict)
    depth: int = 0
    budget: int = MAX_ITEMS * 4


def static_value(scope: PythonScope, node: ast.expr, *, want_node: bool = False) -> Thing:
    """What an expression is, as far as it can be read.  `want_node`: follow a name to its expression instead."""
    if want_node and isinstance(node, ast.Name):
        resolved = scope.resolve(node.id)
        if resolved is not None and isinstance(resolved.definition, Assigned):
            return Unknown(resolved.definition.value)
        return Unknown()
    try:
        return _read(_Reader(scope), node)
    except RecursionError:
        return Unknown()


def _read(reader: _Reader, node: ast.expr) -> Thing:
    reader.budget -= 1
    if reader.depth > MAX_DEPTH or reader.budget < 0:
        return Unknown()
    reader.depth += 1
    try:
        return _read_node(reader, node)
    finally:
        reader.depth -= 1


def _read_node(reader: _Reader, node: ast.expr) -> Thing:
    if isinstance(node, ast.Constant):
        return Fixed(node.value)
    if isinstance(node, ast.Name):
        return _name(reader, node)
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return _list(reader, node)
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        made = Items([])
        made.whole = _comprehend(reader, node.generators, 0, node.elt, made.items)
        return made
    if isinstance(node, ast.Dict):
        entries: dict[str, Thing] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            known = _read(reader, key) if key is not None else Unknown()
            if isinstance(known, Fixed) and isinstance(known.value, str):
                entries[known.value] = _read(reader, value)
            elif key is None and isinstance(inner := _read(reader, value), Mapping):
                entries.update(inner.entries)
            else:
                return Unknown()
        return Mapping(entries)
    if isinstance(node, ast.BinOp):
        return binary(node.op, _read(reader, node.left), _read(reader, node.right))
    if isinstance(node, ast.UnaryOp):
        operand = _read(reader, node.operand)
        if isinstance(operand, Fixed) and isinstance(operand.value, (int, float)):
            if isinstance(node.op, ast.USub):
                return Fixed(-operand.value)
            if isinstance(node.op, ast.Not):
                return Fixed(not operand.value)
        return Unknown()
    if isinstance(node, ast.Compare):
        return _compare(reader, node)
    if isinstance(node, ast.BoolOp):
        return _logic(reader, node)
    if isinstance(node, ast.IfExp):
        test = _read(reader, node.test)
        if isinstance(test, Fixed):
            return _read(reader, node.body if test.value else node.orelse)
        return Unknown()
    if isinstance(node, ast.Subscript):
        return subscript(_read(reader, node.value), _read(reader, node.slice))
    if isinstance(node, ast.Call):
        return _call(reader, node)
    return Unknown()


def _name(reader: _Reader, node: ast.Name) -> Thing:
    known = reader.env.get(node.id)
    if known is not None:
        return known
    resolved = reader.scope.resolve(node.id)
    if resolved is None or not isinstance(resolved.definition, Assigned) or resolved.definition.value is None:
        return Unknown()
    inner = _Reader(resolved.scope, {}, reader.depth + 1, reader.budget)
    return _read(inner, resolved.definition.value)


def _list(reader: _Reader, node: ast.List | ast.Tuple | ast.Set) -> Thing:
    made = Items([])
    for element in node.elts:
        if isinstance(element, ast.Starred):
            inner = _read(reader, element.value)
            if isinstance(inner, Items):
                made.items.extend(inner.items)
                made.whole = made.whole and inner.whole
            else:
                made.whole = False
        else:
            made.items.append(_read(reader, element))
    return made


def _comprehend(
    reader: _Reader, generators: list[ast.comprehension], level: int, element: ast.expr, out: list[Thing]
) -> bool:
    """Append every element; False when some could not be enumerated."""
    if level == len(generators):
        out.append(_read(reader, element))
        return True
    generator = generators[level]
    source = _read(reader, generator.iter)
    if not isinstance(source, Items):
        return False
    whole = source.whole
    for item in source.items:
        if len(out) >= MAX_ITEMS or reader.budget < 0:
            return False
        _bind(reader, generator.target, item)
        tests = [_read(reader, test) for test in generator.ifs]
        if any(isinstance(test, Fixed) and not test.value for test in tests):
            continue
        if not all(isinstance(test, Fixed) for test in tests):
            whole = False
            continue
        whole = _comprehend(reader, generators, level + 1, element, out) and whole
    return whole


def _bind(reader: _Reader, target: ast.expr, item: Thing) -> None:
    if isinstance(target, ast.Name):
        reader.env[target.id] = item
    elif isinstance(target, (ast.Tuple, ast.List)):
        parts = item.items if isinstance(item, Items) else []
        for index, inner in enumerate(target.elts):
            _bind(reader, inner, parts[index] if index < len(parts) else Unknown())


def _compare(reader: _Reader, node: ast.Compare) -> Thing:
    left = _read(reader, node.left)
    for op, comparator in zip(node.ops, node.comparators, strict=True):
        right = _read(reader, comparator)
        answer = compared(op, left, right)
        if answer is None:
            return Unknown()
        if not answer:
            return Fixed(False)
        left = right
    return Fixed(True)


def _logic(reader: _Reader, node: ast.BoolOp) -> Thing:
    conjunction = isinstance(node.op, ast.And)
    unknown = False
    for operand in node.values:
        value = _read(reader, operand)
        if not isinstance(value, Fixed):
            unknown = True
        elif bool(value.value) is not conjunction:
            return value
    return Unknown() if unknown else Fixed(conjunction)


# ---- calls ---------------------------------------------------------------------------------------------------------


def _call(reader: _Reader, node: ast.Call) -> Thing:
    dotted = reader.scope.dotted(node.func)
    last = dotted.rpartition(".")[2]
    if last == "Config" or last.endswith("TritonConfig"):
        return _config(reader, node)
    args = [_read(reader, arg) for arg in node.args if not isinstance(arg, ast.Starred)]
    if last == "range" and all(isinstance(a, Fixed) and isinstance(a.value, int) for a in args) and 1 <= len(args) <= 3:
        numbers = [a.value for a in args if isinstance(a, Fixed) and isinstance(a.value, int)]
        steps = range(*numbers) if len(numbers) < 3 or numbers[2] else range(0)
        return Items([Fixed(n) for n in steps[:MAX_ITEMS]])
    if last == "product":
        return product(args)
    if last in ("list", "tuple", "sorted", "set") and len(args) == 1 and isinstance(args[0], Items):
        return args[0]
    if (
        last in ("min", "max")
        and args
        and all(isinstance(a, Fixed) and isinstance(a.value, (int, float)) for a in args)
    ):
        numbers_ = [a.value for a in args if isinstance(a, Fixed) and isinstance(a.value, (int, float))]
        return Fixed(min(numbers_) if last == "min" else max(numbers_))
    if last == "dict":
        return Mapping({k.arg: _read(reader, k.value) for k in node.keywords if k.arg is not None})
    if last == "filter" and len(args) == 2 and isinstance(args[1], Items):
        return Items(list(args[1].items), False)
    resolved = reader.scope.resolve_node(node.func)
    if resolved is not None and isinstance(resolved.definition, Function):
        return _function(reader, resolved.scope, resolved.definition, args, node)
    return Unknown()


def _config(reader: _Reader, node: ast.Call) -> Thing:
    written = {k.arg: k.value for k in node.keywords if k.arg is not None}
    first = node.args[0] if node.args else written.get("kwargs")
    entries = _read(reader, first) if first is not None else Mapping({})
    values: dict[str, int | float | str | bool | None] = {}
    if isinstance(entries, Mapping):
        for name, thing in entries.entries.items():
            value = thing.value if isinstance(thing, Fixed) else None
            values[name] = value if isinstance(value, (int, float, str, bool)) else None
    warps = _number(reader, written.get("num_warps") or (node.args[1] if len(node.args) > 1 else None))
    stages = _number(reader, written.get("num_stages") or (node.args[2] if len(node.args) > 2 else None))
    hook = written.get("pre_hook")
    hooked = hook is not None and not (isinstance(hook, ast.Constant) and hook.value is None)
    if not isinstance(entries, Mapping):
        return Unknown()
    return Settings(values, warps, stages, hooked, reader.scope.text.span(node))


def _number(reader: _Reader, node: ast.expr | None) -> int | None:
    value = _read(reader, node) if node is not None else None
    return value.value if isinstance(value, Fixed) and isinstance(value.value, int) else None


def _function(reader: _Reader, scope: PythonScope, function: Function, args: list[Thing], node: ast.Call) -> Thing:
    """The value a function returns, for the simple ones: assignments, appends, loops, decided ifs."""
    inner = _Reader(scope, {}, reader.depth + 4, reader.budget)
    spec = function.node.args
    names = [a.arg for a in (*spec.posonlyargs, *spec.args)]
    for name, default in zip(names[len(names) - len(spec.defaults) :], spec.defaults, strict=True):
        inner.env[name] = _read(inner, default)
    inner.env.update(zip(names, args, strict=False))
    for keyword in node.keywords:
        if keyword.arg is not None:
            inner.env[keyword.arg] = _read(reader, keyword.value)
    result = _run(inner, function.node.body)
    reader.budget = inner.budget
    return result if result is not None else Unknown()


def _run(reader: _Reader, body: list[ast.stmt]) -> Thing | None:
    """The returned value, None when control falls through."""
    for node in body:
        reader.budget -= 1
        if reader.budget < 0 or reader.depth > MAX_DEPTH:
            return Unknown()
        if isinstance(node, ast.Return):
            return _read(reader, node.value) if node.value is not None else Fixed(None)
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            _bind(reader, node.targets[0], _read(reader, node.value))
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            _bind(reader, node.target, _read(reader, node.value))
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            current = reader.env.get(node.target.id, Unknown())
            reader.env[node.target.id] = binary(node.op, current, _read(reader, node.value))
        elif isinstance(node, ast.Expr):
            _effect(reader, node.value)
        elif isinstance(node, ast.If):
            test = _read(reader, node.test)
            if not isinstance(test, Fixed):
                _blur(reader, node)
                if any(isinstance(inner, ast.Return) for inner in ast.walk(node)):
                    return Unknown()
                continue
            result = _run(reader, node.body if test.value else node.orelse)
            if result is not None:
                return result
        elif isinstance(node, ast.For):
            source = _read(reader, node.iter)
            if not isinstance(source, Items):
                _blur(reader, node)
                continue
            for item in source.items:
                if reader.budget < 0:
                    return Unknown()
                _bind(reader, node.target, item)
                result = _run(reader, node.body)
                if result is not None:
                    return result
        elif not isinstance(node, (ast.Pass, ast.Import, ast.ImportFrom, ast.Assert)):
            return Unknown()
    return None


def _effect(reader: _Reader, node: ast.expr) -> None:
    """`configs.append(...)` and `.extend(...)`."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
        return
    target = node.func.value
    known = reader.env.get(target.id) if isinstance(target, ast.Name) else None
    if isinstance(known, Items):
        item = _read(reader, node.args[0])
        if node.func.attr == "append":
            known.items.append(item)
        elif node.func.attr == "extend" and isinstance(item, Items):
            added = item.items[: MAX_ITEMS - len(known.items)]
            known.whole = known.whole and item.whole and len(added) == len(item.items)
            known.items.extend(added)
        else:
            known.whole = False


def _blur(reader: _Reader, node: ast.stmt) -> None:
    """Lists a statement that could not be followed may have changed are no longer wholly known."""
    for name in _mentioned(node):
        known = reader.env.get(name)
        if isinstance(known, Items):
            reader.env[name] = Items(list(known.items), False)
        elif known is not None:
            reader.env[name] = Unknown()


def _mentioned(node: ast.stmt) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.id
        elif isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name):
            yield inner.value.id
